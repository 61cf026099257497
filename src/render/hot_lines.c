// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the CPU goes:
 *  self %  total %                line                 function
 *    34.9     34.9  ############  /home/me/dither.c:26  dither
 *    26.0     26.0  ########      /home/me/dither.c:6   diffuse
 *    11.2                         3 more lines
 *     5.9                         code without a source line (see the end)
 */
#include "analyze/hot_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "render/figure.h"
#include "render/listing.h"
#include "render/text.h"

#define MAX_ROWS     10
#define MAX_WHERE    60
#define MIN_FUNCTION 22
#define FIGURES      18 /* columns of both figures, and the gap after them */

/* Columns of the table; 0 for function: no limit. */
struct columns {
	size_t bar, where, function;
};

static void where_of(const struct hot_line *h, char *buf, size_t size)
{
	snprintf(buf, size, "%s:%" PRIu32, h->file->path, h->line->line);
}

static struct columns measure(const struct listing *l, const struct hot_line *lines,
			      size_t nr)
{
	struct columns c = {.where = strlen("line")};
	size_t room;

	c.bar = listing_bar_columns(l);
	for (size_t i = 0; i < nr; i++) {
		char where[4400];
		size_t columns;

		where_of(&lines[i], where, sizeof(where));
		columns = text_columns(where, TEXT_MAX_COLUMNS);
		c.where = columns > c.where ? columns : c.where;
	}
	if (!l->opts->width) {
		c.where = c.where < MAX_WHERE ? c.where : MAX_WHERE;
		return c;
	}
	room = listing_room(l, FIGURES + (c.bar ? c.bar + 2 : 0));
	if (room > MIN_FUNCTION + 2 + 20 && c.where > room - MIN_FUNCTION - 2)
		c.where = room - MIN_FUNCTION - 2;
	else if (c.where > room)
		c.where = room;
	c.function = room > c.where + 2 ? room - c.where - 2 : 1;
	return c;
}

/* "dither", or "dither, mostly in sgemm_kernel (libblas.so)" */
static void function_of(const struct attribution_line *line, char *buf, size_t size)
{
	const struct attribution_callee *c = line->callees;

	snprintf(buf, size, "%s", *line->function ? line->function : "[no name]");
	if (!line->nr_callees || weight_share(&c->self, &line->self) < 0.5)
		return;
	text_append(buf, size, ", mostly in %s",
		    *c->function ? c->function : "code without a name");
	if (*c->object)
		text_append(buf, size, " (%s)", c->object);
}

static void print_row(const struct listing *l, const struct columns *c,
		      const struct hot_line *h)
{
	double self = listing_share(l, &h->line->self);
	enum paint heat = paint_heat(l, self);
	char where[4400], function[1024];

	paint_print(l, heat, "%7s", figure_percent(self).text);
	fprintf(l->out, "  %7s  ",
		figure_percent(listing_share(l, &h->line->total)).text);
	listing_bar(l, heat, c->bar, self);
	where_of(h, where, sizeof(where));
	/* Without a limit of columns a path is never cut: it may be longer than others. */
	if (l->opts->width || text_columns(where, MAX_WHERE) <= MAX_WHERE)
		text_spaces(l->out, c->where - text_cell_tail(l->out, where, c->where));
	else
		text_cell(l->out, where, 0);
	text_spaces(l->out, 2);
	function_of(h->line, function, sizeof(function));
	paint_cell(l, PAINT_NAME, function, c->function);
	fputc('\n', l->out);
}

static void print_rest(const struct listing *l, const struct columns *c,
		       const struct weight *w, const char *what)
{
	if (weight_is_zero(w))
		return;
	paint_print(l, PAINT_DIM, "%7s%*s%s\n", figure_percent(listing_share(l, w)).text,
		    (int)(FIGURES - 7 + (c->bar ? c->bar + 2 : 0)), "", what);
}

/* Lines of the table: hot enough, and not more than fit the first screen. */
static size_t count_rows(const struct listing *l, const struct hot_line *lines, size_t nr)
{
	size_t rows = 0;
	size_t max = l->opts->limit ? l->opts->limit : MAX_ROWS;

	while (rows < nr && rows < max && listing_shows(l, &lines[rows].line->self))
		rows++;
	return rows;
}

void hot_lines_table(const struct listing *l, const struct hot_line *lines, size_t nr)
{
	const struct attribution *a = l->in->attribution;
	size_t rows = count_rows(l, lines, nr), nr_rest = 0;
	struct columns c = measure(l, lines, rows);
	struct weight rest = {0}, without = a->function_only;
	struct figure more;

	if (!rows)
		return;
	fputc('\n', l->out);
	paint_begin(l, PAINT_BOLD);
	if (!strcmp(counted_name(a), "CPU")) {
		fputs("Where the CPU goes:\n", l->out);
	} else {
		fputs("Lines with most ", l->out);
		text_cell(l->out, counted_name(a), 0);
		fputs(":\n", l->out);
	}
	paint_end(l, PAINT_BOLD);
	paint_print(l, PAINT_DIM, " self %%  total %%  %*s%-*s  function\n",
		    (int)(c.bar ? c.bar + 2 : 0), "", (int)c.where, "line");
	for (size_t i = 0; i < rows; i++)
		print_row(l, &c, &lines[i]);
	for (size_t i = rows; i < nr; i++) {
		if (weight_is_zero(&lines[i].line->self))
			continue;
		weight_add(&rest, lines[i].line->self);
		nr_rest++;
	}
	more = figure_count(nr_rest, "more line", "more lines");
	print_rest(l, &c, &rest, more.text);
	weight_add(&without, a->unknown);
	if (!l->opts->file_filter)
		print_rest(l, &c, &without, "code without a source line: see the end");
}
