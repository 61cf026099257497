/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a board: one line each for its figures, the titles of its columns, a row. */
#ifndef LB_LIVE_TABLE_H
#define LB_LIVE_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "live/board.h"

/** Prints what the figures are of: "last 10 s: 1.62 of 2 CPUs, 320 samples ...". */
void table_head(const struct board *b, FILE *out);

/** Prints what is missing in them, or what the note says; nothing if all is well. */
void table_caution(const struct board *b, FILE *out);

/** @width  columns of the screen; 0: no limit */
void table_titles(const struct board *b, size_t width, FILE *out);

/** Prints a row without the end of the line; escaped, at most @width columns. */
void table_row(const struct board *b, const struct board_row *row, size_t width,
	       FILE *out);

#endif
