/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of Numba's functions. Numba mangles them in a scheme of its own that looks
 * like the Itanium C++ ABI's (numba/core/itanium_mangler.py, 0.55 to 0.68):
 *
 *   _ZN8__main__6ditherB2v4B54c8tJTC...E5ArrayIhLi2E1C7mutable7alignedE
 *        module, name    uid flags       types of the arguments
 *
 * Characters other than [A-Za-z0-9_] are written as "_" and two hex digits for each
 * byte of UTF-8. "_" itself is not escaped, so an ambiguous "_xx" is left as it is.
 */
#ifndef LB_DECODE_NUMBA_NAME_H
#define LB_DECODE_NUMBA_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Part of the names of all functions generated for a prange; a number follows. */
#define NUMBA_PARFOR   "__numba_parfor_gufunc_"

#define NUMBA_NAME_MAX 1024 /* bytes of a readable name, with NUL; longer: cut */

/* Role of a symbol, relative to the function that it is named after. */
enum numba_role {
	NUMBA_FUNCTION,
	NUMBA_FROM_PYTHON, /* wrapper: unpacks Python arguments, calls the function */
	NUMBA_FROM_C, /* wrapper with C's calling convention: @cfunc */
	NUMBA_UFUNC, /* loop of @vectorize */
	NUMBA_GUFUNC, /* loop of @guvectorize, and of a prange */
	NUMBA_FINALIZER, /* of a generator */
};

struct numba_name {
	enum numba_role role;
	bool certain; /* only Numba generates such symbols */
	/* Module and name with dots: "__main__.dither". */
	char path[NUMBA_NAME_MAX];
	const char *types; /* the types of the arguments; points into the symbol */
};

/** Return: false if @symbol is not a symbol of Numba; then @ret is undefined. */
bool numba_name_parse(const char *symbol, struct numba_name *ret);

/** "__main__.dither", "__main__.dither (call from Python)"; cut at @size. Returns @buf. */
const char *numba_name_text(const struct numba_name *name, char *buf, size_t size);

/**
 * "(array(uint8, 2d, C))": the types of the specialisation, spelled as Numba prints
 * them where possible. Returns @buf; "" if the types in @symbol cannot be parsed.
 */
const char *numba_name_types(const char *symbol, char *buf, size_t size);

/** Number of arguments of @symbol; -1 if their types cannot be parsed. */
int numba_name_nr_args(const char *symbol);

/**
 * Returns the part of @symbol that identifies a prange; NULL if it belongs to none. It
 * is the same for all functions generated for one prange (body, wrappers, loop), so
 * objects with equal parts belong together.
 */
const char *numba_name_parfor(const char *symbol);

/** Returns whether Numba generated the function: its lines are in no source file. */
bool numba_name_is_generated(const char *function);

/**
 * Writes a readable name of a generated function: @prange, "array expression", "wrapper
 * of round". Returns @buf.
 */
const char *numba_name_generated(const char *function, const char *prange, char *buf,
				 size_t size);

#endif
