// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

static bool pair_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct tally_item *a = &((const struct tally *)ctx)->items[item];
	const struct tally_item *b = key;

	return a->a == b->a && a->b == b->b;
}

static uint64_t pair_hash(uint64_t a, uint64_t b)
{
	return hash_u64(hash_u64(0, a), b);
}

uint32_t tally_find(const struct tally *t, uint64_t a, uint64_t b)
{
	const struct tally_item key = {.a = a, .b = b};
	uint32_t item = hashmap_get(&t->index, pair_hash(a, b), pair_eq, &key, t);

	return item == HASHMAP_NONE ? PROFILE_NONE : item;
}

uint32_t tally_number(struct tally *t, uint64_t a, uint64_t b)
{
	uint32_t item = tally_find(t, a, b);

	if (item != PROFILE_NONE)
		return item;
	if (vec_grow(&t->items, &t->cap, t->nr + 1, sizeof(*t->items),
		     PROFILE_NONE - 1) ||
	    hashmap_add(&t->index, pair_hash(a, b), (uint32_t)t->nr))
		return PROFILE_NONE;
	t->items[t->nr] = (struct tally_item){.a = a, .b = b};
	return (uint32_t)t->nr++;
}

void tally_deinit(struct tally *t)
{
	hashmap_deinit(&t->index);
	free(t->items);
	*t = (struct tally){0};
}

int weight_compare(struct weight a, struct weight b)
{
	if (a.cpu_ns != b.cpu_ns)
		return a.cpu_ns > b.cpu_ns ? -1 : 1;
	if (a.samples != b.samples)
		return a.samples > b.samples ? -1 : 1;
	return 0;
}

/* ---- the values of a sample as one weight ---- */

bool value_counts_samples(const struct profile_value_type *t)
{
	if (!strcmp(t->type, "cpu"))
		return !strcmp(t->unit, "count");
	return (!strcmp(t->type, "samples") || !strcmp(t->type, "sample")) &&
	       (!t->unit || strcmp(t->unit, "nanoseconds") != 0);
}

/*
 * Our profiles have samples/count and cpu/nanoseconds, or a count of other events. Other
 * profiles may omit the count or the time, which is then computed from the other by the
 * period. With neither period nor count, nanoseconds are what is counted.
 */
struct weigher weigher_of(const struct profile *p)
{
	uint32_t shown = profile_shown_value(p);
	bool has_period = profile_has_cpu_period(p);
	struct weigher w = {.p = p,
			    .samples_value = p->count_value,
			    .samples_per = 1,
			    .cpu_value = p->cpu_value,
			    .cpu_times = 1,
			    .counted = {.type = strpool_add(p->pool, "samples"),
					.unit = strpool_add(p->pool, "count")}};

	if (w.samples_value != PROFILE_NONE && w.cpu_value == PROFILE_NONE &&
	    has_period) {
		w.cpu_value = w.samples_value;
		w.cpu_times = (uint64_t)p->period;
	} else if (w.samples_value == PROFILE_NONE && w.cpu_value != PROFILE_NONE &&
		   has_period) {
		w.samples_value = w.cpu_value;
		w.samples_per = (uint64_t)p->period;
	} else if (w.samples_value == PROFILE_NONE || w.cpu_value == PROFILE_NONE) {
		w.samples_value = shown;
		if (shown != PROFILE_NONE && shown != p->count_value)
			w.counted = p->value_types[shown];
		if (shown != PROFILE_NONE && shown == p->cpu_value)
			w.counted.type = strpool_add(p->pool, "cpu");
	}
	return w;
}

struct weight weigher_weigh(struct weigher *w, const struct profile_sample *s)
{
	int64_t samples_value = profile_value(w->p, s, w->samples_value);
	int64_t cpu_value = profile_value(w->p, s, w->cpu_value);
	uint64_t samples = samples_value > 0 ? (uint64_t)samples_value : 0;
	uint64_t cpu_ns = cpu_value > 0 ? (uint64_t)cpu_value : 0;

	w->nr_negative += samples_value < 0 || cpu_value < 0;
	if (w->samples_per > 1) /* rounded, but at least 1 unless 0 */
		samples = samples ? samples / w->samples_per +
					    (samples % w->samples_per * 2 >=
						     w->samples_per ||
					     samples < w->samples_per)
				  : 0;
	if (__builtin_mul_overflow(cpu_ns, w->cpu_times, &cpu_ns))
		cpu_ns = UINT64_MAX;
	return (struct weight){.samples = samples, .cpu_ns = cpu_ns};
}

struct weight weight_of_profile(const struct profile *p)
{
	struct weigher weigher = weigher_of(p);
	struct weight sum = {0};

	for (size_t i = 0; i < p->nr_samples; i++)
		weight_add(&sum, weigher_weigh(&weigher, &p->samples[i]));
	return sum;
}
