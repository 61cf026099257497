// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "fixture.h"

static int setup(void **state)
{
	struct strpool *pool = strpool_new(1 << 20);

	*state = profile_new(pool);
	return 0;
}

static int teardown(void **state)
{
	struct profile *p = *state;
	struct strpool *pool = p->pool;

	profile_free(p);
	strpool_free(pool);
	return 0;
}

static void equal_functions_are_one(void **state)
{
	struct profile *p = *state;
	char name[] = "work";
	struct profile_function f = {.name = name, .filename = "/a.c", .start_line = 3};
	uint32_t first = profile_add_function(p, &f);

	f.name = "work";
	assert_int_equal(profile_add_function(p, &f), first);
	f.start_line = 4;
	assert_int_not_equal(profile_add_function(p, &f), first);
	f.start_line = 3;
	f.system_name = "_Z4workv";
	assert_int_not_equal(profile_add_function(p, &f), first);
	assert_int_equal(p->nr_functions, 3);
	assert_ptr_not_equal(p->functions[first].name, name); /* a copy */
	assert_string_equal(p->functions[first].system_name, "");
}

static void a_raw_name_equal_to_the_name_is_left_out(void **state)
{
	struct profile *p = *state;
	uint32_t f = profile_add_function(
		p, &(struct profile_function){.name = "main", .system_name = "main"});

	assert_string_equal(p->functions[f].name, "main");
	assert_string_equal(p->functions[f].system_name, "");
}

static void locations_differ_by_every_member(void **state)
{
	struct profile *p = *state;
	uint32_t m = add_mapping(p, "/bin/app");
	uint32_t a = add_location(p, m, 0x10, MISS_NONE, "f@/a.c:1|g@/a.c:2");

	assert_int_equal(add_location(p, m, 0x10, MISS_NONE, "f@/a.c:1|g@/a.c:2"), a);
	assert_int_not_equal(add_location(p, m, 0x11, MISS_NONE, "f@/a.c:1|g@/a.c:2"), a);
	assert_int_not_equal(add_location(p, m, 0x10, MISS_NO_DWZ, "f@/a.c:1|g@/a.c:2"),
			     a);
	assert_int_not_equal(add_location(p, m, 0x10, MISS_NONE, "f@/a.c:1|g@/a.c:3"), a);
	assert_int_not_equal(add_location(p, m, 0x10, MISS_NONE, "f@/a.c:1"), a);
	assert_int_not_equal(
		add_location(p, PROFILE_NONE, 0x10, MISS_NONE, "f@/a.c:1|g@/a.c:2"), a);
	assert_int_equal(p->nr_locations, 6);
}

static void equal_samples_add_up(void **state)
{
	struct profile *p = *state;
	uint32_t m = add_mapping(p, "/bin/app");
	uint32_t l[] = {add_location(p, m, 1, MISS_NONE, "f@/a.c:1"),
			add_location(p, m, 2, MISS_NONE, "g@/a.c:9")};
	struct profile_label labels[] = {{.key = "pid", .num = 7},
					 {.key = "comm", .str = "app"}};
	uint32_t s = profile_add_sample(p, l, 2, labels, 2, 0, (int64_t[]){3, 30});

	assert_int_equal(profile_add_sample(p, l, 2, labels, 2, 0, (int64_t[]){4, 41}),
			 s);
	assert_int_equal(profile_value(p, &p->samples[s], p->count_value), 7);
	assert_int_equal(profile_value(p, &p->samples[s], p->cpu_value), 71);
	labels[0].num = 8;
	assert_int_not_equal(profile_add_sample(p, l, 2, labels, 2, 0, (int64_t[]){1, 1}),
			     s);
	assert_int_not_equal(
		profile_add_sample(p, l, 2, labels + 1, 1, 0, (int64_t[]){1, 1}), s);
	labels[0].num = 7;
	assert_int_not_equal(
		profile_add_sample(p, l, 2, labels, 2, LB_STACK_FAULT, (int64_t[]){1, 1}),
		s);
	assert_int_not_equal(profile_add_sample(p, l, 1, labels, 2, 0, (int64_t[]){1, 1}),
			     s);
	assert_int_not_equal(
		profile_add_sample(p, NULL, 0, labels, 2, 0, (int64_t[]){1, 1}), s);
	assert_int_equal(p->nr_samples, 6);
	/* They use one of three label lists: pid 7 or 8 and comm, comm only. */
	assert_int_equal(p->nr_labels, 5);
	for (size_t i = 0; i < p->nr_samples; i++)
		assert_string_equal(p->labels[p->samples[i].first_label].key,
				    i == 2 ? "comm" : "pid");
}

static void sums_stop_at_the_top(void **state)
{
	struct profile *p = *state;
	uint32_t s =
		profile_add_sample(p, NULL, 0, NULL, 0, 0, (int64_t[]){INT64_MAX - 1, 0});

	profile_add_sample(p, NULL, 0, NULL, 0, 0, (int64_t[]){5, 0});
	assert_int_equal(profile_value(p, &p->samples[s], p->count_value), INT64_MAX);
}

static void indices_that_are_not_there_are_refused(void **state)
{
	struct profile *p = *state;
	struct profile_line line = {.function = 0, .line = 1};
	uint32_t location = 0;

	assert_int_equal(profile_add_location(p, 0, 1, MISS_NONE, NULL, 0), PROFILE_NONE);
	assert_int_equal(profile_add_location(p, PROFILE_NONE, 1, MISS_NONE, &line, 1),
			 PROFILE_NONE);
	assert_int_equal(
		profile_add_sample(p, &location, 1, NULL, 0, 0, (int64_t[]){1, 1}),
		PROFILE_NONE);
	assert_int_equal(p->nr_locations + p->nr_samples + p->nr_lines, 0);
}

static void summary_has_the_figures(void **state)
{
	struct profile *p = *state;
	char *argv[] = {"./a.out", "3", NULL};

	p->extra.version = "0.1.0";
	p->extra.freq_hz = 99;
	p->extra.nr_cpus = 4;
	p->extra.wall_ns = 60000000000;
	p->extra.losses.sampled = 12;
	p->extra.losses.counted = 10;
	p->extra.losses.missed = 3;
	assert_int_equal(profile_set_command(p, argv), 0);
	profile_add_sample(p, NULL, 0, NULL, 0, 0, (int64_t[]){10, 1500000000});
	assert_int_equal(profile_add_summary(p), 0);
	assert_string_equal(
		p->comments[0],
		"lineburn 0.1.0: 10 samples, 1.5 s of CPU in 60.0 s on 4 CPUs at "
		"99 Hz, 2 lost, 3 missed; ./a.out 3");
}

static void sentences_have_a_maximum(void **state)
{
	struct profile *p = *state;

	for (int i = 0; i < PROFILE_MAX_SENTENCES; i++)
		assert_int_equal(profile_add_warning(p, "w"), 0);
	assert_int_equal(profile_add_warning(p, "w"), -ENOSPC);
	assert_int_equal(p->extra.nr_warnings, PROFILE_MAX_SENTENCES);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(equal_functions_are_one),
		TEST(a_raw_name_equal_to_the_name_is_left_out),
		TEST(locations_differ_by_every_member),
		TEST(equal_samples_add_up),
		TEST(sums_stop_at_the_top),
		TEST(indices_that_are_not_there_are_refused),
		TEST(summary_has_the_figures),
		TEST(sentences_have_a_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
