/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares recordings and prints the differences in the requested format. */
#ifndef LB_CLI_COMPARE_H
#define LB_CLI_COMPARE_H

#include <stdio.h>

#include "analyze/diff_rule.h"
#include "analyze/profile_diff.h"
#include "base/error.h"
#include "cli/show.h"

#define COMPARE_DEFAULT_LIMIT 20 /* rows of a table of text */

/* What is compared. Strings are borrowed, arrays are heap. */
struct comparing {
	struct comparing_side {
		const char **files; /* "-": stdin */
		size_t nr_files, cap_files;
		double *works; /* --per before=, after= */
		size_t nr_works, cap_works;
	} sides[NR_DIFF_SIDES];
	bool after_given; /* --after: the files behind it are of AFTER */
	enum diff_per per;
	double noise; /* relative */
	struct diff_rule *rules;
	size_t nr_rules, cap_rules;
	unsigned int limit; /* rows of a table; 0: all */
	bool limit_given;
};

/** Adds a file of a recording. Return: 0, or -EINVAL with a message and EXIT_USAGE. */
int comparing_add(struct comparing *c, const char *path, struct error *err);
/** Parses "second", or "before=255,after=758". Return: 0 or -EINVAL. */
int comparing_set_per(struct comparing *c, const char *arg);
/** Checks what was given, as a whole. Return: as comparing_add(). */
int comparing_check(struct comparing *c, struct error *err);
void comparing_deinit(struct comparing *c);

/** Returns an empty comparison of what @c describes. @v has the paths that moved. */
int compare_new(const struct comparing *c, const struct viewing *v, struct strpool *pool,
		struct profile_diff **ret, struct error *err);

/**
 * Adds a recording. Modifies @p like show_profile().
 * @name  of its file, borrowed
 */
int compare_add(struct profile_diff *d, enum diff_side side, const struct viewing *v,
		struct profile *p, const char *name, struct error *err);

/**
 * Compares and prints.
 * @ret  what the rules say; also after a failure the caller calls diff_verdicts_deinit()
 * Return: 0 or -errno.
 */
int compare_show(struct profile_diff *d, const struct comparing *c,
		 const struct viewing *v, FILE *out, struct diff_verdicts *ret,
		 struct error *err);

/**
 * Return: 0; -ERANGE with EXIT_GREW and a message that names the first rules that are
 * exceeded.
 */
int compare_refuse(const struct diff_verdicts *v, struct error *err);

#endif
