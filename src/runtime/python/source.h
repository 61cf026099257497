/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds Python functions by their dotted names; compiled code without debug info has
 * nothing else. Searches modules in the folder of the process's script, its working
 * directory, and the site-packages from which it maps files.
 */
#ifndef LB_RUNTIME_PYTHON_SOURCE_H
#define LB_RUNTIME_PYTHON_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/strpool.h"
#include "process/process.h"

struct python_function {
	const char *name; /* "__main__.dither", "package.module.Class.method" */
	const char *file; /* interned if found; else NULL */
	uint32_t line; /* of its def; 0: missing, defined several times, not searched */
};

/* A search for functions of one process, a file at a time. */
struct def_search;

/**
 * @proc       borrowed, with its strings
 * @pool       of the names of files; borrowed
 * @functions  heap, taken on success
 * Return: NULL when out of memory.
 */
struct def_search *def_search_new(const struct process *proc, struct strpool *pool,
				  struct python_function *functions, size_t nr);
void def_search_free(struct def_search *search);

/**
 * Opens the next file that may define a function. Ask a decoder (DECODER_PYTHON_DEFS) for
 * *ret_name in it, and pass its answer to def_search_answer().
 * Cost: a few openat2(2) for most functions. It opens none after 20 ms.
 *
 * @ret_name  borrowed until the next call
 * Return: a descriptor that the caller closes; -EAGAIN: call again; -ENODATA: the search is
 * over.
 */
int def_search_open(struct def_search *search, const char **ret_name);

/**
 * @line     of the def; 0: it is not in the file
 * @took_ns  time of the request. A function has a second: no further file is opened then,
 *           as the target chooses its name, and so how many files may define it
 */
void def_search_answer(struct def_search *search, uint32_t line, uint64_t took_ns);

/**
 * There is no answer: goes on with the next function, as what another file has may not be the
 * one that ran.
 */
void def_search_give_up(struct def_search *search);

/** Is nothing left to search? */
bool def_search_is_over(const struct def_search *search);
/** Returns how many functions had no time for all files that may define them. */
size_t def_search_nr_cut(const struct def_search *search);

/** Returns all functions, in the order of def_search_new(). */
const struct python_function *def_search_functions(const struct def_search *search,
						   size_t *ret_nr);

/**
 * Finds the path of __main__ in the arguments ('\n' after each): "app.py" in "python -u
 * app.py x"; with *@ret_is_module the module of "-m". Return: its length; 0: none (-c,
 * interactive).
 */
size_t python_source_main(const char *command, const char **ret, bool *ret_is_module);

#endif
