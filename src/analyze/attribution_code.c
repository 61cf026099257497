// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines without machine code. The code of hot functions (profile_extra.codes) tells
 * which lines have some; a line between the first and the last one of a function
 * that no row has, and no sample, has none of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribution_work.h"
#include "base/vec.h"

#define MAX_BARE_LINES (1u << 18) /* of all files; more are not listed */
#define MAX_SPAN       (1u << 14) /* lines of one function; those behind are not looked at */
/* A declaration farther above the first line of code is one of another file. */
#define MAX_HEAD 100

/* A line of a file: one that has code, or (with a function) one that may lack it. */
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

/* Lines of one function, in any of its copies. */
struct span {
	uint32_t first, last; /* 0: none */
};

/* (pointer, pointer) -> number; names and paths are interned. */
struct pair {
	const char *a, *b;
	uint32_t number;
};

static int compare_pairs(const void *va, const void *vb)
{
	const struct pair *x = va, *y = vb;

	if (x->a != y->a)
		return (uintptr_t)x->a > (uintptr_t)y->a ? 1 : -1;
	return ((uintptr_t)x->b > (uintptr_t)y->b) - ((uintptr_t)x->b < (uintptr_t)y->b);
}

struct lookup {
	struct pair *items;
	size_t nr;
};

static uint32_t lookup_find(const struct lookup *l, const char *a, const char *b)
{
	struct pair key = {a, b, 0};
	const struct pair *found =
		l->nr ? bsearch(&key, l->items, l->nr, sizeof(key), compare_pairs) : NULL;

	return found ? found->number : PROFILE_NONE;
}

static int lookup_files(const struct attribution *a, struct lookup *ret)
{
	ret->items = calloc(a->nr_files + 1, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < a->nr_files; i++)
		ret->items[ret->nr++] =
			(struct pair){a->files[i].path, NULL, (uint32_t)i};
	qsort(ret->items, ret->nr, sizeof(*ret->items), compare_pairs);
	return 0;
}

static int lookup_functions(const struct attribution *a, struct lookup *ret)
{
	ret->items = calloc(a->nr_functions + 1, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < a->nr_functions; i++)
		ret->items[ret->nr++] = (struct pair){a->functions[i].name,
						      a->functions[i].file, (uint32_t)i};
	qsort(ret->items, ret->nr, sizeof(*ret->items), compare_pairs);
	return 0;
}

static int add_mark(struct marks *marks, struct mark mark)
{
	int r = vec_grow(&marks->items, &marks->cap, marks->nr + 1, sizeof(mark), 0);

	if (!r)
		marks->items[marks->nr++] = mark;
	return r;
}

/* Every row is a line with code; the functions' spans come from them too. */
static int read_rows(const struct profile *p, const struct lookup *files,
		     struct span *spans, struct marks *marks)
{
	for (size_t i = 0; i < p->extra.nr_codes; i++) {
		const struct profile_code *code = &p->extra.codes[i];

		for (size_t k = 0; k < code->nr_rows; k++) {
			const struct profile_code_row *row = &code->rows[k];
			struct mark mark = {.line = row->line};
			struct span *span;

			if (row->function == PROFILE_NONE || !row->line)
				continue;
			mark.file = lookup_find(
				files, p->functions[row->function].filename, NULL);
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

/* All lines of the functions that are listed; those with code are told later. */
static int add_spans(const struct profile *p, const struct lookup *files,
		     const struct lookup *functions, const struct span *spans,
		     struct marks *marks)
{
	size_t max = marks->nr + MAX_BARE_LINES;

	for (size_t i = 0; i < p->nr_functions; i++) {
		const struct profile_function *f = &p->functions[i];
		uint32_t first = spans[i].first, last = spans[i].last;
		uint32_t number = lookup_find(functions, f->name, f->filename);
		struct mark mark = {.function = f->name};

		if (!first || number == PROFILE_NONE)
			continue;
		if (f->start_line && f->start_line < first &&
		    first - f->start_line <= MAX_HEAD)
			first = f->start_line;
		if (last - first >= MAX_SPAN)
			last = first + MAX_SPAN - 1;
		mark.file = lookup_find(files, f->filename, NULL);
		mark.span = last - first + 1;
		if (marks->nr + mark.span > max)
			break;
		for (uint32_t n = 0; n < mark.span; n++) {
			mark.line = first + n;
			if (add_mark(marks, mark))
				return -ENOMEM;
		}
	}
	return 0;
}

/* By place; the line's code comes first, then the function that is innermost. */
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

/* Merges @marks, which are of this file, into its lines. */
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

int code_build(const struct profile *p, struct attribution *a)
{
	_cleanup_free_ struct span *spans = calloc(p->nr_functions + 1, sizeof(*spans));
	struct lookup files = {0}, functions = {0};
	struct marks marks = {0};
	int r = spans ? 0 : -ENOMEM;

	if (!p->extra.nr_codes)
		return 0;
	if (!r)
		r = lookup_files(a, &files);
	if (!r)
		r = lookup_functions(a, &functions);
	if (!r)
		r = read_rows(p, &files, spans, &marks);
	if (!r)
		r = add_spans(p, &files, &functions, spans, &marks);
	if (!r && marks.nr) {
		drop_lines_with_code(&marks);
		r = add_all_lines(a, &marks);
	}
	free(files.items);
	free(functions.items);
	free(marks.items);
	return r;
}
