// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One walk over each stack, leaf first, decides everything about the sample:
 *
 * 	vfs_read      [kernel]      no charge: kernel frames are never charged
 * 	read          libc.so.6     no line                 <- function self
 * 	fill_buffer   app  io.c:40  (inlined)               <- line self, callee vfs_read
 * 	next_record   app  io.c:71                          <- total
 * 	main          app  main.c:9                         <- total
 *
 * An interpreter's C frames execute its Python frame: they are not a callee of a Python
 * line, but functions that they call are. A thread's start code is not charged for its
 * callees; otherwise the start of an interpreter would be charged to the C library's
 * line.
 */
#include "analyze/attribution.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/significance.h"
#include "analyze/tally.h"
#include "base/path.h"
#include "base/search.h"
#include "base/vec.h"
#include "profile/labels.h"
#include "profile/mapping_kind.h"
#include "profile/profile.h"

/* Facts of one mapping. */
struct mapping_code {
	enum code_kind kind;
	const char *object; /* display name; interned */
	bool may_charge; /* not kernel or interpreter, unless requested */
	bool charges_last; /* C runtime: only if no other line of the stack can be */
	bool is_library;
};

/* Facts of one source frame: parallel to profile.lines. */
struct site {
	/* into work.lines; PROFILE_NONE: no line, or not to be charged */
	uint32_t line;
	uint32_t file; /* into work.files; valid with line */
	uint32_t function; /* into work.functions; PROFILE_NONE: no name */
	uint32_t name; /* into work.names */
	uint32_t at; /* (line, function): into work.sites_at; valid with both */
	bool is_mine; /* has a line outside libraries */
	bool has_line; /* even if it is not to be charged */
	uint8_t use; /* enum line_use */
};

/* Facts of one location; all that the walk over a stack needs. */
struct location_sites {
	uint32_t first_site, nr_sites; /* as its first_line, nr_lines */
	uint32_t code; /* into work.codes; the last item stands for no mapping */
	/* into work.names: stands for an unknown function of this object */
	uint32_t name;
	/* into work.functions: the same; PROFILE_NONE: the location has sites */
	uint32_t function;
};

/* Flags of a file. */
enum file_tag {
	FILE_KNOWN = 1 << 0, /* FILE_LIBRARY is valid */
	FILE_LIBRARY = 1 << 1, /* source_is_library() */
	FILE_JIT = 1 << 2, /* has lines compiled in memory */
	FILE_MINE = 1 << 3, /* a line of it is in code outside libraries */
};

/* Flags of a line. */
enum line_tag {
	LINE_JIT = 1 << 0, /* ran as code compiled in memory */
};

struct work {
	const struct profile *p;
	struct attribution_options options;
	struct mapping_code *codes; /* one per mapping, and a last one for no mapping */
	struct site *sites;
	struct location_sites *places;

	struct tally files; /* (path, 0); tag: enum file_tag */
	struct tally lines; /* (file, line); tag: enum line_tag */
	struct tally names; /* (function name or "", object) */
	struct tally functions; /* (name, file's path); tag: start line */
	struct tally sites_at; /* (line, function) */
	struct tally callees; /* (line, name) */
	struct tally misses; /* (enum miss, object) */
	double squares; /* sum of the squares of all samples' CPU time */
	const char *exe_key; /* LABEL_EXE, interned */
};

/* ---- facts about each address, computed once ---- */

static void fill_code(const struct work *w, size_t mapping)
{
	struct mapping_code *code = &w->codes[mapping];
	const char *filename =
		mapping < w->p->nr_mappings ? w->p->mappings[mapping].filename : "";

	code->kind = mapping_kind(w->p, mapping);
	code->object = object_name(filename, w->p->pool);
	code->is_library = object_is_library(filename);
	code->may_charge = (code->kind != CODE_KERNEL || w->options.kernel) &&
			   (code->kind != CODE_INTERPRETER || w->options.runtime);
	code->charges_last = code->kind == CODE_C_RUNTIME && !w->options.runtime;
}

static bool file_is_library(struct work *w, uint32_t file)
{
	struct tally_item *item = &w->files.items[file];

	if (!(item->tag & FILE_KNOWN))
		item->tag |=
			FILE_KNOWN |
			(source_is_library(tally_string(item->a)) ? FILE_LIBRARY : 0);
	return item->tag & FILE_LIBRARY;
}

/* Finds the file of a line, which pprof stores with the function. */
static int fill_line(struct work *w, const struct mapping_code *code,
		     const struct profile_function *f, uint32_t line, struct site *site)
{
	site->has_line = true;
	if (!code->may_charge)
		return 0;
	site->file = tally_number(&w->files, tally_key(f->filename), 0);
	if (site->file == PROFILE_NONE)
		return -ENOMEM;
	site->line = tally_number(&w->lines, site->file, line);
	if (site->line == PROFILE_NONE)
		return -ENOMEM;
	site->is_mine = !code->is_library && !file_is_library(w, site->file);
	if (site->is_mine)
		w->files.items[site->file].tag |= FILE_MINE;
	if (site->function == PROFILE_NONE)
		return 0;
	site->at = tally_number(&w->sites_at, site->line, site->function);
	return site->at == PROFILE_NONE ? -ENOMEM : 0;
}

static int fill_function(struct work *w, const struct mapping_code *code,
			 const struct profile_function *f, struct site *site)
{
	struct tally_item *item;

	site->name = tally_number(&w->names, tally_key(f->name), tally_key(code->object));
	if (site->name == PROFILE_NONE)
		return -ENOMEM;
	if (!*f->name)
		return 0;
	site->function = tally_number(&w->functions, site->name, tally_key(f->filename));
	if (site->function == PROFILE_NONE)
		return -ENOMEM;
	item = &w->functions.items[site->function];
	if (!item->tag)
		item->tag = f->start_line;
	return 0;
}

static int fill_site(struct work *w, const struct location_sites *place, uint32_t index)
{
	const struct profile_line *line = &w->p->lines[index];
	const struct mapping_code *code = &w->codes[place->code];
	struct site *site = &w->sites[index];
	const struct profile_function *f;
	int r;

	*site = (struct site){.line = PROFILE_NONE,
			      .function = PROFILE_NONE,
			      .name = place->name,
			      .at = PROFILE_NONE};
	if (line->function == PROFILE_NONE)
		return 0;
	f = &w->p->functions[line->function];
	if (code_kind_is_native(code->kind) && !w->options.runtime &&
	    function_is_start_code(f->name))
		site->use = LINE_IF_INNERMOST;
	r = fill_function(w, code, f, site);
	/* A line without a file cannot be shown. */
	if (!r && line->line && *f->filename)
		r = fill_line(w, code, f, line->line, site);
	if (site->line != PROFILE_NONE)
		site->use |= LINE_COUNTS | (code->charges_last ? LINE_IF_LAST : 0);
	return r;
}

static int fill_places(struct work *w)
{
	const struct profile *p = w->p;
	const char *nameless = strpool_add(p->pool, "");

	for (size_t i = 0; i < p->nr_locations; i++) {
		const struct profile_location *l = &p->locations[i];
		struct location_sites *place = &w->places[i];
		const char *object;

		place->code = l->mapping == PROFILE_NONE ? (uint32_t)p->nr_mappings
							 : l->mapping;
		place->first_site = l->first_line;
		place->nr_sites = l->nr_lines;
		place->function = PROFILE_NONE;
		object = w->codes[place->code].object;
		place->name =
			tally_number(&w->names, tally_key(nameless), tally_key(object));
		if (place->name == PROFILE_NONE)
			return -ENOMEM;
		if (!l->nr_lines) {
			place->function = tally_number(&w->functions, place->name,
						       tally_key(nameless));
			if (place->function == PROFILE_NONE)
				return -ENOMEM;
		}
		for (uint32_t k = 0; k < l->nr_lines; k++)
			if (fill_site(w, place, l->first_line + k))
				return -ENOMEM;
	}
	return 0;
}

/* Marks files with lines compiled in memory, because that decides their language. */
static void mark_jit_files(struct work *w)
{
	const struct profile *p = w->p;

	for (size_t i = 0; i < p->nr_locations; i++) {
		const struct profile_location *l = &p->locations[i];

		if (w->codes[w->places[i].code].kind != CODE_JIT)
			continue;
		for (uint32_t k = 0; k < l->nr_lines; k++) {
			const struct site *site = &w->sites[l->first_line + k];

			if (site->line == PROFILE_NONE)
				continue;
			w->files.items[site->file].tag |= FILE_JIT;
			w->lines.items[site->line].tag |= LINE_JIT;
		}
	}
}

/** Fills codes, sites and places. Return: 0 or -ENOMEM. */
static int frame_index_build(struct work *w)
{
	const struct profile *p = w->p;
	int r;

	w->codes = calloc(p->nr_mappings + 1, sizeof(*w->codes));
	w->sites = calloc(p->nr_lines + 1, sizeof(*w->sites));
	w->places = calloc(p->nr_locations + 1, sizeof(*w->places));
	if (!w->codes || !w->sites || !w->places)
		return -ENOMEM;
	for (size_t i = 0; i <= p->nr_mappings; i++)
		fill_code(w, i);
	r = fill_places(w);
	if (!r)
		mark_jit_files(w);
	return r;
}

/*
 * Lines without machine code. The code of hot functions (profile_extra.codes) has a row
 * for each line with code. A line between a function's first and last one that has
 * neither a row nor a sample has no code.
 */

/*
 * Most lines of all listed functions: so many, and some for each row of their code. A
 * function over that has none. So two rows of a hostile file that are far apart do not
 * claim all lines between them.
 */
#define BARE_LINES         16384
#define BARE_LINES_PER_ROW 16
#define MAX_BARE_LINES     (1u << 18)
/* A declaration more than this above the first line of code is in another file. */
#define MAX_HEAD 100

/* A line of a file: with code, or (with a function) maybe without. */
struct mark {
	uint32_t file; /* in attribution.files */
	uint32_t line;
	uint32_t span; /* lines of the function; 0: the line has code */
	const char *function;
};

struct marks {
	struct mark *items;
	size_t nr, cap;
};

/* Lines of one function, over all its copies. */
struct code_span {
	uint32_t first, last; /* 0: none */
};

int attribution_number_files(const struct attribution *a, struct tally *files)
{
	for (size_t i = 0; i < a->nr_files; i++)
		if (tally_number(files, tally_key(a->files[i].path), 0) == PROFILE_NONE)
			return -ENOMEM;
	return 0;
}

static int number_listed(const struct attribution *a, struct tally *files,
			 struct tally *functions)
{
	if (attribution_number_files(a, files))
		return -ENOMEM;
	for (size_t i = 0; i < a->nr_functions; i++)
		if (tally_number(functions, tally_key(a->functions[i].name),
				 tally_key(a->functions[i].file)) == PROFILE_NONE)
			return -ENOMEM;
	return 0;
}

static int add_mark(struct marks *marks, struct mark mark)
{
	int r = vec_grow(&marks->items, &marks->cap, marks->nr + 1, sizeof(mark), 0);

	if (!r)
		marks->items[marks->nr++] = mark;
	return r;
}

/* Reads the rows: each is a line with code, and extends the function's span. */
static int read_rows(const struct profile *p, const struct tally *files,
		     struct code_span *spans, struct marks *marks)
{
	for (size_t i = 0; i < p->extra.nr_codes; i++) {
		const struct profile_code *code = &p->extra.codes[i];

		for (size_t k = 0; k < code->nr_rows; k++) {
			const struct profile_line *row = &code->rows[k].at;
			struct mark mark = {.line = row->line};
			struct code_span *span;

			if (row->function == PROFILE_NONE || !row->line)
				continue;
			mark.file = tally_find(
				files, tally_key(p->functions[row->function].filename),
				0);
			if (mark.file == PROFILE_NONE)
				continue;
			span = &spans[row->function];
			if (!span->first || row->line < span->first)
				span->first = row->line;
			if (row->line > span->last)
				span->last = row->line;
			if (add_mark(marks, mark))
				return -ENOMEM;
		}
	}
	return 0;
}

/* Adds all lines of the listed functions. Lines with code are removed later. */
static int add_spans(const struct profile *p, const struct tally *files,
		     const struct tally *functions, const struct code_span *spans,
		     struct marks *marks)
{
	size_t left = BARE_LINES + BARE_LINES_PER_ROW * marks->nr;

	left = left < MAX_BARE_LINES ? left : MAX_BARE_LINES;

	for (size_t i = 0; i < p->nr_functions; i++) {
		const struct profile_function *f = &p->functions[i];
		uint32_t first = spans[i].first, last = spans[i].last;
		struct mark mark = {.function = f->name};

		if (!first || tally_find(functions, tally_key(f->name),
					 tally_key(f->filename)) == PROFILE_NONE)
			continue;
		if (f->start_line && f->start_line < first &&
		    first - f->start_line <= MAX_HEAD)
			first = f->start_line;
		mark.file = tally_find(files, tally_key(f->filename), 0);
		if (last - first >= left)
			continue;
		mark.span = last - first + 1;
		left -= mark.span;
		for (uint32_t n = 0; n < mark.span; n++) {
			mark.line = first + n;
			if (add_mark(marks, mark))
				return -ENOMEM;
		}
	}
	return 0;
}

/* Sorts by place; a mark with code comes first, then that of the innermost function. */
static int compare_marks(const void *va, const void *vb)
{
	const struct mark *x = va, *y = vb;

	if (x->file != y->file)
		return x->file > y->file ? 1 : -1;
	if (x->line != y->line)
		return x->line > y->line ? 1 : -1;
	if (x->span != y->span)
		return x->span > y->span ? 1 : -1;
	return x->function && y->function ? strcmp(x->function, y->function) : 0;
}

/* Keeps one mark for each line without code. */
static void drop_lines_with_code(struct marks *marks)
{
	size_t nr = 0;

	qsort(marks->items, marks->nr, sizeof(*marks->items), compare_marks);
	for (size_t i = 0; i < marks->nr; i++) {
		const struct mark *m = &marks->items[i], *before = m - 1;

		if (m->span && (!i || before->file != m->file || before->line != m->line))
			marks->items[nr++] = *m;
	}
	marks->nr = nr;
}

/* Merges @marks of this file into its lines. */
static int add_lines(struct attribution_file *file, const struct mark *marks, size_t nr)
{
	size_t i = 0, k = 0, nr_all = 0;
	struct attribution_line *all = calloc(file->nr_lines + nr + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	while (i < file->nr_lines || k < nr) {
		if (k == nr ||
		    (i < file->nr_lines && file->lines[i].line <= marks[k].line)) {
			k += k < nr && file->lines[i].line == marks[k].line;
			all[nr_all++] = file->lines[i++];
			continue;
		}
		all[nr_all++] = (struct attribution_line){.line = marks[k].line,
							  .function = marks[k].function,
							  .no_code = true};
		k++;
	}
	free(file->lines);
	file->lines = all;
	file->nr_lines = nr_all;
	return 0;
}

static int add_all_lines(struct attribution *a, const struct marks *marks)
{
	int r = 0;

	for (size_t i = 0, end; i < marks->nr && !r; i = end) {
		uint32_t file = marks->items[i].file;

		for (end = i + 1; end < marks->nr && marks->items[end].file == file;
		     end++)
			;
		r = add_lines(&a->files[file], &marks->items[i], end - i);
	}
	return r;
}

/** Adds the lines without code to the tables of files. Return: 0 or -ENOMEM. */
static int code_build(const struct profile *p, struct attribution *a)
{
	_cleanup_free_ struct code_span *spans =
		calloc(p->nr_functions + 1, sizeof(*spans));
	/* Numbered in the order of the result: the number of a file is its index. */
	_cleanup_(tally_deinit) struct tally files = {0}, functions = {0};
	struct marks marks = {0};
	int r = spans ? 0 : -ENOMEM;

	if (!p->extra.nr_codes)
		return 0;
	if (!r)
		r = number_listed(a, &files, &functions);
	if (!r)
		r = read_rows(p, &files, spans, &marks);
	if (!r)
		r = add_spans(p, &files, &functions, spans, &marks);
	if (!r && marks.nr) {
		drop_lines_with_code(&marks);
		r = add_all_lines(a, &marks);
	}
	free(marks.items);
	return r;
}

/* ---- why a sample was charged to no line ---- */

/* At most this many objects are named with a miss. */
#define MAX_OBJECTS 5

/* Derives the miss reason of a location for which the profile has none. */
static enum miss derived_miss(const struct work *w, const struct profile_location *l,
			      enum code_kind kind)
{
	bool has_function = false;

	for (uint32_t i = 0; i < l->nr_lines; i++) {
		const struct site *site = &w->sites[l->first_line + i];

		if (site->has_line)
			return MISS_NO_LINE; /* the inlined frame inside it has none */
		has_function = has_function || site->function != PROFILE_NONE;
	}
	switch (kind) {
	case CODE_JIT:
		return has_function ? MISS_JIT_NO_LINES : MISS_JIT_UNKNOWN;
	case CODE_PYTHON:
		return MISS_NO_LINE;
	case CODE_UNKNOWN:
		return !has_function          ? MISS_NO_MAPPING
		       : !w->p->extra.present ? MISS_OTHER_TOOL
					      : MISS_NO_DEBUG_INFO;
	default:
		/* What that tool found, or would have found with -g, is not known. */
		return !w->p->extra.present ? MISS_OTHER_TOOL
		       : has_function       ? MISS_NO_DEBUG_INFO
					    : MISS_NO_SYMBOLS;
	}
}

/* Skips frames of the C runtime if an interpreter called them: they belong to it. */
static uint32_t skip_c_runtime(const struct work *w, const struct profile_sample *s,
			       uint32_t first)
{
	const uint32_t *locations = profile_stack(w->p, s);

	for (uint32_t i = first; i < s->nr_locations; i++) {
		const struct mapping_code *code = &w->codes[w->places[locations[i]].code];

		if (code->kind == CODE_INTERPRETER)
			return i;
		if (!code->charges_last)
			break;
	}
	return first;
}

/*
 * Returns the location that is responsible: the innermost in user space; else the leaf.
 */
static const struct profile_location *blamed(const struct work *w,
					     const struct profile_sample *s,
					     const struct mapping_code **ret_code)
{
	const uint32_t *locations = &w->p->sample_locations[s->first_location];
	uint32_t chosen = locations[0];

	for (uint32_t i = 0; i < s->nr_locations && w->options.charge != CHARGE_LEAF;
	     i++) {
		if (w->codes[w->places[locations[i]].code].kind == CODE_KERNEL)
			continue;
		chosen = locations[skip_c_runtime(w, s, i)];
		break;
	}
	*ret_code = &w->codes[w->places[chosen].code];
	return &w->p->locations[chosen];
}

/* @undescribed  location of JIT code that kept the sample from a line; PROFILE_NONE */
static enum miss miss_of(const struct work *w, const struct profile_sample *s,
			 uint32_t undescribed, const char **object)
{
	const struct profile_location *l;
	const struct mapping_code *code;

	if (!s->nr_locations) {
		*object = strpool_add(w->p->pool, "");
		return MISS_NO_STACK;
	}
	if (undescribed == PROFILE_NONE) {
		l = blamed(w, s, &code);
	} else {
		l = &w->p->locations[undescribed];
		code = &w->codes[w->places[undescribed].code];
	}
	*object = code->object;
	if (code->kind == CODE_INTERPRETER && !w->options.runtime)
		return MISS_INTERPRETER; /* debug info would not help */
	if (code->charges_last &&
	    (w->options.charge == CHARGE_LEAF || stack_status_is_incomplete(s->status)))
		return MISS_C_RUNTIME; /* same */
	if (l->miss != MISS_NONE)
		return l->miss;
	if (code->kind == CODE_KERNEL)
		return MISS_KERNEL;
	return derived_miss(w, l, code->kind);
}

/**
 * Tallies the reason and the object of a sample without a line. Return: 0 or -ENOMEM.
 */
static int miss_tally(struct work *w, const struct profile_sample *s,
		      uint32_t undescribed, struct weight weight)
{
	const char *object;
	enum miss miss = miss_of(w, s, undescribed, &object);
	uint32_t item = tally_number(&w->misses, miss, tally_key(object));

	if (item == PROFILE_NONE)
		return -ENOMEM;
	weight_add(&w->misses.items[item].self, weight);
	return 0;
}

static int compare_items(const void *a, const void *b)
{
	const struct tally_item *x = a, *y = b;

	if (x->self.samples != y->self.samples)
		return x->self.samples > y->self.samples ? -1 : 1;
	return weight_compare(x->self, y->self);
}

static int compare_misses(const void *a, const void *b)
{
	const struct attribution_miss *x = a, *y = b;

	if (x->weight.samples != y->weight.samples)
		return x->weight.samples > y->weight.samples ? -1 : 1;
	return x->miss < y->miss ? -1 : x->miss > y->miss;
}

static int misses_build(struct work *w, struct attribution *a)
{
	uint32_t row_of[NR_MISSES];

	a->misses = calloc(NR_MISSES, sizeof(*a->misses));
	if (!a->misses)
		return -ENOMEM;
	for (size_t i = 0; i < NR_MISSES; i++)
		row_of[i] = PROFILE_NONE;
	/* No item is referred to by number, so sorting by weight is allowed. */
	if (w->misses.nr)
		qsort(w->misses.items, w->misses.nr, sizeof(*w->misses.items),
		      compare_items);
	for (size_t i = 0; i < w->misses.nr; i++) {
		const struct tally_item *item = &w->misses.items[i];
		struct attribution_miss *row;

		if (row_of[item->a] == PROFILE_NONE) {
			row_of[item->a] = (uint32_t)a->nr_misses;
			row = &a->misses[a->nr_misses++];
			row->miss = (enum miss)item->a;
			row->objects = calloc(MAX_OBJECTS, sizeof(*row->objects));
			if (!row->objects)
				return -ENOMEM;
		}
		row = &a->misses[row_of[item->a]];
		weight_add(&row->weight, item->self);
		if (row->nr_objects < MAX_OBJECTS && *tally_string(item->b))
			row->objects[row->nr_objects++] = tally_string(item->b);
	}
	qsort(a->misses, a->nr_misses, sizeof(*a->misses), compare_misses);
	return 0;
}

/*
 * Builds sorted tables of files, their lines and callees, and functions from tallies.
 */

#define MAX_CALLEES 8 /* the heaviest of each line */

static int compare_weights(struct weight self_a, struct weight total_a,
			   struct weight self_b, struct weight total_b)
{
	int r = weight_compare(self_a, self_b);

	return r ? r : weight_compare(total_a, total_b);
}

static int compare_files(const void *a, const void *b)
{
	const struct attribution_file *x = a, *y = b;
	int r = compare_weights(x->self, x->total, y->self, y->total);

	return r ? r : strcmp(x->path, y->path);
}

static int compare_lines(const void *a, const void *b)
{
	const struct attribution_line *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

static int compare_callees(const void *a, const void *b)
{
	const struct attribution_callee *x = a, *y = b;
	int r = weight_compare(x->self, y->self);

	if (!r)
		r = strcmp(x->function, y->function);
	return r ? r : strcmp(x->object, y->object);
}

static int compare_functions(const void *a, const void *b)
{
	const struct attribution_function *x = a, *y = b;
	int r = compare_weights(x->self, x->total, y->self, y->total);

	if (!r)
		r = strcmp(x->name, y->name);
	if (!r)
		r = strcmp(x->object, y->object);
	return r ? r : strcmp(x->file, y->file);
}

/* Lines and files that merging left without samples have no total. */
static bool is_seen(const struct tally_item *item)
{
	return !weight_is_zero(&item->total);
}

static int allocate_lines(struct work *w, struct attribution *a)
{
	for (size_t i = 0; i < w->lines.nr; i++)
		if (is_seen(&w->lines.items[i]))
			a->files[w->lines.items[i].a].nr_lines++;
	for (size_t i = 0; i < a->nr_files; i++) {
		struct attribution_file *file = &a->files[i];

		file->lines = calloc(file->nr_lines + 1, sizeof(*file->lines));
		if (!file->lines) {
			file->nr_lines = 0;
			return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Returns how many samples of equal CPU time would tell shares as exactly as these do
 * (Kish's effective sample size): a tick that comes late stands for more time.
 */
static double equal_samples(const struct work *w, const struct weight *all)
{
	double value = (double)all->cpu_ns;

	return w->squares > 0 ? value * value / w->squares : (double)all->samples;
}

static void fill_lines(struct work *w, struct attribution *a,
		       struct attribution_line **slots)
{
	/* Weights that are not sample counts (bytes) have no interval: 0..1. */
	double nr = strcmp(a->counted.type, "samples") ? 0 : equal_samples(w, &a->all);

	for (size_t i = 0; i < a->nr_files; i++)
		a->files[i].nr_lines = 0;
	for (size_t i = 0; i < w->lines.nr; i++) {
		const struct tally_item *item = &w->lines.items[i];
		struct attribution_file *file = &a->files[item->a];
		struct attribution_line *line;

		if (!is_seen(item))
			continue;
		line = &file->lines[file->nr_lines++];
		*line = (struct attribution_line){.line = (uint32_t)item->b,
						  .function = "",
						  .self = item->self,
						  .total = item->total};
		wilson_ci95(weight_share(&item->self, &a->all), nr, &line->ci95_low,
			    &line->ci95_high);
		slots[i] = line;
	}
}

/* Names each line after the function with most of its self; else most of its total. */
static int name_lines(struct work *w, struct attribution_line *const *slots)
{
	_cleanup_free_ const struct tally_item **best =
		calloc(w->lines.nr + 1, sizeof(*best));

	if (!best)
		return -ENOMEM;
	for (size_t i = 0; i < w->sites_at.nr; i++) {
		struct tally_item *item = &w->sites_at.items[i];
		const struct tally_item *other = best[item->a];
		const struct tally_item *function = &w->functions.items[item->b];

		item->total = function->total;
		if (!slots[item->a] ||
		    (other && compare_weights(item->self, item->total, other->self,
					      other->total) >= 0))
			continue;
		best[item->a] = item;
		slots[item->a]->function = tally_string(w->names.items[function->a].a);
		slots[item->a]->function_line = function->tag;
	}
	return 0;
}

static int add_callees(struct work *w, struct attribution_line *const *slots)
{
	for (size_t i = 0; i < w->callees.nr; i++)
		slots[w->callees.items[i].a]->nr_callees++;
	for (size_t i = 0; i < w->callees.nr; i++) {
		const struct tally_item *item = &w->callees.items[i];
		const struct tally_item *name = &w->names.items[item->b];
		struct attribution_line *line = slots[item->a];

		if (!line->callees) {
			line->callees = calloc(line->nr_callees, sizeof(*line->callees));
			line->nr_callees = 0;
		}
		if (!line->callees)
			return -ENOMEM;
		line->callees[line->nr_callees++] =
			(struct attribution_callee){.function = tally_string(name->a),
						    .object = tally_string(name->b),
						    .self = item->self};
	}
	return 0;
}

static void sort_files(struct attribution *a)
{
	for (size_t i = 0; i < a->nr_files; i++) {
		struct attribution_file *file = &a->files[i];

		for (size_t k = 0; k < file->nr_lines; k++) {
			struct attribution_line *line = &file->lines[k];

			if (!line->nr_callees)
				continue;
			qsort(line->callees, line->nr_callees, sizeof(*line->callees),
			      compare_callees);
			if (line->nr_callees > MAX_CALLEES)
				line->nr_callees = MAX_CALLEES;
		}
		qsort(file->lines, file->nr_lines, sizeof(*file->lines), compare_lines);
	}
	qsort(a->files, a->nr_files, sizeof(*a->files), compare_files);
}

/* Drops files that have only samples without weight: they sort last, with no total. */
static void drop_unseen_files(struct attribution *a)
{
	while (a->nr_files && !a->files[a->nr_files - 1].nr_lines)
		free(a->files[--a->nr_files].lines);
}

/*
 * Sets the languages. A Python file with compiled functions also has interpreted lines,
 * at least their callers: the kind with more samples charged decides.
 */
static int name_languages(struct work *w, struct attribution *a)
{
	_cleanup_free_ struct weight *jit = calloc(w->files.nr + 1, sizeof(*jit));

	if (!jit)
		return -ENOMEM;
	for (size_t i = 0; i < w->lines.nr; i++)
		if (w->lines.items[i].tag & LINE_JIT)
			weight_add(&jit[w->lines.items[i].a], w->lines.items[i].self);
	for (size_t i = 0; i < w->files.nr; i++) {
		struct weight self = a->files[i].self,
			      other = {
				      .samples = self.samples - jit[i].samples,
				      .cpu_ns = self.cpu_ns - jit[i].cpu_ns,
			      };

		a->files[i].language = language_of(
			a->files[i].path, w->files.items[i].tag & FILE_JIT &&
						  weight_compare(jit[i], other) <= 0);
	}
	return 0;
}

/* Builds the tables of the result from the tallies. Return: 0 or -ENOMEM. */
static int files_build(struct work *w, struct attribution *a)
{
	/* Lines of the result, by number in w->lines. */
	_cleanup_free_ struct attribution_line **slots =
		calloc(w->lines.nr + 1, sizeof(*slots));
	int r;

	a->files = calloc(w->files.nr + 1, sizeof(*a->files));
	if (!a->files || !slots)
		return -ENOMEM;
	a->nr_files = w->files.nr;
	for (size_t i = 0; i < w->files.nr; i++) {
		const struct tally_item *item = &w->files.items[i];

		a->files[i] = (struct attribution_file){
			.path = tally_string(item->a),
			.self = item->self,
			.total = item->total,
			.is_library = !(item->tag & FILE_MINE),
			.source = {.from = "", .note = ""},
		};
	}
	r = name_languages(w, a);
	if (!r)
		r = allocate_lines(w, a);
	if (r)
		return r;
	fill_lines(w, a, slots);
	r = name_lines(w, slots);
	if (!r)
		r = add_callees(w, slots);
	if (r)
		return r;
	sort_files(a);
	drop_unseen_files(a);
	return 0;
}

static int functions_build(struct work *w, struct attribution *a)
{
	a->functions = calloc(w->functions.nr + 1, sizeof(*a->functions));
	if (!a->functions)
		return -ENOMEM;
	for (size_t i = 0; i < w->functions.nr; i++) {
		const struct tally_item *item = &w->functions.items[i];
		const struct tally_item *name = &w->names.items[item->a];

		if (!is_seen(item))
			continue;
		a->functions[a->nr_functions++] = (struct attribution_function){
			.name = tally_string(name->a),
			.file = tally_string(item->b),
			.object = tally_string(name->b),
			.start_line = item->tag,
			.is_runtime = !w->options.runtime &&
				      code_kind_of(tally_string(name->b)) ==
					      CODE_INTERPRETER,
			.self = item->self,
			.total = item->total,
		};
	}
	qsort(a->functions, a->nr_functions, sizeof(*a->functions), compare_functions);
	return 0;
}

/* Results of the walk over one stack. */
struct findings {
	const struct site *charged; /* NULL: no line is charged */
	struct attribution_charge charge; /* where it is */
	uint32_t leaf_name; /* of the innermost frame; PROFILE_NONE: no frame */
	uint32_t callee; /* same, without interpreter frames; PROFILE_NONE: none yet */
	uint32_t function; /* innermost that may be charged */
	uint32_t any_function; /* innermost of all */
	bool has_name; /* one of the functions has one */
	/* called by the charged line; PROFILE_NONE: the line itself */
	uint32_t charged_callee;
	bool has_line; /* of a frame that may be charged, maybe not under CHARGE_MINE */
	bool passed_jit; /* the charged frame calls JIT code with names only */
	/* Location of JIT code that nothing describes, inside of which no line was found:
	 * then no line is charged. PROFILE_NONE: none */
	uint32_t undescribed;
	bool is_unknown; /* a row of undescribed code is charged */
	bool has_last; /* a line of the C runtime could be charged */
	bool has_interpreter; /* a frame of one, which may not be charged */
};

/* One walk over a sample's stack. */
struct stack_walk {
	const struct profile_sample *s;
	uint32_t number; /* of the sample, + 1 */
	struct weight weight;
	bool with_last; /* charge lines of the C runtime, too */
};

static bool takes_charge(const struct work *w, const struct findings *f,
			 const struct site *site, bool is_leaf)
{
	if (f->charged || f->undescribed != PROFILE_NONE)
		return false;
	switch (w->options.charge) {
	case CHARGE_MINE:
		return site->is_mine;
	case CHARGE_LEAF:
		return is_leaf;
	case CHARGE_LINE:
		break;
	}
	return true;
}

/* Records a frame, which may be the callee of an outer line. */
static void pass(const struct mapping_code *code, struct findings *f, uint32_t name)
{
	if (f->leaf_name == PROFILE_NONE)
		f->leaf_name = name;
	if (f->callee == PROFILE_NONE &&
	    (code->kind != CODE_INTERPRETER || code->may_charge))
		f->callee = name;
}

/* Is it generated code without a name, in no object that a runtime registered? */
static bool is_undescribed(const struct profile_location *l)
{
	if (l->nr_lines)
		return false;
	return l->miss == MISS_NONE || l->miss == MISS_JIT_UNKNOWN ||
	       l->miss == MISS_JIT_LOST || l->miss == MISS_JIT_FILE_REFUSED ||
	       l->miss == MISS_FILE_LATE || l->miss == MISS_AMBIGUOUS_TIME;
}

static void pass_jit(const struct work *w, uint32_t location, struct findings *f)
{
	const struct profile_location *l = &w->p->locations[location];

	if (f->charged || f->undescribed != PROFILE_NONE)
		return;
	f->passed_jit |= l->miss == MISS_JIT_NO_LINES;
	if (is_undescribed(l))
		f->undescribed = location;
}

static void name_innermost(struct findings *f, uint32_t function, bool may_charge)
{
	if (f->any_function == PROFILE_NONE)
		f->any_function = function;
	if (f->function == PROFILE_NONE && may_charge)
		f->function = function;
}

static void visit(struct work *w, struct findings *f, const struct site *site,
		  const struct mapping_code *code, const struct stack_walk *walk)
{
	uint32_t sample = walk->number;
	struct weight weight = walk->weight;
	bool is_leaf = f->leaf_name == PROFILE_NONE;
	bool calls_all = site->use & LINE_IF_INNERMOST && !is_leaf;

	if (site->function != PROFILE_NONE) {
		tally_add_total(&w->functions.items[site->function], sample, weight);
		if (f->undescribed == PROFILE_NONE) {
			f->has_name = true;
			name_innermost(f, site->function, code->may_charge && !calls_all);
		}
	}
	if (!line_counts(site->use, is_leaf, true))
		return;
	if (!line_counts(site->use, is_leaf, walk->with_last)) {
		f->has_last |= f->undescribed == PROFILE_NONE;
		return;
	}
	f->has_line |= f->undescribed == PROFILE_NONE;
	if (tally_add_total(&w->lines.items[site->line], sample, weight))
		tally_add_total(&w->files.items[site->file], sample, weight);
	if (takes_charge(w, f, site, is_leaf)) {
		f->charged = site;
		f->charged_callee = code->kind == CODE_PYTHON ? f->callee : f->leaf_name;
	}
}

/* Prefetches entries needed soon, because the tables are larger than caches. */
static void look_ahead(const struct work *w, const uint32_t *locations, uint32_t nr)
{
	if (nr > 4)
		__builtin_prefetch(&w->places[locations[4]]);
	if (nr > 2)
		__builtin_prefetch(&w->sites[w->places[locations[2]].first_site]);
	if (nr > 1) {
		const struct location_sites *next = &w->places[locations[1]];
		const struct site *site = &w->sites[next->first_site];

		if (next->nr_sites && site->function != PROFILE_NONE)
			__builtin_prefetch(&w->functions.items[site->function]);
		if (next->nr_sites && site->line != PROFILE_NONE)
			__builtin_prefetch(&w->lines.items[site->line]);
	}
}

/* Code without a name is a function of its own: its caller has not spent its time. */
static void visit_nameless(struct work *w, struct findings *f,
			   const struct location_sites *place,
			   const struct mapping_code *code, const struct stack_walk *walk)
{
	tally_add_total(&w->functions.items[place->function], walk->number, walk->weight);
	if (f->undescribed == PROFILE_NONE)
		name_innermost(f, place->function, code->may_charge);
}

static struct findings walk_stack(struct work *w, const struct stack_walk *walk)
{
	const uint32_t *locations = profile_stack(w->p, walk->s);
	uint32_t nr = walk->s->nr_locations;
	struct findings f = {.charge = {.frame = PROFILE_NONE},
			     .leaf_name = PROFILE_NONE,
			     .callee = PROFILE_NONE,
			     .function = PROFILE_NONE,
			     .any_function = PROFILE_NONE,
			     .undescribed = PROFILE_NONE};

	for (uint32_t i = 0; i < nr; i++) {
		const struct location_sites *place = &w->places[locations[i]];
		const struct mapping_code *code = &w->codes[place->code];

		look_ahead(w, locations + i, nr - i);
		if (code->kind == CODE_JIT)
			pass_jit(w, locations[i], &f);
		f.has_interpreter |= code->kind == CODE_INTERPRETER && !code->may_charge;
		for (uint32_t k = 0; k < place->nr_sites; k++) {
			const struct site *site = &w->sites[place->first_site + k];

			visit(w, &f, site, code, walk);
			if (f.charged == site && f.charge.frame == PROFILE_NONE)
				f.charge = (struct attribution_charge){.frame = i,
								       .line = k};
			pass(code, &f, site->name);
		}
		if (place->nr_sites)
			continue;
		/* Such code of a JIT is a function of its own: undescribed_function(). */
		if (code->kind != CODE_JIT ||
		    !is_undescribed(&w->p->locations[locations[i]]))
			visit_nameless(w, &f, place, code, walk);
		pass(code, &f, place->name);
	}
	return f;
}

/*
 * May the C runtime be charged, because no caller has a line? Unknown callers count as
 * having lines, and so does an interpreter, even without debug info.
 */
static bool last_may_charge(const struct findings *f, const struct profile_sample *s)
{
	return f->has_last && !f->has_interpreter &&
	       !stack_status_is_incomplete(s->status);
}

/* Walks again with the lines of the C runtime if no caller has a line. */
static struct findings walk(struct work *w, struct stack_walk *walk)
{
	struct findings f = walk_stack(w, walk);

	if (f.charged || w->options.charge != CHARGE_LINE ||
	    !last_may_charge(&f, walk->s))
		return f;
	walk->with_last = true;
	return walk_stack(w, walk);
}

static int charge_line(struct work *w, const struct findings *f, struct weight weight)
{
	const struct site *site = f->charged;
	uint32_t callee;

	weight_add(&w->lines.items[site->line].self, weight);
	weight_add(&w->files.items[site->file].self, weight);
	if (site->at != PROFILE_NONE)
		weight_add(&w->sites_at.items[site->at].self, weight);
	if (f->charged_callee == PROFILE_NONE)
		return 0;
	callee = tally_number(&w->callees, site->line, f->charged_callee);
	if (callee == PROFILE_NONE)
		return -ENOMEM;
	weight_add(&w->callees.items[callee].self, weight);
	return 0;
}

static const char *exe_of(const struct work *w, const struct profile_sample *s)
{
	for (uint32_t i = 0; i < s->nr_labels; i++) {
		const struct profile_label *label = &w->p->labels[s->first_label + i];

		if (label->key == w->exe_key)
			return path_basename(label->str);
	}
	return "";
}

/* Returns the function that stands for undescribed code of the sample's program. */
static uint32_t undescribed_function(struct work *w, const struct findings *f,
				     const struct profile_sample *s)
{
	const struct profile_location *l = &w->p->locations[f->undescribed];
	const char *object = w->codes[w->places[f->undescribed].code].object;
	const char *exe = exe_of(w, s);
	uint32_t names;
	char name[256];

	snprintf(name, sizeof(name), "%s%s%.200s%s",
		 l->miss == MISS_AMBIGUOUS_TIME ? "code of a JIT, replaced meanwhile"
						: "code of a JIT, not described",
		 *exe ? " (" : "", exe, *exe ? ")" : "");
	names = tally_number(&w->names, tally_key(strpool_add(w->p->pool, name)),
			     tally_key(object));
	if (names == PROFILE_NONE)
		return PROFILE_NONE;
	return tally_number(&w->functions, names, tally_key(strpool_add(w->p->pool, "")));
}

/* Return: 0 or -ENOMEM. */
static int charge_function(struct work *w, struct findings *f,
			   const struct stack_walk *walk)
{
	uint32_t function = f->function;

	if (w->options.charge == CHARGE_LEAF)
		function = f->any_function;
	if (w->options.charge == CHARGE_MINE && f->charged &&
	    f->charged->function != PROFILE_NONE)
		function = f->charged->function;
	if (function == PROFILE_NONE && f->undescribed != PROFILE_NONE) {
		function = undescribed_function(w, f, walk->s);
		if (function == PROFILE_NONE)
			return -ENOMEM;
		tally_add_total(&w->functions.items[function], walk->number,
				walk->weight);
		f->is_unknown = true;
	} else if (function == PROFILE_NONE) {
		function = f->any_function;
	}
	if (function != PROFILE_NONE)
		weight_add(&w->functions.items[function].self, walk->weight);
	return 0;
}

static bool leaf_is_kernel(const struct work *w, const struct profile_sample *s)
{
	uint32_t leaf;

	if (!s->nr_locations)
		return false;
	leaf = w->p->sample_locations[s->first_location];
	return w->codes[w->places[leaf].code].kind == CODE_KERNEL;
}

static void count_stack(struct attribution *a, uint32_t status, struct weight weight)
{
	if (stack_status_is_incomplete(status))
		weight_add(&a->incomplete_stacks, weight);
	else if (status == LB_STACK_GUESSED)
		weight_add(&a->guessed_stacks, weight);
	else if (status == LB_STACK_DERIVED)
		weight_add(&a->derived_stacks, weight);
}

struct weight attribution_unproven_stacks(const struct attribution *a)
{
	struct weight sum = a->guessed_stacks;

	weight_add(&sum, a->derived_stacks);
	return sum;
}

static int charge_sample(struct work *w, struct attribution *a, uint32_t index,
			 struct weight weight)
{
	const struct profile_sample *s = &w->p->samples[index];
	struct stack_walk stack = {.s = s, .number = index + 1, .weight = weight};
	struct findings f = walk(w, &stack);

	weight_add(&a->all, weight);
	w->squares += (double)weight.cpu_ns * (double)weight.cpu_ns /
		      (double)(weight.samples ? weight.samples : 1);
	if (leaf_is_kernel(w, s))
		weight_add(&a->kernel, weight);
	count_stack(a, s->status, weight);
	if (charge_function(w, &f, &stack))
		return -ENOMEM;
	f.charge.with_last = stack.with_last;
	a->charges[index] = f.charge;
	if (f.charged) {
		weight_add(&a->with_line, weight);
		if (f.passed_jit)
			weight_add(&a->jit_without_lines, weight);
		return charge_line(w, &f, weight);
	}
	if (f.undescribed != PROFILE_NONE)
		weight_add(&a->jit_unknown, weight);
	weight_add(f.is_unknown || !f.has_name ? &a->unknown : &a->function_only, weight);
	if (w->options.charge == CHARGE_MINE && (f.has_line || last_may_charge(&f, s))) {
		weight_add(&a->not_mine, weight);
		return 0;
	}
	return miss_tally(w, s, f.undescribed, weight);
}

static int charge_all(struct work *w, struct attribution *a)
{
	struct weigher weigher = weigher_of(w->p);
	int r = 0;

	a->counted = weigher.counted;
	for (uint32_t i = 0; i < w->p->nr_samples && !r; i++) {
		struct weight weight = weigher_weigh(&weigher, &w->p->samples[i]);

		a->charges[i].frame = PROFILE_NONE;
		if (!weight_is_zero(&weight))
			r = charge_sample(w, a, i, weight);
	}
	a->nr_negative = weigher.nr_negative;
	return r;
}

static void work_deinit(struct work *w)
{
	tally_deinit(&w->files);
	tally_deinit(&w->lines);
	tally_deinit(&w->names);
	tally_deinit(&w->functions);
	tally_deinit(&w->sites_at);
	tally_deinit(&w->callees);
	tally_deinit(&w->misses);
	free(w->codes);
	free(w->sites);
	free(w->places);
}

int attribution_new(const struct profile *p, const struct attribution_options *options,
		    struct attribution **ret)
{
	_cleanup_(attribution_freep) struct attribution *a = calloc(1, sizeof(*a));
	struct work w = {
		.p = p, .options = *options, .exe_key = strpool_add(p->pool, LABEL_EXE)};
	int r = -ENOMEM;

	if (!a)
		return -ENOMEM;
	a->options = *options;
	a->charges = calloc(p->nr_samples + 1, sizeof(*a->charges));
	a->line_uses = calloc(p->nr_lines + 1, sizeof(*a->line_uses));
	if (!a->charges || !a->line_uses)
		return -ENOMEM;
	r = frame_index_build(&w);
	if (!r)
		r = charge_all(&w, a);
	for (size_t i = 0; i < p->nr_lines && !r; i++)
		a->line_uses[i] = w.sites[i].use;
	if (!r)
		r = files_build(&w, a);
	if (!r)
		r = functions_build(&w, a);
	if (!r)
		r = code_build(p, a);
	if (!r)
		r = misses_build(&w, a);
	work_deinit(&w);
	if (!r)
		*ret = take_ptr(a);
	return r;
}

void attribution_free(struct attribution *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->nr_files; i++) {
		struct attribution_file *file = &a->files[i];

		for (size_t k = 0; k < file->nr_lines; k++)
			free(file->lines[k].callees);
		free(file->lines);
		free(file->source.lines);
	}
	for (size_t i = 0; i < a->nr_misses; i++)
		free(a->misses[i].objects);
	free(a->files);
	free(a->functions);
	free(a->misses);
	free(a->charges);
	free(a->line_uses);
	free(a);
}

uint32_t attribution_next_line(const struct attribution_source *source, size_t from)
{
	const uint32_t *known = source->known;
	size_t next;

	if (known) {
		next = SEARCH_FIRST(i, source->nr_known, known[i] >= from);
		return next < source->nr_known ? known[next] : 0;
	}
	while (from <= source->nr_lines && !source->lines[from - 1])
		from++;
	return from <= source->nr_lines ? (uint32_t)from : 0;
}

void wilson_ci95(double share, double n, double *low, double *high)
{
	struct margins m;

	*low = 0;
	*high = 1;
	if (n <= 0)
		return;
	share = share < 1 ? share : 1;
	m = wilson_margins(share * n, n, 1.959963984540054);
	if (share > 0)
		*low = fmax(0, share - m.below / n);
	if (share < 1)
		*high = fmin(1, share + m.above / n);
}
