// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/tool.h"

static int run_shell(const char *command, struct tool p, char **ret)
{
	const char *const argv[] = {"/bin/sh", "-c", command, NULL};

	p.argv = argv;
	return tool_read(&p, ret);
}

static void test_output(void **state)
{
	static const struct {
		const char *command, *output;
		int rc;
	} rows[] = {
		{"echo one; echo two", "one\ntwo\n", 0},
		{"echo cut; echo message >&2; exit 1", "", 0},
		{"cat; printf 123456789", "123456789", 0}, /* no input */
		{"printf 1234567890", "1234567890", 0},
		{"printf 12345678901", NULL, -EFBIG},
		{"exit 127", NULL, -ENOSYS},
		{"echo $LB_TEST", "secret\n", 0},
	};
	const struct tool p = {.timeout_ms = 30000, .max_bytes = 10};

	(void)state;
	setenv("LB_TEST", "secret", 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = NULL;

		assert_int_equal(run_shell(rows[i].command, p, &text), rows[i].rc);
		if (rows[i].output)
			assert_string_equal(text, rows[i].output);
		else
			assert_null(text);
	}
}

static void test_not_found(void **state)
{
	const char *const argv[] = {"/nonexistent/program", NULL};
	const struct tool p = {.argv = argv, .timeout_ms = 30000, .max_bytes = 10};
	char *text = NULL;

	(void)state;
	assert_int_equal(tool_read(&p, &text), -ENOSYS);
	assert_null(text);
}

static void test_timeout(void **state)
{
	const struct tool p = {.timeout_ms = 100, .max_bytes = 10};
	uint64_t begin_ns = clock_now_ns();
	char *text = NULL;

	(void)state;
	assert_int_equal(run_shell("exec sleep 120", p, &text), -ETIMEDOUT);
	assert_true(clock_now_ns() - begin_ns >= 99 * CLOCK_MS_NS);
	assert_true(clock_now_ns() - begin_ns < 60 * CLOCK_SECOND_NS);
}

static void test_without_rights(void **state)
{
	const struct tool p = {
		.timeout_ms = 30000, .max_bytes = 1000, .without_rights = true};
	_cleanup_free_ char *text = NULL;

	(void)state;
	setenv("LB_TEST", "secret", 1);
	assert_int_equal(run_shell("/bin/grep -E '^(CapPrm|CapEff|CapAmb|NoNewPrivs)' "
				   "/proc/self/status; echo \"${LB_TEST-none}\"",
				   p, &text),
			 0);
	assert_string_equal(text, "CapPrm:\t0000000000000000\n"
				  "CapEff:\t0000000000000000\n"
				  "CapAmb:\t0000000000000000\n"
				  "NoNewPrivs:\t1\n"
				  "none\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output),
		cmocka_unit_test(test_not_found),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_without_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
