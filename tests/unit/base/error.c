// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_sentence(void **state)
{
	struct error err = {0};

	(void)state;
	assert_int_equal(error_set(&err, -EINVAL, "no %s at %d", "frame", 7), -EINVAL);
	assert_string_equal(err.text, "no frame at 7");
	assert_int_equal(err.exit_code, EXIT_FAILED);
}

static void test_errno(void **state)
{
	struct error err = {0};

	(void)state;
	errno = ENOSPC;
	error_set(&err, -ENOSPC, "cannot write %s: %m; try", "/x");
	assert_string_equal(err.text, "cannot write /x: No space left on device; try");
	errno = EACCES;
	error_set_exit(&err, EXIT_SYSTEM, -EACCES, "%m");
	assert_string_equal(err.text, "Permission denied");
}

static void test_exit_code(void **state)
{
	struct error err = {0};

	(void)state;
	assert_int_equal(error_set_exit(&err, EXIT_NOT_FOUND, -ENOENT, "x"), -ENOENT);
	assert_int_equal(err.exit_code, EXIT_NOT_FOUND);
	/* The last error replaces the text and the code. */
	error_set(&err, -EIO, "y");
	assert_string_equal(err.text, "y");
	assert_int_equal(err.exit_code, EXIT_FAILED);
}

static void test_nobody_asks(void **state)
{
	(void)state;
	assert_int_equal(error_set(NULL, -EINVAL, "%s", "x"), -EINVAL);
	assert_int_equal(error_set_exit(NULL, EXIT_USAGE, -EINVAL, "%s", "x"), -EINVAL);
}

static void test_too_long(void **state)
{
	struct error err = {0};
	char text[5000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_set(&err, -EINVAL, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_int_equal(err.exit_code, EXIT_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sentence),  cmocka_unit_test(test_errno),
		cmocka_unit_test(test_exit_code), cmocka_unit_test(test_nobody_asks),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
