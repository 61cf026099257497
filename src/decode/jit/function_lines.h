/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of whole functions of one image, from its DWARF: a chain of frames for
 * each place where the line may change. Which line an address really belongs to
 * cannot always be said from that address alone (numba/lines.h).
 */
#ifndef LB_DECODE_JIT_FUNCTION_LINES_H
#define LB_DECODE_JIT_FUNCTION_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strpool.h"
#include "decode/frame.h"
#include "decode/jit/image.h"

/* From here to the next row of the function, or to its end. */
struct function_row {
	uint64_t ip;
	uint32_t first_frame, nr_frames; /* in line_store.frames; innermost first */
	enum miss miss; /* why frames[0] has no line */
	bool unlined; /* the line table has line 0 here: the line is inferred */
};

/* Rows and frames of all functions of a request. Strings are interned. */
struct line_store {
	struct strpool *pool; /* borrowed */
	struct function_row *rows;
	size_t nr_rows, cap_rows;
	struct frame *frames;
	size_t nr_frames, cap_frames;
};

#define LINE_STORE_MAX_ROWS   (2u << 20)
#define LINE_STORE_MAX_FRAMES (4u << 20)

void line_store_deinit(struct line_store *s);

struct function_lines {
	uint64_t start_ip, end_ip;
	uint32_t first_row, nr_rows; /* in line_store.rows, ascending; none: no DWARF */
};

/**
 * @functions  of this image, ascending start_ip, disjoint; rows are written
 * @ips        ascending; each gets a row of its own where a function holds it
 * Return: 0, -ENODATA (the image has no lines), -EBADMSG (malformed), -ENOSPC (over a
 * maximum), -ENOMEM. On failure the functions have no rows.
 */
int function_lines_read(struct line_store *s, const struct jit_image *m,
			struct function_lines *functions, size_t nr_functions,
			const uint64_t *ips, size_t nr_ips);

/** The row that covers @ip, or NULL. */
struct function_row *function_lines_at(const struct line_store *s,
				       const struct function_lines *f, uint64_t ip);

#endif
