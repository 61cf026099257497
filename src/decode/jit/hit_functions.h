/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of JIT objects that a request hits: finds them by their symbols, adds
 * functions that have missing facts (the one that contains a prange, perhaps of
 * another object), reads each once and names it.
 */
#ifndef LB_DECODE_JIT_HIT_FUNCTIONS_H
#define LB_DECODE_JIT_HIT_FUNCTIONS_H

#include "base/strpool.h"
#include "decode/answer.h"
#include "decode/jit/function_lines.h"
#include "decode/jit/image.h"

/* One registration. */
struct hit_object {
	struct jit_image image; /* when good */
	bool good; /* an ELF file that can be read */
	bool symbols_read, numba;
	bool has_pranges; /* some of its symbols belong to one */
	struct image_symbols symbols; /* when symbols_read */
};

#define HIT_NONE UINT32_MAX

struct hit_function {
	uint32_t object;
	uint32_t parent_object; /* of the body of a prange: what it is in; HIT_NONE */
	uint64_t parent_ip; /* same */
	const char *symbol; /* into the image; "": none covers the address */
	const char *
		prange; /* interned; NULL: no body of a prange, or of which is not known */
	struct function_lines lines;
	int error; /* why it has no rows: -errno of function_lines_read(), or 0 */
};

struct hit_functions {
	struct hit_object *objects; /* borrowed */
	size_t nr_objects;
	struct strpool *pool; /* borrowed */
	struct hit_function *items; /* by object, then address, once read */
	size_t nr, cap;
	struct line_store store;
	struct function_names names;
};

void hit_functions_init(struct hit_functions *h, struct hit_object *objects,
			size_t nr_objects, struct strpool *pool);
/* The symbols of the objects too. */
void hit_functions_deinit(struct hit_functions *h);

/** The function's symbol at @ip in @object, or NULL. Reads symbols when first asked. */
const struct image_symbol *hit_functions_symbol(struct hit_functions *h, uint32_t object,
						uint64_t ip);

/**
 * Adds the function at @ip; an address without a symbol is a function of one byte.
 * Return: 0 or -ENOMEM.
 */
int hit_functions_add(struct hit_functions *h, uint32_t object, uint64_t ip);

/* An address that has an owner. */
struct hit {
	uint32_t object;
	uint64_t ip;
};

/**
 * Reads the lines of all functions added, by the rules of numba/lines.h.
 * @hits  all addresses, by object, then address
 * Return: 0 or -ENOMEM. An object that cannot be read is its functions' error.
 */
int hit_functions_read(struct hit_functions *h, const struct hit *hits, size_t nr);

/** The function that holds @ip; after hit_functions_read(). NULL: none was added. */
const struct hit_function *hit_functions_find(const struct hit_functions *h,
					      uint32_t object, uint64_t ip);

/** Its frame when nothing is known of lines; "" when not even a name. */
struct frame hit_functions_bare(const struct hit_functions *h,
				const struct hit_function *f);

/* ---- their machine code, and which line each part is ---- */

/**
 * Adds the code of @f, if it has lines. Its bytes are those of the image: where they
 * refer to something else (calls, constants) they are not relocated, as they are in
 * the target's memory.
 *
 * Of a function with a prange in it no line is said to have no code: lines of the
 * prange have theirs in another function, which need not have been hit.
 * Return: 0 or -ENOMEM.
 */
int hit_functions_add_code(struct answer_writer *answers, const struct hit_functions *h,
			   const struct hit_function *f);

#endif
