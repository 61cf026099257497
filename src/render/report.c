// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/render.h"

#include <errno.h>
#include <inttypes.h>

#include "render/call_tree.h"
#include "render/figure.h"
#include "render/functions.h"
#include "render/groups.h"
#include "render/legend.h"
#include "render/paint.h"
#include "render/stream.h"
#include "render/text.h"

#define MAX_PROCESSES 10

static void print_processes(const struct render_input *in,
			    const struct render_options *opts, FILE *out)
{
	const struct attribution *a = in->attribution;
	size_t nr = 0;

	if (a->nr_processes < 2)
		return;
	fputc('\n', out);
	paint_begin(out, opts->colour, PAINT_DIM);
	fprintf(out, " self %%      pid  %-16s%s\n", "command", "container or unit");
	paint_end(out, opts->colour, PAINT_DIM);
	for (; nr < a->nr_processes && nr < MAX_PROCESSES; nr++) {
		const struct attribution_process *p = &a->processes[nr];
		double share = share_of(a, &p->self);

		if (nr && share < opts->min_share)
			break;
		fprintf(out, "%7s  %7" PRIu32 "  ", figure_percent(share).text, p->pid);
		text_spaces(out, 16 - text_cell(out, p->comm, 15));
		text_cell(out, *p->container ? p->container : p->unit,
			  opts->width > 60 ? opts->width - 34 : 0);
		fputc('\n', out);
	}
	if (nr < a->nr_processes) {
		paint_begin(out, opts->colour, PAINT_DIM);
		fprintf(out, "                  and %s not shown\n",
			figure_count(a->nr_processes - nr, "more process",
				     "more processes")
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
	return stream_finish(out);
}
