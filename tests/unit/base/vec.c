// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/vec.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"

struct item {
	uint64_t a, b, c;
};

static void test_grows_and_zeroes(void **state)
{
	_cleanup_free_ struct item *items = NULL;
	size_t cap = 0;

	(void)state;
	for (size_t i = 0; i < 10000; i++) {
		assert_int_equal(vec_grow(&items, &cap, i + 1, sizeof(*items), 0), 0);
		assert_true(cap > i);
		assert_int_equal(items[i].a | items[i].b | items[i].c, 0);
		items[i] = (struct item){i, i, i};
	}
	for (size_t i = 0; i < 10000; i++)
		assert_int_equal(items[i].b, i);
	for (size_t i = 10000; i < cap; i++)
		assert_int_equal(items[i].c, 0);
	assert_true(cap < 2 * 10000);
}

static void test_enough_already(void **state)
{
	_cleanup_free_ uint32_t *items = NULL;
	size_t cap = 0;
	uint32_t *before;

	(void)state;
	assert_int_equal(vec_grow(&items, &cap, 0, sizeof(*items), 0), 0);
	assert_null(items);
	assert_int_equal(vec_grow(&items, &cap, 16, sizeof(*items), 0), 0);
	before = items;
	assert_int_equal(vec_grow(&items, &cap, 3, sizeof(*items), 1), 0);
	assert_ptr_equal(items, before);
	assert_int_equal(cap, 16);
}

static void test_maximum(void **state)
{
	_cleanup_free_ uint32_t *items = NULL;
	size_t cap = 0;
	uint32_t *before;

	(void)state;
	assert_int_equal(vec_grow(&items, &cap, 100, sizeof(*items), 100), 0);
	assert_int_equal(cap, 100); /* doubling stops at the maximum */
	before = items;
	items[99] = 7;
	assert_int_equal(vec_grow(&items, &cap, 101, sizeof(*items), 100), -ENOSPC);
	assert_ptr_equal(items, before);
	assert_int_equal(cap, 100);
	assert_int_equal(items[99], 7);
}

/* Sizes whose product or whose double overflows 64 bits. */
static void test_overflow(void **state)
{
	_cleanup_free_ struct item *items = NULL;
	size_t cap = 0;

	(void)state;
	assert_int_equal(vec_grow(&items, &cap, 1, sizeof(*items), 0), 0);
	cap = 16;
	assert_int_equal(vec_grow(&items, &cap, SIZE_MAX, sizeof(*items), 0), -ENOMEM);
	assert_int_equal(vec_grow(&items, &cap, SIZE_MAX / 16, sizeof(*items), 0),
			 -ENOMEM);
	assert_int_equal(cap, 16);
	assert_int_equal(items[15].c, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows_and_zeroes),
		cmocka_unit_test(test_enough_already),
		cmocka_unit_test(test_maximum),
		cmocka_unit_test(test_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
