/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine code of the functions that a request hits, and which line each part is. */
#ifndef LB_DECODE_JIT_HIT_CODES_H
#define LB_DECODE_JIT_HIT_CODES_H

#include "decode/answer.h"
#include "decode/jit/hit_functions.h"

/**
 * Adds the code of @f, if it has lines. Its bytes are those of the image: where they
 * refer to something else (calls, constants) they are not relocated, as they are in
 * the target's memory.
 *
 * Of a function with a prange in it no line is said to have no code: lines of the
 * prange have theirs in another function, which need not have been hit.
 * Return: 0 or -ENOMEM.
 */
int hit_codes_add(struct answer_writer *answers, const struct hit_functions *h,
		  const struct hit_function *f);

#endif
