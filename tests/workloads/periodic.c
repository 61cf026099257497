// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In step with the clock: of each PERIOD_US, PERCENT are spent in part_one(), the rest
 * in part_two() or, with "idle", asleep. Prints the CPU seconds of both.
 * usage: periodic PERIOD_US PERCENT SECONDS [idle]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

/* Separate counters, so that the compiler does not merge the identical functions. */
static volatile unsigned long turns[2];

__attribute__((noinline)) static void part_one(uint64_t end_ns)
{
	while (now_ns(CLOCK_MONOTONIC) < end_ns)
		turns[0]++;
}

__attribute__((noinline)) static void part_two(uint64_t end_ns)
{
	while (now_ns(CLOCK_MONOTONIC) < end_ns)
		turns[1]++;
}

static void sleep_until(uint64_t end_ns)
{
	struct timespec t = {(time_t)(end_ns / 1000000000ULL),
			     (long)(end_ns % 1000000000ULL)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

int main(int argc, char **argv)
{
	uint64_t period_ns, part_ns, start_ns, nr, one_ns = 0, two_ns = 0;

	if (argc < 4)
		return 2;
	period_ns = strtoull(argv[1], NULL, 10) * 1000;
	part_ns = period_ns * strtoull(argv[2], NULL, 10) / 100;
	nr = (uint64_t)(atof(argv[3]) * 1e9) / period_ns;
	start_ns = (now_ns(CLOCK_MONOTONIC) / period_ns + 1) * period_ns;
	sleep_until(start_ns);
	for (uint64_t i = 0; i < nr; i++, start_ns += period_ns) {
		uint64_t before = now_ns(CLOCK_THREAD_CPUTIME_ID), between;

		part_one(start_ns + part_ns);
		between = now_ns(CLOCK_THREAD_CPUTIME_ID);
		one_ns += between - before;
		if (argc > 4)
			sleep_until(start_ns + period_ns);
		else
			part_two(start_ns + period_ns);
		two_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - between;
	}
	printf("%.6f %.6f\n", (double)one_ns / 1e9, (double)two_ns / 1e9);
	return 0;
}
