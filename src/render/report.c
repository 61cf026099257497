// SPDX-License-Identifier: GPL-2.0-or-later
/*
 *  self %  total %  samples  function    object        where
 *    61.2     98.3     3067  dither_row  dither        /home/me/dither.c:41
 *    30.1     30.1     1508  sgemm_kern  libblas.so.3
 */
#include "render/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "render/call_tree.h"
#include "render/figure.h"
#include "render/groups.h"
#include "render/legend.h"
#include "render/paint.h"
#include "render/text.h"

#define FIGURES_COLUMNS 28 /* of the three figures and the gaps around them */
#define MIN_WHERE       16

static const char *function_name(const struct attribution_function *f)
{
	return *f->name ? f->name : "[no name]";
}

static bool is_shown(const struct render_input *in, const struct render_options *opts,
		     const struct attribution_function *f)
{
	double self = share_of(in->attribution, &f->self);
	double total = share_of(in->attribution, &f->total);

	/* The interpreter is on every Python stack, which says nothing. */
	if (f->is_runtime && self <= 0)
		return false;
	return total > 0 && (self >= opts->min_share || total >= opts->min_share);
}

struct function_widths {
	size_t function, object, where; /* where: 0 for no limit */
};

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static struct function_widths measure(const struct render_input *in,
				      const struct render_options *opts, size_t max_rows)
{
	const struct attribution *a = in->attribution;
	struct function_widths w = {strlen("function"), strlen("object"), 0};
	size_t room, rows = 0;

	for (size_t i = 0; i < a->nr_functions && rows < max_rows; i++) {
		const struct attribution_function *f = &a->functions[i];
		size_t function, object;

		if (!is_shown(in, opts, f))
			continue;
		rows++;
		function = text_columns(function_name(f), 60);
		object = text_columns(f->object, 24);
		w.function = function > w.function ? function : w.function;
		w.object = object > w.object ? object : w.object;
	}
	w.function = smaller(w.function, 60);
	w.object = smaller(w.object, 24);
	if (!opts->width)
		return w;

	room = opts->width > FIGURES_COLUMNS + 44 ? opts->width - FIGURES_COLUMNS : 44;
	w.object = smaller(w.object, room / 3);
	w.function = smaller(w.function, room - w.object - 4 - MIN_WHERE);
	w.where = room - w.object - w.function - 4;
	return w;
}

static void print_row(const struct render_input *in, const struct render_options *opts,
		      const struct function_widths *w,
		      const struct attribution_function *f, double hottest, FILE *out)
{
	const struct attribution *a = in->attribution;
	double self = share_of(a, &f->self);
	enum paint heat = paint_heat(self, hottest);
	size_t object_columns;

	paint_begin(out, opts->colour, heat);
	fprintf(out, "%7s", figure_percent(self).text);
	paint_end(out, opts->colour, heat);
	fprintf(out, "  %7s  ", figure_percent(share_of(a, &f->total)).text);
	if (f->self.samples)
		fprintf(out, "%7" PRIu64, f->self.samples);
	else
		text_spaces(out, 7);
	text_spaces(out, 2);
	text_spaces(out, w->function - text_cell(out, function_name(f), w->function));
	text_spaces(out, 2);
	object_columns = text_cell(out, f->object, w->object);
	if (*f->file) {
		char where[4400];

		text_spaces(out, w->object - object_columns);
		snprintf(where, sizeof(where), f->start_line ? "%s:%u" : "%s", f->file,
			 f->start_line);
		text_spaces(out, 2);
		paint_begin(out, opts->colour, PAINT_DIM);
		text_cell_tail(out, where, w->where);
		paint_end(out, opts->colour, PAINT_DIM);
	}
	fputc('\n', out);
}

void functions_table(const struct render_input *in, const struct render_options *opts,
		     size_t max_rows, FILE *out)
{
	const struct attribution *a = in->attribution;
	size_t limit = max_rows ? max_rows : a->nr_functions;
	struct function_widths w = measure(in, opts, limit);
	struct weight left_out = {0};
	size_t shown = 0, nr_left_out = 0;
	double hottest = 0;

	for (size_t i = 0; i < a->nr_functions; i++) {
		double self = share_of(a, &a->functions[i].self);

		hottest = self > hottest ? self : hottest;
	}
	paint_begin(out, opts->colour, PAINT_DIM);
	fprintf(out, " self %%  total %%  samples  %-*s  %-*s  where\n", (int)w.function,
		"function", (int)w.object, "object");
	paint_end(out, opts->colour, PAINT_DIM);
	for (size_t i = 0; i < a->nr_functions; i++) {
		const struct attribution_function *f = &a->functions[i];

		if (shown < limit && is_shown(in, opts, f)) {
			print_row(in, opts, &w, f, hottest, out);
			shown++;
			continue;
		}
		nr_left_out++;
		weight_add(&left_out, f->self);
	}
	if (nr_left_out) {
		paint_begin(out, opts->colour, PAINT_DIM);
		fprintf(out, "%7s           and %s not shown\n",
			figure_percent(share_of(a, &left_out)).text,
			figure_count(nr_left_out, "more function", "more functions")
				.text);
		paint_end(out, opts->colour, PAINT_DIM);
	}
}

/* ---- processes ---- */

#define MAX_PROCESSES 10

static void print_processes(const struct render_input *in,
			    const struct render_options *opts, FILE *out)
{
	const struct groups *processes = in->processes;
	size_t nr = 0;

	if (!processes || processes->nr < 2)
		return;
	fputc('\n', out);
	paint_begin(out, opts->colour, PAINT_DIM);
	fprintf(out, " self %%      pid  %-16s%s\n", "command", "container or unit");
	paint_end(out, opts->colour, PAINT_DIM);
	for (; nr < processes->nr && nr < MAX_PROCESSES; nr++) {
		const struct group *p = &processes->items[nr];
		const char *container = p->text[OWNER_CONTAINER];
		double share = share_of(in->attribution, &p->self);

		if (nr && share < opts->min_share)
			break;
		fprintf(out, "%7s  %7" PRIu32 "  ", figure_percent(share).text, p->pid);
		text_spaces(out, 16 - text_cell(out, p->text[OWNER_COMM], 15));
		text_cell(out, *container ? container : p->text[OWNER_UNIT],
			  opts->width > 60 ? opts->width - 34 : 0);
		fputc('\n', out);
	}
	if (nr < processes->nr) {
		paint_begin(out, opts->colour, PAINT_DIM);
		fprintf(out, "                  and %s not shown\n",
			figure_count(processes->nr - nr, "more process", "more processes")
				.text);
		paint_end(out, opts->colour, PAINT_DIM);
	}
}

int render_report(const struct render_input *in, const struct render_options *opts,
		  FILE *out)
{
	const struct attribution *a = in->attribution;
	bool is_empty = !a->all.samples && !a->all.cpu_ns;

	render_head(in, opts, out);
	if (!is_empty && in->call_tree) {
		call_tree_print(in, opts, out);
	} else if (!is_empty && in->groups) {
		groups_table(in, opts, out);
	} else if (!is_empty) {
		legend_of_functions(in, opts, out);
		functions_table(in, opts, opts->max_rows, out);
		print_processes(in, opts, out);
	}
	render_misses(in, opts, out);
	return render_finish(out);
}
