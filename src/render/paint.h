/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Colours of a 256-colour terminal, of middle brightness so that they read on dark and
 * light backgrounds. They only repeat the figures.
 */
#ifndef LB_RENDER_PAINT_H
#define LB_RENDER_PAINT_H

#include <stdbool.h>
#include <stdio.h>

enum paint {
	PAINT_PLAIN,
	PAINT_DIM, /* context, line numbers, legends */
	PAINT_BOLD, /* paths, headings */
	PAINT_NAME, /* functions outside source text */
	PAINT_WARNING,
	PAINT_HEAT_1, /* warm */
	PAINT_HEAT_2,
	PAINT_HEAT_3,
	PAINT_HEAT_4,
	PAINT_HEAT_5, /* the hottest */
	NR_PAINTS,
};

/** Both print nothing unless @colour; PAINT_PLAIN never prints anything. */
void paint_begin(FILE *out, bool colour, enum paint paint);
void paint_end(FILE *out, bool colour, enum paint paint);

/**
 * Returns the colour of @share if the hottest line of the listing has @hottest (both
 * 0..1).
 */
enum paint paint_heat(double share, double hottest);

#endif
