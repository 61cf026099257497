// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/code_query.h"
#include "base/cleanup.h"

static void names(void **state)
{
	static const struct {
		const char *name, *what;
		int step; /* the first step that matches; -1: none */
	} cases[] = {
		{"dither", "dither", NAME_WHOLE},
		{"__main__.dither", "dither", NAME_LAST_PART},
		{"Image::dither", "dither", NAME_LAST_PART},
		{"undither", "dither", NAME_ANY_PART},
		{"dither_row", "dither", NAME_ANY_PART},
		{"<module>", "module", NAME_ANY_PART},
		{"dit", "dither", -1},
		{"", "dither", -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int first = -1;

		for (int step = NR_NAME_STEPS - 1; step >= 0; step--)
			if (name_matches(cases[i].name, cases[i].what,
					 (enum name_step)step))
				first = step;
		assert_int_equal(first, cases[i].step);
	}
}

static void places(void **state)
{
	static const char *const none[] = {
		"dither", ":5",     "a.c:",   "a.c:0", "a.c:5x",
		"ns::f",  "a.c:-1", "a.c: 1", "",      "a.c:99999999999"};
	struct code_place place;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_false(code_place_parse(none[i], &place));
	assert_true(code_place_parse("src/a.c:4294967295", &place));
	assert_int_equal(place.line, UINT32_MAX);
	assert_int_equal(place.file_len, 7);
	assert_true(code_place_is_in(&place, "/home/me/src/a.c"));
	assert_true(code_place_is_in(&place, "src/a.c"));
	assert_false(code_place_is_in(&place, "/home/me/othersrc/a.c"));
	assert_false(code_place_is_in(&place, "a.c"));
	assert_false(code_place_is_in(&place, "src/a.c/x"));
	assert_true(code_place_parse("C:/x.c:1", &place)); /* the last colon counts */
	assert_int_equal(place.file_len, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
