/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which lines of a file are shown: the hot ones, with context around them, as
 * runs without gaps ("hunks"). Pure; no output here.
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
	uint64_t context; /* 0 where the source is not at hand */
	size_t next_hot; /* index of the next line that may start a hunk */
	size_t next_line; /* index of the first line behind the last hunk's start */
};

struct hunk {
	const struct attribution_file *file;
	uint64_t first, last; /* line numbers, inclusive */
	uint64_t first_hot; /* line number */
	const char *function; /* of that line; "" */
	uint32_t function_line; /* where that one begins; 0 not known */
	uint64_t next_number; /* cursor of hunk_next_row() */
	size_t next_line; /* same, index into file->lines */
};

struct hunk_row {
	uint32_t number;
	const struct attribution_line *line; /* NULL: no figures for it */
	const char *text; /* NULL: not at hand; never both NULL */
};

struct hunks hunks_of(const struct attribution *a, const struct attribution_file *f,
		      const struct render_options *opts);

/** Return: false when there is no further hunk. In order of line numbers. */
bool hunks_next(struct hunks *hunks, struct hunk *ret);

/** Return: false at the end. Lines that have neither figures nor text are skipped. */
bool hunk_next_row(struct hunk *hunk, struct hunk_row *ret);

/**
 * True when the text up to the first hot line holds the function's bare name, so
 * that its declaration is most likely in sight.
 */
bool hunk_shows_function(const struct hunk *hunk);

/**
 * Line number of the declaration above the hunk (Python's "def", behind any
 * decorators); 0: it is in the hunk, its text is not at hand, or it is not known.
 */
uint32_t hunk_declaration(const struct hunk *hunk);

#endif
