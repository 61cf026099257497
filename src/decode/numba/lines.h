/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the line of the user's source for JIT code where the line table alone does not
 * give it. The rules, and why:
 *
 * 1. Code with line 0 (merged or moved) gets the line of the call at which it was
 *    inlined, else the line before it in the same function, never one of another.
 * 2. Numba generates functions (array expressions, wrappers) in files <string> and
 *    <dynamic>. They get the line into which they were inlined.
 * 3. The body of a prange is such a function too. Its line numbers are of three kinds:
 *    those of the user's file for the user's code; those of the generated text (1, 2,
 *    3 ...) for the loop around it; and those of Numba's own files where a reduction
 *    such as np.sum was inserted. The function that contains the prange (the parent)
 *    gives the file and the place; the loop gets the line of the prange.
 *
 * Uncertain code gets no line.
 */
#ifndef LB_DECODE_NUMBA_LINES_H
#define LB_DECODE_NUMBA_LINES_H

#include "decode/jit/function_lines.h"

/**
 * Applies rule 1. Called first, once for each function.
 * @numba  a function of Numba: all of its own lines are in one file
 */
void numba_lines_settle(struct line_store *s, const struct function_lines *f, bool numba);

/* The lines of a function that contains pranges. Zero-initialised: not read yet. */
struct numba_parent {
	const char *file; /* the user's, interned */
	uint32_t decl_line; /* of its def; 0: not in the debug info */
	uint32_t *lines; /* its own in that file, ascending, different; heap */
	size_t nr;
};

/** @f  after numba_lines_settle(). Return: 0 or -ENOMEM. */
int numba_parent_read(struct numba_parent *p, const struct line_store *s,
		      const struct function_lines *f);
void numba_parent_deinit(struct numba_parent *p);

/**
 * Applies rule 3, to a function for which numba_name_parfor() is not NULL.
 *
 * @symbol  of @body
 * @name    new name of the function: "prange in psum"; interned
 * Return: 0 or -ENOMEM.
 */
int numba_lines_prange(struct line_store *s, const struct function_lines *body,
		       const struct numba_parent *parent, const char *symbol,
		       const char *name);

/**
 * Applies rule 2. Called after rule 3, for the remaining frames.
 * @symbol  of @f: without debug info, frames do not have its name
 */
void numba_lines_drop_generated(struct line_store *s, const struct function_lines *f,
				const char *symbol);

#endif
