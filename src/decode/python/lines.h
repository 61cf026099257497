/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Line tables of CPython's code objects: which line an instruction belongs to. Pure
 * functions of bytes that came from a target.
 *
 * Three formats, by version (Objects/lnotab_notes.txt, Objects/locations.md):
 *   3.9          co_lnotab: pairs {u8 bytes of code, s8 lines}
 *   3.10         co_linetable (PEP 626): pairs {u8 bytes of code, s8 lines or -128: none}
 *   3.11 and on  co_linetable (PEP 657): entries of a head byte and varints
 */
#ifndef LB_DECODE_PYTHON_LINES_H
#define LB_DECODE_PYTHON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A run of instructions, [start, end) in bytes of code. */
struct python_range {
	uint64_t start, end; /* end > start; UINT64_MAX: to the end of the code */
	uint32_t line; /* 0: the compiler gave it none */
};

/* A walk over one table. */
struct python_lines {
	uint32_t version; /* PY_VERSION_HEX >> 16 */
	const uint8_t *table; /* borrowed */
	size_t len, pos;
	bool is_whole; /* the table was not cut */
	uint64_t end; /* of the last range */
	int64_t line;
};

/** @first_line  of the code object; lines are relative to it */
void python_lines_init(struct python_lines *l, uint32_t version, uint32_t first_line,
		       const void *table, size_t len, bool is_whole);

/**
 * Reads the next range, in order of code. Return: false at the end of the table, and
 * where it is malformed or cut, so that nothing is known about the code after it.
 */
bool python_lines_next(struct python_lines *l, struct python_range *ret);

#endif
