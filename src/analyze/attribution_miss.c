// SPDX-License-Identifier: GPL-2.0-or-later
/* Why a sample was charged to no line (DESIGN C4). */
#include <errno.h>
#include <stdlib.h>

#include "analyze/attribution_work.h"

/* At most this many objects are named beside a miss. */
#define MAX_OBJECTS 5

/* What the frames at a location lack, when whoever wrote the file did not tell. */
static enum miss derived_miss(const struct work *w, const struct profile_location *l,
			      enum code_kind kind)
{
	bool has_function = false;

	for (uint32_t i = 0; i < l->nr_lines; i++) {
		const struct site *site = &w->sites[l->first_line + i];

		if (site->has_line)
			return MISS_NO_LINE; /* of the inlined frame inside it */
		has_function = has_function || site->function != PROFILE_NONE;
	}
	switch (kind) {
	case CODE_JIT:
		return has_function ? MISS_JIT_NO_LINES : MISS_JIT_UNKNOWN;
	case CODE_PYTHON:
		return MISS_NO_LINE;
	case CODE_UNKNOWN:
		return has_function ? MISS_NO_DEBUG_INFO : MISS_NO_MAPPING;
	default:
		return has_function ? MISS_NO_DEBUG_INFO : MISS_NO_SYMBOLS;
	}
}

/* The location that is to blame: the innermost in user space; else the leaf. */
static const struct profile_location *blamed(const struct work *w,
					     const struct profile_sample *s,
					     const struct code **ret_code)
{
	const uint32_t *locations = &w->p->sample_locations[s->first_location];
	uint32_t chosen = locations[0];

	for (uint32_t i = 0; i < s->nr_locations && w->options.charge != CHARGE_LEAF;
	     i++) {
		if (w->codes[w->places[locations[i]].code].kind == CODE_KERNEL)
			continue;
		chosen = locations[i];
		break;
	}
	*ret_code = &w->codes[w->places[chosen].code];
	return &w->p->locations[chosen];
}

static enum miss miss_of(const struct work *w, const struct profile_sample *s,
			 const char **object)
{
	const struct profile_location *l;
	const struct code *code;

	if (!s->nr_locations) {
		*object = strpool_add(w->p->pool, "");
		return MISS_NO_STACK;
	}
	l = blamed(w, s, &code);
	*object = code->object;
	if (code->kind == CODE_INTERPRETER && !w->options.runtime)
		return MISS_INTERPRETER; /* more debug info would change nothing */
	if (l->miss != MISS_NONE)
		return l->miss;
	if (code->kind == CODE_KERNEL)
		return MISS_KERNEL;
	return derived_miss(w, l, code->kind);
}

int miss_tally(struct work *w, const struct profile_sample *s, struct weight weight)
{
	const char *object;
	enum miss miss = miss_of(w, s, &object);
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

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->miss < y->miss ? -1 : x->miss > y->miss;
}

int misses_build(struct work *w, struct attribution *a)
{
	uint32_t row_of[NR_MISSES];

	a->misses = calloc(NR_MISSES, sizeof(*a->misses));
	if (!a->misses)
		return -ENOMEM;
	for (size_t i = 0; i < NR_MISSES; i++)
		row_of[i] = PROFILE_NONE;
	/* Nothing refers to these items by number: the heaviest objects come first. */
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
		row->samples += item->self.samples;
		if (row->nr_objects < MAX_OBJECTS && *tally_string(item->b))
			row->objects[row->nr_objects++] = tally_string(item->b);
	}
	qsort(a->misses, a->nr_misses, sizeof(*a->misses), compare_misses);
	return 0;
}
