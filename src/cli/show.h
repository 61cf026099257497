/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Analyzes a profile and prints it in the requested format. */
#ifndef LB_CLI_SHOW_H
#define LB_CLI_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analyze/attribution.h"
#include "analyze/call_tree.h"
#include "analyze/filter.h"
#include "analyze/frame_filter.h"
#include "analyze/time_filter.h"
#include "analyze/groups.h"
#include "analyze/source.h"
#include "base/error.h"
#include "cli/reading.h"
#include "profile/profile.h"

enum colour_mode {
	COLOUR_AUTO,
	COLOUR_ALWAYS,
	COLOUR_NEVER,
};

/* Which part of a profile is shown, and how. Strings are borrowed. */
struct viewing {
	bool is_report; /* false: annotate's listing */
	const char *input; /* "-": stdin */
	bool input_given;
	const char *format; /* one of render_formats; "text" */
	struct attribution_options attribution;
	bool skip_compile; /* drops samples of Python's imports and Numba's compiler */
	struct source_path_rule *source_paths; /* heap */
	size_t nr_source_paths, cap_source_paths;
	bool open_sources; /* open files that the profile names, even if untrusted */
	unsigned int context;
	double min_share; /* 0..1 */
	uint32_t limit; /* most lines, functions, groups, nodes of a tree; 0: all */
	const char *file_filter;
	bool show_asm;
	const char *asm_what; /* function or FILE:LINE; NULL: the hottest function */
	enum call_direction call_direction; /* report: a tree instead of the table */
	const char *call_what; /* function or FILE:LINE; NULL: all */
	unsigned int call_depth; /* longest path, in calls */
	bool show_types; /* of specialisations */
	enum group_by group_by; /* report: groups instead of functions */
	const char *group_label; /* with GROUP_BY_LABEL: its key; else NULL */
	struct profile_filter *filters; /* heap: select samples */
	size_t nr_filters, cap_filters;
	struct frame_filter *frame_filters; /* heap: same */
	size_t nr_frame_filters, cap_frame_filters;
	const char *time_text; /* --time; NULL: not given */
	struct time_range time;
	enum colour_mode colour;
	bool no_pager;
};

/** Returns how to print for stdout: colours, width, and what @v says. */
struct render_options viewing_options(const struct viewing *v);

/** Returns the requested format; NULL for a command that shows no profile. */
const struct render_format *viewing_format(const struct viewing *v);

/** Would apply_filters() leave samples out, or frames? */
bool has_filters(const struct viewing *v);

/**
 * Applies the filters to @p. Return: 0 with *@ret (NULL: there are none), or -errno with
 * a message.
 */
int apply_filters(const struct viewing *v, struct profile *p, struct filtered **ret,
		  struct error *err);

/**
 * Warns of the files that source_compare() marked: whoever opens them sees figures at
 * wrong lines.
 *
 * @file_filter  only files whose path ends in this; NULL: all
 */
void say_changed(const struct attribution *a, const char *file_filter);

/**
 * Renders @p to @out according to @v (run shows annotate's listing). Modifies @p:
 * --types renames functions; --skip-compile and filters drop samples.
 * @file_name  name of the profile's file, for the listing's head; NULL: not from a file
 * @named      if it is untrusted, reports how many files were not opened
 */
int show_profile(const struct viewing *v, struct profile *p, const char *file_name,
		 const struct named_files *named, FILE *out, struct error *err);

#endif
