// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "decode/python/defs.h"

static const char source[] = "#!/usr/bin/env python3\n" /* 1 */
			     "\"\"\"def in_docstring(): no\n"
			     "def also_not(): pass\n"
			     "\"\"\"\n"
			     "import numba # def nor_this():\n" /* 5 */
			     "\n"
			     "@numba.njit(cache=True,\n"
			     "            parallel=True)\n"
			     "def dither(img,\n"
			     "           x={'a': 1}):\n" /* 10 */
			     "    text = 'it\\'s # no comment'; y = \"\"\"\n"
			     "def hidden(): pass\n"
			     "\"\"\"\n"
			     "    def inner(z):\n"
			     "        return z\n" /* 15 */
			     "# a comment at the margin ends no block\n"
			     "    def inner2(z): return z\n"
			     "    return inner\n"
			     "\n"
			     "class Class:\n" /* 20 */
			     "\tdef method(self):\n"
			     "\t\treturn [\n"
			     "def_in_brackets\n"
			     "\t\t]\n"
			     "\tasync  def waits(self): pass\n" /* 25 */
			     "\tclass Nested(object):\n"
			     "\t\tdef method(self): pass\n"
			     "\n"
			     "if True:\n"
			     "    def twice(): pass\n" /* 30 */
			     "else:\n"
			     "    def twice(): pass\n"
			     "x = 1 + \\\n"
			     "def_continued\n"
			     "def d\303\251j\303\240(): pass\n" /* 35 */
			     "define = 1\n"
			     "def last(): pass"; /* without a newline */

static uint32_t line_of(const char *name)
{
	struct python_def def = {.qualname = name};

	python_defs_find(source, sizeof(source) - 1, &def, 1);
	return def.line;
}

static void test_lines(void **state)
{
	static const struct {
		const char *name;
		uint32_t line;
	} cases[] = {
		{"dither", 9},
		{"dither.inner", 14},
		{"dither.inner2", 17},
		{"inner", 0},
		{"Class.method", 21},
		{"Class.waits", 25},
		{"Class.Nested.method", 27},
		{"Class", 0},
		{"twice", 0},
		{"d\303\251j\303\240", 35},
		{"last", 37},
		{"in_docstring", 0},
		{"also_not", 0},
		{"hidden", 0},
		{"nor_this", 0},
		{"", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (line_of(cases[i].name) != cases[i].line)
			print_error("%s\n", cases[i].name);
		assert_int_equal(line_of(cases[i].name), cases[i].line);
	}
}

static void test_several_at_once(void **state)
{
	struct python_def defs[] = {{"last", 7}, {"nobody", 7}, {"dither", 7}};

	(void)state;
	python_defs_find(source, sizeof(source) - 1, defs, ARRAY_SIZE(defs));
	assert_int_equal(defs[0].line, 37);
	assert_int_equal(defs[1].line, 0);
	assert_int_equal(defs[2].line, 9);
}

/* Truncated source, and endless nesting. */
static void test_hostile(void **state)
{
	struct python_def def = {.qualname = "dither"};
	char deep[20000];
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(source); i++)
		python_defs_find(source, i, &def, 1);
	for (size_t i = 0; i < 130; i++) {
		memset(deep + len, ' ', i);
		len += i;
		memcpy(deep + len, "class A:\n", 9);
		len += 9;
	}
	python_defs_find(deep, len, &def, 1);
	memset(deep, '(', sizeof(deep));
	python_defs_find(deep, sizeof(deep), &def, 1);
	memset(deep, '\\', sizeof(deep));
	python_defs_find(deep, sizeof(deep), &def, 1);
	assert_int_equal(def.line, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_several_at_once),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
