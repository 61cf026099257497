// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/losses.h"

#include <string.h>

#define NR_LOSSES (sizeof(struct profile_losses) / sizeof(uint64_t))

/* All members are counts. */
union counts {
	struct profile_losses losses;
	uint64_t n[NR_LOSSES];
};
_Static_assert(sizeof(union counts) == sizeof(struct profile_losses), "counts, no more");

/* Estimates (missed ticks) may come out lower later on: then nothing came. */
static uint64_t more(uint64_t now, uint64_t told)
{
	return now > told ? now - told : 0;
}

void losses_since(const struct profile_losses *told, const struct profile_losses *now,
		  struct profile_losses *ret)
{
	union counts a = {.losses = *told}, b = {.losses = *now};

	for (size_t i = 0; i < NR_LOSSES; i++)
		b.n[i] = more(b.n[i], a.n[i]);
	b.losses.due = b.losses.sampled + b.losses.missed;
	*ret = b.losses;
}

void losses_add(struct profile_losses *told, const struct profile_losses *window)
{
	union counts a = {.losses = *told}, b = {.losses = *window};

	for (size_t i = 0; i < NR_LOSSES; i++)
		a.n[i] += b.n[i];
	*told = a.losses;
}

void cost_since(const struct profile_cost *told, const struct profile_cost *now,
		struct profile_cost *ret)
{
	*ret = *now;
	ret->bpf_runs = more(now->bpf_runs, told->bpf_runs);
	ret->bpf_ns = more(now->bpf_ns, told->bpf_ns);
	ret->collector_cpu_ns = more(now->collector_cpu_ns, told->collector_cpu_ns);
	ret->lowered_ns = more(now->lowered_ns, told->lowered_ns);
}

void cost_add(struct profile_cost *told, const struct profile_cost *window)
{
	told->bpf_runs += window->bpf_runs;
	told->bpf_ns += window->bpf_ns;
	told->collector_cpu_ns += window->collector_cpu_ns;
	told->lowered_ns += window->lowered_ns;
}
