/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of Python: maps a code object and an instruction in it to function, file, line.
 * Decoder side; a pure function of the request.
 *
 * The line of an instruction without one from the compiler:
 *  - before the first one with a line, where a frame is being set up: that of the def,
 *    as for a frame that has not begun (LB_FRAME_INDEX_UNKNOWN);
 *  - later ones, mostly the clean-up of "with" and "except": none (MISS_NO_LINE), as in
 *    a traceback of CPython. They can be reached from anywhere.
 */
#ifndef LB_DECODE_PYTHON_FRAMES_H
#define LB_DECODE_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/answer.h"

/* Bytes of the request. */
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
	uint32_t code; /* into the codes */
	uint32_t index; /* LB_FRAME_INDEX */
	uint32_t number; /* of its answer */
};

/**
 * Names as CPython keeps them (PEP 393: 1, 2 or 4 bytes a char), as C strings.
 *
 * The bytes of a file name that is no UTF-8 are surrogates in a str (PEP 383); here they
 * are what they were, so the result need not be UTF-8. What is no character becomes
 * U+FFFD: other surrogates, NUL, and what is above U+10FFFF.
 *
 * @len     in bytes
 * @width   bytes a char: 1 (Latin-1), 2 or 4, little-endian; any other gives ""
 * @is_cut  there was more of it: "..." is appended
 * Return: heap; NULL when out of memory.
 */
char *python_text_utf8(const void *bytes, size_t len, unsigned int width, bool is_cut);

#endif
