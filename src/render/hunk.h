/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selects the lines of a file to show: hot lines with context, as runs without gaps
 * ("hunks"). Pure; prints nothing.
 */
#ifndef LB_RENDER_HUNK_H
#define LB_RENDER_HUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/render.h"

struct hunks {
	const struct attribution *attribution;
	const struct attribution_file *file;
	double min_share;
	uint64_t context; /* 0 without source text */
	bool by_self; /* a line is hot by its self alone; initially false */
	size_t next_hot; /* index of the next line that may start a hunk */
	size_t next_line; /* index of the first line after the last hunk's start */
};

struct hunk {
	const struct attribution_file *file;
	uint64_t first, last; /* line numbers, inclusive */
	uint64_t first_hot; /* line number */
	const char *function; /* of that line; "" */
	uint32_t function_line; /* its first line; 0: unknown */
	uint64_t next_number; /* cursor of hunk_next_row() */
	size_t next_line; /* same, index into file->lines */
};

struct hunk_row {
	uint32_t number;
	const struct attribution_line *line; /* NULL: it has no figures */
	const char *text; /* NULL: not available; at least one of both is set */
};

struct hunks hunks_of(const struct attribution *a, const struct attribution_file *f,
		      const struct render_options *opts);

/** Returns the next hunk in order of line numbers. Return: false if there is none. */
bool hunks_next(struct hunks *hunks, struct hunk *ret);

/**
 * Returns the hunk's next row; skips lines with neither figures nor text. Return: false
 * at the end.
 */
bool hunk_next_row(struct hunk *hunk, struct hunk_row *ret);

/**
 * Does the text up to the first hot line contain the function's bare name, so that its
 * declaration is most likely shown?
 */
bool hunk_shows_function(const struct hunk *hunk);

/**
 * Returns the line of the declaration above the hunk (Python's "def", after any
 * decorators); 0: it is in the hunk, has no text, or is unknown.
 */
uint32_t hunk_declaration(const struct hunk *hunk);

#endif
