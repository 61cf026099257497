/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output, options and common layout of a text listing. */
#ifndef LB_RENDER_LISTING_H
#define LB_RENDER_LISTING_H

#include <stdbool.h>
#include <stdio.h>

#include "render/render.h"

struct hot_line;

struct listing {
	const struct render_input *in;
	const struct render_options *opts;
	FILE *out;
	double hottest; /* the share that gets the hottest colour, 0..1 */
	int digits; /* of line numbers or addresses */
	bool shows_kernel; /* functions of the kernel are listed */
	bool shows_own; /* a file of the user's own program has its source listed */
};

/** Returns the share of the whole profile, 0..1. */
double listing_share(const struct listing *l, const struct weight *w);

/** Is it nonzero and at least opts->min_share of the whole profile? */
bool listing_shows(const struct listing *l, const struct weight *w);

/** Updates the hottest share. */
void listing_heat(struct listing *l, double share);

/** Returns the columns from @column to the right edge, for text_cell(); 0: no limit. */
size_t listing_room(const struct listing *l, size_t column);

/** text_sentence() with margins of @first and @next columns, cut at 4095 bytes. */
__attribute__((format(printf, 4, 5))) void listing_sentence(const struct listing *l,
							    unsigned int first,
							    unsigned int next,
							    const char *fmt, ...);

/*
 * Colours of a 256-colour terminal, of medium brightness for dark and light
 * backgrounds. They only repeat the figures.
 */
enum paint {
	PAINT_PLAIN,
	PAINT_DIM, /* context, line numbers, legends */
	PAINT_BOLD, /* paths, headings */
	PAINT_NAME, /* functions outside source text */
	PAINT_WARNING,
	PAINT_HEAT_1,
	PAINT_HEAT_2,
	PAINT_HEAT_3,
	PAINT_HEAT_4,
	PAINT_HEAT_5, /* the hottest */
	NR_PAINTS,
};

/** Both print nothing if colours are off or for PAINT_PLAIN. */
void paint_begin(const struct listing *l, enum paint paint);
void paint_end(const struct listing *l, enum paint paint);

/** Prints in one colour. */
__attribute__((format(printf, 3, 4))) void paint_print(const struct listing *l,
						       enum paint paint, const char *fmt,
						       ...);

/** text_cell() in one colour. */
size_t paint_cell(const struct listing *l, enum paint paint, const char *s, size_t max);

/** Returns the colour of @share. */
enum paint paint_heat(const struct listing *l, double share);

/** Returns the columns of bars on this screen; 0: there is no room. */
size_t listing_bar_columns(const struct listing *l);

/**
 * Prints a bar of @columns (0: nothing) for the hottest share, and two spaces; to an
 * eighth of a column if the terminal can.
 */
void listing_bar(const struct listing *l, enum paint heat, size_t columns, double share);

/* ---- parts of listings ---- */

/**
 * Prints the head: what was sampled, where, and the caution or the phases, if any. Three
 * lines, if the terminal is wide enough.
 */
void render_head(const struct listing *l);

/** Prints how many samples have lines, losses, and what did not fit the head. */
void render_samples(const struct listing *l);

/**
 * Explains the columns of annotate: "self: CPU on the line itself ...; good to +-1.3
 * points".
 * @no_code  the listing marks lines without code
 */
void legend_of_lines(const struct listing *l, bool no_code);

/**
 * Prints the table "Where the CPU goes": the first of @lines, which hot_lines_of()
 * returned. Prints nothing if none has self.
 */
void hot_lines_table(const struct listing *l, const struct hot_line *lines, size_t nr);

/** Returns the sign that replaces the figure of a line without code: one column. */
const char *legend_no_code_sign(const struct render_options *opts);

/** Explains the columns of tables of functions. */
void legend_of_functions(const struct listing *l);

/**
 * Prints at most @max_rows (0: all) functions with at least opts->min_share, within
 * opts->limit.
 */
void functions_table(struct listing *l, size_t max_rows);

/**
 * Prints the groups with at least opts->min_share, within opts->limit, and the sum of
 * the others.
 */
void groups_table(struct listing *l);

/** Prints the tree and what was cut off. in->call_tree must not be NULL. */
void call_tree_print(const struct listing *l);

/** Does functions_table() list functions of the kernel? */
bool functions_show_kernel(const struct listing *l);

/** Prints the closing lines: misses, losses, warnings, each with its remedy. */
void render_misses(const struct listing *l);

#endif
