// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One walk over each stack, leaf first, decides everything about the sample:
 *
 *	vfs_read      [kernel]      no charge: the kernel never takes it
 *	read          libc.so.6     no line                 <- function self
 *	fill_buffer   app  io.c:40  (inlined)               <- line self, callee vfs_read
 *	next_record   app  io.c:71                          <- total
 *	main          app  main.c:9                         <- total
 */
#include "profile/attribution.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/attribution_work.h"
#include "profile/stack_status.h"

/* What the walk over one stack has found. */
struct findings {
	const struct site *charged; /* NULL: no line takes the charge */
	uint32_t leaf_name; /* of the innermost frame; PROFILE_NONE: no frame at all */
	uint32_t function; /* innermost that may take the charge */
	uint32_t any_function; /* innermost of all */
	bool charged_is_leaf;
	bool has_line; /* some line could have been charged under CHARGE_LINE */
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

static void visit(struct work *w, struct findings *f, const struct site *site,
		  bool may_charge, uint32_t sample, struct weight weight)
{
	bool is_leaf = f->leaf_name == PROFILE_NONE;

	if (is_leaf)
		f->leaf_name = site->name;
	if (site->function != PROFILE_NONE) {
		tally_add_total(&w->functions.items[site->function], sample, weight);
		if (f->any_function == PROFILE_NONE)
			f->any_function = site->function;
		if (f->function == PROFILE_NONE && may_charge)
			f->function = site->function;
	}
	if (site->line == PROFILE_NONE)
		return;
	f->has_line = true;
	if (tally_add_total(&w->lines.items[site->line], sample, weight))
		tally_add_total(&w->files.items[site->file], sample, weight);
	if (!f->charged && takes_charge(w, site, is_leaf)) {
		f->charged = site;
		f->charged_is_leaf = is_leaf;
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
	const uint32_t *locations = &w->p->sample_locations[s->first_location];
	struct findings f = {.leaf_name = PROFILE_NONE,
			     .function = PROFILE_NONE,
			     .any_function = PROFILE_NONE};

	for (uint32_t i = 0; i < s->nr_locations; i++) {
		const struct place *place = &w->places[locations[i]];
		bool may_charge = w->codes[place->code].may_charge;

		look_ahead(w, locations + i, s->nr_locations - i);
		for (uint32_t k = 0; k < place->nr_sites; k++)
			visit(w, &f, &w->sites[place->first_site + k], may_charge, sample,
			      weight);
		if (f.leaf_name == PROFILE_NONE)
			f.leaf_name = place->name;
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
	if (f->charged_is_leaf)
		return 0;
	callee = tally_number(&w->callees, site->line, f->leaf_name);
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
		weight_add(&a->with_line, weight);
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
	free(a);
}
