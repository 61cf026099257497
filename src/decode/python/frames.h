/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of Python: a code object and an instruction of it -> function, file, line.
 * Decoder's side; a pure function of what the request holds.
 *
 * Which line an instruction has that the compiler gave none:
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

#endif
