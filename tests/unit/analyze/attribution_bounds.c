// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/attribution.h"

/* Reference values: Newcombe 1998, Statistics in Medicine 17, table I, method 3. */
static void matches_published_values(void **state)
{
	static const struct {
		uint64_t k, n;
		double low, high;
	} rows[] = {
		{81, 263, 0.2553, 0.3662},
		{15, 148, 0.0624, 0.1605},
		{0, 20, 0.0000, 0.1611},
		{1, 29, 0.0061, 0.1718},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double low, high;

		wilson_ci95((double)rows[i].k / (double)rows[i].n, (double)rows[i].n,
			    &low, &high);
		assert_true(low > rows[i].low - 0.00006 && low < rows[i].low + 0.00006);
		assert_true(high > rows[i].high - 0.00006 &&
			    high < rows[i].high + 0.00006);
	}
}

static void stays_within_zero_and_one(void **state)
{
	double low, high;

	(void)state;
	wilson_ci95(0, 0, &low, &high);
	assert_true(low == 0 && high == 1);
	wilson_ci95(1, 5, &low, &high);
	assert_true(low > 0.5 && high == 1);
	wilson_ci95(1, (double)UINT64_MAX, &low, &high);
	assert_true(low > 0.99 && high == 1);
	wilson_ci95(0, (double)UINT64_MAX, &low, &high);
	assert_true(low == 0 && high < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_published_values),
		cmocka_unit_test(stays_within_zero_and_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
