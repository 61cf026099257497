// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/figure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_in_nanoseconds(const struct profile_value_type *t)
{
	return t->unit && !strcmp(t->unit, "nanoseconds");
}

static bool is_of_cpu(const struct attribution *a)
{
	const char *type = a->counted.type;

	return !type || !*type || !strcmp(type, "samples") || !strcmp(type, "sample") ||
	       !strcmp(type, "cpu");
}

bool counts_time(const struct attribution *a)
{
	return is_in_nanoseconds(&a->counted);
}

bool counts_samples(const struct attribution *a)
{
	const struct profile_value_type *t = &a->counted;

	return t->type && *t->type ? value_counts_samples(t) : !counts_time(a);
}

const char *counted_name(const struct attribution *a)
{
	return is_of_cpu(a) ? "CPU" : a->counted.type;
}

double share_of(const struct attribution *a, const struct weight *w)
{
	return weight_share(w, &a->all);
}

unsigned int figure_heat(double share, double hottest)
{
	static const double steps[NR_HEATS - 1] = {0.04, 0.12, 0.30, 0.65};
	unsigned int heat = 1;

	if (share <= 0)
		return 0;
	for (unsigned int i = 0; i < ARRAY_SIZE(steps); i++)
		if (share >= steps[i] * hottest)
			heat = i + 2;
	return heat;
}

struct figure figure_percent(double share)
{
	struct figure f = {""};

	if (share <= 0)
		return f;
	if (share < 0.0005)
		snprintf(f.text, sizeof(f.text), "<0.1");
	else
		snprintf(f.text, sizeof(f.text), "%.1f", 100 * share);
	return f;
}

struct figure figure_time(uint64_t ns)
{
	double seconds = (double)ns / 1e9;
	struct figure f;

	if (seconds < 0.0995)
		snprintf(f.text, sizeof(f.text), "%.*f ms", seconds < 0.00995 ? 1 : 0,
			 seconds * 1e3);
	else
		snprintf(f.text, sizeof(f.text), "%.*f s",
			 seconds < 9.995   ? 2
			 : seconds < 99.95 ? 1
					   : 0,
			 seconds);
	return f;
}

struct figure figure_bytes(uint64_t bytes)
{
	struct figure f;

	if (bytes < 10u << 20)
		snprintf(f.text, sizeof(f.text), "%" PRIu64 " KB", (bytes + 1023) >> 10);
	else
		snprintf(f.text, sizeof(f.text), "%" PRIu64 " MB", bytes >> 20);
	return f;
}

struct figure figure_count(uint64_t nr, const char *singular, const char *plural)
{
	struct figure f;

	snprintf(f.text, sizeof(f.text), "%" PRIu64 " %s", nr,
		 nr == 1 ? singular : plural);
	return f;
}

struct figure figure_counted(const struct attribution *a, uint64_t nr)
{
	struct figure f;

	if (counts_time(a))
		return figure_time(nr);
	snprintf(f.text, sizeof(f.text), "%" PRIu64, nr);
	return f;
}

struct figure figure_due_error(const struct profile_losses *l)
{
	struct figure f = {""};

	if (l->due && l->due_error)
		snprintf(f.text, sizeof(f.text), "+-%.1f ",
			 100 * (double)l->due_error / (double)l->due);
	return f;
}

/* ---- sums over a whole profile ---- */

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
