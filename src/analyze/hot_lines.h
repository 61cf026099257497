/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of all files by their heat: most self first, of equal ones most total. */
#ifndef LB_ANALYZE_HOT_LINES_H
#define LB_ANALYZE_HOT_LINES_H

#include "analyze/attribution.h"

struct hot_line {
	struct attribution_file *file;
	struct attribution_line *line;
};

/**
 * Lists the lines with samples in files whose path ends in @suffix (NULL: all files),
 * the hottest first.
 *
 * @ret  heap
 * Return: 0 or -ENOMEM.
 */
int hot_lines_of(const struct attribution *a, const char *suffix, struct hot_line **ret,
		 size_t *ret_nr);

/**
 * Marks all but the @limit hottest of these lines as left out, and the files that have
 * none of these; counts them in @a->left_out. If there are more than @limit, lines
 * without code are left out, too, uncounted. Return: 0 or -ENOMEM.
 */
int hot_lines_limit(struct attribution *a, const char *suffix, size_t limit);

#endif
