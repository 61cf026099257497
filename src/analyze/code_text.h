/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which lines of a source text could have machine code at all: not blank ones,
 * comments, lone brackets and the like. By lexical rules, line by line; what they do
 * not know counts as code.
 */
#ifndef LB_ANALYZE_CODE_TEXT_H
#define LB_ANALYZE_CODE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define CODE_TEXT_MAX_DEFS \
	64 /* nested functions and classes; deeper ones count as these */

struct code_text {
	/* How comments are written: until the line's end, and in blocks; NULL: not so. */
	const char *line_comment, *block_begin, *block_end;
	bool is_python, has_preprocessor;

	/* Where the last line left off. */
	bool in_block;
	char triple; /* in a text within three of these; 0: not */
	bool triple_is_doc; /* it is a statement of its own */
	size_t depth; /* of brackets, Python only */
	struct code_text_def {
		size_t indent; /* columns */
		const char *name; /* borrowed from the text */
		size_t name_len;
	} defs[CODE_TEXT_MAX_DEFS]; /* that hold the line, outermost first; Python only */
	size_t nr_defs;
};

/** @language  as in struct attribution_file */
void code_text_init(struct code_text *t, const char *language);

/** The next line of the text, in order. Could it have code? */
bool code_text_next(struct code_text *t, const char *line);

/** Lines are missing from the text: whatever went on before has ended. */
void code_text_skip(struct code_text *t);

/**
 * Is the line just given a part of @function itself? False when the text tells that
 * it is of a function inside, or of another one (Python; else true). @function may
 * have modules before its name, and types behind.
 */
bool code_text_is_of(const struct code_text *t, const char *function);

#endif
