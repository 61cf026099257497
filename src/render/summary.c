// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/summary.h"

#include <string.h>

static bool is_in_nanoseconds(const struct profile_value_type *t)
{
	return t->unit && !strcmp(t->unit, "nanoseconds");
}

struct summary summary_of(const struct profile *p)
{
	const struct profile_losses *l = &p->extra.losses;
	struct summary s = {
		.lost = l->lost_counts_full + l->lost_internal + l->lost_drain +
			l->rows_dropped,
		.wall_ns = p->extra.wall_ns,
	};

	if (!s.wall_ns && p->duration_nanos > 0)
		s.wall_ns = (uint64_t)p->duration_nanos;
	if (p->period > 0 && is_in_nanoseconds(&p->period_type))
		s.period_ns = (uint64_t)p->period;
	if (p->extra.freq_hz)
		s.freq_hz = p->extra.freq_hz;
	else if (s.period_ns)
		s.freq_hz = 1e9 / (double)s.period_ns;
	if (p->extra.cost.lowered_ns && p->extra.cost.longest_period_ns)
		s.lowest_hz = 1e9 / (double)p->extra.cost.longest_period_ns;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *sample = &p->samples[i];
		int64_t count = profile_value(p, sample, p->count_value);

		if (sample->status < LB_NR_STACK_STATUS && count > 0)
			s.by_status[sample->status] += (uint64_t)count;
		if (count > 0)
			s.nr_samples += (uint64_t)count;
	}
	return s;
}
