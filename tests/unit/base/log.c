// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

/* Captures what @speak writes to stderr. */
static void capture(void (*speak)(void), char *buf, size_t size)
{
	_cleanup_fclose_ FILE *f = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t len;

	assert_non_null(f);
	fflush(stderr);
	dup2(fileno(f), STDERR_FILENO);
	speak();
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(f);
	len = fread(buf, 1, size - 1, f);
	buf[len] = '\0';
}

static void all_levels(void)
{
	log_warning("warning %d", 1);
	log_info("info");
	log_debug("debug");
}

static void hostile(void)
{
	log_warning("no symbols in %s", "\033]52;c;x\a\nlineburn: all is well");
}

static void long_line(void)
{
	char text[10000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_warning("%s", text);
}

static void test_levels(void **state)
{
	static const char *const wanted[] = {
		"lineburn: warning 1\n",
		"lineburn: warning 1\nlineburn: info\n",
		"lineburn: warning 1\nlineburn: info\nlineburn: debug\n",
	};
	char buf[256];

	(void)state;
	assert_int_equal(log_level(), 0);
	for (int level = 0; level < 3; level++) {
		log_set_level(level);
		assert_int_equal(log_level(), level);
		capture(all_levels, buf, sizeof(buf));
		assert_string_equal(buf, wanted[level]);
	}
	log_set_level(0);
}

static void test_hostile_names(void **state)
{
	char buf[256];

	(void)state;
	capture(hostile, buf, sizeof(buf));
	assert_string_equal(buf, "lineburn: no symbols in \\x1b]52;c;x\\x07\\x0a"
				 "lineburn: all is well\n");
}

static void test_long_lines_end(void **state)
{
	char buf[12000];

	(void)state;
	capture(long_line, buf, sizeof(buf));
	assert_in_range(strlen(buf), 1000, 3000);
	assert_int_equal(buf[strlen(buf) - 1], '\n');
}

/* Other processes may write to the same terminal. */
static void test_a_message_is_one_write(void **state)
{
	int saved = dup(STDERR_FILENO), fds[2];
	char buf[2000];
	ssize_t len;

	(void)state;
	assert_int_equal(pipe2(fds, O_DIRECT), 0); /* a read returns one write */
	dup2(fds[1], STDERR_FILENO);
	log_warning("%1000s", "warning");
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fds[1]);
	len = read(fds[0], buf, sizeof(buf));
	close(fds[0]);
	assert_int_equal(len, strlen("lineburn: ") + 1000 + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_long_lines_end),
		cmocka_unit_test(test_a_message_is_one_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
