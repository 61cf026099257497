/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text for a terminal or a pipe: escaped (base/escape.h), measured in display
 * columns, cut or wrapped at a width. Widths are those of a monospaced font:
 * East Asian wide characters and emoji take 2, combining marks 0.
 */
#ifndef LB_RENDER_TEXT_H
#define LB_RENDER_TEXT_H

#include <stddef.h>
#include <stdio.h>

#define TEXT_TAB         4 /* columns; 8 would push deeply nested code off the screen */
#define TEXT_MAX_COLUMNS 500 /* of one cell if no width is set: code may be minified */

/**
 * Returns the columns of @s once escaped and with tabs expanded; counts up to @max + 1.
 */
size_t text_columns(const char *s, size_t max);

/**
 * Prints @s in at most @max columns (0: TEXT_MAX_COLUMNS); cuts longer text, which then
 * ends in ">". Return: columns printed.
 */
size_t text_cell(FILE *out, const char *s, size_t max);

/** The same, but keeps the end after "...": for paths. */
size_t text_cell_tail(FILE *out, const char *s, size_t max);

void text_spaces(FILE *out, size_t nr);

/* Where a sentence starts and how far it may go. */
struct text_margins {
	unsigned int width; /* 0: no wrapping */
	unsigned int first, next; /* columns of indentation, first line and others */
};

/**
 * Prints one sentence, wrapped at spaces, and ends the line. Overwrites @sentence.
 * Names inside it need no escaping beforehand: a newline in a name stays harmless.
 */
void text_sentence(FILE *out, const struct text_margins *margins, char *sentence);

#endif
