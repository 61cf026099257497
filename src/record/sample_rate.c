// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/sample_rate.h"

#include <stdbool.h>

#define SECOND_NS     1000000000ULL
#define LOOK_NS       SECOND_NS
#define ROOM_NS       (5 * SECOND_NS)
#define PPM           1e6
#define ROOM_OF_TWICE 0.8

uint64_t sample_rate_period_ns(const struct sample_rate *r, unsigned int level)
{
	return SECOND_NS / r->freq_hz << level;
}

static bool may_be_lowered(const struct sample_rate *r)
{
	return r->freq_hz >> (r->level + 1) >= 1;
}

static void change(struct sample_rate *r, unsigned int level)
{
	r->level = level;
	r->roomy_ns = 0;
	if (level > r->lowest_level)
		r->lowest_level = level;
}

/* Adapts the level to a measurement of a second or more at one level. */
static void look(struct sample_rate *r)
{
	double cost = (double)r->cost_ns;
	double budget = (double)r->cpus_ns * r->budget_ppm / PPM;

	if (cost > budget) {
		for (; cost > budget && may_be_lowered(r); cost /= 2)
			change(r, r->level + 1);
		r->roomy_ns = 0;
	} else if (2 * cost > ROOM_OF_TWICE * budget) {
		r->roomy_ns = 0;
	} else if (r->level) {
		r->roomy_ns += r->time_ns;
		if (r->roomy_ns >= ROOM_NS)
			change(r, r->level - 1);
	}
	r->cost_ns = r->cpus_ns = r->time_ns = 0;
}

unsigned int sample_rate_measured(struct sample_rate *r,
				  const struct sample_rate_measure *m)
{
	if (!r->budget_ppm)
		return 0;
	if (r->level)
		r->lowered_ns += m->time_ns;
	/* The last drains add cost, but no time: that was counted already. */
	if (!m->nr_cpus)
		return r->level;
	r->time_ns += m->time_ns;
	r->cpus_ns += m->time_ns * m->nr_cpus;
	r->cost_ns += m->program_ns + m->nr_ticks * r->tick_ns;
	if (r->time_ns >= LOOK_NS)
		look(r);
	return r->level;
}
