// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/suggest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_same_is_best(void **state)
{
	(void)state;
	assert_int_equal(likeness("web", "web"), 0);
	assert_int_equal(likeness("WEB", "web"), 0);
	assert_true(likeness("web", "web-1") > 0);
	assert_true(likeness("web", "web-1") < likeness("web", "my-web"));
	assert_true(likeness("web", "my-web") < likeness("wbe-1", "web-1"));
	assert_true(likeness("wbe-1", "web-1") <
		    likeness("wab-frontend", "web-frantend"));
}

static void what_is_far_is_not_like(void **state)
{
	(void)state;
	assert_int_equal(likeness("web", ""), LIKENESS_NONE);
	assert_int_equal(likeness("web", "db"), LIKENESS_NONE);
	assert_int_equal(likeness("nothing-like", "web-1"), LIKENESS_NONE);
	/* Longer than the limit for comparing letters. */
	assert_int_equal(likeness("a12345678901234567890123456789012345678901234567890123"
				  "45678901234567890123456789",
				  "b12345678901234567890123456789012345678901234567890123"
				  "45678901234567890123456789"),
			 LIKENESS_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_is_best),
		cmocka_unit_test(what_is_far_is_not_like),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
