/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the lines of one version of a text in another version: patience diff, then
 * blocks that moved, then lines that were edited in place. Texts are untrusted: time
 * and memory are proportional to their size.
 */
#ifndef LB_ANALYZE_LINE_ALIGN_H
#define LB_ANALYZE_LINE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_ALIGN_MAX_LINES (1u << 19) /* of one text */

enum line_match {
	LINE_UNMATCHED,
	LINE_SAME, /* the same text, in the order of the text */
	LINE_MOVED, /* the same text, in a block that is at another place */
	LINE_CHANGED, /* edited: the lines around it are the same */
};

struct line_partner {
	uint32_t line; /* number in the other text, > 0; 0: LINE_UNMATCHED */
	enum line_match match;
};

struct line_alignment {
	/* of line n: partners[n - 1]; heap */
	struct line_partner *partners;
	size_t nr;
};

/**
 * Finds the partner of each line of @before in @after. No line is the partner of two.
 *
 * @before, @after  line n is [n - 1]; NULL: not known, has no partner
 * Return: 0; -ENOMEM; -EFBIG: over LINE_ALIGN_MAX_LINES.
 */
int line_align(char *const *before, size_t nr_before, char *const *after, size_t nr_after,
	       struct line_alignment *ret);
void line_alignment_deinit(struct line_alignment *a);

#endif
