/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders a profile. A renderer looks nothing up: all it prints is in its input. */
#ifndef LB_RENDER_RENDER_H
#define LB_RENDER_RENDER_H

#include <stdbool.h>
#include <stdio.h>

#include "analyze/attribution.h"
#include "analyze/call_tree.h"
#include "analyze/filter.h"
#include "analyze/groups.h"
#include "analyze/machine_code.h"
#include "analyze/phase.h"
#include "profile/profile.h"

struct render_options {
	bool colour;
	bool utf8; /* the terminal takes UTF-8; else our own signs are ASCII */
	unsigned int width; /* columns of the terminal; 0: no limit */
	unsigned int context; /* lines shown around a hot line */
	double min_share; /* omit lines and functions below this share of all (0..1) */
	const char *
		file_filter; /* annotate: only files whose path ends in this; NULL: all */
};

struct render_input {
	const struct profile *profile;
	const struct attribution *attribution; /* source attached */
	const char *file_name; /* of the profile; NULL: just recorded */
	/* Which samples were kept; NULL: all */
	const struct filtered *filtered;
	const struct phases *phases; /* of the profile; NULL: not computed */
	/* annotate --asm: shown instead of the source listing; else NULL */
	const struct machine_code *machine_code;
	/* report --callers, --callees: shown instead of the functions; else NULL */
	const struct call_tree *call_tree;
	/* report --by: shown instead of the functions; else NULL */
	const struct groups *groups;
	const struct groups *processes; /* GROUP_BY_OWNER; NULL: not computed */
};

/** Return: 0, or -errno of writing (-EPIPE is success for the caller). */
typedef int (*render_fn)(const struct render_input *in, const struct render_options *opts,
			 FILE *out);

int render_annotate(const struct render_input *in, const struct render_options *opts,
		    FILE *out);
int render_annotate_json(const struct render_input *in, const struct render_options *opts,
			 FILE *out);
int render_report(const struct render_input *in, const struct render_options *opts,
		  FILE *out);
int render_report_json(const struct render_input *in, const struct render_options *opts,
		       FILE *out);

int render_report_csv(const struct render_input *in, const struct render_options *opts,
		      FILE *out);

/* What a format shows in addition to functions. Nothing else is computed for it. */
enum render_need {
	RENDER_SOURCE = 1 << 0, /* texts of the files with lines */
	RENDER_CODE = 1 << 1, /* render_input.machine_code, if requested */
	RENDER_CALL_TREE = 1 << 2, /* render_input.call_tree; same */
	RENDER_GROUPS = 1 << 3, /* render_input.groups; same */
	RENDER_PHASES = 1 << 4, /* render_input.phases */
	RENDER_PROCESSES = 1 << 5, /* render_input.processes */
};

/* One row per format, with all that the command line needs. */
struct render_format {
	const char *command; /* "annotate", "report" */
	const char *name; /* "text", "json", ... */
	unsigned int needs; /* enum render_need */
	render_fn write;
};
extern const struct render_format render_formats[];
extern const size_t nr_render_formats;

/** Finds a format. NULL: @command has no format of that name. */
const struct render_format *render_format_find(const char *command, const char *name);

/* Parts that several formats share. */

/**
 * Flushes @out. Return: 0, -EPIPE when the reader has closed, or another -errno; -EIO
 * when an earlier write failed for a reason no longer known.
 */
int render_finish(FILE *out);

/** Does --file SUFFIX keep this file? True without --file. */
bool render_has_file(const struct render_options *opts, const char *path);

#endif
