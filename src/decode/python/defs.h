/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds where functions begin in Python source, for JIT objects without debug info, which
 * name the function but not its line. It parses only layout (indentation, strings,
 * brackets, comments), so any version of Python works.
 */
#ifndef LB_DECODE_PYTHON_DEFS_H
#define LB_DECODE_PYTHON_DEFS_H

#include <stddef.h>
#include <stdint.h>

#define PYTHON_DEFS_MAX_BYTES (4u << 20) /* of source; larger files are not read */
#define PYTHON_DEFS_MAX_DEPTH 64 /* of nested definitions; deeper ones are not found */

struct python_def {
	const char
		*qualname; /* "Class.method"; ".<locals>" after a function is left out */
	uint32_t line; /* of its "def"; 0: no function has that name, or several have */
};

/** Fills in the lines of @defs. Pure; cost: one pass over the text. */
void python_defs_find(const char *text, size_t len, struct python_def *defs, size_t nr);

#endif
