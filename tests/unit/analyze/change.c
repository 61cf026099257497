// SPDX-License-Identifier: GPL-2.0-or-later
/* Differences of two figures, against published and hand-computed values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "analyze/change.h"
#include "analyze/significance.h"

static void near(double value, double expected, double error)
{
	if (!(fabs(value - expected) <= error))
		fail_msg("%.10g instead of %.10g", value, expected);
}

static struct comparison counts_of(double samples)
{
	return (struct comparison){.sides = {{1, samples, 1}, {1, samples, 1}}};
}

static struct change change_of(double before, double after)
{
	return (struct change){.of = {{before, before, 0}, {after, after, 0}}};
}

/* The interval excludes 0 exactly for levels above p. */
static void check_agreement(const struct comparison *c, struct change *change)
{
	for (double level = change->p * 0.9; level < 1; level *= 1.15) {
		change_bound(c, change, level);
		assert_int_equal(change->low > 0 || change->high < 0, change->p < level);
		assert_true(change->low <= change->difference &&
			    change->difference <= change->high);
	}
}

static void proportions(void **state)
{
	/* Newcombe, "Interval estimation for the difference", 1998: 56/70 and 48/80 */
	const struct comparison c = {.are_shares = true,
				     .sides = {{1, 80, 1 / 80.0}, {1, 70, 1 / 70.0}}};
	struct change change = {.of = {{48 / 80.0, 48, 0}, {56 / 70.0, 56, 0}}};

	(void)state;
	change_judge(&c, &change);
	change_bound(&c, &change, 0.05);
	near(change.difference, 0.2, 1e-12);
	near(change.low, 0.0524, 5e-5);
	near(change.high, 0.3339, 5e-5);
	assert_true(change.p < 0.05 && change.p > 0.001);
	check_agreement(&c, &change);
}

static void counts(void **state)
{
	const struct comparison c = counts_of(100000);
	struct change change = change_of(10000, 10400);

	(void)state;
	/* 400 / sqrt(20400) = 2.8006; p = 0.0051 */
	change_judge(&c, &change);
	near(change.p, 0.0051, 0.0001);
	check_agreement(&c, &change);
	change = change_of(10400, 10000);
	change_judge(&c, &change);
	near(change.p, 0.0051, 0.0001);
	near(change.difference, -400, 0);
	change = change_of(500, 500);
	change_judge(&c, &change);
	near(change.p, 1, 0);
	/* Few samples: never surer than the exact test */
	for (int n = 1; n < 60; n++) {
		change = change_of(0, n);
		change_judge(&c, &change);
		assert_true(change.p >= fmin(1, 2 * pow(0.5, n) * 0.999));
		check_agreement(&c, &change);
	}
	assert_true(change.p < 1e-9);
}

/* A side of a long recording, and one of a short one: its few samples tell little. */
static void uneven_sides(void **state)
{
	const struct comparison c = {.sides = {{1, 1e6, 1}, {1, 1e4, 100}}};
	struct change change = {.of = {{0, 0, 0}, {100, 1, 0}}};

	(void)state;
	change_judge(&c, &change); /* twice 1 of 101 */
	near(change.p, 2 / 101.0, 1e-9);
	check_agreement(&c, &change);
	change.of[DIFF_AFTER] = (struct estimate){200, 2, 0};
	change.of[DIFF_BEFORE] = (struct estimate){30, 30, 0};
	change_judge(&c, &change);
	near(change.p, binomial_p(2, 32, 1 / 101.0), 1e-12);
	assert_true(change.p > 0.05);
	check_agreement(&c, &change);
}

static void assumed_noise(void **state)
{
	struct comparison c = counts_of(1e12);
	struct change change = change_of(1e10, 1.04e10);

	(void)state;
	/* Nothing but the noise: 4 % are 2.77 of its standard deviations. */
	c.noise = 0.01;
	change_judge(&c, &change);
	near(change.p, 0.0056, 0.0001);
	check_agreement(&c, &change);
	c.noise = 0;
	change_judge(&c, &change);
	assert_true(change.p < 1e-100);
}

static void several_recordings(void **state)
{
	struct comparison c = {.noise = 0.5,
			       .sides = {{3, 1e12, 1e-11}, {3, 1e12, 1e-11}}};
	/* 10, 12, 11 and 14, 15, 13: t = 3 / sqrt(2/3) = 3.674, df = 4 */
	struct change change = {.of = {{11, 1e12, 1}, {14, 1e12, 1}}};

	(void)state;
	change_judge(&c, &change);
	near(change.p, 0.02131, 0.00001);
	check_agreement(&c, &change);
	change_bound(&c, &change, 0.05);
	near(change.low, 3 - 2.776445 * sqrt(2.0 / 3), 1e-5);
	/*
	 * Equal by chance: the noise of counting remains, here 1 of 11 and 1.13 of 14.
	 */
	c.sides[0] = c.sides[1] = (struct compared_side){3, 1e4, 0.1};
	change = (struct change){.of = {{11, 121, 0}, {14, 154, 0}}};
	change_judge(&c, &change);
	assert_true(change.p > 0.05);
	/* One recording after: the relative spread of those before, with their df. */
	c.sides[0] = (struct compared_side){3, 1e12, 1e-11};
	c.sides[1] = (struct compared_side){1, 1e12, 1e-11};
	change = (struct change){.of = {{10, 1e12, 1}, {20, 1e12, 0}}};
	change_judge(&c, &change);
	/* variances 1/3 and 4, df = 4.333^2 / (0.0556 + 8) = 2.33, t = 4.804 */
	near(change.p, 0.0300, 0.0005);
	check_agreement(&c, &change);
}

static void common_figures(void **state)
{
	struct comparison c = counts_of(100000);

	(void)state;
	near(comparison_smaller_part(&c), 0.5, 1e-12);
	c.sides[0].unit = 3; /* a third of the samples for the same value */
	near(comparison_smaller_part(&c), 0.25, 1e-12);
	c = counts_of(100000);
	/* 1.96 * sqrt(2 / 10000) = 2.8 % */
	near(comparison_visible_growth(&c, 0.1, 0.05), 0.028, 0.001);
	near(comparison_visible_growth(&c, 1e-9, 0.05), 10, 0);
	c.sides[0].nr_recordings = 2;
	near(comparison_visible_growth(&c, 0.1, 0.05), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proportions),    cmocka_unit_test(counts),
		cmocka_unit_test(uneven_sides),

		cmocka_unit_test(assumed_noise),  cmocka_unit_test(several_recordings),
		cmocka_unit_test(common_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
