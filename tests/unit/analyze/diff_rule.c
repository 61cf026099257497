// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Limits of growth: how they are written, what they are about, when they are exceeded.
 */
#include "unit/profile/fixture.h"

#include <errno.h>
#include <math.h>

#include "analyze/diff_rule.h"

static struct strpool *pool;
static struct profile_diff *d;
static struct diff_verdicts verdicts;
static struct error err;

/* A recording with a Python and a C++ function; @slow is of work@app.py:13. */
static void add(enum diff_side side, int64_t slow)
{
	static const struct attribution_options options = {0};
	struct profile *p = profile_new(pool);
	uint32_t app = add_mapping(p, "/home/me/app");
	struct attribution *a = NULL;

	add_stack(p, LB_STACK_COMPLETE, slow,
		  add_location(p, app, 1, MISS_NONE,
			       "work@/srv/app.py:13|main@/srv/app.py:3"));
	add_stack(p, LB_STACK_COMPLETE, 3000,
		  add_location(p, app, 2, MISS_NONE,
			       "ns::work@/srv/ns/app.cc:5|main@/srv/app.py:4"));
	if (side == DIFF_AFTER)
		add_stack(p, LB_STACK_COMPLETE, 100,
			  add_location(p, app, 3, MISS_NONE, "added@/srv/app.py:31"));
	assert_int_equal(attribution_new(p, &options, &a), 0);
	assert_int_equal(diff_add(d, side, p, a, "name", &err), 0);
	attribution_free(a);
	profile_free(p);
}

static void compare(enum diff_per per, int64_t before, int64_t after)
{
	const struct diff_options options = {
		.per = per, .sides = {{.nr_recordings = 1}, {.nr_recordings = 1}}};

	diff_free(d);
	d = NULL;
	assert_int_equal(diff_new(&options, pool, &d), 0);
	add(DIFF_BEFORE, before);
	add(DIFF_AFTER, after);
	assert_int_equal(diff_compare(d, &err), 0);
}

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(8 << 20);
	err = (struct error){0};
	d = NULL;
	compare(DIFF_PER_RUN, 5000, 6000);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	diff_verdicts_deinit(&verdicts);
	diff_free(d);
	strpool_free(pool);
	return 0;
}

static void rules_as_written(void **state)
{
	static const struct {
		const char *text, *subject;
		double growth;
	} good[] = {
		{"file.py:func +10%", "file.py:func", 0.10},
		{"total +0.5%", "total", 0.005},
		{"operator new(unsigned long)   +0%", "operator new(unsigned long)", 0},
		{"a.py:17 +250%", "a.py:17", 2.5},
	};
	static const char *const bad[] = {
		"",           "func",       "+10%",      " +10%",    "func 10%",
		"func +10",   "func+10%",   "func +-1%", "func +x%", "func +10%x",
		"func +10% ", "func +inf%", "func +1e9%"};
	struct diff_rule rule;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(diff_rule_parse(good[i].text, &rule), 0);
		assert_string_equal(rule.subject, good[i].subject);
		assert_true(fabs(rule.growth - good[i].growth) < 1e-12);
		free(rule.subject);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (diff_rule_parse(bad[i], &rule) != -EINVAL)
			fail_msg("\"%s\" is taken for a rule", bad[i]);
}

static int judge(const char *subject, double growth)
{
	struct diff_rule rule = {(char *)subject, growth};

	diff_verdicts_deinit(&verdicts);
	return diff_judge(d, &rule, 1, &verdicts, &err);
}

/* The one subject of a rule grew by @growth of what it was. */
static void expect(const char *subject, const char *function, uint32_t line,
		   double growth)
{
	assert_int_equal(judge(subject, 0.1), 0);
	assert_int_equal(verdicts.nr, 1);
	assert_string_equal(verdicts.items[0].function, function);
	assert_int_equal(verdicts.items[0].line, line);
	assert_true(fabs(verdicts.items[0].growth - growth) < 1e-9);
	assert_int_equal(verdicts.nr_exceeded, growth > 0.1);
	assert_int_equal(verdicts.items[0].is_exceeded, growth > 0.1);
}

static void subjects(void **state)
{
	(void)state;
	expect("total", "", 0, 1100 / 8000.0);
	expect("app.py:work", "work", 11, 0.2);
	expect("/srv/app.py:work", "work", 11, 0.2);
	expect("ns::work", "ns::work", 1, 0);
	expect("app.cc:ns::work", "ns::work", 1, 0);
	expect("app.cc:work", "ns::work", 1, 0); /* the last part of the name */
	expect("work", "work", 11,
	       0.2); /* the whole name, not the last part of ns::work */
	expect("main", "main", 1, 1000 / 8000.0);
	expect("app.py:13", "work", 13, 0.2);
	expect("app.py:3", "main", 3, 0.2); /* its total: self is nothing */
	expect("ns/app.cc:5", "ns::work", 5, 0);
	assert_int_equal(judge("added", 5), 0); /* new: more than any limit */
	assert_true(isinf(verdicts.items[0].growth) && verdicts.items[0].is_exceeded);
}

static void expect_refusal(const char *subject, const char *message)
{
	assert_int_equal(judge(subject, 0.1), -EINVAL);
	if (!strstr(err.text, message))
		fail_msg("\"%s\" lacks \"%s\"", err.text, message);
}

static void unknown_subjects(void **state)
{
	(void)state;
	expect_refusal("wrk", "neither side has a function wrk; similar: work");
	expect_refusal("other.py:work", "neither side has a function other.py:work");
	expect_refusal("pp.py:work", "neither side has a function");
	expect_refusal("app.py:14", "neither side has samples on the line app.py:14");
	compare(DIFF_PER_SAMPLE, 5000, 6000);
	expect_refusal("total", "needs CPU times");
}

static void growth_by_chance(void **state)
{
	(void)state;
	compare(DIFF_PER_RUN, 50, 60); /* 20 %, but of few samples */
	assert_int_equal(judge("app.py:work", 0.1), 0);
	assert_true(verdicts.items[0].growth > 0.19);
	assert_int_equal(verdicts.nr_exceeded, 0);
	compare(DIFF_PER_RUN, 6000, 5000); /* less is never too much */
	assert_int_equal(judge("app.py:work", 0), 0);
	assert_int_equal(verdicts.nr_exceeded, 0);
}

/* Each of many rules has to be surer. */
static void many_rules(void **state)
{
	struct diff_rule rules[40];

	(void)state;
	compare(DIFF_PER_RUN, 5000, 5250); /* p is 0.0135 */
	assert_int_equal(judge("app.py:work", 0.01), 0);
	assert_int_equal(verdicts.nr_exceeded, 1);
	diff_verdicts_deinit(&verdicts);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		rules[i] = (struct diff_rule){(char *)"app.py:work", 0.01};
	assert_int_equal(diff_judge(d, rules, ARRAY_SIZE(rules), &verdicts, &err), 0);
	assert_int_equal(verdicts.nr, ARRAY_SIZE(rules));
	assert_int_equal(verdicts.nr_exceeded, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(rules_as_written), TEST(subjects),   TEST(unknown_subjects),
		TEST(growth_by_chance), TEST(many_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
