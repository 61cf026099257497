/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state that a toy interpreter publishes for profilers. A program exports the
 * symbol "toy_interpreter", the address of a struct toy_interpreter. It has one thread.
 * Each call of its evaluator has a struct toy_frame among its local variables; while
 * the call lasts it is the first in the list. The program wrote its name strings, so
 * their pages are in memory.
 */
#ifndef TOY_H
#define TOY_H

#include <stdint.h>

#define TOY_VERSION 1

struct toy_function {
	const char *name, *file;
	uint32_t first_line;
	uint32_t pad;
};

struct toy_frame {
	struct toy_frame *caller; /* NULL: the outermost */
	const struct toy_function *function;
	uint32_t line; /* line being executed; below 1,048,575 */
	uint32_t pad;
};

struct toy_interpreter {
	uint32_t version; /* TOY_VERSION */
	uint32_t pad;
	struct toy_frame *innermost; /* NULL: the program calls nothing */
};

#endif
