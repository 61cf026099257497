// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/tool.h"
#include "lib/freezer.h"
#include "lib/scratch.h"

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

static int read_frozen(const char *pid_file, char **ret)
{
	char command[256];

	snprintf(command, sizeof(command), "echo $$ >%s; exec sleep 120", pid_file);
	return run_shell(command, (struct tool){.timeout_ms = 3000, .max_bytes = 10},
			 ret);
}

static void *freeze(void *pid_file)
{
	int pid = 0;

	while (pid <= 0) {
		FILE *file = fopen(pid_file, "re");

		if (!file || fscanf(file, "%d\n", &pid) != 1)
			pid = 0;
		if (file)
			fclose(file);
	}
	freezer_freeze(pid);
	return NULL;
}

/* What SIGKILL does not end is not waited for. */
static void test_that_cannot_be_killed(void **state)
{
	char dir[SCRATCH_BYTES], pid_file[SCRATCH_BYTES + 8], *text = NULL;
	pthread_t thread;
	int rc;

	if (!freezer_is_there(state))
		skip();
	scratch_make(dir, 0755);
	snprintf(pid_file, sizeof(pid_file), "%s/pid", dir);
	assert_int_equal(pthread_create(&thread, NULL, freeze, pid_file), 0);
	alarm(60);
	rc = read_frozen(pid_file, &text);
	alarm(0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(rc, -ETIMEDOUT);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
	freezer_thaw();
	assert_true(waitpid(-1, NULL, 0) > 0);
	scratch_remove(dir);
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
		cmocka_unit_test_setup_teardown(test_that_cannot_be_killed,
						freezer_set_up, freezer_tear_down),
		cmocka_unit_test(test_without_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
