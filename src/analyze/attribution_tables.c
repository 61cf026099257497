// SPDX-License-Identifier: GPL-2.0-or-later
/* From tallies to sorted tables of files, their lines and callees, and functions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribution_work.h"
#include "analyze/language.h"

#define MAX_CALLEES 8 /* kept for each line, the heaviest */

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

/* Where each line of the tallies is in the result, until everything hangs there. */
struct line_slots {
	struct attribution_line **of; /* by number in work.lines */
};

/* Lines and files on no sampled stack (left over from merging) have no total. */
static bool is_seen(const struct tally_item *item)
{
	return item->total.samples || item->total.cpu_ns;
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

static void fill_lines(struct work *w, struct attribution *a, struct line_slots *slots)
{
	bool is_samples = !strcmp(a->counted.type, "samples");

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
		/* Bytes and the like are no random sample of anything: 0..1. */
		wilson_ci95(item->self.samples, is_samples ? a->all.samples : 0,
			    &line->ci95_low, &line->ci95_high);
		slots->of[i] = line;
	}
}

/* Each line is called by the function that has most of it; else that ran most. */
static int name_lines(struct work *w, const struct line_slots *slots)
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
		if (!slots->of[item->a] ||
		    (other && compare_weights(item->self, item->total, other->self,
					      other->total) >= 0))
			continue;
		best[item->a] = item;
		slots->of[item->a]->function =
			tally_string(w->names.items[function->a].a);
		slots->of[item->a]->function_line = function->tag;
	}
	return 0;
}

static int add_callees(struct work *w, const struct line_slots *slots)
{
	for (size_t i = 0; i < w->callees.nr; i++)
		slots->of[w->callees.items[i].a]->nr_callees++;
	for (size_t i = 0; i < w->callees.nr; i++) {
		const struct tally_item *item = &w->callees.items[i];
		const struct tally_item *name = &w->names.items[item->b];
		struct attribution_line *line = slots->of[item->a];

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

/* Files that only samples without weight had are last, having no total. */
static void drop_unseen_files(struct attribution *a)
{
	while (a->nr_files && !a->files[a->nr_files - 1].nr_lines)
		free(a->files[--a->nr_files].lines);
}

/*
 * A Python file with compiled functions has interpreted lines too, at least those that
 * call them: what most of its samples were charged to decides.
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

int files_build(struct work *w, struct attribution *a)
{
	_cleanup_free_ struct attribution_line **of =
		calloc(w->lines.nr + 1, sizeof(*of));
	struct line_slots slots = {.of = of};
	int r;

	a->files = calloc(w->files.nr + 1, sizeof(*a->files));
	if (!a->files || !of)
		return -ENOMEM;
	a->nr_files = w->files.nr;
	for (size_t i = 0; i < w->files.nr; i++) {
		const struct tally_item *item = &w->files.items[i];

		a->files[i] = (struct attribution_file){
			.path = tally_string(item->a),
			.self = item->self,
			.total = item->total,
			.source = {.from = "", .note = ""},
		};
	}
	r = name_languages(w, a);
	if (!r)
		r = allocate_lines(w, a);
	if (r)
		return r;
	fill_lines(w, a, &slots);
	r = name_lines(w, &slots);
	if (!r)
		r = add_callees(w, &slots);
	if (r)
		return r;
	sort_files(a);
	drop_unseen_files(a);
	return 0;
}

int functions_build(struct work *w, struct attribution *a)
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
