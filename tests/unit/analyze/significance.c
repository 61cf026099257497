// SPDX-License-Identifier: GPL-2.0-or-later
/* Figures of published tables, and small cases that are computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "analyze/significance.h"
#include "base/cleanup.h"

static void near(double value, double expected, double error)
{
	if (!(fabs(value - expected) <= error))
		fail_msg("%.10g instead of %.10g", value, expected);
}

static void normal(void **state)
{
	(void)state;
	near(normal_p(0), 1, 0);
	near(normal_p(1.959963985), 0.05, 1e-9);
	near(normal_z(0.05), 1.959963985, 1e-8);
	near(normal_z(0.01), 2.575829304, 1e-8);
	near(normal_z(1e-9), 6.109410, 1e-5);
	near(normal_z(1), 0, 0);
	near(normal_z(0), 38, 0);
}

static void student(void **state)
{
	static const struct {
		double p, df, t;
	} table[] = {
		{0.05, 1, 12.706205}, {0.01, 1, 63.656741},  {0.05, 2, 4.302653},
		{0.01, 4, 4.604095},  {0.05, 8, 2.306004},   {0.001, 8, 5.041305},
		{0.05, 30, 2.042272}, {0.01, 120, 2.617421}, {0.0001, 1, 6366.197672},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		near(student_t(table[i].p, table[i].df), table[i].t, 1e-6 * table[i].t);
		near(student_p(table[i].t, table[i].df), table[i].p, 1e-6 * table[i].p);
		near(student_p(-table[i].t, table[i].df), table[i].p, 1e-6 * table[i].p);
	}
	near(student_p(0, 3), 1, 1e-12);
	/* many recordings: the normal distribution */
	near(student_t(0.05, 1e5), 1.959963985, 1e-4);
}

/* Sums the terms. */
static double tail(int first, int last, int n, double part)
{
	double sum = 0;

	for (int i = first; i <= last; i++)
		sum += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) +
			   i * log(part) + (n - i) * log1p(-part));
	return sum;
}

static void binomial(void **state)
{
	(void)state;
	near(binomial_p(0, 10, 0.5), 2.0 / 1024, 1e-12);
	near(binomial_p(10, 10, 0.5), 2.0 / 1024, 1e-12);
	near(binomial_p(5, 10, 0.5), 1, 0);
	near(binomial_p(0, 1, 0.01), 1, 0);
	near(binomial_p(1, 1, 0.01), 0.02, 1e-12);
	near(binomial_p(60, 100, 0.5), 2 * tail(60, 100, 100, 0.5), 1e-9);
	near(binomial_p(9, 1000, 0.02), 2 * tail(0, 9, 1000, 0.02), 1e-9);
	/*
	 * a billion samples on the other side, one expected: Poisson's tail from 3 on
	 */
	near(binomial_p(3, 1e9, 1e-9), 2 * (1 - 2.5 * exp(-1)), 1e-6);
}

static void margins(void **state)
{
	struct margins m = poisson_margins(0, 1.96);

	(void)state;
	near(m.below, 0, 1e-12);
	near(m.above, 1.96 * 1.96, 1e-9);
	/* l = 10 - 4.5681: (10 - l)^2 = z^2 l, and the same above */
	m = poisson_margins(10, 1.96);
	near(m.below * m.below, 1.96 * 1.96 * (10 - m.below), 1e-9);
	near(m.above * m.above, 1.96 * 1.96 * (10 + m.above), 1e-9);
	/* Newcombe, "Two-sided confidence intervals for the single proportion", 1998 */
	m = wilson_margins(81, 263, 1.959963985);
	near((81 - m.below) / 263, 0.2553, 5e-5);
	near((81 + m.above) / 263, 0.3662, 5e-5);
	m = wilson_margins(0, 20, 1.959963985);
	near(m.below, 0, 1e-12);
	near(m.above / 20, 0.1611, 5e-5);
}

static void tarone(void **state)
{
	static const double counts[] = {100, 50, 20, 14, 9, 8, 3, 2, 1, 1, 1, 1};
	size_t nr;

	(void)state;
	/*
	 * 2 * 0.5^8 < 0.05 / 6: six have at least 8; for five, eight would be needed,
	 * too
	 */
	near(samples_needed(counts, ARRAY_SIZE(counts), 0.5, 0.05, &nr), 8, 0);
	assert_int_equal(nr, 6);
	/* All are able: all count. */
	near(samples_needed(counts, 3, 0.5, 0.05, &nr), 7, 0);
	assert_int_equal(nr, 3);
	/*
	 * One side has a hundredth of the samples: two samples there are strange
	 * already.
	 */
	near(samples_needed(counts, ARRAY_SIZE(counts), 0.01, 0.05, &nr), 2, 0);
	assert_int_equal(nr, 8);
	samples_needed(NULL, 0, 0.5, 0.05, &nr);
	assert_int_equal(nr, 1);
}

static void holm(void **state)
{
	static const double p[] = {0.005, 0.01, 0.03, 0.04};
	static const double late[] = {0.02, 0.02, 0.02};

	(void)state;
	assert_int_equal(holm_significant(p, 4, 4, 0.05), 2);
	assert_int_equal(holm_significant(p, 2, 2, 0.05), 2);
	/* The first one that is not ends it. */
	assert_int_equal(holm_significant(late, 3, 3, 0.05), 0);
	assert_int_equal(holm_significant(NULL, 0, 1, 0.05), 0);
	near(holm_level(1, 5, 0.04), 0.01, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normal),   cmocka_unit_test(student),
		cmocka_unit_test(binomial), cmocka_unit_test(margins),
		cmocka_unit_test(tarone),   cmocka_unit_test(holm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
