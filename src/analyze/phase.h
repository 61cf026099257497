/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Separates what a Python program does before its own work: importing modules and
 * compiling by Numba. Uses only each sample's stack, so it works on any profile file,
 * including those of other tools.
 *
 * The innermost frame of either phase decides: compiling a function during an import is
 * compilation; an import by the compiler is import.
 *
 * Import: a frame of importlib's bootstrap (CPython: Lib/importlib/_bootstrap.py and
 * _bootstrap_external.py, frozen into the interpreter), which is on the stack during
 * every import, and while the imported module's code runs.
 *
 * Compilation: a Python frame in a file of the package numba whose function is called
 * compile..., _compile... or build_..., or that holds the compiler's lock
 * (numba/core/compiler_lock.py). LLVM and the loading of cached code run below it.
 * Calls of compiled functions bypass these frames: they are C (numba/_dispatcher.cpp).
 * If the walk ended before any Python frame, code of llvmlite's library is compilation.
 */
#ifndef LB_ANALYZE_PHASE_H
#define LB_ANALYZE_PHASE_H

#include "analyze/attribution.h"

enum phase {
	PHASE_REST, /* the program itself */
	PHASE_IMPORT,
	PHASE_NUMBA_COMPILE,
	NR_PHASES,
};

/* Stable names, for JSON: "rest", "import", "numba_compile". */
extern const char *const phase_names[NR_PHASES];

/* For people: "the program itself", "import", "Numba compilation". */
extern const char *const phase_words[NR_PHASES];

struct phases {
	struct weight of[NR_PHASES];
	/*
	 * The profile has only samples of PHASE_REST, because the others were dropped.
	 */
	bool left_out;
};

/**
 * Splits the samples of @p.
 *
 * @leave_out  drops those of import and compilation; @p is then read-only
 * Return: 0, or -ENOMEM with @p unchanged.
 */
int phases_of(struct profile *p, bool leave_out, struct phases *ret);

/** Sets @ret, one for each sample of @p, to its enum phase. Return: 0 or -ENOMEM. */
int phases_of_samples(const struct profile *p, uint8_t *ret);

/** Are there any samples of import or compilation? */
bool phases_are_split(const struct phases *phases);

#endif
