/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares two sides, BEFORE and AFTER, each of one or more recordings: as a whole,
 * line by line, and function by function. Pure: attributions in, tables out.
 *
 * Lines of the two sides are the same line if their texts, which travel in the
 * profiles, are aligned (line_align.h). Without text: the same offset from the start of
 * the function of that name; without that: the same number. Functions are the same by
 * name and file, or by name and object if the file is not known.
 *
 * At most 5 of 100 comparisons of equal programs have any significant change: 1 may
 * have it as a whole, 4 in a line or function (Holm's method over the self of all of
 * them that have enough samples to differ; significance.h). Totals are not tested,
 * because the callers of a changed line would all be reported; a rule (diff_rule.h)
 * tests them.
 */
#ifndef LB_ANALYZE_PROFILE_DIFF_H
#define LB_ANALYZE_PROFILE_DIFF_H

#include "analyze/attribution.h"
#include "analyze/change.h"
#include "analyze/diff_stacks.h"
#include "analyze/line_align.h"
#include "analyze/source.h"
#include "base/error.h"

#define DIFF_WHOLE_ALPHA    0.01
#define DIFF_PARTS_ALPHA    0.04 /* of all lines and functions together */
#define DIFF_RULES_ALPHA    0.05 /* of all rules together */

#define DIFF_MAX_RECORDINGS 100 /* of a side */
#define DIFF_DEFAULT_NOISE  0.01

/* What a figure is divided by. */
enum diff_per {
	DIFF_PER_DEFAULT, /* second for all that "lineburn record" recorded, else run */
	DIFF_PER_RUN, /* nothing: a recording is a run */
	DIFF_PER_SECOND, /* wall time */
	DIFF_PER_SAMPLE, /* the recording's whole: shares are compared */
	DIFF_PER_WORK, /* the work that the program did, as the caller counted it */
	NR_DIFF_PERS,
};

/* Stable names: "default", "run", "second", "sample", "work". */
extern const char *const diff_per_names[NR_DIFF_PERS];

struct diff_options {
	enum diff_per per;
	double noise; /* comparison.noise */
	struct diff_side_options {
		uint32_t nr_recordings; /* that will be added */
		/* DIFF_PER_WORK: of each recording, or one for all; > 0 */
		const double *work;
		uint32_t nr_works;
	} sides[NR_DIFF_SIDES];
	/* A path of BEFORE that starts with OLD is that at NEW in AFTER. */
	const struct source_path_rule *moved;
	size_t nr_moved;
	/* What the caller left out of each recording, for the listing: */
	bool is_filtered; /* all samples but those of some filters */
	bool skips_compile; /* those of imports and Numba's compiler */
	bool keeps_stacks; /* profile_diff.stacks is wanted */
};

struct diff_recording {
	const char *name;
	struct weight all;
	uint64_t samples; /* independent ones; all.samples may count several for each */
	uint64_t wall_ns; /* 0: not known */
	uint64_t lost; /* samples that were taken but are not in the profile */
	uint32_t freq_hz; /* 0: not known, or not a clock */
	double per; /* what its figures are divided by */
	bool is_command; /* of "lineburn run" */
	bool is_attached; /* of "lineburn record" */
	bool is_of_arm64;
};

/* A line on both sides; [NR_DIFF_SIDES] is by enum diff_side. */
struct diff_line {
	const char *path; /* of AFTER, if the line is known there */
	const char *function; /* "" not known */
	uint32_t line[NR_DIFF_SIDES]; /* 0: not in this side's text, or not known */
	const char *text[NR_DIFF_SIDES]; /* NULL: not known */
	enum line_match match;
	/* By the texts of the whole file: only this side has such a line. */
	bool is_new, is_gone;
	struct change self, total;
};

struct diff_function {
	const char *name; /* "" not known */
	const char *file, *object;
	uint32_t start_line[NR_DIFF_SIDES]; /* 0 not known */
	struct change self, total;
};

/* A file with lines on a side. Texts are borrowed from the comparison. */
struct diff_file {
	const char *path; /* of AFTER, if it is there */
	struct diff_text {
		char *const *lines; /* line n is [n - 1]; each may be NULL: not known */
		size_t nr;
	} text[NR_DIFF_SIDES]; /* without lines: not known, or several versions */
	/* Of each line of BEFORE in AFTER; NULL: a side has no text. */
	const struct line_partner *partners;
	bool is_whole; /* both texts are complete: what has no partner is new or gone */
	bool is_mixed; /* a side has several versions of it */
	double self[NR_DIFF_SIDES]; /* of all its lines; not tested */
	size_t nr_significant; /* lines */
};

struct profile_diff {
	enum diff_per per;
	bool is_filtered, skips_compile; /* as in diff_options */
	bool has_cpu; /* figures are CPU nanoseconds; else what is counted */
	struct profile_value_type counted; /* see attribution.counted */
	struct comparison comparison;
	struct diff_recording *recordings[NR_DIFF_SIDES];
	struct change whole; /* not compared with DIFF_PER_SAMPLE */
	/* Significant ones first, then by difference, largest first. */
	struct diff_line *lines;
	size_t nr_lines, nr_significant_lines;
	struct diff_function *functions;
	size_t nr_functions, nr_significant_functions;
	/* Those with significant lines first, then by difference. */
	struct diff_file *files;
	size_t nr_files;
	struct diff_stacks *stacks; /* NULL: not kept */
	size_t nr_compared; /* lines and functions that p is corrected for */
	double samples_needed; /* by a line or function, to be compared */
	double visible_growth; /* comparison_visible_growth() of a tenth of all samples */
	const char *mixed_path; /* one side has several versions of this file; NULL */

	/* Tables of each side and recording. */
	struct diff_tables *tables;
};

/** Return: 0 or -ENOMEM. @options  borrowed until diff_compare() */
int diff_new(const struct diff_options *options, struct strpool *pool,
	     struct profile_diff **ret);
void diff_free(struct profile_diff *d);
DEFINE_CLEANUP(struct profile_diff, diff_free);

/**
 * Adds a recording. @p and @a can be freed afterwards.
 *
 * @p     in the pool of diff_new()
 * @name  of its file, borrowed
 * Return: 0; -ENOMEM; -EINVAL with a message: it cannot be compared.
 */
int diff_add(struct profile_diff *d, enum diff_side side, const struct profile *p,
	     const struct attribution *a, const char *name, struct error *err);

/**
 * Compares the sides, to which all recordings have been added. Return: as diff_add().
 */
int diff_compare(struct profile_diff *d, struct error *err);

#endif
