/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a tool of this system, and reads what it prints. */
#ifndef LB_BASE_TOOL_H
#define LB_BASE_TOOL_H

#include <stdbool.h>
#include <stddef.h>

struct tool {
	const char *const *argv; /* NULL-terminated */
	int timeout_ms;
	size_t max_bytes; /* of its output */
	/*
	 * It gets no capabilities, now and later, and no environment. argv[0] is then a
	 * path, because with PATH the caller would choose what runs with our user's id.
	 */
	bool without_rights;
};

/**
 * Runs it, with nothing on its standard input and without its messages. It is killed after
 * the time; if that does not end it within 0.1 s, it stays a child of this process.
 *
 * @ret  heap: its output; "" if it failed; written only on success
 * Return: 0, -ENOSYS (no such program), -ETIMEDOUT, -EFBIG (more output) or -errno.
 */
int tool_read(const struct tool *t, char **ret);

#endif
