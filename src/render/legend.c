// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/legend.h"

#include "render/figure.h"
#include "render/listing.h"
#include "render/text.h"

/* Printed after what is counted: "CPU". */
static const char *const self_words[] = {
	[CHARGE_LINE] =
		"on the line itself and in what it calls that has no source lines",
	[CHARGE_MINE] = "on the line itself and in the libraries that it calls",
	[CHARGE_LEAF] = "of the line's own instructions, nothing that it calls",
};

/* Returns half the widest 95 % interval: the largest margin of any share. */
static double widest_margin(const struct attribution *a)
{
	double margin = 0;

	for (size_t i = 0; i < a->nr_files; i++)
		for (size_t j = 0; j < a->files[i].nr_lines; j++) {
			const struct attribution_line *line = &a->files[i].lines[j];
			double half = (line->ci95_high - line->ci95_low) / 2;

			margin = half > margin ? half : margin;
		}
	return margin;
}

const char *legend_no_code_sign(const struct render_options *opts)
{
	return opts->utf8 ? "\u00b7" : ".";
}

/* Describes what totals lack: callers missing in incomplete stacks. */
static void describe_limits(char *buf, size_t size, const struct attribution *a)
{
	struct figure share = figure_percent(share_of(a, &a->incomplete_stacks));

	if (*share.text)
		snprintf(
			buf, size,
			"; %s %% of it has an incomplete stack, so totals of callers may "
			"be that much too low",
			share.text);
	else
		buf[0] = '\0';
}

void legend_of_lines(const struct listing *l, bool no_code)
{
	const struct attribution *a = l->in->attribution;
	double margin = widest_margin(a);
	char certainty[64] = "", limits[128];

	/* With few samples the head has already explained it, and better. */
	if (counts_samples(a) && a->all.samples >= RENDER_FEW_SAMPLES && margin > 0)
		snprintf(certainty, sizeof(certainty), "; good to +-%.1f points",
			 100 * margin);
	describe_limits(limits, sizeof(limits), a);
	fputc('\n', l->out);
	paint_begin(l, PAINT_DIM);
	listing_sentence(l, 0, 7, "self:  %s %s%s", counted_name(a),
			 self_words[a->options.charge], certainty);
	listing_sentence(l, 0, 7, "total: %s while the line is anywhere on the stack%s",
			 counted_name(a), limits);
	if (no_code)
		listing_sentence(
			l, 0, 7,
			"%s      no machine code of its own: a declaration, optimised "
			"away, or merged into another line; that is not 0 %%",
			legend_no_code_sign(l->opts));
	paint_end(l, PAINT_DIM);
}

void legend_of_functions(const struct listing *l)
{
	const struct attribution *a = l->in->attribution;
	char limits[128];

	describe_limits(limits, sizeof(limits), a);
	fputc('\n', l->out);
	paint_begin(l, PAINT_DIM);
	listing_sentence(l, 0, 7, "self:  %s in the function itself%s", counted_name(a),
			 a->options.kernel ? "" : " and in the kernel on its behalf");
	listing_sentence(l, 0, 7,
			 "total: %s while the function is anywhere on the stack%s",
			 counted_name(a), limits);
	paint_end(l, PAINT_DIM);
	fputc('\n', l->out);
}
