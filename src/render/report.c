// SPDX-License-Identifier: GPL-2.0-or-later
/*
 *  self %  total %                samples  function    object        where
 *    61.2     98.3  ############     3067  dither_row  dither        /home/me/dither.c:41
 *    30.1     30.1  ######           1508  sgemm_kern  libblas.so.3
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "render/figure.h"
#include "render/groups.h"
#include "render/listing.h"
#include "render/text.h"

#define FIGURES_COLUMNS 28 /* columns of the three figures and their gaps */
#define MIN_WHERE       16
#define WIDE            120 /* on a smaller screen a bar has half of its columns, */
#define NARROW          100 /* on one below this none: the texts need the room more */

static const char *function_name(const struct attribution_function *f)
{
	return *f->name ? f->name : "[no name]";
}

static bool is_shown(const struct listing *l, const struct attribution_function *f)
{
	double self = listing_share(l, &f->self);
	double total = listing_share(l, &f->total);

	/* Omit the interpreter, because it is on every Python stack. */
	if (f->is_runtime && self <= 0)
		return false;
	return total > 0 && (self >= l->opts->min_share || total >= l->opts->min_share);
}

struct function_widths {
	size_t bar; /* 0: no room */
	size_t function, object, where; /* where: 0 for no limit */
};

/* With the gap after it. */
static size_t bar_cell(const struct function_widths *w)
{
	return w->bar ? w->bar + 2 : 0;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static struct function_widths measure(const struct listing *l, size_t max_rows)
{
	const struct attribution *a = l->in->attribution;
	struct function_widths w = {.bar = listing_bar_columns(l),
				    .function = strlen("function"),
				    .object = strlen("object")};
	size_t used;
	size_t room, rows = 0;

	for (size_t i = 0; i < a->nr_functions && rows < max_rows; i++) {
		const struct attribution_function *f = &a->functions[i];
		size_t function, object;

		if (!is_shown(l, f))
			continue;
		rows++;
		function = text_columns(function_name(f), 60);
		object = text_columns(f->object, 24);
		w.function = function > w.function ? function : w.function;
		w.object = object > w.object ? object : w.object;
	}
	w.function = smaller(w.function, 60);
	w.object = smaller(w.object, 24);
	if (!l->opts->width)
		return w;

	if (l->opts->width < WIDE)
		w.bar = l->opts->width < NARROW ? 0 : w.bar / 2;
	used = FIGURES_COLUMNS + bar_cell(&w);
	room = l->opts->width > used + 44 ? l->opts->width - used : 44;
	w.object = smaller(w.object, room / 3);
	w.function = smaller(w.function, room - w.object - 4 - MIN_WHERE);
	w.where = room - w.object - w.function - 4;
	return w;
}

static void print_row(const struct listing *l, const struct function_widths *w,
		      const struct attribution_function *f)
{
	double self = listing_share(l, &f->self);
	enum paint heat = paint_heat(l, self);
	size_t object_columns;

	paint_print(l, heat, "%7s", figure_percent(self).text);
	fprintf(l->out, "  %7s  ", figure_percent(listing_share(l, &f->total)).text);
	listing_bar(l, heat, w->bar, self);
	if (f->self.samples)
		fprintf(l->out, "%7s",
			figure_counted(l->in->attribution, f->self.samples).text);
	else
		text_spaces(l->out, 7);
	text_spaces(l->out, 2);
	text_spaces(l->out,
		    w->function - text_cell(l->out, function_name(f), w->function));
	text_spaces(l->out, 2);
	object_columns = text_cell(l->out, f->object, w->object);
	if (*f->file) {
		char where[4400];

		text_spaces(l->out, w->object - object_columns);
		snprintf(where, sizeof(where), f->start_line ? "%s:%u" : "%s", f->file,
			 f->start_line);
		text_spaces(l->out, 2);
		paint_begin(l, PAINT_DIM);
		text_cell_tail(l->out, where, w->where);
		paint_end(l, PAINT_DIM);
	}
	fputc('\n', l->out);
}

void functions_table(struct listing *l, size_t max_rows)
{
	const struct attribution *a = l->in->attribution;
	size_t limit = max_rows ? max_rows : a->nr_functions;
	size_t allowed = l->opts->limit ? smaller(limit, l->opts->limit) : limit;
	struct function_widths w = measure(l, allowed);
	struct weight left_out = {0};
	size_t shown = 0, nr_left_out = 0;

	for (size_t i = 0; i < a->nr_functions; i++)
		listing_heat(l, listing_share(l, &a->functions[i].self));
	paint_print(l, PAINT_DIM, " self %%  total %%  %*s%7s  %-*s  %-*s  where\n",
		    (int)bar_cell(&w), "", counts_time(a) ? "time" : "samples",
		    (int)w.function, "function", (int)w.object, "object");
	for (size_t i = 0; i < a->nr_functions; i++) {
		const struct attribution_function *f = &a->functions[i];

		if (shown < allowed && is_shown(l, f)) {
			print_row(l, &w, f);
			shown++;
			continue;
		}
		nr_left_out++;
		weight_add(&left_out, f->self);
	}
	if (nr_left_out) {
		paint_print(l, PAINT_DIM, "%7s  %*s         and %s not shown\n",
			    figure_percent(listing_share(l, &left_out)).text,
			    (int)bar_cell(&w), "",
			    figure_count(nr_left_out, "more function", "more functions")
				    .text);
	}
}

/* ---- processes ---- */

bool functions_show_kernel(const struct listing *l)
{
	const struct attribution *a = l->in->attribution;

	for (size_t i = 0; i < a->nr_functions; i++)
		if (render_is_kernel(a->functions[i].object) &&
		    is_shown(l, &a->functions[i]))
			return true;
	return false;
}

#define MAX_PROCESSES 10

static void print_processes(const struct listing *l)
{
	const struct groups *processes = l->in->processes;
	size_t nr = 0;

	if (!processes || processes->nr < 2)
		return;
	fputc('\n', l->out);
	paint_print(l, PAINT_DIM, " self %%      pid  %-16s%s\n", "command",
		    "container or unit");
	for (; nr < processes->nr && nr < MAX_PROCESSES; nr++) {
		const struct group *p = &processes->items[nr];
		const char *container = p->text[OWNER_CONTAINER];
		double share = listing_share(l, &p->self);

		if (nr && (share < l->opts->min_share || !render_has_rank(l->opts, nr)))
			break;
		fprintf(l->out, "%7s  %7" PRIu32 "  ", figure_percent(share).text,
			p->pid);
		text_spaces(l->out, 16 - text_cell(l->out, p->text[OWNER_COMM], 15));
		text_cell(l->out, *container ? container : p->text[OWNER_UNIT],
			  l->opts->width > 60 ? l->opts->width - 34 : 0);
		fputc('\n', l->out);
	}
	if (nr < processes->nr) {
		paint_print(
			l, PAINT_DIM, "                  and %s not shown\n",
			figure_count(processes->nr - nr, "more process", "more processes")
				.text);
	}
}

int render_report(const struct render_input *in, const struct render_options *opts,
		  FILE *out)
{
	struct listing l = {.in = in, .opts = opts, .out = out};
	bool is_empty = weight_is_zero(&in->attribution->all);

	render_head(&l);
	if (!is_empty && in->call_tree) {
		call_tree_print(&l);
		l.shows_kernel = in->attribution->options.kernel &&
				 in->attribution->kernel.samples;
	} else if (!is_empty && in->groups) {
		groups_table(&l);
	} else if (!is_empty) {
		fputc('\n', out);
		functions_table(&l, 0);
		l.shows_kernel = functions_show_kernel(&l);
		print_processes(&l);
		legend_of_functions(&l);
	}
	render_misses(&l);
	return render_finish(out);
}
