/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock that samples one CPU: a few cpu-clock events with fixed periods, one of
 * which is enabled at a time.
 *
 * A single period can run in step with the workload: at 100 Hz a program that works for
 * 3 of every 10 ms is sampled always or never. So the period changes a few times a
 * second. PERF_EVENT_IOC_PERIOD is not used: it begins a new period and drops the
 * elapsed part of the old one, half a tick each time (perf_event_period() and
 * perf_swevent_start_hrtimer() of kernel/events/core.c), and BPF programs still see the
 * old period. A disabled event keeps the rest of its period, and programs see the
 * period that it was opened with. So each sample has its exact weight, whichever event
 * is enabled.
 */
#ifndef LB_COLLECT_CPU_CLOCK_H
#define LB_COLLECT_CPU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/perf_event.h"
#include "collect/sample_source.h"

#define CPU_CLOCK_NR_PERIODS 4 /* two shorter and two longer than the nominal one */
#define CPU_CLOCK_NR_LEVELS  14 /* the last is 10000 Hz / 2^13, about 1 Hz */

struct cpu_clock {
	uint32_t cpu;
	int prog_fd; /* of the program to run at each tick; borrowed */
	uint64_t period_ns; /* nominal, of level 0 */
	struct cpu_clock_event {
		int fd; /* -1: not open */
		uint64_t period_ns;
	} events[CPU_CLOCK_NR_LEVELS][CPU_CLOCK_NR_PERIODS];
	unsigned int level, which; /* the enabled event */
	struct perf_event_life life; /* of the enabled event */
	unsigned int before; /* the previous level, or the same; others are closed */
	unsigned int turns; /* bits: events of the level without a turn in this round */
	uint64_t random; /* state, never 0 */
	uint64_t change_ns; /* CLOCK_MONOTONIC: when to switch to another event */
	/* Sums of closed events: those of other levels, closed to save descriptors. */
	struct cpu_clock_sum {
		uint64_t enabled_ns;
		double ticks; /* sum over events of time enabled / period */
	} closed;
	/* Values at the last change of the level; later ones come from the events. */
	double due, error;
	struct cpu_clock_sum then; /* of all events, at that time */
	uint64_t idle_ns; /* at that time */
};

/**
 * Opens and starts an event on @cpu.
 *
 * @level  ticks come every @period_ns * 2^level, on average
 * @seed   any number; differs between CPUs and recordings
 * @idle_ns  of the CPU since boot (cpu_idle_ns()), here and below; CPU_IDLE_UNKNOWN: no
 *           tick is expected in the interval before or after
 *
 * Return: 0, or -errno with nothing to stop (-ENODEV: the CPU is offline).
 */
int cpu_clock_start(struct cpu_clock *c, uint32_t cpu, int prog_fd, uint64_t period_ns,
		    unsigned int level, uint64_t seed, uint64_t idle_ns);

/** Closes the events. Read their counts first. */
void cpu_clock_stop(struct cpu_clock *c);

/** Stops the ticks; the counts can still be read. */
void cpu_clock_pause(struct cpu_clock *c);

/**
 * Switches to another period, if due.
 *
 * @nr_cpus  CPUs that the caller serves: the more, the less often each one switches
 *
 * If no event can be opened (too few descriptors), the current one stays.
 *
 * Return: false if the CPU was offline meanwhile. Then the caller must stop the clock
 * and start it again.
 */
bool cpu_clock_change(struct cpu_clock *c, uint64_t now_ns, uint32_t nr_cpus);

/** Sets the level. Return: 0, or -errno with nothing changed. */
int cpu_clock_set_level(struct cpu_clock *c, unsigned int level, uint64_t idle_ns);

/** Adds its time to @sum, with what is due and its error. */
void cpu_clock_account(const struct cpu_clock *c, uint64_t idle_ns,
		       struct sample_source_account *sum);

/* Pure functions. */

/**
 * Returns period @which of CPU_CLOCK_NR_PERIODS, in ascending order. Two rates are 4 to
 * 12 % and 12 to 20 % above the nominal one, two are below it by as much. None is near
 * it, so the clock drifts quickly through the cycle of a program that works at the
 * nominal rate. A smaller change, even one at every tick, doubles the error of
 * independent samples for a program that works near that rate.
 *
 * @random  the same for all periods: then the mean of the rates is the nominal one
 */
uint64_t cpu_clock_period(uint64_t period_ns, unsigned int which, uint64_t random);

/**
 * Picks the next event: each has one turn per round, in an unpredictable order, and none
 * has two turns in a row.
 *
 * @turns  bits of the events without a turn in this round; updated
 */
unsigned int cpu_clock_next(unsigned int which, unsigned int *turns, uint64_t random);

/** Returns how long an event stays enabled, ns. */
uint64_t cpu_clock_turn_ns(uint64_t period_ns, uint32_t nr_cpus, uint64_t random);

/** Returns the next pseudo-random number; @state is not 0. */
uint64_t cpu_clock_random(uint64_t *state);

#endif
