/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that say who is sampled: rows of the table in options.c. */
#ifndef LB_OPTIONS_CHOICE_H
#define LB_OPTIONS_CHOICE_H

#include "options.h"

/* Each adds a value. Return: 0, or -EINVAL with a sentence and EXIT_USAGE in @err. */
int parse_choice_pid(struct options *o, const char *arg, struct error *err);
int parse_choice_thread(struct options *o, const char *arg, struct error *err);
int parse_choice_cgroup(struct options *o, const char *arg, struct error *err);
int parse_choice_container(struct options *o, const char *arg, struct error *err);
int parse_choice_unit(struct options *o, const char *arg, struct error *err);
int parse_choice_comm(struct options *o, const char *arg, struct error *err);
int parse_choice_user(struct options *o, const char *arg, struct error *err);

/** After all of record's: what does not fit together; sets whole_machine where implied. */
int options_check_choice(struct options *o, struct error *err);

/**
 * Is it the command, or processes, threads, containers, units or cgroups that the caller
 * named? Not those that anybody can join: by a name of a thread, as a user.
 */
bool options_name_targets(const struct options *o);

/** Does anything include by @kind? */
bool options_include(const struct options *o, enum lb_choice_kind kind);

#endif
