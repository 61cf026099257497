/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a user types to run this program as root. It has the program's whole path: sudo
 * looks in its secure_path (sudoers(5)), which has no virtual environments.
 */
#ifndef LB_BASE_AS_ROOT_H
#define LB_BASE_AS_ROOT_H

#include <stddef.h>

#define AS_ROOT_MAX_BYTES 768

/**
 * The end of a sentence that has another remedy already: ", or run it as root: sudo
 * /home/ann/venv/bin/lineburn run -- ./program 'an argument'", with the arguments of this
 * process. They are cut at "..." if they do not fit.
 * Return: @buf; "" if we are root.
 */
const char *as_root_advice(char *buf, size_t size);

/** Return: @buf: "sudo /home/ann/venv/bin/lineburn"; "sudo lineburn" without /proc. */
const char *as_root_program(char *buf, size_t size);

/* ---- a part, for tests ---- */

/**
 * Appends the words of @cmdline after the first one, quoted for a shell. Each ends with a
 * NUL, also the last one.
 */
void as_root_add_arguments(char *buf, size_t size, const char *cmdline, size_t len);

#endif
