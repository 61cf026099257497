// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/profile/fixture.h"

#include "live/history.h"

#define SECOND_NS 1000000000u

static struct strpool *pool;
static struct profile *p;
static struct history *h;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(1 << 20);
	p = profile_new(pool);
	h = history_new(3);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	history_free(h);
	profile_free(p);
	strpool_free(pool);
	return 0;
}

/* A window of @count samples at line @line, which takes a second. */
static void window(uint32_t line, int64_t count, uint64_t tables)
{
	char frame[32];

	snprintf(frame, sizeof(frame), "f@/a.c:%u", line);
	profile_clear_samples(p);
	if (!p->nr_mappings)
		add_mapping(p, "/bin/a");
	add_stack(p, LB_STACK_COMPLETE, count,
		  add_location(p, 0, line, MISS_NONE, frame));
	p->extra.wall_ns = SECOND_NS;
	p->extra.nr_cpus = 4;
	p->extra.freq_hz = 99;
	p->extra.losses = (struct profile_losses){.sampled = (uint64_t)count + 1,
						  .counted = (uint64_t)count};
	p->extra.cost = (struct profile_cost){.collector_cpu_ns = 7, .bpf_ns = 2};
	assert_int_equal(history_add(h, p, tables), 0);
}

/* The counts of the lines that are there, from the oldest window: "1:10 2:20". */
static const char *told(void)
{
	static char text[256];
	const struct profile *all = history_profile(h);
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < all->nr_samples; i++) {
		const struct profile_sample *s = &all->samples[i];
		const struct profile_location *l =
			&all->locations[profile_stack(all, s)[0]];

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u:%d",
					len ? " " : "", all->lines[l->first_line].line,
					(int)profile_value(all, s, all->count_value));
	}
	return text;
}

/* The fourth window takes the place of the first. */
static void test_the_last_windows(void **state)
{
	const struct profile *all;

	(void)state;
	assert_string_equal(told(), "");
	window(1, 10, 1);
	assert_string_equal(told(), "1:10");
	window(2, 20, 1);
	window(1, 30, 1);
	assert_string_equal(told(), "1:10 2:20 1:30");
	window(3, 40, 1);
	assert_string_equal(told(), "2:20 1:30 3:40");
	all = history_profile(h);
	assert_int_equal(all->extra.wall_ns, 3 * (uint64_t)SECOND_NS);
	assert_int_equal(all->extra.losses.counted, 90);
	assert_int_equal(all->extra.losses.sampled, 93);
	assert_int_equal(all->extra.cost.collector_cpu_ns, 21);
	assert_int_equal(all->extra.cost.bpf_ns, 6);
	assert_int_equal(all->extra.nr_cpus, 4);
	assert_int_equal(all->extra.freq_hz, 99);
	assert_true(all->extra.present);
}

/* Filters drop samples of the joined profile; the next one has them again. */
static void test_a_filter_spoils_nothing(void **state)
{
	(void)state;
	window(1, 10, 1);
	history_profile(h)->nr_samples = 0;
	assert_string_equal(told(), "1:10");
}

/* Numbers of other tables mean something else: the older windows go. */
static void test_other_tables(void **state)
{
	(void)state;
	window(1, 10, 1);
	profile_free(p);
	p = profile_new(pool);
	window(2, 20, 2);
	assert_string_equal(told(), "2:20");
	window(3, 30, 2);
	assert_string_equal(told(), "2:20 3:30");
	assert_int_equal(history_nr_lost(h), 0);
}

static void test_clear(void **state)
{
	(void)state;
	window(1, 10, 1);
	window(2, 20, 1);
	history_clear(h);
	assert_string_equal(told(), "");
	window(1, 30, 1);
	assert_string_equal(told(), "1:30");
}

static void test_sources(void **state)
{
	struct profile_source source = {.path = strpool_add(pool, "/a.c"), .nr_lines = 1};

	(void)state;
	assert_false(history_has_source(h, "/a.c"));
	source.runs = calloc(1, sizeof(*source.runs));
	source.runs[0].first_line = source.runs[0].nr_lines = 1;
	source.runs[0].text = strdup("int x;");
	source.nr_runs = 1;
	assert_int_equal(profile_add_source(p, &source), 0);
	window(1, 10, 1);
	assert_true(history_has_source(h, "/a.c"));
	assert_false(history_has_source(h, "/b.c"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_the_last_windows), TEST(test_a_filter_spoils_nothing),
		TEST(test_other_tables),     TEST(test_clear),
		TEST(test_sources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
