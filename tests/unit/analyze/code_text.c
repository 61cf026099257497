// SPDX-License-Identifier: GPL-2.0-or-later
/* Which lines of a text can have code, by language. "+" in the left column: yes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/code_text.h"

/* The first character of each line is the expected result. */
static void check(const char *language, const char *const *lines)
{
	struct code_text t;

	code_text_init(&t, language);
	for (; *lines; lines++)
		if (code_text_next(&t, *lines + 1) != (**lines == '+'))
			fail_msg("%s: \"%s\"", language, *lines);
}

#define CHECK(language, ...) check(language, (const char *const[]){__VA_ARGS__, NULL})

static void c_and_its_kin(void **state)
{
	(void)state;
	CHECK("c", " ", " \t", " {", "\t} else {", "+\tx = 1; /* a", " * comment", " */",
	      " // x = 1;", " /* one */ // two", "+ /* before */ x++;", " \t}", " });",
	      "+ } while (x);", " \tdo {", "\t  else", "+ else x = 1;", " #if 0",
	      "   #  define X 1", "+ int x;", " };", "+ return;", " default:");
	CHECK("c", "+ s = \"/*\";", "+ x++;", "+ c = '\"'; /* ends\" */", "+ y++;",
	      "+ s = \"\\\"/*\";", "+ z++;", "+ s = \"//\"; t++; /* open", " still",
	      "+ here */ x++;");
	CHECK("rust", "+ fn f<'a>(x: &'a str) {", " /// doc", " /* a", " */",
	      "+ let c = '\"';", "+ x += 1;", "+ #[inline]");
	CHECK("javascript", "+ const s = '/*';", "+ x++", " // y");
	CHECK("", "+ x = 1", " // y", " /* z */");
}

static void others(void **state)
{
	(void)state;
	CHECK("lua", " -- x", "+ x = 1 -- y", " --[[ a", " b = 1", " ]]", "+ y = 2",
	      " end");
	CHECK("fortran", " ! x", "+ x = 1");
	CHECK("julia", " # x", "+ x = 1", " end");
}

static void python(void **state)
{
	(void)state;
	CHECK("numba", "+def f(x):", "     \"\"\"What it does,", "     and how.",
	      "     \"\"\"", " ", "     # comment", "+    y = 0  # and code",
	      "     else:", "+    else: y = 1", "     pass", "+    s = \"\"\"a",
	      "+    b\"\"\"", "     '''doc'''", "+    s = \"#\" + '\"\"\"'",
	      "+    return y", "     )", "     try:");
	CHECK("python", "+x = f(", "+    '''an argument,", "+    no comment''',",
	      "     )", "     # x");
}

/* The first character of each line is the expected relation to the function. */
static void check_of(const char *function, const char *const *lines)
{
	struct code_text t;

	code_text_init(&t, "python");
	for (; *lines; lines++) {
		code_text_next(&t, *lines + 1);
		if (code_text_is_of(&t, function) != (**lines == '+'))
			fail_msg("%s: \"%s\"", function, *lines);
	}
}

static void bodies_of_inner_functions_are_their_own(void **state)
{
	static const char *const lines[] = {
		" class App:",
		"     def other(self):",
		"         return 0",
		" ",
		"+    def run(self, a,",
		"+            b=(1,",
		"+ 2)):",
		"+        x = 1",
		"         def helper(y):",
		"             z = '''",
		" def fake():",
		"             '''",
		"             return y",
		" ",
		"+        return helper(x)",
		"     async def later(self):",
		"         pass",
		" def run2():",
		"     pass",
		NULL,
	};

	(void)state;
	check_of("run", lines);
	check_of("app.App.run", lines);
	check_of("prange in run", lines);
	check_of("App.run(array(float64, 1d))", lines);
}

static void other_languages_do_not_tell(void **state)
{
	struct code_text t;

	(void)state;
	code_text_init(&t, "c");
	code_text_next(&t, "int f(void)");
	assert_true(code_text_is_of(&t, "g"));
	code_text_init(&t, "python");
	code_text_next(&t, "x = 1");
	assert_true(code_text_is_of(&t, "g"));
}

/* It is searched for each line of a text. */
static void endless_names_do_not_tell(void **state)
{
	char name[1100] = "";
	struct code_text t;

	(void)state;
	code_text_init(&t, "python");
	code_text_next(&t, "def g():");
	memset(name, 'm', 1000);
	assert_false(code_text_is_of(&t, name));
	strcpy(name + 1000, ".g(int)");
	assert_true(code_text_is_of(&t, name));
	memset(name, 'm', sizeof(name) - 1);
	assert_true(code_text_is_of(&t, name));
}

static void a_gap_ends_what_went_on(void **state)
{
	struct code_text t;

	(void)state;
	code_text_init(&t, "c");
	assert_false(code_text_next(&t, "/* open"));
	code_text_skip(&t);
	assert_true(code_text_next(&t, "x = 1;"));
}

static void depth_is_bounded(void **state)
{
	struct code_text t;
	char line[256];

	(void)state;
	code_text_init(&t, "python");
	for (int i = 0; i < 200; i++) {
		snprintf(line, sizeof(line), "%*sdef f%d():", i, "", i);
		assert_true(code_text_next(&t, line));
	}
	assert_int_equal(t.nr_defs, CODE_TEXT_MAX_DEFS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c_and_its_kin),
		cmocka_unit_test(others),
		cmocka_unit_test(python),
		cmocka_unit_test(bodies_of_inner_functions_are_their_own),
		cmocka_unit_test(other_languages_do_not_tell),
		cmocka_unit_test(endless_names_do_not_tell),
		cmocka_unit_test(a_gap_ends_what_went_on),
		cmocka_unit_test(depth_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
