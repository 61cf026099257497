/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a Python program does before its own work: import modules, and let Numba
 * compile. Told sample by sample from the stack alone, so files that are read back
 * and files of other tools split the same way.
 *
 * The innermost frame that says one of the two decides: a function that is compiled
 * while a module is imported is compilation, a module that the compiler imports when
 * it is first needed is import.
 *
 * Import: a frame of importlib's bootstrap (CPython: Lib/importlib/_bootstrap.py and
 * _bootstrap_external.py, frozen into the interpreter), through which every import
 * goes, with all that a module does while it is imported.
 *
 * Compilation: a frame of Python in a file of the package numba whose function is
 * called compile..., _compile... or build_..., or that holds the compiler's lock
 * (numba/core/compiler_lock.py): what is below has LLVM in it, and loading of what
 * was compiled before. Calls of compiled functions do not go through these: they
 * are C (numba/_dispatcher.cpp). Where the walk of the stack ended before any frame
 * of Python, code of llvmlite's library is compilation.
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

struct phases {
	struct weight of[NR_PHASES];
	/* The profile's samples are only those of PHASE_REST: the others are left out. */
	bool left_out;
};

/** Splits the samples of @p. Return: 0 or -ENOMEM. */
int phases_of(const struct profile *p, struct phases *ret);

/**
 * The same, and drops the samples of import and compilation from @p, which from
 * then on is for reading only. Return: 0, or -ENOMEM with @p unchanged.
 */
int phases_leave_out(struct profile *p, struct phases *ret);

/** Is there anything of import or of compilation? */
bool phases_are_split(const struct phases *phases);

#endif
