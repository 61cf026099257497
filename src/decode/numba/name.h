/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of Numba's functions. Numba mangles them in a scheme of its own that looks
 * like the Itanium C++ ABI's (numba/core/itanium_mangler.py, 0.55 to 0.68):
 *
 *   _ZN8__main__6ditherB2v4B54c8tJTC...E5ArrayIhLi2E1C7mutable7alignedE
 *        module, name    uid flags       types of the arguments
 *
 * Characters other than [A-Za-z0-9_] are "_" and two hex digits each, of UTF-8; "_"
 * itself is not escaped, so a name is taken as it stands where that could be meant.
 */
#ifndef LB_DECODE_NUMBA_NAME_H
#define LB_DECODE_NUMBA_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* In the names of all that is generated for the body of a prange; a number follows. */
#define NUMBA_PARFOR   "__numba_parfor_gufunc_"

#define NUMBA_NAME_MAX 1024 /* bytes of a readable name, with its NUL; longer are cut */

/* Role of a symbol, relative to the function that it is named after. */
enum numba_role {
	NUMBA_FUNCTION,
	NUMBA_FROM_PYTHON, /* takes Python's arguments apart, then calls it */
	NUMBA_FROM_C, /* the same for C's convention: @cfunc */
	NUMBA_UFUNC, /* loop of @vectorize */
	NUMBA_GUFUNC, /* loop of @guvectorize, and of a prange */
	NUMBA_FINALIZER, /* of a generator */
};

struct numba_name {
	enum numba_role role;
	bool certain; /* only Numba writes such a symbol */
	/* What is in the angle brackets of the example: module and name with dots. */
	char path[NUMBA_NAME_MAX];
	const char *types; /* into the symbol: the types of the arguments */
};

/** Return: false when @symbol cannot be one of Numba's; then @ret is undefined. */
bool numba_name_parse(const char *symbol, struct numba_name *ret);

/** "__main__.dither", "__main__.dither (call from Python)"; cut at @size. Returns @buf. */
const char *numba_name_text(const struct numba_name *name, char *buf, size_t size);

/**
 * "(array(uint8, 2d, C))": the types of the specialisation, as Numba prints them
 * where that is known. Returns @buf; "" when they cannot be read off @symbol.
 */
const char *numba_name_types(const char *symbol, char *buf, size_t size);

/** How many arguments @symbol takes; -1 when that cannot be read off. */
int numba_name_nr_args(const char *symbol);

/**
 * The part of @symbol that names the body of a prange, for all that was generated
 * for it (the function, its wrappers, its loop); NULL when it is none. Two objects
 * belong together when these texts are equal.
 */
const char *numba_name_parfor(const char *symbol);

/** Returns whether Numba generated the function, so that its lines are in no source. */
bool numba_name_is_generated(const char *function);

/**
 * Writes the name of such a function: @prange, "array expression", "wrapper of round".
 * Returns @buf.
 */
const char *numba_name_generated(const char *function, const char *prange, char *buf,
				 size_t size);

#endif
