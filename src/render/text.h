/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text for a terminal or a pipe: escaped (base/escape.h), measured in display columns,
 * cut or wrapped at a width. Widths are those of a monospaced font: East Asian wide
 * characters and emoji take 2 columns, combining marks 0.
 */
#ifndef LB_RENDER_TEXT_H
#define LB_RENDER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* columns; with 8, deeply nested code would not fit the screen */
#define TEXT_TAB 4
/* of one cell if no width is set, because code may be minified */
#define TEXT_MAX_COLUMNS 500

/**
 * Returns the columns of @s once escaped and with tabs expanded; counts up to @max + 1.
 */
size_t text_columns(const char *s, size_t max);

/**
 * Prints @s in at most @max columns (0: TEXT_MAX_COLUMNS); cuts longer text and ends it
 * in ">". Return: columns printed.
 */
size_t text_cell(FILE *out, const char *s, size_t max);

/** The same, but cuts the beginning and starts with "...": for paths. */
size_t text_cell_tail(FILE *out, const char *s, size_t max);

/**
 * Shortens @s, which has room for @size bytes, to @max columns (at least 3) and ends it
 * in "...", if it is longer. Tabs count as TEXT_TAB. Return: is it shorter now?
 */
bool text_cut(char *s, size_t size, size_t max);

void text_spaces(FILE *out, size_t nr);

/* Where a sentence begins and ends. */
struct text_margins {
	unsigned int width; /* 0: no wrapping */
	unsigned int first, next; /* columns of indentation, first line and others */
};

/**
 * Prints one sentence, wrapped at spaces, and ends the line. Overwrites @sentence. It
 * escapes names in the sentence, including newlines, so callers need not.
 */
void text_sentence(FILE *out, const struct text_margins *margins, char *sentence);

#endif
