// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hot lines within their source, hottest file first:
 *
 * /home/me/dither.c   self 61.2 %, total 98.3 %
 *  self %  total %  line
 *                     31  void dither_row(struct image *im, int y)
 *                    ...
 *                     40      for (x = 0; x < w; x++) {
 *    12.1     12.1    41      old = row[x];
 *    49.1     79.2    42      err[x] += diffuse(old, q);
 *                               \_ 30.1 of it in sgemm_kernel (libblas.so.3)
 */
#include "render/render.h"

#include <inttypes.h>
#include <string.h>

#include "render/asm.h"
#include "render/figure.h"
#include "render/hunk.h"
#include "render/listing.h"
#include "render/text.h"

#define MAX_FALLBACK_FUNCTIONS 20
#define MIN_CALLEE             12 /* columns of a callee's name */
#define MANY_FILES             3 /* print a table of contents from this number on */

/* Columns left of the source text: "%7s  %7s  %*u  ". */
static size_t source_column(const struct listing *l)
{
	return 7 + 2 + 7 + 2 + (size_t)l->digits + 2;
}

static bool is_blank(const char *text)
{
	return !text[strspn(text, " \t\r\f\v")];
}

static void print_source_cell(const struct listing *l,
			      const struct attribution_line *line, const char *text)
{
	bool has_samples = line && (line->self.samples || line->total.samples);
	enum paint style = !has_samples ? PAINT_DIM
			   : listing_share(l, &line->self) >= l->hottest / 2
				   ? PAINT_BOLD
				   : PAINT_PLAIN;

	if (text && is_blank(text))
		return;
	text_spaces(l->out, 2);
	if (text) {
		paint_cell(l, style, text, listing_room(l, source_column(l)));
	} else {
		paint_cell(l, PAINT_NAME, *line->function ? line->function : "[no name]",
			   listing_room(l, source_column(l)));
	}
}

/* "\_ 30.1 of it in sgemm_kernel (libblas.so)"; cuts the name if necessary. */
static void print_callee(const struct listing *l, const struct attribution_callee *c,
			 double share)
{
	const char *name = *c->function ? c->function : "code without a name";
	size_t room = listing_room(l, source_column(l) + 2);
	char words[64], object[512] = "";
	size_t fixed;

	snprintf(words, sizeof(words), "\\_ %s of it in ", figure_percent(share).text);
	if (*c->object)
		snprintf(object, sizeof(object), " (%s)", c->object);
	fixed = strlen(words) + text_columns(object, TEXT_MAX_COLUMNS);
	text_spaces(l->out, source_column(l) + 2);
	paint_begin(l, PAINT_NAME);
	if (!room || room >= fixed + MIN_CALLEE) {
		fputs(words, l->out);
		text_cell(l->out, name, room ? room - fixed : 0);
		text_cell(l->out, object, 0);
	} else {
		char all[1024];

		snprintf(all, sizeof(all), "%s%s%s", words, name, object);
		text_cell(l->out, all, room);
	}
	paint_end(l, PAINT_NAME);
	fputc('\n', l->out);
}

static void print_callees(const struct listing *l, const struct attribution_line *line)
{
	for (size_t i = 0; i < line->nr_callees; i++) {
		const struct attribution_callee *c = &line->callees[i];

		if (listing_shows(l, &c->self))
			print_callee(l, c, listing_share(l, &c->self));
	}
}

/* Is a function of the kernel among the callees that are printed? */
static bool has_kernel_callee(const struct listing *l,
			      const struct attribution_line *line)
{
	for (size_t i = 0; i < line->nr_callees; i++)
		if (render_is_kernel(line->callees[i].object) &&
		    listing_shows(l, &line->callees[i].self))
			return true;
	return false;
}

static bool is_marked(const struct attribution_line *line, const char *text)
{
	return line && line->no_code && !(text && is_blank(text));
}

/* @line or @text may be NULL, not both. */
static void print_row(const struct listing *l, uint32_t number,
		      const struct attribution_line *line, const char *text)
{
	double self = line ? listing_share(l, &line->self) : 0;
	double total = line ? listing_share(l, &line->total) : 0;
	bool mark = is_marked(line, text);
	enum paint heat = mark ? PAINT_DIM : paint_heat(l, self);
	enum paint number_paint = total > 0 ? PAINT_PLAIN : PAINT_DIM;

	paint_begin(l, heat);
	if (mark)
		fprintf(l->out, "%6s%s", "", legend_no_code_sign(l->opts));
	else
		fprintf(l->out, "%7s", figure_percent(self).text);
	paint_end(l, heat);
	fprintf(l->out, "  %7s  ", figure_percent(total).text);
	paint_print(l, number_paint, "%*" PRIu32, l->digits, number);
	print_source_cell(l, line, text);
	fputc('\n', l->out);
	if (line)
		print_callees(l, line);
}

/* "...  dither_row": omitted lines, and the function that follows. */
static void print_gap(const struct listing *l, const char *function)
{
	paint_begin(l, PAINT_DIM);
	text_spaces(l->out, source_column(l) - 2 - strlen("..."));
	fputs("...", l->out);
	paint_end(l, PAINT_DIM);
	if (*function) {
		text_spaces(l->out, 2);
		paint_cell(l, PAINT_NAME, function, listing_room(l, source_column(l)));
	}
	fputc('\n', l->out);
}

/*
 * Prints what belongs between the rows above, which end with line @above (0: none), and
 * the hunk: the line that declares its function, or at least the function's name.
 */
static void print_lead(const struct listing *l, const struct hunk *hunk, uint64_t above,
		       const char *function_above)
{
	const struct attribution_source *source = &hunk->file->source;
	/* Skip a name that was just printed, or that the code shows. */
	bool is_known = hunk->function == function_above || hunk_shows_function(hunk);
	uint32_t declaration = is_known ? 0 : hunk_declaration(hunk);

	if (!source->found || hunk->first <= 1 || (!above && is_known))
		return;
	if (declaration <= above) {
		print_gap(l, is_known ? "" : hunk->function);
		return;
	}
	print_row(l, declaration, NULL, source->lines[declaration - 1]);
	if (declaration + 1 < hunk->first)
		print_gap(l, "");
}

/* Returns the number of printed lines with samples; adds their self to @printed. */
static size_t print_hunks(const struct listing *l, const struct attribution_file *f,
			  struct weight *printed)
{
	struct hunks hunks = hunks_of(l->in->attribution, f, l->opts);
	struct hunk hunk;
	const char *function = "";
	uint64_t above = 0;
	size_t nr_printed = 0;

	while (hunks_next(&hunks, &hunk)) {
		struct hunk_row row;

		print_lead(l, &hunk, above, function);
		above = hunk.last;
		function = hunk.function;
		while (hunk_next_row(&hunk, &row)) {
			print_row(l, row.number, row.line, row.text);
			if (!row.line || !row.line->total.samples)
				continue;
			nr_printed++;
			weight_add(printed, row.line->self);
		}
	}
	return nr_printed;
}

static void print_file_heading(const struct listing *l, const struct attribution_file *f)
{
	char figures[64];

	snprintf(figures, sizeof(figures), "   self %.1f %%, total %.1f %%",
		 100 * listing_share(l, &f->self), 100 * listing_share(l, &f->total));
	fputc('\n', l->out);
	paint_begin(l, PAINT_BOLD);
	text_cell_tail(l->out, f->path, listing_room(l, strlen(figures)));
	paint_end(l, PAINT_BOLD);
	fprintf(l->out, "%s\n", figures);
	if (*f->source.note) {
		paint_begin(l, PAINT_WARNING);
		listing_sentence(l, 2, 2, "%s", f->source.note);
		paint_end(l, PAINT_WARNING);
	}
	paint_print(l, PAINT_DIM, " self %%  total %%  %*s\n", l->digits, "line");
}

static struct weight weight_minus(const struct weight *a, const struct weight *b)
{
	return (struct weight){
		.samples = a->samples > b->samples ? a->samples - b->samples : 0,
		.cpu_ns = a->cpu_ns > b->cpu_ns ? a->cpu_ns - b->cpu_ns : 0,
	};
}

static void print_file(struct listing *l, const struct attribution_file *f)
{
	struct weight printed = {0}, rest;
	size_t nr_with_samples = 0, nr_printed;
	char below[32] = "";
	uint32_t last = f->nr_lines ? f->lines[f->nr_lines - 1].line : 0;

	l->digits = 4;
	for (uint32_t n = last / 10000; n; n /= 10)
		l->digits++;
	for (size_t i = 0; i < f->nr_lines; i++)
		nr_with_samples += f->lines[i].total.samples > 0;

	print_file_heading(l, f);
	nr_printed = print_hunks(l, f, &printed);
	if (nr_printed >= nr_with_samples)
		return;
	rest = weight_minus(&f->self, &printed);
	if (!l->opts->limit)
		snprintf(below, sizeof(below), " below %.3g %%",
			 100 * l->opts->min_share);
	paint_print(l, PAINT_DIM, "%7s           %*s  %s%s\n",
		    figure_percent(listing_share(l, &rest)).text, l->digits, "...",
		    figure_count(nr_with_samples - nr_printed, "more line", "more lines")
			    .text,
		    below);
}

static bool is_wanted(const struct listing *l, const struct attribution_file *f)
{
	if (f->left_out)
		return false;
	if (l->opts->file_filter)
		return render_has_file(l->opts, f->path) &&
		       (listing_share(l, &f->total) > 0 ||
			listing_share(l, &f->self) > 0);
	return listing_shows(l, &f->total) || listing_shows(l, &f->self);
}

static size_t count_wanted(const struct listing *l)
{
	const struct attribution *a = l->in->attribution;
	size_t nr = 0;

	for (size_t i = 0; i < a->nr_files; i++)
		nr += is_wanted(l, &a->files[i]);
	return nr;
}

/* Will any line be marked as one without code? */
static bool marks_lines(const struct listing *l)
{
	const struct attribution *a = l->in->attribution;

	for (size_t i = 0; i < a->nr_files; i++) {
		const struct attribution_file *f = &a->files[i];
		struct hunks hunks = hunks_of(a, f, l->opts);
		struct hunk hunk;
		struct hunk_row row;

		if (!is_wanted(l, f))
			continue;
		while (hunks_next(&hunks, &hunk))
			while (hunk_next_row(&hunk, &row))
				if (is_marked(row.line, row.text))
					return true;
	}
	return false;
}

static void print_contents(const struct listing *l)
{
	const struct attribution *a = l->in->attribution;

	fputc('\n', l->out);
	paint_print(l, PAINT_DIM, " self %%  total %%  file\n");
	for (size_t i = 0; i < a->nr_files; i++) {
		const struct attribution_file *f = &a->files[i];

		if (!is_wanted(l, f))
			continue;
		fprintf(l->out, "%7s  %7s  ",
			figure_percent(listing_share(l, &f->self)).text,
			figure_percent(listing_share(l, &f->total)).text);
		text_cell_tail(l->out, f->path, listing_room(l, 18));
		fputc('\n', l->out);
	}
}

static void print_files(struct listing *l)
{
	const struct attribution *a = l->in->attribution;
	struct weight rest = {0};
	size_t nr_rest = 0;

	for (size_t i = 0; i < a->nr_files; i++) {
		const struct attribution_file *f = &a->files[i];

		if (is_wanted(l, f)) {
			print_file(l, f);
			continue;
		}
		nr_rest++;
		weight_add(&rest, f->self);
	}
	if (!nr_rest)
		return;
	paint_print(l, PAINT_DIM, "\n%s not shown, self %.1f %% together\n",
		    figure_count(nr_rest, "more file", "more files").text,
		    100 * listing_share(l, &rest));
}

/* If there are no lines: prints why, a remedy, and the hottest functions instead. */
static void print_functions_instead(struct listing *l)
{
	const struct attribution *a = l->in->attribution;
	const struct attribution_miss *m = a->nr_misses ? &a->misses[0] : NULL;

	fputc('\n', l->out);
	paint_begin(l, PAINT_WARNING);
	if (m)
		listing_sentence(l, 0, 0,
				 "No sample has a source line; mostly because: %s.%s%s%s "
				 "The hottest functions:",
				 miss_text(m->miss),
				 *miss_remedy(m->miss) ? " Remedy: " : "",
				 miss_remedy(m->miss), *miss_remedy(m->miss) ? "." : "");
	else
		listing_sentence(
			l, 0, 0,
			"No sample has a source line: the profile names none. The "
			"hottest functions:");
	paint_end(l, PAINT_WARNING);
	fputc('\n', l->out);
	functions_table(l, MAX_FALLBACK_FUNCTIONS);
}

static void print_no_such_file(const struct listing *l)
{
	fputc('\n', l->out);
	if (l->opts->file_filter)
		listing_sentence(
			l, 0, 0,
			"No file of this profile ends in \"%s\". Without --file the "
			"hottest files are listed.",
			l->opts->file_filter);
	else
		listing_sentence(
			l, 0, 0,
			"Every file is below %.3g %%. --min-percent 0 lists them all.",
			100 * l->opts->min_share);
}

int render_annotate(const struct render_input *in, const struct render_options *opts,
		    FILE *out)
{
	const struct attribution *a = in->attribution;
	struct listing l = {.in = in, .opts = opts, .out = out};
	size_t nr_wanted;

	if (in->machine_code)
		return render_asm(in, opts, out);
	for (size_t i = 0; i < a->nr_files; i++)
		for (size_t j = 0; j < a->files[i].nr_lines; j++) {
			const struct attribution_line *line = &a->files[i].lines[j];

			listing_heat(&l, share_of(a, &line->self));
			l.shows_kernel |= render_has_file(opts, a->files[i].path) &&
					  has_kernel_callee(&l, line);
		}
	nr_wanted = count_wanted(&l);

	render_head(&l);
	if (nr_wanted) {
		legend_of_lines(&l, marks_lines(&l));
		if (nr_wanted >= MANY_FILES)
			print_contents(&l);
		print_files(&l);
	} else if (a->nr_files) {
		print_no_such_file(&l);
	} else if (a->all.samples || a->all.cpu_ns) {
		print_functions_instead(&l);
		l.shows_kernel = functions_show_kernel(&l);
	}
	render_misses(&l);
	return render_finish(out);
}
