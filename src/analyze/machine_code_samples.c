// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which piece of code each location is in, and how much each location weighs.
 *
 * A sample counts where the program itself was: at the innermost location that is
 * no kernel code, so that a page fault is seen at the load that met it. Its callers
 * count as "below" at their calls.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/machine_code_work.h"
#include "analyze/sample_weight.h"
#include "analyze/tally.h"
#include "profile/mapping_kind.h"

/* Pieces of several processes may have one address; more than that is no real file. */
#define MAX_OVERLAPS 64

struct locator {
	const struct profile *p;
	uint32_t *order; /* codes by mapping, then address */
	size_t nr;
	enum code_kind *kinds; /* of mappings */
	uint32_t *hit_of; /* per location; PROFILE_NONE */
};

static int compare_codes(const void *va, const void *vb, void *ctx)
{
	const struct profile *p = ctx;
	uint32_t ia = *(const uint32_t *)va, ib = *(const uint32_t *)vb;
	const struct profile_code *a = &p->extra.codes[ia], *b = &p->extra.codes[ib];

	if (a->mapping != b->mapping)
		return a->mapping > b->mapping ? 1 : -1;
	if (a->address != b->address)
		return a->address > b->address ? 1 : -1;
	return (ia > ib) - (ia < ib);
}

static void locator_deinit(struct locator *l)
{
	free(l->order);
	free(l->kinds);
	free(l->hit_of);
}

static int locator_init(struct locator *l, const struct profile *p)
{
	l->p = p;
	l->nr = p->extra.nr_codes;
	l->order = calloc(l->nr + 1, sizeof(*l->order));
	l->kinds = calloc(p->nr_mappings + 1, sizeof(*l->kinds));
	l->hit_of = calloc(p->nr_locations + 1, sizeof(*l->hit_of));
	if (!l->order || !l->kinds || !l->hit_of)
		return -ENOMEM;
	for (size_t i = 0; i < l->nr; i++)
		l->order[i] = (uint32_t)i;
	qsort_r(l->order, l->nr, sizeof(*l->order), compare_codes, (void *)p);
	for (size_t i = 0; i < p->nr_mappings; i++)
		l->kinds[i] = code_kind_of(p->mappings[i].filename);
	return 0;
}

/* Codes of @order that begin at or before @address of @mapping. */
static size_t upper_bound(const struct locator *l, uint32_t mapping, uint64_t address)
{
	size_t low = 0, high = l->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct profile_code *code = &l->p->extra.codes[l->order[mid]];

		if (code->mapping < mapping ||
		    (code->mapping == mapping && code->address <= address))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * JIT code of all processes is one mapping, so an address may be of another one's
 * function: then no frame has the name that the code has there.
 */
static bool agrees(const struct locator *l, const struct profile_code *code,
		   const struct profile_location *location)
{
	const struct profile *p = l->p;
	const struct profile_code_row *row;

	if (l->kinds[location->mapping] != CODE_JIT)
		return true;
	row = machine_code_row(code, location->address);
	if (!row || row->function == PROFILE_NONE)
		return true;
	for (uint32_t i = 0; i < location->nr_lines; i++) {
		uint32_t function = p->lines[location->first_line + i].function;

		if (function != PROFILE_NONE &&
		    p->functions[function].name == p->functions[row->function].name)
			return true;
	}
	return false;
}

static uint32_t find_code(const struct locator *l,
			  const struct profile_location *location)
{
	uint32_t found = PROFILE_NONE;
	size_t at;

	if (location->mapping >= l->p->nr_mappings)
		return PROFILE_NONE;
	at = upper_bound(l, location->mapping, location->address);
	for (size_t i = 0; i < MAX_OVERLAPS && at; i++) {
		uint32_t index = l->order[--at];
		const struct profile_code *code = &l->p->extra.codes[index];

		if (code->mapping != location->mapping)
			break;
		if (location->address - code->address < code->size_bytes &&
		    index < found && agrees(l, code, location))
			found = index;
	}
	return found;
}

/* Locations within some code, each as a hit without weight. */
static int find_hits(struct locator *l, struct code_samples *s)
{
	const struct profile *p = l->p;
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_locations; i++) {
		l->hit_of[i] = find_code(l, &p->locations[i]);
		nr += l->hit_of[i] != PROFILE_NONE;
	}
	s->hits = calloc(nr + 1, sizeof(*s->hits));
	if (!s->hits)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr_locations; i++) {
		uint32_t code = l->hit_of[i];

		if (code == PROFILE_NONE)
			continue;
		l->hit_of[i] = (uint32_t)s->nr_hits;
		s->hits[s->nr_hits++] =
			(struct machine_hit){.location = (uint32_t)i, .code = code};
	}
	return 0;
}

static bool is_kernel(const struct locator *l, uint32_t location)
{
	uint32_t mapping = l->p->locations[location].mapping;

	return mapping < l->p->nr_mappings && l->kinds[mapping] == CODE_KERNEL;
}

static void weigh_stack(const struct locator *l, struct code_samples *s, uint32_t sample,
			struct weight w)
{
	const struct profile_sample *stack = &l->p->samples[sample];
	const uint32_t *locations = &l->p->sample_locations[stack->first_location];
	uint32_t leaf = 0;

	while (leaf < stack->nr_locations && is_kernel(l, locations[leaf]))
		leaf++;
	for (uint32_t i = leaf; i < stack->nr_locations; i++) {
		uint32_t index = l->hit_of[locations[i]];
		struct machine_hit *hit;

		if (index == PROFILE_NONE)
			continue;
		hit = &s->hits[index];
		if (i == leaf) {
			weight_add(&hit->self, w);
			if (leaf)
				weight_add(&hit->kernel, w);
		} else if (hit->seen != sample + 1) {
			hit->seen = sample + 1;
			weight_add(&hit->below, w);
		}
	}
}

static void weigh(const struct locator *l, struct code_samples *s)
{
	struct weigher weigher = weigher_of(l->p);

	for (size_t i = 0; i < l->p->nr_samples; i++) {
		bool negative = false;
		struct weight w = weigher_weigh(&weigher, &l->p->samples[i], &negative);

		if (w.samples || w.cpu_ns)
			weigh_stack(l, s, (uint32_t)i, w);
	}
}

static int compare_hits(const void *va, const void *vb, void *ctx)
{
	const struct profile *p = ctx;
	const struct machine_hit *a = va, *b = vb;
	uint64_t at = p->locations[a->location].address,
		 bt = p->locations[b->location].address;

	if (a->code != b->code)
		return a->code > b->code ? 1 : -1;
	if (at != bt)
		return at > bt ? 1 : -1;
	return (a->location > b->location) - (a->location < b->location);
}

/* The outermost frame at an address is the function that the code was made for. */
static uint32_t outermost(const struct profile *p, uint32_t location)
{
	const struct profile_location *at = &p->locations[location];

	for (uint32_t i = at->nr_lines; i; i--)
		if (p->lines[at->first_line + i - 1].function != PROFILE_NONE)
			return p->lines[at->first_line + i - 1].function;
	return PROFILE_NONE;
}

static void tally_code(const struct code_samples *s, size_t index)
{
	const struct machine_hit *hit = &s->hits[index];
	struct code_tally *code = &s->codes[hit->code];
	struct weight w = hit->self;
	uint32_t function = outermost(s->p, hit->location);

	if (!code->nr_hits++)
		code->first_hit = index;
	weight_add(&code->self, hit->self);
	weight_add(&code->kernel, hit->kernel);
	weight_add(&w, hit->below);
	if (function == PROFILE_NONE ||
	    (code->function != PROFILE_NONE && weight_compare(w, code->heaviest) >= 0))
		return;
	code->function = function;
	code->heaviest = w;
}

/* Without samples: the first that its rows name. */
static uint32_t first_function(const struct profile_code *code)
{
	for (size_t i = 0; i < code->nr_rows; i++)
		if (code->rows[i].function != PROFILE_NONE)
			return code->rows[i].function;
	return PROFILE_NONE;
}

int code_samples_init(struct code_samples *s, const struct profile *p)
{
	_cleanup_(locator_deinit) struct locator l = {0};

	s->p = p;
	s->codes = calloc(p->extra.nr_codes + 1, sizeof(*s->codes));
	if (!s->codes || locator_init(&l, p) || find_hits(&l, s))
		return -ENOMEM;
	weigh(&l, s);
	qsort_r(s->hits, s->nr_hits, sizeof(*s->hits), compare_hits, (void *)p);
	for (size_t i = 0; i < p->extra.nr_codes; i++)
		s->codes[i].function = PROFILE_NONE;
	for (size_t i = 0; i < s->nr_hits; i++)
		tally_code(s, i);
	for (size_t i = 0; i < p->extra.nr_codes; i++)
		if (s->codes[i].function == PROFILE_NONE)
			s->codes[i].function = first_function(&p->extra.codes[i]);
	return 0;
}

void code_samples_deinit(struct code_samples *s)
{
	free(s->codes);
	free(s->hits);
}
