/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock that samples one CPU: a few cpu-clock events with fixed periods, of which
 * one at a time is on.
 *
 * A single period can run in step with what it samples: a program that works for 3 of
 * every 10 ms is met at 100 Hz always or never. So the period changes a few times a
 * second. It does not by PERF_EVENT_IOC_PERIOD, which begins a new period and throws
 * away what had passed of the old one (perf_event_period() and
 * perf_swevent_start_hrtimer() of kernel/events/core.c), half a tick each time, and
 * leaves what programs are told of the period as it was. An event that is switched
 * off keeps what is left of its period, and programs are told the period that it was
 * opened with: so each sample has its exact weight, whatever was on when.
 */
#ifndef LB_COLLECT_CPU_CLOCK_H
#define LB_COLLECT_CPU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/perf_event.h"

#define CPU_CLOCK_NR_PERIODS 4 /* two shorter, two longer than the nominal one */
#define CPU_CLOCK_NR_LEVELS  14 /* the last is 10000 Hz / 2^13, about 1 Hz */

struct cpu_clock {
	uint32_t cpu;
	int prog_fd; /* of the program that is run at each tick; borrowed */
	uint64_t period_ns; /* nominal, of level 0 */
	struct cpu_clock_event {
		int fd; /* -1: not needed now */
		uint64_t period_ns;
	} events[CPU_CLOCK_NR_LEVELS][CPU_CLOCK_NR_PERIODS];
	unsigned int level, which; /* the event that is on */
	struct perf_event_life life; /* its */
	unsigned int before; /* the last other level, or the same; no third one is open */
	unsigned int turns; /* bits: events of the level that have not had their turn */
	uint64_t random; /* state, never 0 */
	uint64_t change_ns; /* CLOCK_MONOTONIC: when another event is to be on */
	/* Of events of other levels, which are closed: descriptors are short. */
	struct cpu_clock_sum {
		uint64_t enabled_ns;
		double ticks; /* sum over events of time enabled / period */
	} closed;
	/* Until the level last changed; since then the events are asked. */
	double due;
	struct cpu_clock_sum then; /* of all events, at that time */
	uint64_t idle_ns; /* at that time */
};

struct cpu_clock_time {
	uint64_t enabled_ns;
	/* Ticks that should have run while the CPU was not idle. Idle time comes in
	 * steps of 10 ms, so it is exact to about that. */
	double due;
};

/**
 * Opens and starts an event on @cpu.
 *
 * @level  ticks come every @period_ns * 2^level, on average
 * @seed   any number; differs between CPUs and recordings
 * @idle_ns  of the CPU since boot (cpu_idle_ns()), here and below; CPU_IDLE_UNKNOWN:
 *           nothing is due in the time from or to there
 *
 * Return: 0, or -errno with nothing to stop (-ENODEV: the CPU is offline).
 */
int cpu_clock_start(struct cpu_clock *c, uint32_t cpu, int prog_fd, uint64_t period_ns,
		    unsigned int level, uint64_t seed, uint64_t idle_ns);

/** Closes the events. What they counted is to be taken before. */
void cpu_clock_stop(struct cpu_clock *c);

/** No tick comes any more; the time can still be taken. */
void cpu_clock_pause(struct cpu_clock *c);

/**
 * Another period, if it is time for one.
 *
 * @nr_cpus  that one caller looks after: the more, the less often each of them
 *
 * No event to be had (descriptors are short): the one that is on stays.
 *
 * Return: false when the CPU was offline meanwhile. Then the clock is to be stopped and
 * to be started anew.
 */
bool cpu_clock_change(struct cpu_clock *c, uint64_t now_ns, uint32_t nr_cpus);

/** From now on another level. Return: 0, or -errno with nothing changed. */
int cpu_clock_set_level(struct cpu_clock *c, unsigned int level, uint64_t idle_ns);

void cpu_clock_time(const struct cpu_clock *c, uint64_t idle_ns,
		    struct cpu_clock_time *ret);

/*
 * The pure parts.
 */

/**
 * The @which-th of CPU_CLOCK_NR_PERIODS periods, in ascending order. Two rates are 4 to
 * 12 % and 12 to 20 % above the nominal one, two are below it by as much. None is near
 * it, so that a program that works at the nominal rate is passed through often; less
 * than that, also if it was at every tick anew, leaves a program that works near it with
 * twice the error of independent samples.
 *
 * @random  the same for all of them: then the mean of the rates is the nominal one
 */
uint64_t cpu_clock_period(uint64_t period_ns, unsigned int which, uint64_t random);

/**
 * Whose turn is next: each has one before any has its next, in an order that nobody
 * knows, and none has two in a row.
 *
 * @turns  bits of those that have not had theirs; updated
 */
unsigned int cpu_clock_next(unsigned int which, unsigned int *turns, uint64_t random);

/** How long an event is on, ns. */
uint64_t cpu_clock_turn_ns(uint64_t period_ns, uint32_t nr_cpus, uint64_t random);

/** The next of a sequence of pseudo-random numbers; @state is not 0. */
uint64_t cpu_clock_random(uint64_t *state);

#endif
