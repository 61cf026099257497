/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of run and record: what is sampled, of which programs, and into which files. */
#ifndef LB_CLI_SAMPLING_OPTIONS_H
#define LB_CLI_SAMPLING_OPTIONS_H

#include <stddef.h>

#include "base/error.h"
#include "cli/option.h"
#include "runtime/jit/watch.h"

struct sampling;
struct target_request;

#define MAX_SECONDS 10000000

/* ---- values of option_row.parse ---- */

option_parse_fn parse_event;
option_parse_fn parse_budget; /* "0.5%" */
option_parse_fn parse_window; /* "90", "90s", "1.5m", "2h" */
option_parse_fn parse_max_size; /* "4096", "500K", "1.5G" (K is 1024) */
option_parse_fn parse_ready_fd;
option_parse_fn parse_output;
option_parse_fn parse_target; /* row->kind: enum lb_filter_kind */

/** Returns the name of sample source @i; NULL: no more. */
const char *sampling_event_word(const char *command, size_t i);

/* ---- all options together ---- */

/**
 * Returns which files may get a uprobe. Without --uprobe only those of targets that the
 * user named: the command, processes, threads, containers, units or cgroups. --comm and
 * --user do not count, because any process may match them.
 */
enum jit_probing sampling_probing(const struct options *o);

/* The checks return 0, or -EINVAL with a message. */

/** Checks record's targets; sets whole_machine if implied. */
int sampling_check_target(struct target_request *t, struct error *err);
/** -F is for a clock, -c for other sources; sets the one that is not given. */
int sampling_check_source(struct sampling *s, struct error *err);
int sampling_check_window(const struct sampling *s, struct error *err);

#endif
