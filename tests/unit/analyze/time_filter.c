// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/profile/fixture.h"

#include <errno.h>
#include <math.h>

#include "analyze/time_filter.h"

#define SECOND_NS 1000000000ull

static struct strpool *pool;
static struct profile *p;
static struct filtered *n;
static struct error err;

static void add_time(uint32_t sample, double second, uint64_t count)
{
	const struct series_lists all = {&p->samples->times, p->nr_samples,
					 sizeof(*p->samples)};

	assert_int_equal(series_add(&p->times, &p->samples[sample].times,
				    p->times.begin_ns + (uint64_t)(second * 1e9), count,
				    &all),
			 0);
}

/* f: 4 samples in second 1, 6 in second 3; g: 5 in second 3. */
static int setup(void **state)
{
	uint32_t app, f, g;

	(void)state;
	pool = strpool_new(64 << 20);
	p = profile_new(pool);
	app = add_mapping(p, "/home/me/app");
	f = add_location(p, app, 1, MISS_NONE, "f@/a.c:3");
	g = add_location(p, app, 2, MISS_NONE, "g@/a.c:8");
	add_stack(p, LB_STACK_COMPLETE, 10, f);
	add_stack(p, LB_STACK_COMPLETE, 5, g);
	p->times.begin_ns = 77 * SECOND_NS;
	n = NULL;
	err = (struct error){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	filtered_free(n);
	profile_free(p);
	strpool_free(pool);
	return 0;
}

static void add_times(void)
{
	add_time(0, 1.2, 4);
	add_time(0, 3.2, 6);
	add_time(1, 3.7, 5);
}

static int filter(const char *text)
{
	struct time_range range;

	assert_true(time_range_parse(text, &range));
	return time_filter_profile(p, &range, text, &n, &err);
}

static void a_range_has_its_part_of_each_sample(void **state)
{
	(void)state;
	add_times();
	assert_int_equal(filter("1-2"), 0);
	assert_int_equal(n->all.samples, 15);
	assert_int_equal(n->left.samples, 4);
	assert_int_equal(n->left.cpu_ns, 4 * PERIOD_NS);
	assert_int_equal(p->nr_samples, 1);
	assert_string_equal(n->time, "1-2");
}

static void open_ranges_reach_the_ends(void **state)
{
	(void)state;
	add_times();
	assert_int_equal(filter("2-"), 0);
	assert_int_equal(n->left.samples, 11);
	assert_int_equal(filter("-3.5"), 0); /* on top of the first one */
	assert_int_equal(n->left.samples, 6);
	assert_int_equal(n->all.samples, 15);
}

static void nothing_in_the_range_is_explained(void **state)
{
	(void)state;
	add_times();
	p->extra.wall_ns = 4 * SECOND_NS;
	assert_int_equal(filter("1.5-3"), -ENODATA);
	assert_int_equal(err.exit_code, EXIT_NO_SAMPLES);
	assert_non_null(strstr(err.text, "in the time 1.5-3 s; the recording has 4.0 s"));
}

static void a_profile_without_times_is_refused(void **state)
{
	(void)state;
	assert_int_equal(filter("1-2"), -ENODATA);
	assert_non_null(strstr(err.text, "another tool wrote it"));
}

static void ranges_are_parsed(void **state)
{
	static const char *const bad[] = {"",     "-",     "3",     "2-1",
					  "1-1",  "a-b",   "1-2x",  "-1-2",
					  "1--2", "nan-1", "0-inf", "1-2-3"};
	struct time_range range;

	(void)state;
	assert_true(time_range_parse("0.25-1e1", &range));
	assert_true(range.from == 0.25 && range.to == 10);
	assert_true(time_range_parse("2-", &range));
	assert_true(range.from == 2 && range.to == HUGE_VAL);
	assert_true(time_range_parse("-2", &range));
	assert_true(range.from == 0 && range.to == 2);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (time_range_parse(bad[i], &range))
			fail_msg("\"%s\" is no range", bad[i]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_range_has_its_part_of_each_sample),
		TEST(open_ranges_reach_the_ends),
		TEST(nothing_in_the_range_is_explained),
		TEST(a_profile_without_times_is_refused),
		TEST(ranges_are_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
