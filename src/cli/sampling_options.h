/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of run, record and top: what is sampled, of which programs, and into which files. */
#ifndef LB_CLI_SAMPLING_OPTIONS_H
#define LB_CLI_SAMPLING_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cli/option.h"

struct sampling;
struct target_request;

#define MAX_SECONDS 10000000

/* ---- values of option_row.parse ---- */

/* These set members of the struct sampling at row->at. */
option_parse_fn parse_event;
option_parse_fn parse_budget; /* "0.5%" */
option_parse_fn parse_window; /* "90", "90s", "1.5m", "2h" */
option_parse_fn parse_max_size; /* "4096", "500K", "1.5G" (K is 1024) */
option_parse_fn parse_output;
/* uint32_t */
option_parse_fn parse_ready_fd;
/* struct target_request; row->kind: enum lb_filter_kind */
option_parse_fn parse_target;

/** Returns the name of sample source @i; NULL: no more. */
const char *sampling_event_word(const char *command, size_t i);

/* ---- all options together ---- */

/**
 * Did the user name targets: the command, processes, threads, containers, units or cgroups?
 * --comm and --user do not count, because any process may match them.
 */
bool sampling_names_targets(const struct target_request *t);

/* The checks return 0, or -EINVAL with a message. */

/** Checks record's targets; sets whole_machine if implied. */
int sampling_check_target(struct target_request *t, struct error *err);
/** -F is for a clock, -c for other sources; sets the one that is not given. */
int sampling_check_source(struct sampling *s, struct error *err);
int sampling_check_window(const struct sampling *s, struct error *err);

#endif
