/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Python code that gives Numba's functions line tables (python/): where it is,
 * how a started command gets it, and how a virtual environment gets a copy.
 */
#ifndef LB_LAUNCH_PYTHON_HOOK_H
#define LB_LAUNCH_PYTHON_HOOK_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

enum python_hook_action {
	PYTHON_HOOK_NONE,
	PYTHON_HOOK_INSTALL,
	PYTHON_HOOK_REMOVE,
	PYTHON_HOOK_PATH,
};

/**
 * The folder python/: beside the executable (where it was built), above it (built
 * with SAN or DEBUG), or in ../share/lineburn (installed).
 *
 * @ret  absolute, set on success
 * Return: 0, or -ENOENT with a sentence.
 */
int python_hook_find(char ret[PATH_MAX], struct error *err);

/**
 * Changes our environment, for a command that is about to be executed by us, as who
 * we are: PYTHONPATH starts with the hook's folder, and LINEBURN_PYTHON_HOOK is "run".
 * Where the hook is not there, or cannot be read, PYTHONPATH stays as it is, and one
 * warning says so if @command is a Python (else only -v does).
 *
 * @on  false: LINEBURN_PYTHON_HOOK becomes "off", which also turns installed hooks
 *      off. An "off" that was there stays.
 */
void python_hook_set_environ(bool on, const char *command);

/**
 * Carries out "lineburn python-hook"; prints to stdout what PATH asks for, and what
 * was done to stderr. Files in a prefix are written with the rights of its owner.
 *
 * @prefix     a virtual environment, or another prefix of a Python; NULL for PATH
 * @cache_dir  for INSTALL: where compiled functions are kept; NULL: beside Numba's
 * Return: 0, or a negative errno with a sentence.
 */
int python_hook_run(enum python_hook_action action, const char *prefix,
		    const char *cache_dir, struct error *err);

#endif
