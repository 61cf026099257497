// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One walk over each stack, leaf first, decides everything about the sample:
 *
 *	vfs_read      [kernel]      no charge: the kernel never takes it
 *	read          libc.so.6     no line                 <- function self
 *	fill_buffer   app  io.c:40  (inlined)               <- line self, callee vfs_read
 *	next_record   app  io.c:71                          <- total
 *	main          app  main.c:9                         <- total
 *
 * The C frames of an interpreter run what its Python frame says: they are no callee of
 * a line of Python, what they call is. Nor does the code that begins a thread take what
 * it calls: an interpreter that starts would be charged to the C library's line.
 */
#include "analyze/attribution.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/attribution_work.h"
#include "profile/stack_status.h"

/* What the walk over one stack has found. */
struct findings {
	const struct site *charged; /* NULL: no line takes the charge */
	uint32_t leaf_name; /* of the innermost frame; PROFILE_NONE: no frame at all */
	uint32_t callee; /* same, no frame of an interpreter; PROFILE_NONE: none yet */
	uint32_t function; /* innermost that may take the charge */
	uint32_t any_function; /* innermost of all */
	uint32_t charged_callee; /* below the charged line; PROFILE_NONE: itself */
	bool has_line; /* some line could have been charged under CHARGE_LINE */
	/* Code of a JIT that has names only, or not even that, lies below the charged one. */
	bool passed_jit, passed_unknown_jit;
};

static bool takes_charge(const struct work *w, const struct site *site, bool is_leaf)
{
	if (site->line == PROFILE_NONE)
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

/* A frame is passed: it may be what a line further out calls. */
static void pass(const struct code *code, struct findings *f, uint32_t name)
{
	if (f->leaf_name == PROFILE_NONE)
		f->leaf_name = name;
	if (f->callee == PROFILE_NONE &&
	    (code->kind != CODE_INTERPRETER || code->may_charge))
		f->callee = name;
}

static void pass_jit(const struct profile_location *l, struct findings *f)
{
	f->passed_jit |= l->miss == MISS_JIT_NO_LINES;
	f->passed_unknown_jit |= l->miss != MISS_NONE && !l->nr_lines;
}

static void visit(struct work *w, struct findings *f, const struct site *site,
		  const struct code *code, uint32_t sample, struct weight weight)
{
	bool is_leaf = f->leaf_name == PROFILE_NONE;
	bool calls_all = site->is_start && !is_leaf;

	if (site->function != PROFILE_NONE) {
		tally_add_total(&w->functions.items[site->function], sample, weight);
		if (f->any_function == PROFILE_NONE)
			f->any_function = site->function;
		if (f->function == PROFILE_NONE && code->may_charge && !calls_all)
			f->function = site->function;
	}
	if (site->line == PROFILE_NONE || calls_all)
		return;
	f->has_line = true;
	if (tally_add_total(&w->lines.items[site->line], sample, weight))
		tally_add_total(&w->files.items[site->file], sample, weight);
	if (!f->charged && takes_charge(w, site, is_leaf)) {
		f->charged = site;
		f->charged_callee = code->kind == CODE_PYTHON ? f->callee : f->leaf_name;
	}
}

/* Tables are larger than caches: what comes soon is fetched while this is counted. */
static void look_ahead(const struct work *w, const uint32_t *locations, uint32_t nr)
{
	if (nr > 4)
		__builtin_prefetch(&w->places[locations[4]]);
	if (nr > 2)
		__builtin_prefetch(&w->sites[w->places[locations[2]].first_site]);
	if (nr > 1) {
		const struct place *next = &w->places[locations[1]];
		const struct site *site = &w->sites[next->first_site];

		if (next->nr_sites && site->function != PROFILE_NONE)
			__builtin_prefetch(&w->functions.items[site->function]);
		if (next->nr_sites && site->line != PROFILE_NONE)
			__builtin_prefetch(&w->lines.items[site->line]);
	}
}

static struct findings walk(struct work *w, const struct profile_sample *s,
			    uint32_t sample, struct weight weight)
{
	const uint32_t *locations = profile_stack(w->p, s);
	struct findings f = {.leaf_name = PROFILE_NONE,
			     .callee = PROFILE_NONE,
			     .function = PROFILE_NONE,
			     .any_function = PROFILE_NONE};

	for (uint32_t i = 0; i < s->nr_locations; i++) {
		const struct place *place = &w->places[locations[i]];
		const struct code *code = &w->codes[place->code];

		look_ahead(w, locations + i, s->nr_locations - i);
		if (code->kind == CODE_JIT && !f.charged)
			pass_jit(&w->p->locations[locations[i]], &f);
		for (uint32_t k = 0; k < place->nr_sites; k++) {
			const struct site *site = &w->sites[place->first_site + k];

			visit(w, &f, site, code, sample, weight);
			pass(code, &f, site->name);
		}
		if (!place->nr_sites)
			pass(code, &f, place->name);
	}
	return f;
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

static void charge_function(struct work *w, const struct findings *f,
			    struct weight weight)
{
	uint32_t function = f->function != PROFILE_NONE ? f->function : f->any_function;

	if (w->options.charge == CHARGE_LEAF)
		function = f->any_function;
	if (w->options.charge == CHARGE_MINE && f->charged &&
	    f->charged->function != PROFILE_NONE)
		function = f->charged->function;
	if (function != PROFILE_NONE)
		weight_add(&w->functions.items[function].self, weight);
}

static bool leaf_is_kernel(const struct work *w, const struct profile_sample *s)
{
	uint32_t leaf;

	if (!s->nr_locations)
		return false;
	leaf = w->p->sample_locations[s->first_location];
	return w->codes[w->places[leaf].code].kind == CODE_KERNEL;
}

static int charge_sample(struct work *w, struct attribution *a, uint32_t index,
			 struct weight weight)
{
	const struct profile_sample *s = &w->p->samples[index];
	struct findings f = walk(w, s, index + 1, weight);

	weight_add(&a->all, weight);
	if (leaf_is_kernel(w, s))
		weight_add(&a->kernel, weight);
	if (stack_status_is_incomplete(s->status))
		weight_add(&a->incomplete_stacks, weight);
	charge_function(w, &f, weight);
	if (f.charged) {
		a->has_line[index] = true;
		weight_add(&a->with_line, weight);
		if (f.passed_jit)
			weight_add(&a->jit_without_lines, weight);
		else if (f.passed_unknown_jit)
			weight_add(&a->jit_unknown, weight);
		return charge_line(w, &f, weight);
	}
	weight_add(f.any_function == PROFILE_NONE ? &a->unknown : &a->function_only,
		   weight);
	if (w->options.charge == CHARGE_MINE && f.has_line) {
		weight_add(&a->not_mine, weight);
		return 0;
	}
	return miss_tally(w, s, weight);
}

static int charge_all(struct work *w, struct attribution *a)
{
	struct weigher weigher = weigher_of(w->p);
	struct process_keys keys = process_keys_of(w->p);
	int r = 0;

	a->counted = weigher.counted;
	for (uint32_t i = 0; i < w->p->nr_samples && !r; i++) {
		const struct profile_sample *s = &w->p->samples[i];
		bool negative = false;
		struct weight weight = weigher_weigh(&weigher, s, &negative);

		a->nr_negative += negative;
		if (!weight.samples && !weight.cpu_ns)
			continue;
		r = charge_sample(w, a, i, weight);
		if (!r)
			r = process_tally(w, &keys, s, weight);
	}
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
	tally_deinit(&w->identities);
	tally_deinit(&w->processes);
	tally_deinit(&w->comms);
	tally_deinit(&w->cgroups);
	free(w->codes);
	free(w->sites);
	free(w->places);
}

int attribution_new(const struct profile *p, const struct attribution_options *options,
		    struct attribution **ret)
{
	_cleanup_(attribution_freep) struct attribution *a = calloc(1, sizeof(*a));
	struct work w = {.p = p, .options = *options};
	int r = -ENOMEM;

	if (!a)
		return -ENOMEM;
	a->options = *options;
	a->has_line = calloc(p->nr_samples + 1, sizeof(*a->has_line));
	if (!a->has_line)
		return -ENOMEM;
	r = frame_index_build(&w);
	if (!r)
		r = charge_all(&w, a);
	if (!r)
		r = files_build(&w, a);
	if (!r)
		r = functions_build(&w, a);
	if (!r)
		r = code_build(p, a);
	if (!r)
		r = misses_build(&w, a);
	if (!r)
		r = processes_build(&w, a);
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
	free(a->processes);
	free(a->has_line);
	free(a);
}
