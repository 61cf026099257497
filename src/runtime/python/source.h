/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds Python functions by their dotted names, the only names of compiled code without
 * debug info. Searches modules in the folder of the process's script, its working
 * directory, and the site-packages that it maps files from.
 */
#ifndef LB_RUNTIME_PYTHON_SOURCE_H
#define LB_RUNTIME_PYTHON_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strpool.h"
#include "process/process.h"
#include "worker/worker.h"

struct python_function {
	const char *name; /* "__main__.dither", "package.module.Class.method" */
	const char *file; /* interned if found; else NULL */
	uint32_t line; /* of its def; 0: not found */
};

/**
 * Sets file and line of the first functions; none if one is missing or defined several
 * times. Searches for 20 ms, and for at least one function: some milliseconds mostly, and
 * never longer than 2 s.
 * Cost: a few openat2(2) and one call of @decoder per function.
 *
 * @budget_ns  time for this and later calls; when it is used up, the rest is not
 *             searched. The target chooses the names, so their number is unlimited.
 * Return: how many functions are done; call it again for the others.
 */
size_t python_source_find(const struct process *proc, struct worker *decoder,
			  struct strpool *pool, struct python_function *functions,
			  size_t nr, int64_t *budget_ns);

/**
 * Finds the path of __main__ in the arguments ('\n' after each): "app.py" of "python -u
 * app.py x"; with *@ret_is_module the module of "-m". Return: its length; 0: none (-c,
 * interactive).
 */
size_t python_source_main(const char *command, const char **ret, bool *ret_is_module);

#endif
