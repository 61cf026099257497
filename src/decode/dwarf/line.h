/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Line tables (DWARF 5, 6.2; 2 to 4 in the appendix of each). The program is run
 * past the addresses asked for and no row is stored, so a unit of any size costs
 * the memory of its file names.
 */
#ifndef LB_DECODE_DWARF_LINE_H
#define LB_DECODE_DWARF_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "decode/dwarf/unit.h"

/* One address asked for, and what was found about it so far. */
struct hit {
	uint64_t vaddr;
	uint32_t scope; /* the innermost one that holds it (scope.h); 0: none */
	uint64_t row_vaddr; /* of the row that holds it */
	uint32_t file, line; /* the row; line 0: the compiler names none */
	uint32_t near_file, near_line; /* last row with a line before it; 0: none */
	bool has_row;
	bool wants_code; /* all of the function that holds it */
};

#define LINE_MAX_FILES (1u << 20) /* and directories; more is malformed */

struct line_rows;
struct line_table;

/**
 * Reads the header of the unit's line table; the unit must outlive it.
 * Return: 0, -ENODATA (the unit has none), -EBADMSG, -ENOMEM.
 */
int line_table_open(const struct unit *unit, struct line_table **ret);
void line_table_free(struct line_table *t);
DEFINE_CLEANUP(struct line_table, line_table_free);

/**
 * Finds the row of each hit; those without keep has_row false.
 *
 * @hits  ascending vaddr
 * @rows  gathers rows of pieces of code (line_rows.h); may be NULL
 * Return: 0, or -EBADMSG when the program breaks off (rows before that count).
 */
int line_table_run(struct line_table *t, struct hit *hits, size_t nr,
		   struct line_rows *rows);

/**
 * Calls @row for each row.
 * Return: 0, or -EBADMSG when the program breaks off (rows before that count).
 */
int line_table_rows(struct line_table *t, dwarf_row_fn row, void *ctx);

/**
 * The path of file number @file, with its directories; "" when there is none or
 * memory is out. Valid until line_table_free().
 */
const char *line_table_path(struct line_table *t, uint64_t file);

#endif
