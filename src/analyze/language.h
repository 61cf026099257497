/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The language of a source file, told by its name. */
#ifndef LB_ANALYZE_LANGUAGE_H
#define LB_ANALYZE_LANGUAGE_H

#include <stdbool.h>

/**
 * @jit  its hot lines are code that was compiled in memory: Python is then
 *       "numba"
 * Return: "c", "c++", "rust", "go", "python", "numba", "javascript", ... or "".
 */
const char *language_of(const char *path, bool jit);

#endif
