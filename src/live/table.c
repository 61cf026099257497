// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/table.h"

#include <inttypes.h>
#include <string.h>

#include "render/figure.h"
#include "render/text.h"

#define NAME_COLUMNS 44 /* of a list, if the width is not limited */
#define MIN_DETAIL   16
#define COMM_COLUMNS 16
#define WORTH_SAYING 0.005 /* share of samples */

/* Columns of the figures that are before the name, with the gap after them. */
static size_t figures_of(enum board_view view)
{
	if (view == BOARD_PROCESSES)
		return 28;
	return view == BOARD_CONTAINERS ? 18 : 27;
}

/* Columns of name and detail. */
static size_t name_columns(enum board_view view, size_t width)
{
	size_t room = width > figures_of(view) ? width - figures_of(view) : 1;
	size_t name = view == BOARD_PROCESSES ? COMM_COLUMNS : room / 2;

	if (!width)
		return view == BOARD_PROCESSES ? COMM_COLUMNS : NAME_COLUMNS;
	if (room < name + 2 + MIN_DETAIL)
		name = room > 2 + MIN_DETAIL ? room - 2 - MIN_DETAIL : room;
	return name;
}

void table_head(const struct board *b, FILE *out)
{
	fprintf(out, "last %.3g s: %.2f", b->seconds, b->all_cpus);
	if (b->cpus < b->all_cpus * 0.9995)
		fprintf(out, " CPUs of the targets, %.2f here", b->cpus);
	else
		fprintf(out, " of %" PRIu32 " CPUs", b->nr_cpus);
	fprintf(out, "; %" PRIu64 " samples", b->samples);
	if (b->freq_hz)
		fprintf(out, " at %" PRIu32 " Hz", b->freq_hz);
	fprintf(out, "; lineburn itself %s %% of a CPU",
		b->own_cpus > 0 ? figure_percent(b->own_cpus).text : "0");
}

static void caution(FILE *out, bool *is_next, double share, const char *what)
{
	if (share < WORTH_SAYING)
		return;
	fprintf(out, "%s%s %% %s", *is_next ? "; " : "", figure_percent(share).text,
		what);
	*is_next = true;
}

void table_caution(const struct board *b, FILE *out)
{
	bool is_next = *b->note;

	text_cell(out, b->note, 0);
	caution(out, &is_next, b->without_line, "of the CPU time without a source line");
	caution(out, &is_next, b->incomplete, "of the stacks without all callers");
	caution(out, &is_next, b->unproven,
		"of the stacks with callers found without unwind tables");
	caution(out, &is_next, b->lost, "of the samples lost");
	caution(out, &is_next, b->missed, "of the ticks missed");
	if (b->nr_left_out) {
		fprintf(out, "%s%zu more rows: find them by text", is_next ? "; " : "",
			b->nr_left_out);
		is_next = true;
	}
	/* Only a clock has a rate; RENDER_LIMIT_CLOCK says more. */
	if (b->freq_hz && b->has_kernel)
		fprintf(out,
			"%skernel code with interrupts off counts where they are on "
			"again, or not at all",
			is_next ? "; " : "");
}

void table_titles(const struct board *b, size_t width, FILE *out)
{
	static const char *const names[] = {
		[BOARD_LINES] = "line",     [BOARD_FUNCTIONS] = "function",
		[BOARD_PROCESSES] = "name", [BOARD_CONTAINERS] = "container",
		[BOARD_SOURCE] = "source",
	};
	static const char *const details[] = {
		[BOARD_LINES] = "function",    [BOARD_FUNCTIONS] = "file or object",
		[BOARD_PROCESSES] = "program", [BOARD_CONTAINERS] = "runtime, id",
		[BOARD_SOURCE] = "",
	};
	size_t columns = name_columns(b->view, width);

	switch (b->view) {
	case BOARD_PROCESSES:
		fputs("  CPU %  share %       pid  ", out);
		break;
	case BOARD_CONTAINERS:
		fputs("  CPU %  share %  ", out);
		break;
	case BOARD_SOURCE:
		fputs(" self %  total %    line   ", out);
		break;
	default:
		fputs(" self %  total %   CPU %   ", out);
		break;
	}
	fprintf(out, "%-*s  %s", (int)columns, names[b->view], details[b->view]);
}

/* Of one CPU, as top(1) has it; may be over 100. */
static struct figure cpu_percent(double cpus)
{
	struct figure f;

	snprintf(f.text, sizeof(f.text), "%.1f", 100 * cpus);
	return f;
}

static void print_figures(const struct board *b, const struct board_row *row, FILE *out)
{
	struct figure self = figure_percent(row->self);
	struct figure total = figure_percent(row->total);
	struct figure cpus = cpu_percent(row->cpus);

	switch (b->view) {
	case BOARD_PROCESSES:
		fprintf(out, "%7s  %7s  %8" PRIu32 "  ", cpus.text, self.text, row->pid);
		break;
	case BOARD_CONTAINERS:
		fprintf(out, "%7s  %7s  ", cpus.text, self.text);
		break;
	case BOARD_SOURCE:
		fprintf(out, "%7s  %7s  %6" PRIu32 "   ", self.text, total.text,
			row->line);
		break;
	default:
		fprintf(out, "%7s  %7s  %6s   ", self.text, total.text, cpus.text);
		break;
	}
}

void table_row(const struct board *b, const struct board_row *row, size_t width,
	       FILE *out)
{
	size_t figures = figures_of(b->view), columns = name_columns(b->view, width);
	size_t room = width > figures ? width - figures : 1, printed;

	print_figures(b, row, out);
	if (b->view == BOARD_SOURCE) {
		text_cell(out, row->name, width ? room : 0);
		return;
	}
	/* The end of a path tells more than its beginning. */
	printed = b->view == BOARD_LINES ? text_cell_tail(out, row->name, columns)
					 : text_cell(out, row->name, columns);
	if (!*row->detail || (width && room < columns + 2 + MIN_DETAIL))
		return;
	text_spaces(out, columns + 2 - printed);
	if (b->view == BOARD_FUNCTIONS)
		text_cell_tail(out, row->detail, width ? room - columns - 2 : 0);
	else
		text_cell(out, row->detail, width ? room - columns - 2 : 0);
}
