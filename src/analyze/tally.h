/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighs samples, and sums their weights. */
#ifndef LB_ANALYZE_TALLY_H
#define LB_ANALYZE_TALLY_H

#include "base/hashmap.h"
#include "profile/profile.h"

/* Weight of a line, function, process...: samples and CPU nanoseconds. */
struct weight {
	uint64_t samples; /* see attribution.counted */
	/* From cpu/nanoseconds; else samples times a period in ns; else always 0. */
	uint64_t cpu_ns;
};

/* Which values become weight.samples and weight.cpu_ns. */
struct weigher {
	const struct profile *p;
	uint32_t samples_value; /* index of the value; PROFILE_NONE: none */
	uint64_t samples_per; /* divisor of the value: 1, or the period */
	uint32_t cpu_value; /* same */
	uint64_t cpu_times; /* factor of the value: 1, or the period */
	struct profile_value_type counted; /* see attribution.counted */
	uint64_t nr_negative; /* samples with a value below 0, which counts as 0 */
};

struct weigher weigher_of(const struct profile *p);

struct weight weigher_weigh(struct weigher *w, const struct profile_sample *s);

/** Returns the weight of all samples together. */
struct weight weight_of_profile(const struct profile *p);

/* ---- sums ---- */

struct tally_item {
	/* first, so that fields used for each frame are adjacent */
	struct weight total;
	uint32_t seen; /* last sample added to total, + 1 */
	uint32_t tag; /* for the table's owner; initially 0 */
	struct weight self;
	uint64_t a, b; /* the pair */
};

/*
 * A table from a pair (numbers, or interned strings by address) to weights. Items are
 * numbered in the order they are added. Zero-initialised: empty.
 */
struct tally {
	struct hashmap index;
	struct tally_item *items;
	size_t nr, cap;
};

/** Returns the number of the pair, adding it if new; PROFILE_NONE: out of memory. */
uint32_t tally_number(struct tally *t, uint64_t a, uint64_t b);
/** Returns the number of the pair; PROFILE_NONE: it was not added. */
uint32_t tally_find(const struct tally *t, uint64_t a, uint64_t b);
void tally_deinit(struct tally *t);

static inline const char *tally_string(uint64_t key)
{
	return (const char *)(uintptr_t)key;
}

static inline uint64_t tally_key(const char *interned)
{
	return (uintptr_t)interned;
}

/**
 * Does a type of values count samples of CPU time? "cpu" in a unit of time does not,
 * whatever the unit.
 */
bool value_counts_samples(const struct profile_value_type *t);

/* Adds weights. Sums saturate, because a hostile file could make them overflow. */
static inline void weight_add(struct weight *sum, struct weight w)
{
	if (__builtin_add_overflow(sum->samples, w.samples, &sum->samples))
		sum->samples = UINT64_MAX;
	if (__builtin_add_overflow(sum->cpu_ns, w.cpu_ns, &sum->cpu_ns))
		sum->cpu_ns = UINT64_MAX;
}

/**
 * Returns the share 0..1 of @whole's CPU time; of its samples if it has no CPU time.
 */
static inline double weight_share(const struct weight *w, const struct weight *whole)
{
	if (whole->cpu_ns)
		return (double)w->cpu_ns / (double)whole->cpu_ns;
	return whole->samples ? (double)w->samples / (double)whole->samples : 0;
}

static inline bool weight_is_zero(const struct weight *w)
{
	return !w->samples && !w->cpu_ns;
}

/* Adds to the total, unless @sample (its number + 1) was just added. */
static inline bool tally_add_total(struct tally_item *item, uint32_t sample,
				   struct weight w)
{
	if (item->seen == sample)
		return false;
	item->seen = sample;
	weight_add(&item->total, w);
	return true;
}

/**
 * Compares by CPU time, then samples: <0, 0, >0 like strcmp(3); heavier comes first.
 */
int weight_compare(struct weight a, struct weight b);

#endif
