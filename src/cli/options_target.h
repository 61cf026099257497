/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that say who is sampled: rows of the table in options.c. */
#ifndef LB_CLI_OPTIONS_TARGET_H
#define LB_CLI_OPTIONS_TARGET_H

#include "cli/options.h"
#include "runtime/jit/watch.h"

/* Each adds a value. Return: 0, or -EINVAL with a sentence and EXIT_USAGE in @err. */
int parse_target_pid(struct options *o, const char *arg, struct error *err);
int parse_target_thread(struct options *o, const char *arg, struct error *err);
int parse_target_cgroup(struct options *o, const char *arg, struct error *err);
int parse_target_container(struct options *o, const char *arg, struct error *err);
int parse_target_unit(struct options *o, const char *arg, struct error *err);
int parse_target_comm(struct options *o, const char *arg, struct error *err);
int parse_target_user(struct options *o, const char *arg, struct error *err);

/** After all of record's: what does not fit together; sets whole_machine where implied. */
int options_check_target(struct options *o, struct error *err);

/**
 * Which files may get a uprobe. Without --uprobe only those of what the caller named: the
 * command, processes, threads, containers, units or cgroups, not what anybody can join, by
 * the name of a thread or as a user.
 */
enum jit_probing options_probing(const struct options *o);

#endif
