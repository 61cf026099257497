/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsers of single options, for the table in options.c; only options*.c include it. */
#ifndef LB_CLI_OPTIONS_PARSE_H
#define LB_CLI_OPTIONS_PARSE_H

#include <errno.h>

#include "cli/options.h"

/* -EINVAL with a sentence out of @fmt, the option's name and what was given. */
static inline int usage(struct error *err, const char *fmt, const char *option,
			const char *given)
{
	return error_set_exit(err, EXIT_USAGE, -EINVAL, fmt, option, given);
}

/* The number of a process or thread; 0: @text is none. */
uint32_t options_id(const char *text);

/* Each: @arg as given. Return: 0, or -EINVAL with a sentence in @err. */
int options_parse_charge(struct options *o, const char *arg, struct error *err);
int options_parse_source_path(struct options *o, const char *arg, struct error *err);
int options_parse_context(struct options *o, const char *arg, struct error *err);
int options_parse_min_percent(struct options *o, const char *arg, struct error *err);
int options_parse_colour(struct options *o, const char *arg, struct error *err);
int options_parse_file_filter(struct options *o, const char *arg, struct error *err);
int options_parse_asm(struct options *o, const char *arg, struct error *err);
int options_parse_callers(struct options *o, const char *arg, struct error *err);
int options_parse_callees(struct options *o, const char *arg, struct error *err);
int options_parse_depth(struct options *o, const char *arg, struct error *err);

/* options_filter.c: report --by, and whose samples annotate and report show. */
int options_parse_by(struct options *o, const char *arg, struct error *err);
int options_narrow_container(struct options *o, const char *arg, struct error *err);
int options_narrow_unit(struct options *o, const char *arg, struct error *err);
int options_narrow_pod(struct options *o, const char *arg, struct error *err);
int options_narrow_pid(struct options *o, const char *arg, struct error *err);
int options_narrow_thread(struct options *o, const char *arg, struct error *err);
int options_narrow_comm(struct options *o, const char *arg, struct error *err);
int options_narrow_user(struct options *o, const char *arg, struct error *err);
int options_narrow_cgroup(struct options *o, const char *arg, struct error *err);

/** Profile and, after --asm or --callers alone, what to show, in whichever order. */
void options_take_view_arguments(int argc, char **argv, struct options *o);

/** What of annotate's and report's options does not fit together. */
int options_check_view(const struct options *o, struct error *err);

#endif
