/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of both sides, line beside line, for a page. */
#ifndef LB_RENDER_DIFF_SOURCES_H
#define LB_RENDER_DIFF_SOURCES_H

#include "render/page_json.h"

/* What a row of two texts is. */
enum diff_row_kind {
	DIFF_ROW_SAME,
	DIFF_ROW_CHANGED,
	DIFF_ROW_MOVED, /* of one side; the same text is elsewhere in the other */
	DIFF_ROW_ALONE, /* of one side: it is new or gone */
	DIFF_ROW_UNKNOWN, /* of one side: of the other the text is not known */
};

struct diff_row {
	uint32_t line[NR_DIFF_SIDES]; /* 0: not in this row */
	enum diff_row_kind kind;
	uint32_t other; /* DIFF_ROW_MOVED: its number on the other side */
};

/**
 * Puts the texts of a file beside each other, in the order of AFTER: what only BEFORE has
 * is above the next line that both have.
 *
 * @ret  heap
 * Return: 0 or -ENOMEM.
 */
int diff_rows_of(const struct diff_file *f, struct diff_row **ret, size_t *ret_nr);

/**
 * Returns an array with an object for each of at most @max files of d->files: "path" (in
 * @paths), "self" of both sides, "significant" (lines), "isMixed", "leftOut" (the text
 * does not fit the page) and "rows": arrays of both numbers (0: none), enum
 * diff_row_kind, the text, and for DIFF_ROW_CHANGED the text after, for DIFF_ROW_MOVED
 * the number on the other side.
 *
 * @nr_lines  of d->lines, around which texts are shown
 */
json_t *diff_sources_value(struct json_builder *b, const struct profile_diff *d,
			   size_t nr_lines, struct page_texts *paths, size_t max);

#endif
