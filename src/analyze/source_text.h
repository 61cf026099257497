/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A text file as lines. Line numbers are 1-based; "\n" ends a line, "\r\n" too. */
#ifndef LB_ANALYZE_SOURCE_TEXT_H
#define LB_ANALYZE_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source_line {
	const char *text; /* not terminated */
	size_t len; /* without the line's end */
};

/**
 * The next line from *at. Return: false at the end. What follows the last "\n" is
 * a line only when it is not empty.
 */
bool source_line_next(const char **at, const char *end, struct source_line *ret);

uint32_t source_count_lines(const char *text, size_t len);

/** Is it something to show? A NUL means that it is not. */
bool source_is_text(const char *data, size_t len);

/** Bytes that source_line_copy() writes, without the NUL: at most SOURCE_LINE_BYTES. */
size_t source_line_copied_len(const struct source_line *line);

/** Copies the line and a NUL; a long one is cut between characters and ends in "...". */
void source_line_copy(char *to, const struct source_line *line);

#endif
