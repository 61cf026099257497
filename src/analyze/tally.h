/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighs samples, and sums their weights. */
#ifndef LB_ANALYZE_TALLY_H
#define LB_ANALYZE_TALLY_H

#include "base/hashmap.h"
#include "profile/profile.h"

/* Of one line, function, process...: samples, and CPU nanoseconds. */
struct weight {
	uint64_t samples; /* see attribution.counted */
	/* cpu/nanoseconds; else samples by a period in it; else 0 throughout. */
	uint64_t cpu_ns;
};

/* Which value becomes weight.samples and weight.cpu_ns. */
struct weigher {
	const struct profile *p;
	uint32_t samples_value; /* index of the value; PROFILE_NONE: there is none */
	uint64_t samples_per; /* it is divided by this: 1, or the period */
	uint32_t cpu_value; /* same */
	uint64_t cpu_times; /* it is multiplied by this: 1, or the period */
	struct profile_value_type counted; /* see attribution.counted */
};

struct weigher weigher_of(const struct profile *p);

/** @negative  set when a value is below 0; it counts as 0. */
struct weight weigher_weigh(const struct weigher *w, const struct profile_sample *s,
			    bool *negative);

/* ---- sums ---- */

struct tally_item {
	struct weight total; /* first: what each frame of each sample touches is close */
	uint32_t seen; /* last sample that was added to total, + 1 */
	uint32_t tag; /* what the table's owner notes here; 0 at first */
	struct weight self;
	uint64_t a, b; /* the pair */
};

/*
 * A table from a pair (numbers, or interned strings by address) to weights. Items are
 * numbered in the order they are added and never move. All zeroes is an empty table.
 */
struct tally {
	struct hashmap index;
	struct tally_item *items;
	size_t nr, cap;
};

/** The number of the pair, added if new; PROFILE_NONE: out of memory. */
uint32_t tally_number(struct tally *t, uint64_t a, uint64_t b);
void tally_deinit(struct tally *t);

static inline const char *tally_string(uint64_t key)
{
	return (const char *)(uintptr_t)key;
}

static inline uint64_t tally_key(const char *interned)
{
	return (uintptr_t)interned;
}

/* Sums of a hostile file stick at the top instead of wrapping. */
static inline void weight_add(struct weight *sum, struct weight w)
{
	if (__builtin_add_overflow(sum->samples, w.samples, &sum->samples))
		sum->samples = UINT64_MAX;
	if (__builtin_add_overflow(sum->cpu_ns, w.cpu_ns, &sum->cpu_ns))
		sum->cpu_ns = UINT64_MAX;
}

/* Adds to the total unless @sample (its number + 1) was added already. */
static inline bool tally_add_total(struct tally_item *item, uint32_t sample,
				   struct weight w)
{
	if (item->seen == sample)
		return false;
	item->seen = sample;
	weight_add(&item->total, w);
	return true;
}

/** CPU time decides, then samples. <0, 0, >0 like strcmp(3), the heavier first. */
int weight_compare(struct weight a, struct weight b);

#endif
