// SPDX-License-Identifier: GPL-2.0-or-later
/* Splits losses and costs counted since the start of the recording into windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/account.h"

static void each_loss_is_told_once(void **state)
{
	struct profile_losses told = {0}, now = {0}, window;
	uint64_t nr = 1;

	(void)state;
#define GROW(name) now.name += 3 + nr++;
	PROFILE_LOSS_COUNTERS(GROW)
	losses_since(&told, &now, &window);
	profile_losses_add(&told, &window);
	nr = 100;
	PROFILE_LOSS_COUNTERS(GROW)
	losses_since(&told, &now, &window);
	nr = 100;
#define CHECK(name) assert_int_equal(window.name, 3 + nr++);
	PROFILE_LOSS_COUNTERS(CHECK)
	profile_losses_add(&told, &window);
#define CHECK_TOLD(name) assert_int_equal(told.name, now.name);
	PROFILE_LOSS_COUNTERS(CHECK_TOLD)
}

/* Due ticks are an estimate that may decrease: then none are missed or due. */
static void an_estimate_that_goes_down_is_none(void **state)
{
	const struct profile_losses told = {.due = 110, .ran = 100, .sampled = 100},
				    now = {.due = 104, .ran = 150, .sampled = 150};
	struct profile_losses window;

	(void)state;
	losses_since(&told, &now, &window);
	assert_int_equal(window.missed, 0);
	assert_int_equal(window.sampled, 50);
	assert_int_equal(window.due, 0);
}

/* An idle target: what the machine missed is not held against its few samples. */
static void fewer_missed_than_the_error_are_none(void **state)
{
	struct profile_losses now = {
		.due = 186, .ran = 100, .due_error = 86, .sampled = 26};
	struct profile_losses none = {0}, window;

	(void)state;
	losses_since(&none, &now, &window);
	assert_int_equal(window.missed, 0);
	assert_int_equal(window.due_error, 86);
	now.due_error = 85;
	losses_since(&none, &now, &window);
	assert_int_equal(window.missed, 86);
	assert_int_equal(window.due, 186);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_loss_is_told_once),
		cmocka_unit_test(an_estimate_that_goes_down_is_none),
		cmocka_unit_test(fewer_missed_than_the_error_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
