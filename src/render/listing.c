// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/listing.h"

#include <stdarg.h>

#include "base/cleanup.h"
#include "render/figure.h"
#include "render/text.h"

double listing_share(const struct listing *l, const struct weight *w)
{
	return share_of(l->in->attribution, w);
}

bool listing_shows(const struct listing *l, const struct weight *w)
{
	double share = listing_share(l, w);

	return share > 0 && share >= l->opts->min_share;
}

void listing_heat(struct listing *l, double share)
{
	l->hottest = share > l->hottest ? share : l->hottest;
}

size_t listing_room(const struct listing *l, size_t column)
{
	if (!l->opts->width)
		return 0;
	return l->opts->width > column + 10 ? l->opts->width - column : 10;
}

void listing_sentence(const struct listing *l, unsigned int first, unsigned int next,
		      const char *fmt, ...)
{
	const struct text_margins margins = {l->opts->width, first, next};
	char sentence[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
	text_sentence(l->out, &margins, sentence);
}

static const char *const codes[] = {
	[PAINT_PLAIN] = "",
	[PAINT_DIM] = "38;5;244",
	[PAINT_BOLD] = "1",
	[PAINT_NAME] = "38;5;67",
	[PAINT_WARNING] = "38;5;172",
	/* From blue to orange, which differ for every kind of colour blindness. */
	[PAINT_HEAT_1] = "38;5;67",
	[PAINT_HEAT_2] = "38;5;103",
	[PAINT_HEAT_3] = "38;5;137",
	[PAINT_HEAT_4] = "38;5;172",
	[PAINT_HEAT_5] = "1;38;5;208",
};
_Static_assert(ARRAY_SIZE(codes) == NR_PAINTS, "one code per paint");

void paint_begin(const struct listing *l, enum paint paint)
{
	if (l->opts->colour && paint != PAINT_PLAIN)
		fprintf(l->out, "\033[%sm", codes[paint]);
}

void paint_end(const struct listing *l, enum paint paint)
{
	if (l->opts->colour && paint != PAINT_PLAIN)
		fputs("\033[0m", l->out);
}

void paint_print(const struct listing *l, enum paint paint, const char *fmt, ...)
{
	va_list args;

	paint_begin(l, paint);
	va_start(args, fmt);
	vfprintf(l->out, fmt, args);
	va_end(args);
	paint_end(l, paint);
}

size_t paint_cell(const struct listing *l, enum paint paint, const char *s, size_t max)
{
	size_t columns;

	paint_begin(l, paint);
	columns = text_cell(l->out, s, max);
	paint_end(l, paint);
	return columns;
}

enum paint paint_heat(const struct listing *l, double share)
{
	unsigned int heat = figure_heat(share, l->hottest);

	return heat ? (enum paint)(PAINT_HEAT_1 + heat - 1) : PAINT_PLAIN;
}

/* ---- bars ---- */

#define BAR_COLUMNS 12 /* half of it on a screen below WIDE, none below NARROW */
#define WIDE        100
#define NARROW      60

size_t listing_bar_columns(const struct listing *l)
{
	unsigned int width = l->opts->width;

	if (!width || width >= WIDE)
		return BAR_COLUMNS;
	return width >= NARROW ? BAR_COLUMNS / 2 : 0;
}

void listing_bar(const struct listing *l, enum paint heat, size_t columns, double share)
{
	static const char *const eighths[] = {"",       "\u258f", "\u258e", "\u258d",
					      "\u258c", "\u258b", "\u258a", "\u2589"};
	double part = l->hottest > 0 ? share / l->hottest : 0;
	size_t parts = (size_t)(part * (double)columns * 8 + 0.5), full = parts / 8;

	if (!columns)
		return;
	if (!l->opts->utf8) {
		full = (parts + 4) / 8;
		parts = full * 8;
	}
	paint_begin(l, heat);
	for (size_t i = 0; i < full; i++)
		fputs(l->opts->utf8 ? "\u2588" : "#", l->out);
	fputs(eighths[parts % 8], l->out);
	paint_end(l, heat);
	text_spaces(l->out, columns + 2 - full - (parts % 8 > 0));
}
