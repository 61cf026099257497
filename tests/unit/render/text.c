// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "render/text.h"

/* The text that @print writes with these arguments, on the heap. */
static char *cell(size_t (*print)(FILE *, const char *, size_t), const char *s,
		  size_t max, size_t *columns)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	*columns = print(out, s, max);
	fclose(out);
	return text;
}

struct cell_case {
	const char *in;
	size_t max;
	const char *out;
	size_t columns;
};

static void check_cells(size_t (*print)(FILE *, const char *, size_t),
			const struct cell_case *cases, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		size_t columns;
		_cleanup_free_ char *got =
			cell(print, cases[i].in, cases[i].max, &columns);

		assert_string_equal(got, cases[i].out);
		assert_int_equal(columns, cases[i].columns);
	}
}

static void test_cell(void **state)
{
	static const struct cell_case cases[] = {
		{"", 10, "", 0},
		{"exact", 5, "exact", 5},
		{"longer", 5, "long>", 5},
		{"\tx", 10, "    x", 5},
		{"ab\tx", 10, "ab  x", 5},
		{"abcd\tx", 10, "abcd    x", 9},
		{"caf\xc3\xa9", 4, "caf\xc3\xa9", 4},
		{"\xe4\xbd\xa0\xe5\xa5\xbd", 4, "\xe4\xbd\xa0\xe5\xa5\xbd", 4},
		/* the second character would not fit: truncated before it */
		{"\xe4\xbd\xa0\xe5\xa5\xbd", 3, "\xe4\xbd\xa0>", 3},
		{"\xe4\xbd\xa0\xe5\xa5\xbdx", 4, "\xe4\xbd\xa0>", 3},
		/* e with a combining accent takes one column */
		{"e\xcc\x81x", 2, "e\xcc\x81x", 2},
		{"\033[31m", 20, "\\x1b[31m", 8},
		/* an escape is never split */
		{"\033[31m", 4, ">", 1},
		{"\xff\xfe", 20, "\\xff\\xfe", 8},
		/* a sequence truncated by the end of the string */
		{"a\xf0\x9f\x94", 20, "a\\xf0\\x9f\\x94", 13},
		{"\xe2\x80\xae", 20, "\\u{202e}", 8},
		{"\xed\xa0\x80", 20, "\\xed\\xa0\\x80", 12},
		{"a\nb", 20, "a\\x0ab", 6},
	};

	(void)state;
	check_cells(text_cell, cases, ARRAY_SIZE(cases));
}

static void test_cell_without_limit_still_ends(void **state)
{
	char in[TEXT_MAX_COLUMNS * 2 + 1];
	size_t columns;

	(void)state;
	memset(in, 'x', sizeof(in) - 1);
	in[sizeof(in) - 1] = '\0';
	free(cell(text_cell, in, 0, &columns));
	assert_int_equal(columns, TEXT_MAX_COLUMNS);
	free(cell(text_cell_tail, in, 0, &columns));
	assert_int_equal(columns, TEXT_MAX_COLUMNS);
}

static void test_cell_tail(void **state)
{
	static const struct cell_case cases[] = {
		{"/a/b.c", 10, "/a/b.c", 6},
		/* exactly the last max - 3 columns are kept */
		{"/home/me/x.c", 7, ".../x.c", 7},
		{"/home/me/x.c", 8, "...e/x.c", 8},
		{"abcdefgh", 3, "ab>", 3},
		{"\xe4\xbd\xa0\xe5\xa5\xbd/x.c", 7, ".../x.c", 7},
	};

	(void)state;
	check_cells(text_cell_tail, cases, ARRAY_SIZE(cases));
}

/* In the log of GitHub Actions no cell, each of which may be a line's first, has a command. */
static void test_commands_of_github(void **state)
{
	static const struct cell_case cases[] = {
		{"\t::a::b", 20, "    \\x3a:a::b", 13},
		{"::a::b", 6, "\\x3a:>", 6},
		{"::a::b", 3, ">", 1},
		{"std::a", 6, "std::a", 6},
		{"a##[b]", 10, "a\\x23#[b]", 9},
	};

	(void)state;
	setenv("GITHUB_ACTIONS", "true", 1);
	check_cells(text_cell, cases, ARRAY_SIZE(cases));
	unsetenv("GITHUB_ACTIONS");
}

static char *sentence(struct text_margins margins, const char *s)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	char copy[4096];

	assert_non_null(out);
	snprintf(copy, sizeof(copy), "%s", s);
	text_sentence(out, &margins, copy);
	fclose(out);
	return text;
}

static void test_sentence(void **state)
{
	static const struct {
		struct text_margins margins;
		const char *in, *out;
	} cases[] = {
		{{0, 2, 4}, "one two", "  one two\n"},
		{{9, 0, 2}, "one two three", "one two\n  three\n"},
		{{7, 0, 2}, "one two", "one two\n"},
		{{6, 0, 2}, "one two", "one\n  two\n"},
		{{4, 0, 0}, "a verylongword b", "a\nverylongword\nb\n"},
		{{20, 0, 0}, "new\nline \033[0m", "new\\x0aline \\x1b[0m\n"},
		{{0, 0, 0}, "", "\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got = sentence(cases[i].margins, cases[i].in);

		assert_string_equal(got, cases[i].out);
	}
}

static void test_sentence_cuts_what_is_too_long(void **state)
{
	char in[10000];
	_cleanup_free_ char *got = NULL;

	(void)state;
	memset(in, ' ', sizeof(in) - 1);
	for (size_t i = 0; i < sizeof(in) - 1; i += 2)
		in[i] = 'x';
	in[sizeof(in) - 1] = '\0';
	got = sentence((struct text_margins){80, 0, 0}, in);
	assert_int_equal(strlen(got), 4096); /* each newline replaced a space */
}

static void test_cut(void **state)
{
	static const struct {
		const char *in;
		size_t max;
		const char *out;
	} cases[] = {
		{"exact", 5, "exact"},
		{"longer", 5, "lo..."},
		{"longer", SIZE_MAX, "longer"},
		{"", 3, ""},
		{"four", 3, "..."},
		/* an escape is never split, and takes more columns than bytes */
		{"abc\n", 7, "abc\n"},
		{"abc\n", 6, "abc..."},
		{"ab\n", 5, "ab..."},
		{"\xe4\xbd\xa0\xe5\xa5\xbdx", 4, "..."},
		{"\xe4\xbd\xa0\xe5\xa5\xbdxx", 5, "\xe4\xbd\xa0..."},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char s[16];
		bool is_cut;

		snprintf(s, sizeof(s), "%s", cases[i].in);
		is_cut = text_cut(s, sizeof(s), cases[i].max);
		assert_string_equal(s, cases[i].out);
		assert_int_equal(is_cut, strcmp(cases[i].in, cases[i].out) != 0);
	}
}

static void cut_text_ends_within_its_buffer(void **state)
{
	char s[] = "abc\n"; /* 7 columns; the mark is longer than what it replaces */

	(void)state;
	assert_true(text_cut(s, sizeof(s), 6));
	assert_string_equal(s, "abc.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cell),
		cmocka_unit_test(test_cell_without_limit_still_ends),
		cmocka_unit_test(test_cell_tail),
		cmocka_unit_test(test_commands_of_github),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(cut_text_ends_within_its_buffer),
		cmocka_unit_test(test_sentence),
		cmocka_unit_test(test_sentence_cuts_what_is_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
