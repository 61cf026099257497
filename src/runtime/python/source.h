/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds Python functions by their dotted names; compiled code without debug info has
 * nothing else. Searches modules in the folder of the process's script, its working
 * directory, and the site-packages from which it maps files.
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
 * Sets file and line of the first functions; 0 if one is missing or defined several
 * times. Searches for 20 ms, but for at least one function: a few milliseconds usually,
 * 2 s at most.
 * Cost: a few openat2(2) and one call of @decoder per function.
 *
 * @budget_ns  time left for this and later calls; the rest is not searched when it is
 *             used up, because the target chooses the names and can use any number
 * Return: number of functions done; call it again for the others.
 */
size_t python_source_find(const struct process *proc, struct worker *decoder,
			  struct strpool *pool, struct python_function *functions,
			  size_t nr, int64_t *budget_ns);

/**
 * Finds the path of __main__ in the arguments ('\n' after each): "app.py" in "python -u
 * app.py x"; with *@ret_is_module the module of "-m". Return: its length; 0: none (-c,
 * interactive).
 */
size_t python_source_main(const char *command, const char **ret, bool *ret_is_module);

#endif
