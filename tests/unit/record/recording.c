// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/account.h"

/* Growing totals, with an estimate that once decreases. */
static void windows_add_up(void **state)
{
	static const struct profile_losses totals[] = {
		{.sampled = 100, .counted = 97, .lost_drain = 3, .due = 105, .ran = 100},
		{.sampled = 250, .counted = 246, .lost_drain = 4, .due = 254, .ran = 250},
		{.sampled = 300, .counted = 296, .lost_drain = 4, .due = 308, .ran = 300},
	};
	struct profile_losses told = {0}, w;

	(void)state;
	losses_since(&told, &totals[0], &w);
	assert_int_equal(w.due, 105);
	profile_losses_add(&told, &w);
	/* Asked twice, as for a snapshot, it gives the same. */
	for (int i = 0; i < 2; i++) {
		losses_since(&told, &totals[1], &w);
		assert_int_equal(w.sampled, 150);
		assert_int_equal(w.counted + w.lost_drain, w.sampled);
		assert_int_equal(w.missed, 0);
		assert_int_equal(w.due, 149);
	}
	profile_losses_add(&told, &w);
	losses_since(&told, &totals[2], &w);
	assert_int_equal(w.missed, 4);
	profile_losses_add(&told, &w);
	assert_int_equal(told.sampled, 300);
	assert_int_equal(told.missed, 9);
	assert_int_equal(told.due, 308);
	assert_int_equal(told.counted + told.lost_drain, told.sampled);
}

static void cost_is_of_the_window(void **state)
{
	struct profile_cost told = {.bpf_runs = 10, .bpf_ns = 100, .collector_cpu_ns = 5};
	struct profile_cost now = {.bpf_runs = 15,
				   .bpf_ns = 160,
				   .collector_cpu_ns = 9,
				   .collector_peak_rss_bytes = 77,
				   .map_bytes = 88};
	struct profile_cost w;

	(void)state;
	cost_since(&told, &now, &w);
	assert_int_equal(w.bpf_runs, 5);
	assert_int_equal(w.bpf_ns, 60);
	assert_int_equal(w.collector_cpu_ns, 4);
	assert_int_equal(w.collector_peak_rss_bytes, 77);
	assert_int_equal(w.map_bytes, 88);
	profile_cost_add(&told, &w);
	cost_since(&told, &now, &w);
	assert_int_equal(w.bpf_runs + w.bpf_ns + w.collector_cpu_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_add_up),
		cmocka_unit_test(cost_is_of_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
