/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Machine code of a function that a JIT registered, with its lines, for an answer. */
#ifndef LB_SYMBOLIZE_JIT_FUNCTION_CODES_H
#define LB_SYMBOLIZE_JIT_FUNCTION_CODES_H

#include "symbolize/answer.h"
#include "symbolize/jit/function_lines.h"

/**
 * Adds the function to @answers as struct code, with its bytes where the image has
 * them. Without rows, over the limits of code.h, or when memory is short, it is left
 * out.
 */
void function_codes_add(struct answer_writer *answers, const struct image *m,
			const struct line_store *s, const struct function_lines *f);

#endif
