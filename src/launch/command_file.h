/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the file that a command executes. */
#ifndef LB_LAUNCH_COMMAND_FILE_H
#define LB_LAUNCH_COMMAND_FILE_H

/**
 * Opens the file that execvp(3) would execute for @name with the PATH of this process;
 * of a script (execve(2), "Interpreter scripts") its interpreter, also one that env(1)
 * looks for. What it says holds until somebody replaces the file. Nothing but a regular
 * file is opened.
 *
 * Return: a descriptor for reading, or -errno: -ENOENT there is no such command, -EACCES
 * it cannot be executed or not read, -ELOOP interpreters that are scripts themselves, too
 * many of them.
 */
int command_file_open(const char *name);

#endif
