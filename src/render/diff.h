/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words and figures of a comparison, for its text formats. */
#ifndef LB_RENDER_DIFF_H
#define LB_RENDER_DIFF_H

#include "render/figure.h"
#include "render/render.h"

#define DIFF_WORDS_BYTES 256

/* The unit of all figures of a comparison, so that they can be compared by eye. */
struct diff_unit {
	double scale; /* factor of the values */
	int digits; /* behind the point */
	const char *name; /* "s", "%"; "": events, which diff_measure() names */
	const char *of_differences; /* the same; "points" */
};

struct diff_unit diff_unit_of(const struct profile_diff *d);

/** "4.212", without the unit. */
struct figure diff_value(const struct diff_unit *unit, double value);
/** "+1.091", "-0.300". */
struct figure diff_difference(const struct diff_unit *unit, double value);
/** "+23.4 %"; "new" where there was nothing before. */
struct figure diff_growth(const struct change *c);

/** "CPU of a recording", "CPU of a unit of work", "shares of all CPU". Return: @buf */
const char *diff_measure(const struct profile_diff *d, char buf[DIFF_WORDS_BYTES]);

/** "4.212 s before, 3.121 s after: -1.091 s (-25.9 %), interval -1.2 to -0.9 s" */
const char *diff_words(const struct diff_unit *unit, const struct change *c,
		       char buf[DIFF_WORDS_BYTES]);

/**
 * Returns a sentence, or NULL where the limit does not concern this comparison.
 *
 * @nr_functions  so many of the functions are listed
 */
const char *diff_limit(const struct profile_diff *d, enum render_limit limit,
		       size_t nr_functions);

/* Parts of the text form, of which a page has the sentences, too. */
struct listing;
/** What changed as a whole, what was compared, how sure that is, warnings. */
void diff_print_head(const struct listing *l);
/** What the lines and functions that do not differ are, and how differences are told. */
void diff_print_rest(const struct listing *l);
/** The rules of --fail-if. */
void diff_print_verdicts(const struct listing *l);

/** Returns the line's number in AFTER; in BEFORE if AFTER does not have it. */
uint32_t diff_line_number(const struct diff_line *l);

#endif
