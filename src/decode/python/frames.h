/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of Python: maps a code object and an instruction in it to function, file and
 * line. Decoder side; a pure function of the request.
 *
 * Instructions to which the compiler gave no line get:
 *  - before the first one with a line (the frame is being set up): the line of the def,
 *    as for a frame that has not begun (LB_FRAME_INDEX_UNKNOWN);
 *  - later, mostly in the clean-up of "with" and "except": none (MISS_NO_LINE), as in
 *    a traceback of CPython. They can be reached from anywhere.
 */
#ifndef LB_DECODE_PYTHON_FRAMES_H
#define LB_DECODE_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/answer.h"

/* A string or a table in the request. */
struct python_bytes {
	const uint8_t *bytes;
	size_t len;
	uint8_t width; /* bytes a char */
	bool is_cut;
};

struct python_function_code {
	uint32_t version; /* PY_VERSION_HEX >> 16 */
	uint32_t first_line;
	struct python_bytes file, name, table;
};

struct python_question {
	uint32_t code; /* index of the code object */
	uint32_t index; /* LB_FRAME_INDEX */
	uint32_t number; /* number of its answer */
};

/**
 * Converts a string of CPython (PEP 393: 1, 2 or 4 bytes a char) to a C string.
 *
 * In a file name that is not UTF-8, a str has a surrogate for each bad byte (PEP 383).
 * These become bytes again, so the result need not be UTF-8. Other surrogates, NUL, and
 * values above U+10FFFF become U+FFFD.
 *
 * @len     in bytes
 * @width   bytes a char: 1 (Latin-1), 2 or 4, little-endian; any other gives ""
 * @is_cut  the string was cut: "..." is appended
 * Return: heap; NULL when out of memory.
 */
char *python_text_utf8(const void *bytes, size_t len, unsigned int width, bool is_cut);

#endif
