// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/match.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void containers_and_units(void **state)
{
	const char *docker = "5f0c0ffee5f0", *claimed = "1000/5f0c0ffee5f0";

	(void)state;
	assert_true(match_container("5f0c", docker, "", MATCH_START_HEX));
	assert_false(match_container("5f0", docker, "", MATCH_START_HEX));
	assert_false(match_container("f0c0", docker, "", MATCH_START_HEX));
	assert_true(match_container("web", docker, "web", MATCH_START_HEX));
	assert_true(match_container("w*", docker, "web", MATCH_START_HEX));
	assert_false(match_container("we", docker, "web", MATCH_START_HEX));
	assert_false(match_container("*", "", "", MATCH_START_HEX));
	assert_int_equal(match_container("5f", docker, "", MATCH_START_ANY), MATCH_WEAK);
	assert_int_equal(match_container(docker, docker, "", MATCH_START_ANY),
			 MATCH_EXACT);
	/* Names must match whole, even if they look like the start of an id. */
	assert_false(match_container("web1", "web10", "", MATCH_START_NONE));
	assert_true(match_container("web10", "web10", "", MATCH_START_NONE));
	assert_false(match_container("cafe", "cafe1", "", MATCH_START_NONE));
	assert_true(match_container("cafe*", "cafe1", "", MATCH_START_NONE));
	assert_false(match_container("task-1", "task-12", "", MATCH_START_HEX));
	assert_true(match_container("task-1?", "task-12", "", MATCH_START_HEX));
	/* An id that a user claims is matched only together with that user. */
	assert_false(match_container("5f0c", claimed, "", MATCH_START_HEX));
	assert_false(match_container("5f0c0ffee5f0", claimed, "", MATCH_START_HEX));
	assert_false(match_container("5f*", claimed, "", MATCH_START_HEX));
	assert_false(match_container("*", claimed, "", MATCH_START_HEX));
	assert_false(match_container("*5f0", claimed, "", MATCH_START_HEX));
	assert_false(match_container("?000?5f0c0ffee5f0", claimed, "", MATCH_START_HEX));
	assert_false(match_container("1000/5f0", claimed, "", MATCH_START_HEX));
	assert_false(match_container("100/5f0c", claimed, "", MATCH_START_HEX));
	assert_true(match_container("1000/5f0c", claimed, "", MATCH_START_HEX));
	assert_true(match_container("1000/*", claimed, "", MATCH_START_HEX));
	assert_true(match_container("*/5f0c*", claimed, "", MATCH_START_HEX));
	assert_false(match_container("1000/5f0c", docker, "", MATCH_START_HEX));
	assert_true(match_unit("a-b", "a-b.service"));
	assert_true(match_unit("a-b.service", "a-b.service"));
	assert_true(match_unit("a-*", "a-b.service"));
	assert_false(match_unit("a", "a-b.service"));
	assert_false(match_unit("*", ""));
}

static void paths(void **state)
{
	char clean[8];

	(void)state;
	assert_true(match_path_above("/", "/a"));
	assert_true(match_path_above("/a", "/a/b"));
	assert_true(match_path_above("/a", "/a"));
	assert_false(match_path_above("/a", "/ab"));
	assert_int_equal(match_clean_path("a//b/", clean, sizeof(clean)), 0);
	assert_string_equal(clean, "/a/b");
	assert_int_equal(match_clean_path("", clean, sizeof(clean)), 0);
	assert_string_equal(clean, "/");
	assert_int_equal(match_clean_path("/abcdef", clean, sizeof(clean)), 0);
	assert_true(match_clean_path("/abcdefg", clean, sizeof(clean)) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers_and_units),
		cmocka_unit_test(paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
