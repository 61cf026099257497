// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "render/figure.h"

static void test_percent(void **state)
{
	static const struct {
		double share;
		const char *text;
	} cases[] = {
		{0, ""},         {-1, ""},         {1e-9, "<0.1"},   {0.000499, "<0.1"},
		{0.0005, "0.1"}, {0.3494, "34.9"}, {0.3496, "35.0"}, {0.99999, "100.0"},
		{1, "100.0"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(figure_percent(cases[i].share).text, cases[i].text);
}

static void test_time(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{0, "0.0 ms"},           {1500000, "1.5 ms"},     {41000000, "41 ms"},
		{99400000, "99 ms"},     {99600000, "0.10 s"},    {5020000000, "5.02 s"},
		{9999000000, "10.0 s"},  {60400000000, "60.4 s"}, {99960000000, "100 s"},
		{312000000000, "312 s"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(figure_time(cases[i].ns).text, cases[i].text);
}

static void test_bytes_and_counts(void **state)
{
	(void)state;
	assert_string_equal(figure_bytes(0).text, "0 KB");
	assert_string_equal(figure_bytes(1).text, "1 KB");
	assert_string_equal(figure_bytes(2 << 20).text, "2048 KB");
	assert_string_equal(figure_bytes(34u << 20).text, "34 MB");
	assert_string_equal(figure_count(0, "x", "xs").text, "0 xs");
	assert_string_equal(figure_count(1, "x", "xs").text, "1 x");
	assert_string_equal(figure_count(UINT64_MAX, "x", "xs").text,
			    "18446744073709551615 xs");
}

/* Shares are of CPU time if there is any: changes of the rate do not skew them. */
static void test_share(void **state)
{
	const struct attribution cpu = {.all = {.samples = 10, .cpu_ns = 1000}};
	const struct attribution counts = {.all = {.samples = 10}};
	const struct attribution nothing = {.all = {0}};
	const struct weight w = {.samples = 5, .cpu_ns = 100};

	(void)state;
	assert_true(share_of(&cpu, &w) == 0.1);
	assert_true(share_of(&counts, &w) == 0.5);
	assert_true(share_of(&nothing, &w) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_percent),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_bytes_and_counts),
		cmocka_unit_test(test_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
