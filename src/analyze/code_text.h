/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells which lines of a source text can have machine code: not blank lines, comments,
 * lone brackets and the like. Uses lexical rules, line by line; text in unknown
 * languages counts as code.
 */
#ifndef LB_ANALYZE_CODE_TEXT_H
#define LB_ANALYZE_CODE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define CODE_TEXT_MAX_DEFS \
	64 /* nested functions and classes; deeper ones count as the last */

struct code_text {
	/* Delimiters of line comments and block comments; NULL: the language has none. */
	const char *line_comment, *block_begin, *block_end;
	bool is_python, has_preprocessor;

	/* State at the end of the last line. */
	bool in_block;
	char triple; /* inside a string delimited by three of these; 0: not */
	bool triple_is_doc; /* the string is a statement of its own */
	size_t depth; /* open brackets, Python only */
	struct code_text_def {
		size_t indent; /* columns */
		const char *name; /* borrowed from the text */
		size_t name_len;
	} defs[CODE_TEXT_MAX_DEFS]; /* enclosing ones, outermost first; Python only */
	size_t nr_defs;
};

/** @language  as in struct attribution_file */
void code_text_init(struct code_text *t, const char *language);

/** Reads the next line of the text. Return: whether it can have code. */
bool code_text_next(struct code_text *t, const char *line);

/** Resets the state. Call it where lines are missing from the text. */
void code_text_skip(struct code_text *t);

/**
 * Does the last line belong to @function itself? False if it belongs to a nested or
 * another function (Python; else true). @function may have modules before its name and
 * types after it; true if these modules and the name have more than 1 KB.
 */
bool code_text_is_of(const struct code_text *t, const char *function);

#endif
