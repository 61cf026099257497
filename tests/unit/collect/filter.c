// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lineburn_filter.h"

/* Timed ticks of slots that are emptied after @nr_ticks ticks. */
static unsigned int nr_timed(unsigned int nr_ticks, uint32_t first_round,
			     unsigned int nr_rounds)
{
	unsigned int nr = 0;

	for (uint32_t round = 0; round < nr_rounds; round++)
		for (unsigned int tick = 1; tick <= nr_ticks; tick++)
			nr += lb_filter_is_timed(tick, first_round + round);
	return nr;
}

static void one_stands_for_as_many_as_are_said(void **state)
{
	static const unsigned int nr_ticks[] = {1, 3, 10, 19, 62, 64, 99, 999};
	static const uint32_t first_rounds[] = {0, 1, 77, UINT32_MAX - 10};

	(void)state;
	for (size_t i = 0; i < sizeof(nr_ticks) / sizeof(nr_ticks[0]); i++)
		for (size_t k = 0; k < 4; k++)
			assert_int_equal(nr_timed(nr_ticks[i], first_rounds[k],
						  LB_FILTER_MEASURED),
					 nr_ticks[i]);
}

/* A slot of one second at 19 Hz: a few slots are enough to measure the cost. */
static void turns_are_spread(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 2 * LB_FILTER_MEASURED; round++)
		assert_in_range(nr_timed(19, round, 8), 1, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_stands_for_as_many_as_are_said),
		cmocka_unit_test(turns_are_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
