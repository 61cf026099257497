// SPDX-License-Identifier: GPL-2.0-or-later
/* The sequence of sampling periods, which keeps samples out of step with programs. */
#include "collect/cpu_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/perf_event.h"
#include "collect/tick_cost.h"

#define MS_NS 1000000ULL

static void periods_are_apart_and_their_mean_rate_is_the_nominal_one(void **state)
{
	uint64_t random = 42;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		uint64_t r = cpu_clock_random(&random);
		double sum = 0;
		uint64_t p[CPU_CLOCK_NR_PERIODS];

		for (unsigned int j = 0; j < CPU_CLOCK_NR_PERIODS; j++) {
			double off;

			p[j] = cpu_clock_period(10 * MS_NS, j, r);
			off = fabs((10.0 * MS_NS) / (double)p[j] - 1);
			assert_true(off > 0.0399 && off < 0.2001);
			assert_true(!j || p[j] >= p[j - 1]);
			sum += 1e9 / (double)p[j];
		}
		assert_true(fabs(sum - 400) < 1e-3);
	}
	/* The highest rate and the lowest. */
	assert_in_range(cpu_clock_period(100000, 0, 1), 83333, 89286);
	assert_in_range(cpu_clock_period(1000000000ULL << 13, 3, 1), 9309090000000,
			10240000000000);
}

static void every_period_has_its_turn(void **state)
{
	uint64_t random = 7;
	unsigned int which = CPU_CLOCK_NR_PERIODS, turns = 0;
	unsigned int after[CPU_CLOCK_NR_PERIODS][CPU_CLOCK_NR_PERIODS] = {{0}};

	(void)state;
	for (int round = 0; round < 3000; round++) {
		unsigned int seen = 0;

		for (unsigned int i = 0; i < CPU_CLOCK_NR_PERIODS; i++) {
			unsigned int next =
				cpu_clock_next(which, &turns, cpu_clock_random(&random));

			assert_in_range(next, 0, CPU_CLOCK_NR_PERIODS - 1);
			assert_int_not_equal(next, which);
			if (which < CPU_CLOCK_NR_PERIODS)
				after[which][next]++;
			seen |= 1u << next;
			which = next;
		}
		assert_int_equal(seen, (1u << CPU_CLOCK_NR_PERIODS) - 1);
	}
	for (unsigned int i = 0; i < CPU_CLOCK_NR_PERIODS; i++)
		for (unsigned int j = 0; j < CPU_CLOCK_NR_PERIODS; j++)
			assert_true(i == j ? !after[i][j] : after[i][j] > 700);
}

static void turns_are_rare_where_there_are_many_cpus(void **state)
{
	static const struct {
		uint64_t period_ns;
		uint32_t nr_cpus;
		uint64_t mean_ns;
	} cases[] = {
		{10 * MS_NS, 1, 250 * MS_NS},
		{1 * MS_NS, 2, 250 * MS_NS},
		{10 * MS_NS, 512, 1024 * MS_NS},
		{1000 * MS_NS, 2, 8000 * MS_NS},
	};
	uint64_t random = 99;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double sum = 0, mean = (double)cases[i].mean_ns;

		for (int j = 0; j < 4000; j++) {
			uint64_t ns = cpu_clock_turn_ns(cases[i].period_ns,
							cases[i].nr_cpus,
							cpu_clock_random(&random));

			assert_in_range(ns, cases[i].mean_ns / 2,
					cases[i].mean_ns * 3 / 2);
			sum += (double)ns;
		}
		assert_true(fabs(sum / 4000 / mean - 1) < 0.02);
	}
}

/*
 * The share that sampling finds of a program that works 30 % of each period, in step
 * with the nominal rate. The periods change as in cpu_clock_change().
 */
static double share_found(uint64_t works_every_ns, uint64_t seed)
{
	uint64_t random = seed, now = 0, working = 0, all = 0;
	uint64_t left[CPU_CLOCK_NR_PERIODS], period[CPU_CLOCK_NR_PERIODS];
	uint64_t of_clock = cpu_clock_random(&random);
	unsigned int which = CPU_CLOCK_NR_PERIODS, turns = 0;

	for (unsigned int i = 0; i < CPU_CLOCK_NR_PERIODS; i++)
		left[i] = period[i] = cpu_clock_period(10 * MS_NS, i, of_clock);
	while (now < 10000 * MS_NS) {
		uint64_t end =
			now + cpu_clock_turn_ns(10 * MS_NS, 2, cpu_clock_random(&random));

		which = cpu_clock_next(which, &turns, cpu_clock_random(&random));
		for (; now + left[which] < end; left[which] = period[which]) {
			now += left[which];
			all += period[which];
			if (now % works_every_ns < works_every_ns * 3 / 10)
				working += period[which];
		}
		left[which] -= end - now;
		now = end;
	}
	return 100.0 * (double)working / (double)all;
}

/* Independent samples, 1,000 of 30 %, would be off by 1.45 points (RMS). */
static void nothing_runs_in_step(void **state)
{
	static const struct {
		uint64_t works_every_ns;
		double most; /* points, root mean square */
	} cases[] = {
		/* The nominal rate, its double, its half, and 1 % off. */
		{10 * MS_NS, 1.2},
		{5 * MS_NS, 1.2},
		{20 * MS_NS, 1.2},
		{10101010, 1.2},
		/* Rates that may be one of the four periods. */
		{9 * MS_NS, 3},
		{10700000, 3},
		{12 * MS_NS, 3},
	};
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double sum = 0, squares = 0;

		for (int j = 0; j < 400; j++) {
			double off = share_found(cases[i].works_every_ns,
						 cpu_clock_random(&seed)) -
				     30;

			sum += off;
			squares += off * off;
		}
		print_message("every %.2f ms: off by %.2f, on average %.2f points\n",
			      (double)cases[i].works_every_ns / 1e6, sqrt(squares / 400),
			      sum / 400);
		assert_true(sqrt(squares / 400) < cases[i].most);
		assert_true(fabs(sum / 400) < 3 * sqrt(squares) / 400);
	}
}

/* A disabled event keeps the rest of its period. */
static void ticks_are_time_by_period(void **state)
{
	int fd[2] = {perf_event_open(PERF_COUNT_SW_CPU_CLOCK, 0, 3 * MS_NS),
		     perf_event_open(PERF_COUNT_SW_CPU_CLOCK, 0, 2 * MS_NS)};
	uint64_t start, end, ns, drift, switching = 0;

	(void)state;
	if (fd[0] < 0 || fd[1] < 0) {
		print_message("no perf events: %s\n", strerror(-fd[0]));
		skip();
	}
	start = clock_now_ns();
	for (int i = 0; i < 20; i++) {
		uint64_t before = clock_now_ns();

		ioctl(fd[(i + 1) % 2], PERF_EVENT_IOC_DISABLE, 0);
		ioctl(fd[i % 2], PERF_EVENT_IOC_ENABLE, 0);
		switching += clock_now_ns() - before;
		for (uint64_t t = clock_now_ns(); clock_now_ns() < t + MS_NS;)
			;
	}
	end = clock_now_ns();
	ioctl(fd[1], PERF_EVENT_IOC_DISABLE, 0);
	ns = perf_event_read(fd[0]).enabled_ns + perf_event_read(fd[1]).enabled_ns;
	/*
	 * At each time one of the two events is enabled, except while they are
	 * switched, even if other processes have the CPU. The events' clock and ours
	 * may drift apart.
	 */
	drift = (end - start) / 1000;
	assert_in_range(ns, end - start - switching - drift,
			clock_now_ns() - start + drift);
	close(fd[0]);
	close(fd[1]);
}

static int count_descriptors(void)
{
	int nr = 0;

	for (int fd = 0; fd < 256; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static void wait_ns(uint64_t ns)
{
	for (uint64_t t = clock_now_ns(); clock_now_ns() < t + ns;)
		;
}

static struct sample_source_account account_of(const struct cpu_clock *c)
{
	struct sample_source_account sum = {0};

	cpu_clock_account(c, 0, &sum);
	return sum;
}

/* Only events of the current and previous level stay open; all counts are kept. */
static void levels_come_and_go(void **state)
{
	const struct bpf_insn none[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	_cleanup_close_ int prog = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, NULL, "GPL",
						 none, ARRAY_SIZE(none), NULL);
	struct sample_source_account before = {0}, after = {0};
	int nr = count_descriptors(), fd;
	struct cpu_clock c;
	uint64_t start_ns;

	(void)state;
	if (prog < 0 || cpu_clock_start(&c, 0, prog, 2 * MS_NS, 0, 42, 0)) {
		print_message("no BPF or perf events: %s\n", strerror(errno));
		skip();
	}
	start_ns = clock_now_ns();
	for (unsigned int i = 1; i <= 20; i++) {
		for (int j = 0; j < 6; j++) {
			wait_ns(MS_NS);
			c.change_ns = 1; /* a turn */
			assert_true(cpu_clock_change(&c, clock_now_ns(), 1));
		}
		assert_in_range(count_descriptors(), nr + 1,
				nr + 2 * CPU_CLOCK_NR_PERIODS);
		before = account_of(&c);
		assert_int_equal(cpu_clock_set_level(&c, i % 3, 0), 0);
		assert_in_range(count_descriptors(), nr + 2,
				nr + 1 + CPU_CLOCK_NR_PERIODS);
		after = account_of(&c);
		assert_in_range(after.enabled_ns, before.enabled_ns,
				clock_now_ns() - start_ns + 2 * MS_NS);
		assert_true(after.due >= before.due);
		/* Level 0 has the most ticks, level 2 the fewest. */
		assert_true(after.due <= (double)after.enabled_ns / (2e6 * 0.8));
		assert_true(after.due >= (double)after.enabled_ns / (8e6 * 1.25));
	}
	/* The error of each level's interval is at least 20 ms and a tick of each event. */
	assert_true(after.error >= 20 * (20e6 / 8e6 / 1.25 + CPU_CLOCK_NR_PERIODS));
	/* Back to the previous level, whose events are still open. */
	fd = c.events[1][c.which].fd;
	assert_true(fd >= 0);
	assert_int_equal(cpu_clock_set_level(&c, 1, 0), 0);
	assert_int_equal(c.events[1][c.which].fd, fd);
	cpu_clock_pause(&c);
	after = account_of(&c);
	/* 120 ms in total, less the time that switching took. */
	assert_true(after.enabled_ns >= 115 * MS_NS);
	assert_true(after.due > 24 && after.due < (double)after.enabled_ns / (2e6 * 0.8));
	cpu_clock_stop(&c);
	assert_int_equal(count_descriptors(), nr);
}

static void cost_of_a_tick(void **state)
{
	uint64_t values[] = {5000, 1200, 1300, 90000000, 1250};
	uint64_t diluted[] = {14000, 500, 600, 15000, 700, 16000, 550, 650, 90000000};

	(void)state;
	assert_int_equal(tick_cost_longest(diluted, ARRAY_SIZE(diluted), 3), 16000);
	assert_int_equal(tick_cost_longest(diluted, ARRAY_SIZE(diluted), 5), 15000);
	assert_int_equal(tick_cost_longest(diluted, ARRAY_SIZE(diluted), 100), 700);
	assert_int_equal(tick_cost_longest(values, 5, 5), 1300);
	assert_int_equal(tick_cost_longest(values, 0, 0), 0);
	/* From 0.4 us, less than any machine takes, to what a very busy machine takes. */
	assert_in_range(tick_cost_ns(), 400, 10000000);
}

static uint64_t fake_ns, nr_read;

/* Each reading takes longer than an interrupt; in one of 30 an interrupt occurs. */
static uint64_t slow_clock(void)
{
	fake_ns += nr_read++ % 30 ? 3000 : 4700;
	return fake_ns;
}

/* A clock that becomes slow after its speed was measured. */
static uint64_t slower_clock(void)
{
	fake_ns += nr_read++ < 300 ? 100 : 5000;
	return fake_ns;
}

static uint64_t all_the_time(int fd)
{
	(void)fd;
	return fake_ns;
}

/* Others have the CPU for nine tenths of the time. */
static uint64_t a_tenth(int fd)
{
	(void)fd;
	return fake_ns / 10;
}

static uint64_t cost_by(uint64_t (*clock)(void), uint64_t (*ticking)(int))
{
	fake_ns = nr_read = 0;
	return tick_cost_by(clock, ticking, -1);
}

static void a_slow_clock_is_not_the_cost_of_a_tick(void **state)
{
	(void)state;
	assert_int_equal(cost_by(slow_clock, all_the_time), 1700);
	assert_int_equal(cost_by(slower_clock, all_the_time), TICK_COST_UNKNOWN_NS);
}

static void a_busy_cpu_tells_no_cost(void **state)
{
	(void)state;
	assert_int_equal(cost_by(slow_clock, a_tenth), TICK_COST_UNKNOWN_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			periods_are_apart_and_their_mean_rate_is_the_nominal_one),
		cmocka_unit_test(every_period_has_its_turn),
		cmocka_unit_test(turns_are_rare_where_there_are_many_cpus),
		cmocka_unit_test(nothing_runs_in_step),
		cmocka_unit_test(ticks_are_time_by_period),
		cmocka_unit_test(levels_come_and_go),
		cmocka_unit_test(cost_of_a_tick),
		cmocka_unit_test(a_slow_clock_is_not_the_cost_of_a_tick),
		cmocka_unit_test(a_busy_cpu_tells_no_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
