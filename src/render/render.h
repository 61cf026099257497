/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Renders a profile. A renderer looks nothing up: its input has everything it prints.
 */
#ifndef LB_RENDER_RENDER_H
#define LB_RENDER_RENDER_H

#include <stdbool.h>
#include <stdio.h>

#include "analyze/attribution.h"
#include "analyze/call_tree.h"
#include "analyze/diff_rule.h"
#include "analyze/filter.h"
#include "analyze/groups.h"
#include "analyze/machine_code.h"
#include "analyze/phase.h"
#include "analyze/profile_diff.h"
#include "profile/profile.h"

struct render_options {
	bool colour;
	bool utf8; /* the terminal shows UTF-8; otherwise our own signs are ASCII */
	unsigned int width; /* columns of the terminal; 0: no limit */
	unsigned int context; /* lines shown around a hot line */
	double min_share; /* omit lines and functions below this share of all (0..1) */
	/*
	 * Only so many lines (marked by hot_lines_limit()), functions, groups; 0: all
	 */
	size_t limit;
	/* annotate: only files whose path ends in this; NULL: all */
	const char *file_filter;
};

struct render_input {
	const struct profile *profile;
	const struct attribution *attribution; /* source attached */
	const char *file_name; /* of the profile; NULL: just recorded */
	/* Filters that were applied; NULL: none */
	const struct filtered *filtered;
	const struct phases *phases; /* of the profile; NULL: not computed */
	/*
	 * annotate --asm: shown instead of the source listing; in a page the code of the
	 * hottest functions; else NULL
	 */
	const struct machine_code *machine_code;
	/* report --callers, --callees: shown instead of the functions; else NULL */
	const struct call_tree *call_tree;
	/* report --by: shown instead of the functions; else NULL */
	const struct groups *groups;
	const struct groups *processes; /* GROUP_BY_OWNER; NULL: not computed */
	/* diff: instead of profile and attribution */
	const struct profile_diff *diff;
	const struct diff_verdicts *verdicts; /* of --fail-if */
};

/** Return: 0, or -errno of writing (the caller treats -EPIPE as success). */
typedef int (*render_fn)(const struct render_input *in, const struct render_options *opts,
			 FILE *out);

int render_annotate(const struct render_input *in, const struct render_options *opts,
		    FILE *out);
int render_annotate_json(const struct render_input *in, const struct render_options *opts,
			 FILE *out);
int render_annotate_csv(const struct render_input *in, const struct render_options *opts,
			FILE *out);
/* Notes of a compiler, the hottest line first: for the error lists of editors. */
int render_annotate_quickfix(const struct render_input *in,
			     const struct render_options *opts, FILE *out);
/* A page for a browser, in one file. */
int render_annotate_html(const struct render_input *in, const struct render_options *opts,
			 FILE *out);
int render_report(const struct render_input *in, const struct render_options *opts,
		  FILE *out);
int render_report_json(const struct render_input *in, const struct render_options *opts,
		       FILE *out);

int render_report_csv(const struct render_input *in, const struct render_options *opts,
		      FILE *out);
int render_diff(const struct render_input *in, const struct render_options *opts,
		FILE *out);
int render_diff_json(const struct render_input *in, const struct render_options *opts,
		     FILE *out);
int render_diff_github(const struct render_input *in, const struct render_options *opts,
		       FILE *out);
/* A page for a browser, in one file. */
int render_diff_html(const struct render_input *in, const struct render_options *opts,
		     FILE *out);

/*
 * Data that a format shows in addition to functions. Other data is not computed for it.
 */
enum render_need {
	RENDER_SOURCE = 1 << 0, /* texts of files with lines */
	RENDER_CODE = 1 << 1, /* render_input.machine_code, if requested */
	RENDER_CALL_TREE = 1 << 2, /* render_input.call_tree; same */
	RENDER_GROUPS = 1 << 3, /* render_input.groups; same */
	RENDER_PHASES = 1 << 4, /* render_input.phases */
	RENDER_PROCESSES = 1 << 5, /* render_input.processes */
	RENDER_HOT_CODE = 1 << 6, /* render_input.machine_code, of all functions */
	RENDER_STACKS = 1 << 7, /* profile_diff.stacks */
	RENDER_CHANGES = 1 << 8, /* attribution_source.is_changed, for a warning */
};

/* One row per format, with everything that the command line needs. */
struct render_format {
	const char *command; /* "annotate", "report", "diff" */
	const char *name; /* "text", "json", ... */
	unsigned int needs; /* enum render_need */
	render_fn write;
};
extern const struct render_format render_formats[];
extern const size_t nr_render_formats;

/** Finds a format. NULL: @command has no format with that name. */
const struct render_format *render_format_find(const char *command, const char *name);

/** Returns the format that the end of a file's name tells: "html" of x.html; "text". */
const char *render_format_of_output(const char *command, const char *output);

/* ---- parts of several formats ---- */

/**
 * Flushes @out. Return: 0, -EPIPE if the reader has closed it, or another -errno; -EIO
 * if an earlier write failed and its errno is lost.
 */
int render_finish(FILE *out);

/* What samples cannot show. */
enum render_limit {
	RENDER_LIMIT_ARM64, /* callers by frame pointers alone */
	RENDER_LIMIT_CLOCK, /* kernel code that runs with interrupts off */
	NR_RENDER_LIMITS,
};

/**
 * Returns a sentence, or NULL where the limit does not concern this profile.
 *
 * @shows_kernel  functions of the kernel are listed
 */
const char *render_limit(const struct render_input *in, enum render_limit limit,
			 bool shows_kernel);

/** A sentence of each. */
extern const char *const render_limit_texts[NR_RENDER_LIMITS];
#define RENDER_LIMIT_ARM64_TEXT                                                       \
	"On arm64 lineburn finds callers by frame pointers alone: the direct caller " \
	"of a function that calls nothing is often missing."

/** Is it the object of the kernel's functions? */
bool render_is_kernel(const char *object);

/** Is item @i of a list that begins with the hottest one within --limit? */
bool render_has_rank(const struct render_options *opts, size_t i);

/** Does --file SUFFIX include this file? True without --file. */
bool render_has_file(const struct render_options *opts, const char *path);

#endif
