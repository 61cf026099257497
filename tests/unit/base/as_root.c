// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/as_root.h"

static void arguments_are_quoted(void **state)
{
	static const struct {
		const char *cmdline;
		size_t len;
		const char *line;
	} cases[] = {
#define CASE(cmdline, line) {cmdline, sizeof(cmdline), line}
		CASE("lineburn", "sudo x"),
		CASE("lineburn\0run\0--\0./a.py\0-o=1", "sudo x run -- ./a.py -o=1"),
		CASE("lineburn\0a b\0\0$(c)\0*", "sudo x 'a b' '' '$(c)' '*'"),
		CASE("lineburn\0it's\0'", "sudo x 'it'\\''s' ''\\'''"),
		CASE("\0run", "sudo x run"),
		{"", 0, "sudo x"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char buf[64] = "sudo x";

		as_root_add_arguments(buf, sizeof(buf), cases[i].cmdline, cases[i].len);
		assert_string_equal(buf, cases[i].line);
	}
}

/* Whatever the size, the text is the whole one, or words of it and dots. */
static void long_lines_are_cut(void **state)
{
	static const char cmdline[] = "lineburn\0run\0--\0'''\0a-b\0program";
	char whole[128] = "sudo x";

	(void)state;
	as_root_add_arguments(whole, sizeof(whole), cmdline, sizeof(cmdline));
	for (size_t size = sizeof("sudo x ..."); size <= sizeof(whole); size++) {
		char buf[128] = "sudo x";
		size_t len;

		as_root_add_arguments(buf, size, cmdline, sizeof(cmdline));
		len = strlen(buf);
		assert_true(len < size);
		if (!strcmp(buf, whole))
			continue;
		assert_string_equal(buf + len - 4, " ...");
		assert_memory_equal(buf, whole, len - 4);
		assert_int_equal(whole[len - 4], ' ');
	}
}

/* Root is not told to become root; others see the path of this program. */
static void advice_is_for_others(void **state)
{
	char advice[AS_ROOT_MAX_BYTES], path[512], wanted[768];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	pid_t child;
	int status;

	(void)state;
	assert_true(len > 0);
	path[len] = '\0';
	snprintf(wanted, sizeof(wanted), ", or run it as root: sudo %s", path);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		if (!geteuid() &&
		    (*as_root_advice(advice, sizeof(advice)) || setuid(65534)))
			_exit(1);
		as_root_advice(advice, sizeof(advice));
		_exit(strncmp(advice, wanted, strlen(wanted)) ? 2 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_quoted),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(advice_is_for_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
