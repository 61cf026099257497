// SPDX-License-Identifier: GPL-2.0-or-later
/* The sampling rate that a budget allows. */
#include "record/sample_rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND_NS 1000000000ULL
#define CPUS      4

/* Reports one second of ticks that cost @tick_ns each besides their interrupts. */
static unsigned int second(struct sample_rate *r, uint64_t tick_ns)
{
	uint64_t nr = CPUS * SECOND_NS / sample_rate_period_ns(r, r->level);

	return sample_rate_measured(
		r, &(struct sample_rate_measure){.time_ns = SECOND_NS,
						 .nr_cpus = CPUS,
						 .nr_ticks = nr,
						 .program_ns = nr * tick_ns});
}

static void without_a_budget_nothing_changes(void **state)
{
	struct sample_rate r = {.freq_hz = 10000, .tick_ns = 50000};

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_int_equal(second(&r, 50000), 0);
	assert_int_equal(r.lowered_ns, 0);
}

/*
 * 1000 Hz at 20 us cost 2 % of each CPU. Halving the rate twice gives just 0.5 %, three
 * times gives less.
 */
static void one_second_lowers_it_as_far_as_needed(void **state)
{
	struct sample_rate r = {.freq_hz = 1000, .budget_ppm = 5000, .tick_ns = 2000};
	struct sample_rate two = r;

	(void)state;
	assert_int_equal(second(&two, 18000), 2); /* exactly 0.5 % */
	assert_int_equal(second(&r, 19000), 3);
	assert_int_equal(sample_rate_period_ns(&r, 3), 8000000);
	assert_int_equal(r.lowest_level, 3);
	for (int i = 0; i < 30; i++)
		/* 0.26 %: double would be too much. */
		assert_int_equal(second(&r, 19000), 3);
	assert_int_equal(r.lowered_ns, 30 * SECOND_NS);
}

static void it_rises_again_when_there_is_room_for_long(void **state)
{
	struct sample_rate r = {.freq_hz = 1000, .budget_ppm = 5000, .tick_ns = 1000};

	(void)state;
	assert_int_equal(second(&r, 19000), 2);
	for (int i = 0; i < 4; i++)
		assert_int_equal(second(&r, 1000), 2);
	assert_int_equal(second(&r, 19000), 2); /* a busy second restarts the wait */
	for (int i = 0; i < 4; i++)
		assert_int_equal(second(&r, 1000), 2);
	assert_int_equal(second(&r, 1000), 1);
	for (int i = 0; i < 4; i++)
		assert_int_equal(second(&r, 1000), 1);
	assert_int_equal(second(&r, 1000), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(second(&r, 1000),
				 0); /* never above the requested rate */
	assert_int_equal(r.lowest_level, 2);
	assert_int_equal(r.lowered_ns, 15 * SECOND_NS);
}

static void it_stays_where_it_would_have_to_come_back_from(void **state)
{
	struct sample_rate r = {.freq_hz = 100, .budget_ppm = 5000};

	(void)state;
	assert_int_equal(second(&r, 60000), 1); /* 0.6 %, then 0.3 % */
	for (int i = 0; i < 100; i++)
		/* 0.225 %: double, 0.45 %, is too close. */
		assert_int_equal(second(&r, 45000), 1);
}

static void one_hertz_is_the_least(void **state)
{
	struct sample_rate r = {.freq_hz = 99, .budget_ppm = 10, .tick_ns = 1000000};
	struct sample_rate slow = {.freq_hz = 1, .budget_ppm = 10, .tick_ns = 1000000};

	(void)state;
	assert_int_equal(second(&r, 0), 6); /* 99 / 64 Hz */
	assert_int_equal(second(&r, 0), 6);
	assert_int_equal(second(&slow, 0), 0);
	assert_int_equal(slow.lowered_ns, 0);
	r = (struct sample_rate){.freq_hz = 10000, .budget_ppm = 10, .tick_ns = 10000000};
	assert_int_equal(second(&r, 0), 13);
	assert_int_equal(sample_rate_period_ns(&r, 13), 819200000);
}

/* With many CPUs drains come ten times a second; the rate is judged once a second. */
static void short_times_add_up(void **state)
{
	struct sample_rate r = {.freq_hz = 1000, .budget_ppm = 5000};
	struct sample_rate_measure m = {
		.time_ns = SECOND_NS / 10,
		.nr_cpus = CPUS,
		.nr_ticks = CPUS * 100,
		.program_ns = CPUS * 100 * 6000ULL,
	};

	(void)state;
	for (int i = 0; i < 9; i++)
		assert_int_equal(sample_rate_measured(&r, &m), 0);
	assert_int_equal(sample_rate_measured(&r, &m), 1);
	assert_int_equal(r.lowered_ns, 0);
	m.program_ns /= 2;
	sample_rate_measured(&r, &m);
	assert_int_equal(r.lowered_ns, SECOND_NS / 10);
}

/* Drains after the end of sampling have no time to compare their cost with. */
static void the_last_drains_change_nothing(void **state)
{
	struct sample_rate r = {.freq_hz = 1000, .budget_ppm = 5000};
	struct sample_rate_measure m = {
		.time_ns = SECOND_NS * 9 / 10, .nr_cpus = CPUS, .nr_ticks = CPUS * 900};

	(void)state;
	assert_int_equal(sample_rate_measured(&r, &m), 0);
	m = (struct sample_rate_measure){.time_ns = SECOND_NS / 5,
					 .nr_ticks = CPUS * 200,
					 .program_ns = CPUS * SECOND_NS / 10};
	assert_int_equal(sample_rate_measured(&r, &m), 0);
	assert_int_equal(r.lowered_ns, 0);
	assert_int_equal(r.lowest_level, 0);
	/* If the rate was lowered before, the time still counts as lowered. */
	r.level = r.lowest_level = 2;
	assert_int_equal(sample_rate_measured(&r, &m), 2);
	assert_int_equal(r.lowered_ns, SECOND_NS / 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_budget_nothing_changes),
		cmocka_unit_test(one_second_lowers_it_as_far_as_needed),
		cmocka_unit_test(it_rises_again_when_there_is_room_for_long),
		cmocka_unit_test(it_stays_where_it_would_have_to_come_back_from),
		cmocka_unit_test(one_hertz_is_the_least),
		cmocka_unit_test(short_times_add_up),
		cmocka_unit_test(the_last_drains_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
