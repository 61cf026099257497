/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the line of the user's source for JIT code where the line table alone does not
 * give it. The rules, and why:
 *
 * 1. Line 0 (merged or moved code) goes to the call that it was inlined by, else to
 *    the line before it in the same function, never to a line of another function.
 * 2. Numba writes functions itself, in files <string> and <dynamic>: array
 *    expressions, wrappers. They go to the line that they were inlined into.
 * 3. The body of a prange is such a function too, with line numbers of three kinds:
 *    those of the user's file for what the user wrote; those of its own text (1, 2,
 *    3 ...) for the loop around it; and those of Numba's own files where a reduction
 *    as np.sum was inserted. The function that contains the prange (the parent) gives
 *    the file and the place; the loop goes to the line of the prange.
 *
 * Uncertain code gets no line.
 */
#ifndef LB_DECODE_NUMBA_LINES_H
#define LB_DECODE_NUMBA_LINES_H

#include "decode/jit/function_lines.h"

/**
 * Rule 1. First, once for each function.
 * @numba  all of a function of Numba's is in one file
 */
void numba_lines_settle(struct line_store *s, const struct function_lines *f, bool numba);

/**
 * Rule 3, of a function that numba_name_parfor() knows.
 *
 * @parent  settled
 * @symbol  of @body
 * @name    what it is called then: "prange in psum"; interned
 * Return: 0 or -ENOMEM.
 */
int numba_lines_prange(struct line_store *s, const struct function_lines *body,
		       const struct function_lines *parent, const char *symbol,
		       const char *name);

/**
 * Rule 2. After rule 3, for the frames that are left.
 * @symbol  of @f: line tables alone have no name for it
 */
void numba_lines_drop_generated(struct line_store *s, const struct function_lines *f,
				const char *symbol);

#endif
