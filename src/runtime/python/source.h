/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds Python functions by their dotted names: what compiled code without debug
 * info is called. Modules are looked for where the process has them: beside its
 * script, in its working directory, and in the site-packages that it maps from.
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
	const char *file; /* found: interned; else NULL */
	uint32_t line; /* of its def; 0: not found */
};

/**
 * Fills in file and line of each. What is not there, or defined several times, has
 * none. Cost: up to some openat2(2) and one call of @decoder a function.
 *
 * @budget_ns  time for this and later calls; what is left when it is used up is not
 *             looked for. Names come from the target: there may be no end of them.
 */
void python_source_find(const struct process *proc, struct worker *decoder,
			struct strpool *pool, struct python_function *functions,
			size_t nr, int64_t *budget_ns);

/**
 * The path in the arguments that is __main__ ('\n' behind each): "app.py" of
 * "python -u app.py x"; with *@ret_is_module the module of "-m". Return: length, 0
 * when there is none (-c, interactive).
 */
size_t python_source_main(const char *command, const char **ret, bool *ret_is_module);

#endif
