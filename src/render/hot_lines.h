/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of all files together, the line with most self first. */
#ifndef LB_RENDER_HOT_LINES_H
#define LB_RENDER_HOT_LINES_H

#include <stddef.h>

#include "render/listing.h"
#include "render/render.h"

struct hot_line {
	const struct attribution_file *file;
	const struct attribution_line *line;
};

/**
 * Returns the lines that have samples, in a heap array that the caller frees; NULL: out
 * of memory. Leaves out files that --file does not include.
 */
struct hot_line *hot_lines_of(const struct attribution *a,
			      const struct render_options *opts, size_t *ret_nr);

/**
 * Prints the table "Where the CPU goes" of the first lines of such an array. Prints
 * nothing if there is none with self.
 */
void hot_lines_print(const struct listing *l, const struct hot_line *lines, size_t nr);

#endif
