/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the sources of modules that are frozen into CPython ("<frozen posixpath>", 20
 * of them since 3.11): CPython installs the same files with equal lines.
 */
#ifndef LB_RUNTIME_PYTHON_FROZEN_H
#define LB_RUNTIME_PYTHON_FROZEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process;

#define PYTHON_FROZEN_INTERPRETERS 16 /* an honest process maps two: Python, libpython */

/* Where the frozen modules of one process are searched. */
struct python_frozen {
	/*
	 * How many places may still be searched, for all files together: a target can
	 * map any number of interpreters and name any number of files.
	 */
	unsigned int places_left;
	/* CLOCK_MONOTONIC: no place is searched after that, as each may be slow */
	uint64_t until_ns;
	size_t next; /* place for the file that was not found in time */
	bool was_cut; /* some places were not searched at all */
	bool is_listed; /* the next members are set */
	unsigned int nr;
	const char *interpreters[PYTHON_FROZEN_INTERPRETERS]; /* mapped paths; interned */
};

/**
 * Derives the standard library's folder from an interpreter's mapped file:
 * "/usr/bin/python3.11" and "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0" give
 * "/usr/lib/python3.11".
 *
 * @lib  "lib" or "lib64"
 * Return: length of the text in @buf; 0: not an interpreter's path, or it does not fit.
 */
size_t python_frozen_dir(const char *mapped, const char *lib, char *buf, size_t size);

/**
 * "<frozen importlib._bootstrap>" -> "importlib/_bootstrap".
 * Return: its length; 0: not a frozen module, or it does not fit.
 */
size_t python_frozen_module(const char *file, char *buf, size_t size);

/**
 * Finds the target's file from which the frozen @file was compiled.
 *
 * @where  begins with places_left and until_ns only; for further files of the same process.
 *         The first one goes through its mappings, which may be many
 * Return: length of the path in @buf; 0: none, or its interpreter was replaced; -EAGAIN:
 * call again for the same file, with another until_ns.
 */
int python_frozen_find(const struct process *proc, struct python_frozen *where,
		       const char *file, char *buf, size_t size);

#endif
