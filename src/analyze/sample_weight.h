/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts the values of a sample, whatever their types, to one weight: samples and CPU
 * time.
 */
#ifndef LB_ANALYZE_SAMPLE_WEIGHT_H
#define LB_ANALYZE_SAMPLE_WEIGHT_H

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

#endif
