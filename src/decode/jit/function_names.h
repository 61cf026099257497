/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readable names for the functions of JIT images, the same ones for the same
 * function wherever it is met: as code of its own, inlined, copied into another
 * image, with other types. A compiler's full debug info has the mangled name of
 * each function; line tables alone have only the last part of what was inlined
 * ("sq"). What other functions of the request tell about the file fills that in
 * ("__main__.sq").
 */
#ifndef LB_DECODE_JIT_FUNCTION_NAMES_H
#define LB_DECODE_JIT_FUNCTION_NAMES_H

#include "base/cleanup.h"
#include "decode/jit/function_lines.h"

/* What is to be said about one function. */
struct function_name {
	const char *symbol; /* of the image's symbol table; "" none */
	bool numba; /* its image is Numba's */
	const char *prange; /* "prange in psum", when it is a body; NULL: not known */
};

struct function_names; /* what was learnt so far */

/** @pool  borrowed. Return: NULL when out of memory. */
struct function_names *function_names_new(struct strpool *pool);
void function_names_free(struct function_names *n);
DEFINE_CLEANUP(struct function_names, function_names_free);

/** Before all function_names_apply(), after the rules of numba/lines.h. 0 or -ENOMEM. */
int function_names_learn(struct function_names *n, const struct line_store *s,
			 const struct function_lines *f,
			 const struct function_name *name);

/** Rewrites the frames of all rows. Once for each function. */
void function_names_apply(const struct function_names *n, struct line_store *s,
			  const struct function_lines *f,
			  const struct function_name *name);

/** The frame of a function that has no lines. */
struct frame function_names_bare(const struct function_names *n,
				 const struct function_name *name);

/** Is @symbol of a kind that only Numba writes? */
bool function_names_is_numba(const char *symbol);

/** The last part of Numba's name in @symbol, "psum" of "__main__.psum"; returns @buf. */
const char *function_names_last_part(const char *symbol, char *buf, size_t size);

#endif
