// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/paint.h"

#include "base/cleanup.h"

static const char *const codes[] = {
	[PAINT_PLAIN] = "",
	[PAINT_DIM] = "38;5;244",
	[PAINT_BOLD] = "1",
	[PAINT_NAME] = "38;5;67",
	[PAINT_WARNING] = "38;5;172",
	[PAINT_HEAT_1] = "38;5;101",
	[PAINT_HEAT_2] = "38;5;136",
	[PAINT_HEAT_3] = "38;5;172",
	[PAINT_HEAT_4] = "1;38;5;202",
	[PAINT_HEAT_5] = "1;38;5;196",
};
_Static_assert(ARRAY_SIZE(codes) == NR_PAINTS, "one code per paint");

void paint_begin(FILE *out, bool colour, enum paint paint)
{
	if (colour && paint != PAINT_PLAIN)
		fprintf(out, "\033[%sm", codes[paint]);
}

void paint_end(FILE *out, bool colour, enum paint paint)
{
	if (colour && paint != PAINT_PLAIN)
		fputs("\033[0m", out);
}

/*
 * Steps grow by about a factor of two: the few hot lines should stand out, and a line of
 * half the hottest one's share is still hot.
 */
enum paint paint_heat(double share, double hottest)
{
	static const double steps[] = {0.04, 0.12, 0.30, 0.65};
	enum paint paint = PAINT_HEAT_1;

	if (share <= 0)
		return PAINT_PLAIN;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (share >= steps[i] * hottest)
			paint = (enum paint)(PAINT_HEAT_2 + i);
	return paint;
}
