/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function that was hit, as machine code: which line each part of it is. From
 * it come the lines that have no code of their own, and the instruction view.
 */
#ifndef LB_SYMBOLIZE_CODE_H
#define LB_SYMBOLIZE_CODE_H

#include <stddef.h>
#include <stdint.h>

/* From here to the next row (or the end): the innermost frame with a line. */
struct code_row {
	uint64_t address; /* vaddr in the file; of a JIT: run-time address */
	const char *function; /* as in struct frame */
	const char *system_name;
	const char *file; /* "" when there is none */
	uint32_t line; /* 0: no line */
	uint32_t start_line; /* of the function; 0 not known */
};

/* One contiguous piece of code; a function split in hot and cold parts is two. */
struct code {
	uint64_t address, size_bytes; /* [address, address + size_bytes) */
	const struct code_row *rows; /* ascending; rows[0].address >= address */
	size_t nr_rows;
	const uint8_t *bytes; /* size_bytes of machine code; NULL: they are in the file */
};

#define CODE_MAX_BYTES (1u << 20) /* of one piece; larger ones are left out */
#define CODE_MAX_ROWS  65536 /* same */

#endif
