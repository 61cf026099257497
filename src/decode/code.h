/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function that was hit, as machine code: which line each part of it is. From
 * it come the lines that have no code of their own, and the instruction view.
 */
#ifndef LB_DECODE_CODE_H
#define LB_DECODE_CODE_H

#include <stddef.h>
#include <stdint.h>

/*
 * From here to the next row (or the end): the innermost frame with a line. A row of
 * no length (the next one, or the end, is at the same address) only says that its
 * line has code: the line of a call that was inlined from here on, which is in the
 * code of the callee; at the end, a line that has code elsewhere.
 */
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
	/* Ascending, some equal: see above. rows[0].address >= address. */
	const struct code_row *rows;
	size_t nr_rows; /* > 0 */
	const uint8_t *bytes; /* size_bytes of machine code; NULL: they are in the file */
};

#define CODE_MAX_BYTES (1u << 20) /* of one piece; larger ones are left out */
#define CODE_MAX_ROWS  65536 /* same */

#endif
