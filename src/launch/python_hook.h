/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the Python code that gives Numba's functions line tables (python/), passes it
 * to started commands, and installs it in virtual environments.
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
 * Finds the folder python/: next to the executable (in the build folder), above it
 * (built with SAN or DEBUG), or in ../share/lineburn (installed). Takes none whose modules
 * another user could change than root, ours, and the owner of the executable's folder.
 *
 * @ret  absolute, set on success
 * Return: 0, -ENOENT, -EPERM (it is not taken) or another negative errno with a message.
 */
int python_hook_find(char ret[PATH_MAX], struct error *err);

/**
 * Changes our environment for a command that this process will execute as its current
 * user: PYTHONPATH starts with the hook's folder, and LINEBURN_PYTHON_HOOK is "run". If
 * the hook is missing or unreadable, keeps PYTHONPATH and warns once if @command is a
 * Python (else only with -v).
 *
 * @on  false: sets LINEBURN_PYTHON_HOOK to "off", which also disables installed hooks.
 *      If it is "off" already, it stays so.
 */
void python_hook_set_environ(bool on, const char *command);

/**
 * Runs "lineburn python-hook": prints the result of PATH to stdout, and a report of its
 * actions to stderr. Writes files in a prefix with the privileges of its owner.
 *
 * @prefix     a virtual environment, or another prefix of a Python; NULL for PATH
 * @cache_dir  for INSTALL: where compiled functions are cached; NULL: next to Numba's
 * Return: 0, or a negative errno with a message.
 */
int python_hook_run(enum python_hook_action action, const char *prefix,
		    const char *cache_dir, struct error *err);

#endif
