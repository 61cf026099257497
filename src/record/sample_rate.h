/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --budget: which rate the kernel's cost of sampling leaves room for. Pure: what was
 * measured goes in, a level comes out.
 */
#ifndef LB_RECORD_SAMPLE_RATE_H
#define LB_RECORD_SAMPLE_RATE_H

#include <stdint.h>

/* Each level halves the rate: freq_hz / 2^level, 1 Hz at the least. */
struct sample_rate {
	uint32_t freq_hz; /* asked for: never more */
	uint32_t budget_ppm; /* of the CPU time of all CPUs; 0: no limit */
	uint64_t tick_ns; /* what an interrupt costs beside the program that it runs */

	unsigned int level;
	/* Since the level changed, and not looked at yet. */
	uint64_t cost_ns, cpus_ns, time_ns;
	uint64_t
		roomy_ns; /* how long it would have been cheap enough at the next rate up */
	uint64_t lowered_ns; /* how long the level was not 0 */
	unsigned int lowest_level; /* the highest number that level had */
};

/* What sampling did in a while. */
struct sample_rate_measure {
	uint64_t time_ns;
	uint64_t nr_cpus; /* sampled now; 0: sampling is over, and no level changes */
	uint64_t nr_ticks; /* of all CPUs, idle ones too */
	uint64_t program_ns; /* that programs ran in them */
};

/**
 * Adds what was measured since the last call, with the level that it returned.
 *
 * A second that costs more than the budget lowers the rate at once, by as many halves
 * as it takes; it is raised by one after five seconds in each of which twice as much
 * would have been four fifths of the budget or less.
 *
 * Return: the level from now on.
 */
unsigned int sample_rate_measured(struct sample_rate *r,
				  const struct sample_rate_measure *m);

/** Mean time between ticks of a CPU at @level, ns. */
uint64_t sample_rate_period_ns(const struct sample_rate *r, unsigned int level);

#endif
