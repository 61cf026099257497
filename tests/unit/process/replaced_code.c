// SPDX-License-Identifier: GPL-2.0-or-later
/* Addresses of code that a JIT freed, and for how long each had an old unwind table. */
#include "process/replaced_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LATER 1000

static int set_up(void **state)
{
	static struct replaced_code c;

	c = (struct replaced_code){0};
	*state = &c;
	return 0;
}

static int tear_down(void **state)
{
	replaced_code_deinit(*state);
	return 0;
}

static bool has_at(const struct replaced_code *c, uint64_t ip, uint64_t ns)
{
	return replaced_code_has(c, ip, ns, ns);
}

static void a_range_holds_from_the_end_of_its_code_to_the_new_tables(void **state)
{
	struct replaced_code *c = *state;

	assert_false(has_at(c, 0x1000, 20));
	replaced_code_add(c, 0x1000, 0x2000, 20);
	assert_false(has_at(c, 0x1000, 19));
	assert_true(has_at(c, 0x1000, 20));
	assert_true(has_at(c, 0x1fff, LATER));
	assert_false(has_at(c, 0xfff, 20));
	assert_false(has_at(c, 0x2000, 20));
	replaced_code_told(c, 30);
	assert_true(has_at(c, 0x1000, 29));
	assert_false(has_at(c, 0x1000, 30));
	assert_true(replaced_code_has(c, 0x1000, 10, 20));
	assert_true(replaced_code_has(c, 0x1000, 29, LATER));
	assert_false(replaced_code_has(c, 0x1000, 10, 19));
}

static void ranges_that_overlap_have_the_time_of_both(void **state)
{
	struct replaced_code *c = *state;

	replaced_code_add(c, 0x1000, 0x2000, 20);
	replaced_code_told(c, 30);
	replaced_code_add(c, 0x4000, 0x5000, 40);
	replaced_code_add(c, 0x1800, 0x4800, 50);
	assert_int_equal(c->nr, 1);
	assert_true(has_at(c, 0x4fff, 20));
	assert_true(has_at(c, 0x1000, LATER));
	replaced_code_told(c, 60);
	assert_false(has_at(c, 0x1000, 60));
}

static void adjacent_ranges_are_kept_apart_and_in_order(void **state)
{
	struct replaced_code *c = *state;

	replaced_code_add(c, 0x3000, 0x4000, 30);
	replaced_code_add(c, 0x1000, 0x2000, 10);
	replaced_code_add(c, 0x2000, 0x3000, 20);
	assert_int_equal(c->nr, 3);
	assert_true(has_at(c, 0x1fff, 10));
	assert_false(has_at(c, 0x2000, 10));
	assert_true(has_at(c, 0x2fff, 20));
	assert_false(has_at(c, 0x3000, 20));
	assert_true(has_at(c, 0x3000, 30));
}

static void ranges_of_named_samples_are_forgotten(void **state)
{
	struct replaced_code *c = *state;

	replaced_code_add(c, 0x1000, 0x2000, 10);
	replaced_code_told(c, 20);
	replaced_code_add(c, 0x3000, 0x4000, 10);
	replaced_code_forget(c, 19);
	assert_int_equal(c->nr, 2);
	replaced_code_forget(c, 20);
	assert_int_equal(c->nr, 1);
	assert_true(has_at(c, 0x3000, LATER));
}

static void ranges_over_the_maximum_are_merged_with_a_neighbour(void **state)
{
	struct replaced_code *c = *state;
	uint64_t last = 0x10 * (REPLACED_CODE_MAX - 1);

	for (uint64_t i = 0; i < REPLACED_CODE_MAX; i++)
		replaced_code_add(c, 0x10000 + 0x10 * i, 0x10008 + 0x10 * i, 50);
	replaced_code_add(c, 0x100, 0x200, 40);
	replaced_code_add(c, 0x90000000, 0x90000008, 30);
	replaced_code_add(c, 0x1000a, 0x1000c, 20);
	assert_int_equal(c->nr, REPLACED_CODE_MAX);
	assert_true(has_at(c, 0x100, 40));
	assert_true(has_at(c, 0x90000007, 30));
	assert_true(has_at(c, 0x1000a, 20));
	assert_true(has_at(c, 0x10000 + last, 50));
	assert_false(has_at(c, 0x10028, 50));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_range_holds_from_the_end_of_its_code_to_the_new_tables, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(ranges_that_overlap_have_the_time_of_both,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			adjacent_ranges_are_kept_apart_and_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ranges_of_named_samples_are_forgotten,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			ranges_over_the_maximum_are_merged_with_a_neighbour, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
