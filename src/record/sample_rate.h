/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --budget: chooses a sampling rate whose cost in the kernel stays within the budget.
 * Pure: takes measurements, returns a level.
 */
#ifndef LB_RECORD_SAMPLE_RATE_H
#define LB_RECORD_SAMPLE_RATE_H

#include <stdint.h>

/* Each level halves the rate: freq_hz / 2^level, at least 1 Hz. */
struct sample_rate {
	uint32_t freq_hz; /* requested; never exceeded */
	uint32_t budget_ppm; /* of the CPU time of all CPUs; 0: no limit */
	uint64_t tick_ns; /* cost of an interrupt without the BPF program */

	unsigned int level;
	/* Measured since the level changed or was last evaluated. */
	uint64_t cost_ns, cpus_ns, time_ns;
	uint64_t roomy_ns; /* how long the next higher rate would have fit the budget */
	uint64_t lowered_ns; /* total time at a level other than 0 */
	unsigned int lowest_level; /* lowest rate so far: the highest level */
};

/* Cost of sampling since the last measurement. */
struct sample_rate_measure {
	uint64_t time_ns;
	uint64_t nr_cpus; /* sampled now; 0: sampling has ended, the level stays */
	uint64_t nr_ticks; /* of all CPUs, including idle ones */
	uint64_t program_ns; /* run time of the BPF programs */
};

/**
 * Adds what was measured since the last call, at the level that it returned.
 *
 * A second that costs more than the budget halves the rate at once, as often as needed.
 * The rate doubles after five seconds in each of which twice the cost would have been
 * at most four fifths of the budget.
 *
 * Return: the new level.
 */
unsigned int sample_rate_measured(struct sample_rate *r,
				  const struct sample_rate_measure *m);

/** Returns the mean time between ticks of a CPU at @level, ns. */
uint64_t sample_rate_period_ns(const struct sample_rate *r, unsigned int level);

#endif
