/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoder side: one line of a perf map. */
#ifndef LB_SYMBOLIZE_JIT_PERFMAP_H
#define LB_SYMBOLIZE_JIT_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perfmap_line {
	uint64_t start, size; /* [start, start + size) */
	const char *name; /* into the line; not terminated */
	size_t name_len; /* > 0 */
};

/** @line without its newline. Return: false when it is not "START SIZE NAME". */
bool perfmap_parse_line(const char *line, size_t len, struct perfmap_line *ret);

#endif
