// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/series.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS 1000000ull

static struct series s;
static struct series_list lists[2];
static const struct series_lists all = {&lists[0], 2, sizeof(lists[0])};

static int setup(void **state)
{
	(void)state;
	s = (struct series){0};
	lists[0] = lists[1] = (struct series_list){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	series_deinit(&s);
	return 0;
}

static void add(int list, uint64_t ms, uint64_t count)
{
	assert_int_equal(series_add(&s, &lists[list], ms * MS, count, &all), 0);
}

/* The samples of a list in the bucket that @ms is in. */
static uint64_t at(int list, uint64_t ms)
{
	uint64_t count = 0;

	for (uint32_t n = lists[list].first; n; n = s.points[n - 1].next)
		if (s.points[n - 1].bucket == ms * MS / s.bucket_ns)
			count += s.points[n - 1].count;
	return count;
}

static void each_list_has_its_points(void **state)
{
	(void)state;
	add(0, 1000, 3);
	add(1, 1050, 5);
	add(0, 1099, 4); /* the same bucket of 100 ms */
	add(0, 1100, 1);
	assert_int_equal(at(0, 1000), 7);
	assert_int_equal(at(1, 1000), 5);
	assert_int_equal(at(0, 1100), 1);
	assert_int_equal(s.nr, 3);
	s.begin_ns = 990 * MS; /* in the bucket before */
	assert_int_equal(series_offset(&s, 9), 0);
	assert_int_equal(series_offset(&s, 11), 2);
	assert_int_equal(series_offset(&s, 3), 0);
}

/* An hour has 600 buckets at most, and no sample is lost. */
static void buckets_grow_with_the_time(void **state)
{
	uint64_t sum[2] = {0};

	(void)state;
	for (uint64_t ms = 0; ms < 3600000; ms += 100)
		add(ms / 100 % 3 == 0, 5000000 + ms, 2);
	assert_int_equal(s.bucket_ns, 6400 * MS);
	assert_in_range(s.highest - s.lowest, 500, SERIES_MAX_BUCKETS);
	assert_in_range(s.nr, 500, 2 * SERIES_MAX_BUCKETS + 2);
	for (int i = 0; i < 2; i++)
		for (uint32_t n = lists[i].first; n; n = s.points[n - 1].next)
			sum[i] += s.points[n - 1].count;
	assert_int_equal(sum[0], 48000);
	assert_int_equal(sum[1], 24000);
}

/* Samples that come late are in the buckets of their time. */
static void any_order_will_do(void **state)
{
	(void)state;
	add(0, 90000, 1);
	add(0, 30000, 2);
	add(0, 90000, 4);
	add(0, 1000, 8); /* now buckets are longer */
	assert_int_equal(s.bucket_ns, 200 * MS);
	assert_int_equal(at(0, 90000), 5);
	assert_int_equal(at(0, 30000), 2);
	assert_int_equal(at(0, 1000), 8);
}

static void points_are_bounded(void **state)
{
	size_t nr = SERIES_MAX_POINTS + 1;
	struct series_list *many = calloc(nr, sizeof(*many));
	const struct series_lists all_many = {many, nr, sizeof(*many)};

	(void)state;
	assert_non_null(many);
	/* Two points each: half as many once the buckets are longer. */
	for (size_t i = 0; i < SERIES_MAX_POINTS; i++)
		assert_int_equal(
			series_add(&s, &many[i / 2], i % 2 * 100 * MS, 1, &all_many), 0);
	assert_int_equal(series_add(&s, &many[nr - 1], 0, 1, &all_many), 0);
	assert_int_equal(s.nr, SERIES_MAX_POINTS / 2 + 1);
	assert_int_equal(s.bucket_ns, 200 * MS);
	/* One point each: nothing helps. */
	for (size_t i = SERIES_MAX_POINTS / 2; i < nr - 1; i++)
		series_add(&s, &many[i], 0, 1, &all_many);
	assert_int_equal(series_add(&s, &many[nr - 2], 900 * MS, 1, &all_many), -ENOSPC);
	free(many);
}

static void counts_saturate(void **state)
{
	(void)state;
	add(0, 0, UINT64_MAX);
	add(0, 0, 7);
	assert_int_equal(at(0, 0), UINT32_MAX);
}

/* Series of other lengths of buckets: the longer one decides. */
static void lists_of_other_series_are_added(void **state)
{
	struct series fine = {0}, coarse = {0};
	struct series_list of_fine = {0}, of_coarse = {0};

	(void)state;
	assert_int_equal(series_add(&fine, &of_fine, 1300 * MS, 2,
				    &(struct series_lists){&of_fine, 1, 8}),
			 0);
	coarse.bucket_ns = 400 * MS;
	assert_int_equal(series_add(&coarse, &of_coarse, 1300 * MS, 5,
				    &(struct series_lists){&of_coarse, 1, 8}),
			 0);
	assert_int_equal(series_add_list(&s, &lists[0], &fine, &of_fine, &all), 0);
	assert_int_equal(s.bucket_ns, SERIES_FIRST_NS);
	assert_int_equal(series_add_list(&s, &lists[1], &coarse, &of_coarse, &all), 0);
	assert_int_equal(s.bucket_ns, 400 * MS);
	assert_int_equal(series_add_list(&s, &lists[0], &fine, &of_fine, &all), 0);
	assert_int_equal(at(0, 1300), 4);
	assert_int_equal(at(1, 1300), 5);
	series_deinit(&fine);
	series_deinit(&coarse);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_list_has_its_points), TEST(buckets_grow_with_the_time),
		TEST(any_order_will_do),        TEST(points_are_bounded),
		TEST(counts_saturate),          TEST(lists_of_other_series_are_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
