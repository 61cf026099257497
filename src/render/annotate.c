// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hottest lines of all files, then the lines within their source: the user's own
 * files first, then libraries, each from the hottest on:
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

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hot_lines.h"
#include "base/cleanup.h"
#include "render/asm.h"
#include "render/figure.h"
#include "render/hunk.h"
#include "render/listing.h"
#include "render/text.h"

#define MAX_FALLBACK_FUNCTIONS 20
#define MIN_CALLEE             12 /* columns of a callee's name */
/* A library's file is listed in full from this multiple of --min-percent on. */
#define LIBRARY_SHARES 4

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

/* Of a library among the user's own files, only lines with self are hot. */
static struct hunks hunks_in(const struct listing *l, const struct attribution_file *f)
{
	struct hunks hunks = hunks_of(l->in->attribution, f, l->opts);

	hunks.by_self = f->is_library && l->shows_own && !l->opts->file_filter;
	return hunks;
}

/* Returns the number of printed lines with samples; adds their self to @printed. */
static size_t print_hunks(const struct listing *l, const struct attribution_file *f,
			  struct weight *printed)
{
	struct hunks hunks = hunks_in(l, f);
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

/* Where a file is listed. */
enum file_place {
	PLACE_NOWHERE, /* too cold */
	PLACE_ROW, /* in the table of other files */
	PLACE_SECTION, /* with its source */
};

/*
 * The user's own files have their source listed. A library's file is listed only if it
 * is hot itself: what it calls is hot in many files of a large library.
 */
static enum file_place place_of(const struct listing *l, const struct attribution_file *f)
{
	double self = listing_share(l, &f->self);

	if (f->left_out)
		return PLACE_NOWHERE;
	if (l->opts->file_filter)
		return render_has_file(l->opts, f->path) &&
				       (self > 0 || listing_share(l, &f->total) > 0)
			       ? PLACE_SECTION
			       : PLACE_NOWHERE;
	if (!listing_shows(l, &f->self) &&
	    (!listing_shows(l, &f->total) || (f->is_library && l->shows_own)))
		return PLACE_NOWHERE;
	if (!f->nr_lines)
		return PLACE_NOWHERE;
	if (!f->source.found ||
	    (f->is_library && l->shows_own && self < LIBRARY_SHARES * l->opts->min_share))
		return PLACE_ROW;
	return PLACE_SECTION;
}

/* Does a file of the user's own program have a section? */
static bool shows_own(const struct listing *l)
{
	const struct attribution *a = l->in->attribution;

	for (size_t i = 0; i < a->nr_files; i++)
		if (!a->files[i].is_library && place_of(l, &a->files[i]) == PLACE_SECTION)
			return true;
	return false;
}

static size_t count_at(const struct listing *l, enum file_place place)
{
	const struct attribution *a = l->in->attribution;
	size_t nr = 0;

	for (size_t i = 0; i < a->nr_files; i++)
		nr += place_of(l, &a->files[i]) == place;
	return nr;
}

/* Will any line be marked as one without code? */
static bool marks_lines(const struct listing *l)
{
	const struct attribution *a = l->in->attribution;

	for (size_t i = 0; i < a->nr_files; i++) {
		const struct attribution_file *f = &a->files[i];
		struct hunks hunks = hunks_in(l, f);
		struct hunk hunk;
		struct hunk_row row;

		if (place_of(l, f) != PLACE_SECTION)
			continue;
		while (hunks_next(&hunks, &hunk))
			while (hunk_next_row(&hunk, &row))
				if (is_marked(row.line, row.text))
					return true;
	}
	return false;
}

/* ---- files without a section ---- */

static const struct attribution_line *hottest_line(const struct attribution_file *f)
{
	const struct attribution_line *best = &f->lines[0];

	for (size_t i = 1; i < f->nr_lines; i++)
		if (weight_compare(f->lines[i].self, best->self) < 0)
			best = &f->lines[i];
	return best;
}

static void print_other_file(const struct listing *l, const struct attribution_file *f)
{
	const struct attribution_source *source = &f->source;
	const struct attribution_line *hottest = hottest_line(f);
	bool is_special = *source->note && !source->found && !source->is_absent &&
			  !source->is_withheld && f->path[0] != '<';
	const char *text = is_special ? source->note : hottest->function;
	size_t room = listing_room(l, 18), width = text_columns(text, 40) + 2;
	char where[4400];

	snprintf(where, sizeof(where), "%s:%" PRIu32, f->path, hottest->line);
	fprintf(l->out, "%7s  %7s  ", figure_percent(listing_share(l, &f->self)).text,
		figure_percent(listing_share(l, &f->total)).text);
	width = room && width + 20 > room ? 0 : width;
	text_cell_tail(l->out, where, room ? room - width : 0);
	if (width) {
		text_spaces(l->out, 2);
		paint_cell(l, PAINT_NAME, text, width - 2);
	}
	fputc('\n', l->out);
}

/* Prints a row for each file that has no section, with its hottest line. */
static void print_other_files(const struct listing *l)
{
	const struct attribution *a = l->in->attribution;
	size_t nr_absent = 0, nr_colder = 0;

	fputc('\n', l->out);
	paint_print(l, PAINT_BOLD, "Other files:\n");
	paint_print(l, PAINT_DIM, " self %%  total %%  hottest line\n");
	for (size_t i = 0; i < a->nr_files; i++) {
		if (place_of(l, &a->files[i]) != PLACE_ROW)
			continue;
		print_other_file(l, &a->files[i]);
		nr_absent += a->files[i].source.is_absent;
		nr_colder += a->files[i].source.found;
	}
	paint_begin(l, PAINT_DIM);
	if (nr_absent)
		listing_sentence(l, 2, 2,
				 "%s neither in the profile nor at %s; --source-path "
				 "OLD=NEW tells where %s.",
				 figure_count(nr_absent, "source is", "sources are").text,
				 nr_absent == 1 ? "its path" : "their paths",
				 nr_absent == 1 ? "it is" : "they are");
	if (nr_colder)
		listing_sentence(l, 2, 2,
				 "--file SUFFIX shows the source of a library's file.");
	paint_end(l, PAINT_DIM);
}

static void print_files(struct listing *l)
{
	const struct attribution *a = l->in->attribution;
	struct weight rest = {0};
	size_t nr_rest = 0;

	for (int library = 0; library < 2; library++)
		for (size_t i = 0; i < a->nr_files; i++)
			if (a->files[i].is_library == library &&
			    place_of(l, &a->files[i]) == PLACE_SECTION)
				print_file(l, &a->files[i]);
	if (count_at(l, PLACE_ROW))
		print_other_files(l);
	for (size_t i = 0; i < a->nr_files; i++) {
		if (place_of(l, &a->files[i]) != PLACE_NOWHERE)
			continue;
		nr_rest++;
		weight_add(&rest, a->files[i].self);
	}
	if (nr_rest)
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
	_cleanup_free_ struct hot_line *lines = NULL;
	size_t nr_lines;

	if (in->machine_code)
		return render_asm(in, opts, out);
	if (hot_lines_of(a, opts->file_filter, &lines, &nr_lines))
		return -ENOMEM;
	for (size_t i = 0; i < nr_lines; i++)
		l.shows_kernel |= has_kernel_callee(&l, lines[i].line);
	if (nr_lines)
		listing_heat(&l, share_of(a, &lines[0].line->self));
	l.shows_own = shows_own(&l);

	render_head(&l);
	if (count_at(&l, PLACE_SECTION) || count_at(&l, PLACE_ROW)) {
		hot_lines_table(&l, lines, nr_lines);
		print_files(&l);
		legend_of_lines(&l, marks_lines(&l));
	} else if (a->nr_files) {
		print_no_such_file(&l);
	} else if (a->all.samples || a->all.cpu_ns) {
		print_functions_instead(&l);
		l.shows_kernel = functions_show_kernel(&l);
	}
	render_misses(&l);
	return render_finish(out);
}
