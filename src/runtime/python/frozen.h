/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules that are frozen into CPython ("<frozen posixpath>", 20 of them since 3.11) were
 * compiled from files that are installed with it, line by line the same.
 */
#ifndef LB_RUNTIME_PYTHON_FROZEN_H
#define LB_RUNTIME_PYTHON_FROZEN_H

#include <stddef.h>

struct process;

/**
 * Where the standard library of an interpreter is, by the file that it is mapped from:
 * "/usr/bin/python3.11" and "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0" have it in
 * "/usr/lib/python3.11".
 *
 * @lib  "lib" or "lib64"
 * Return: length of the text in @buf; 0: it is no interpreter's path, or does not fit.
 */
size_t python_frozen_dir(const char *mapped, const char *lib, char *buf, size_t size);

/**
 * "<frozen importlib._bootstrap>" -> "importlib/_bootstrap".
 * Return: its length; 0: no frozen module, or no name of one, or it does not fit.
 */
size_t python_frozen_module(const char *file, char *buf, size_t size);

/**
 * The file in the target that the frozen @file was made from.
 * Return: length of the path in @buf; 0: there is none, or its interpreter was replaced.
 */
size_t python_frozen_find(const struct process *proc, const char *file, char *buf,
			  size_t size);

#endif
