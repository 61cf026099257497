// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the clock in a loop while an event of our own ticks: a gap longer than a
 * reading is an interrupt. Uses only the longest gaps, as many as our event had ticks,
 * because a hypervisor's own gaps are often shorter. Other interrupts and context
 * switches do not change the median of these. A reading takes 20 to 100 ns, but 1000 to
 * 5000 if the clock is a device (acpi_pm, hpet) or emulated by a hypervisor, so it is
 * measured first.
 */
#include "collect/tick_cost.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/perf_event.h"

#define PERIOD_NS  100000ULL
#define MEASURE_NS 20000000ULL
#define NR_TICKS   (MEASURE_NS / PERIOD_NS)
#define NR_BARE    256
/* Longer than a reading; an interrupt takes 1000 or more. */
#define GAP_NS 400

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t tick_cost_longest(uint64_t *values, size_t nr, size_t most)
{
	size_t nr_asked = most < nr ? most : nr;

	qsort(values, nr, sizeof(*values), compare);
	return nr_asked ? values[nr - nr_asked + nr_asked / 2] : 0;
}

/* Measures the time of one reading, ns. */
static uint64_t measure_reading(uint64_t (*clock)(void))
{
	uint64_t steps[NR_BARE], before_ns = clock();

	for (size_t i = 0; i < NR_BARE; i++) {
		uint64_t now_ns = clock();

		steps[i] = now_ns - before_ns;
		before_ns = now_ns;
	}
	return tick_cost_longest(steps, NR_BARE, NR_BARE);
}

static double share_of_cpu(uint64_t ticking_ns, uint64_t passed_ns)
{
	double share = (double)ticking_ns / (double)(passed_ns + 1);

	return share < 1 ? share : 1;
}

uint64_t tick_cost_by(uint64_t (*clock)(void), uint64_t (*ticking)(int fd), int fd)
{
	uint64_t bare_ns = measure_reading(clock);
	uint64_t gaps[2 * NR_TICKS], start_ns = clock(), before_ns = start_ns;
	size_t nr = 0, nr_readings = 0, nr_ours;
	double share;

	for (; before_ns - start_ns < MEASURE_NS && nr < ARRAY_SIZE(gaps);
	     nr_readings++) {
		uint64_t now_ns = clock(), step_ns = now_ns - before_ns;

		if (step_ns > bare_ns + GAP_NS)
			gaps[nr++] = step_ns - bare_ns;
		before_ns = now_ns;
	}
	/*
	 * Unreliable if the CPU is busy and too few ticks are ours, or if more than
	 * half of the readings became slower, because then gaps are not interrupts.
	 */
	share = share_of_cpu(ticking(fd), clock() - start_ns);
	nr_ours = (size_t)((double)(before_ns - start_ns) * share / PERIOD_NS);
	if (nr < NR_TICKS / 4 || nr_ours < NR_TICKS / 4 || nr > nr_readings / 2)
		return TICK_COST_UNKNOWN_NS;
	return tick_cost_longest(gaps, nr, nr_ours);
}

/* A task's event ticks only while the task runs. */
static uint64_t ticking_ns(int fd)
{
	return perf_event_read(fd).enabled_ns;
}

uint64_t tick_cost_ns(void)
{
	_cleanup_close_ int fd = perf_event_open(PERF_COUNT_SW_CPU_CLOCK, -1, PERIOD_NS);

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return TICK_COST_UNKNOWN_NS;
	return tick_cost_by(clock_now_ns, ticking_ns, fd);
}
