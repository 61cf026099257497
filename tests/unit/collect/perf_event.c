// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "collect/perf_event.h"

static void lists_of_cpus(void **state)
{
	static const struct {
		const char *text;
		int rc;
		size_t nr;
		uint32_t first, last;
	} cases[] = {
		{"0\n", 0, 1, 0, 0},
		{"0-3", 0, 4, 0, 3},
		{"0-1,4,6-7\n", 0, 5, 0, 7},
		{"2,511", 0, 2, 2, 511},
		{"", -EINVAL, 0, 0, 0},
		{"\n", -EINVAL, 0, 0, 0},
		{"x", -EINVAL, 0, 0, 0},
		{"3-1", -EINVAL, 0, 0, 0},
		{"0-", -EINVAL, 0, 0, 0},
		{"0 1", -EINVAL, 0, 0, 0},
		{"0-99999999999", -EINVAL, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cpu_set_list list = {0};

		assert_int_equal(cpu_list_parse(cases[i].text, &list), cases[i].rc);
		assert_int_equal(list.nr, cases[i].nr);
		if (list.nr) {
			assert_int_equal(list.cpus[0], cases[i].first);
			assert_int_equal(list.cpus[list.nr - 1], cases[i].last);
		}
		cpu_list_deinit(&list);
	}
}

static void idle_time_of_a_cpu(void **state)
{
	static const char times[] = "cpu  10 20 30 400 50 6 7 8 9 0\n"
				    "cpu0 5 10 15 100 25 3 3 4 4 0\n"
				    "cpu11 5 10 15 300 25 3 3 4 4 0\n"
				    "intr 12345\n";
	const uint64_t tick_ns = 1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK);
	_cleanup_free_ char *now = cpu_times_read();

	(void)state;
	assert_int_equal(cpu_idle_ns(times, 0), 125 * tick_ns);
	assert_int_equal(cpu_idle_ns(times, 11), 325 * tick_ns);
	assert_int_equal(cpu_idle_ns(times, 1), CPU_IDLE_UNKNOWN);
	assert_int_equal(cpu_idle_ns("\ncpu0 1 2", 0), CPU_IDLE_UNKNOWN);
	assert_int_equal(cpu_idle_ns(NULL, 0), CPU_IDLE_UNKNOWN);
	assert_non_null(now);
	assert_in_range(cpu_idle_ns(now, 0), 1, CPU_IDLE_UNKNOWN - 1);
}

static void time_that_a_hypervisor_took(void **state)
{
	static const char times[] = "cpu  10 20 30 400 50 6 7 8 9 0\n"
				    "cpu0 10 20 30 400 50 6 7 3 9 0\n";
	const uint64_t tick_ns = 1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK);

	(void)state;
	assert_int_equal(cpus_stolen_ns(times), 8 * tick_ns);
	assert_int_equal(cpus_stolen_ns("cpu  10 20 30 400 50 6 7\n"), 0);
	assert_int_equal(cpus_stolen_ns("intr 1 2 3 4 5 6 7 8\n"), 0);
	assert_int_equal(cpus_stolen_ns(NULL), 0);
}

static void refusals_have_a_remedy(void **state)
{
	static const struct {
		int code;
		const char *words;
	} cases[] = {
		{-EACCES, "lineburn doctor"}, {-EPERM, "lineburn doctor"},
		{-EMFILE, "ulimit -n"},       {-ENOENT, "CONFIG_PERF_EVENTS"},
		{-EIO, "lineburn doctor"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = {0};

		assert_int_equal(perf_event_explain(cases[i].code, &err), cases[i].code);
		assert_int_equal(err.exit_code, EXIT_SYSTEM);
		assert_non_null(strstr(err.text, cases[i].words));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_cpus),
		cmocka_unit_test(idle_time_of_a_cpu),
		cmocka_unit_test(time_that_a_hypervisor_took),
		cmocka_unit_test(refusals_have_a_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
