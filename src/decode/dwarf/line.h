/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Line tables (DWARF 5, 6.2; 2 to 4 in the appendix of each). The line program runs
 * past the requested addresses, and no row is stored, so a unit of any size costs only
 * the memory of its file names.
 */
#ifndef LB_DECODE_DWARF_LINE_H
#define LB_DECODE_DWARF_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "decode/dwarf/unit.h"

/*
 * Whole pieces of code, collected while a line table is run: the rows of the pieces,
 * and which lines have code anywhere in the unit.
 */

#define LINE_ROWS_MAX      (1u << 19) /* of one unit; pieces beyond it have none */
#define LINE_SEEN_MAX_FILE (1u << 16) /* file numbers; higher ones are not recorded */
#define LINE_SEEN_MAX_LINE (1u << 22) /* same */
#define LINE_SEEN_BYTES    (64u << 20) /* of one unit; same */

struct line_piece {
	uint64_t start, end;
	uint32_t scope; /* its function */
	bool too_many; /* over a maximum: rows are missing */
	size_t first_row, nr_rows; /* into rows; set by line_rows_finish() */
};

/* One requested address, and the results so far. */
struct address_hit {
	uint64_t vaddr;
	uint64_t row_vaddr; /* of the row that holds it */
	uint32_t scope; /* the innermost one that holds it (scope.h); 0: none */
	uint32_t file, line; /* of the row; line 0: the compiler gave none */
	uint32_t near_file, near_line; /* last row with a line before it; 0: none */
	uint32_t piece, order; /* of line_rows.items only; order of arrival */
	bool has_row;
	bool wants_code; /* the code of its function is wanted, too */
};

struct line_rows {
	struct line_piece *pieces; /* ascending, disjoint */
	size_t nr_pieces, cap_pieces;
	size_t next; /* piece of the last row */
	/* Each holds up to the next row of the piece, or to its end; never empty. */
	struct address_hit *items;
	size_t nr, cap;
	struct line_seen {
		uint64_t *bits; /* one bit per line */
		size_t cap; /* words */
	} * seen; /* by file number */
	size_t nr_seen, cap_seen;
	size_t seen_bytes;
	bool failed; /* out of memory, or of work */
};

void line_rows_deinit(struct line_rows *r);

/** Adds a piece, before any row. Return: 0 or -ENOMEM. */
int line_rows_add_piece(struct line_rows *r, uint64_t start, uint64_t end,
			uint32_t scope);
/** Sorts the pieces; drops those that overlap an earlier one. */
void line_rows_start(struct line_rows *r);

/** After the last row: sorts the rows, and sets those of each piece. */
void line_rows_finish(struct line_rows *r);

/** Returns the first line of [@line, @end) that has code anywhere in the unit; @end: none. */
uint32_t line_rows_next_seen(const struct line_rows *r, uint32_t file, uint32_t line,
			     uint32_t end);

#define LINE_MAX_FILES (1u << 20) /* and directories; more is malformed */

struct line_table;

/**
 * Reads the header of the unit's line table; the unit must outlive it.
 * Return: 0, -ENODATA (the unit has none), -EBADMSG, -ENOMEM.
 */
int line_table_open(const struct unit *unit, struct line_table **ret);
void line_table_free(struct line_table *t);
DEFINE_CLEANUP(struct line_table, line_table_free);

/**
 * Finds the row of each hit; the others keep has_row false.
 *
 * @hits  ascending vaddr
 * @rows  collects rows of pieces of code (struct line_rows); may be NULL
 * Return: 0, or -EBADMSG when the program is malformed (rows before that count).
 */
int line_table_run(struct line_table *t, struct address_hit *hits, size_t nr,
		   struct line_rows *rows);

/**
 * Calls @row for each row.
 * Return: 0, or -EBADMSG when the program is malformed (rows before that count).
 */
int line_table_rows(struct line_table *t, dwarf_row_fn row, void *ctx);

/**
 * Returns the path of file number @file, with its directories; "" if there is no such
 * file, a part of its path has PATH_MAX bytes, or there is no memory. Valid until line_table_free().
 */
const char *line_table_path(struct line_table *t, uint64_t file);

#endif
