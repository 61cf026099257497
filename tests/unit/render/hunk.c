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
#include "render/hunk.h"

#define MAX_LINES 64

/* A file of @nr_text lines; the lines in @hot have one sample each. */
struct sheet {
	struct attribution attribution;
	struct attribution_file file;
	struct attribution_line lines[MAX_LINES];
	char *text[MAX_LINES];
};

static void sheet_init(struct sheet *s, size_t nr_text, const uint32_t *hot,
		       size_t nr_hot)
{
	memset(s, 0, sizeof(*s));
	s->attribution.all.samples = 100;
	for (size_t i = 0; i < nr_text; i++)
		s->text[i] = "text";
	for (size_t i = 0; i < nr_hot; i++)
		s->lines[i] = (struct attribution_line){
			.line = hot[i], .function = "f", .total = {.samples = 1}};
	s->file.lines = s->lines;
	s->file.nr_lines = nr_hot;
	s->file.source.found = nr_text > 0;
	s->file.source.lines = s->text;
	s->file.source.nr_lines = nr_text;
}

/* "3-5 9": the rows of each hunk; "*" after a line with figures. */
static void describe(const struct sheet *s, unsigned int context, double min_share,
		     char *buf, size_t size)
{
	const struct render_options opts = {.context = context, .min_share = min_share};
	struct hunks hunks = hunks_of(&s->attribution, &s->file, &opts);
	struct hunk hunk;
	size_t used = 0;

	buf[0] = '\0';
	while (hunks_next(&hunks, &hunk)) {
		struct hunk_row row;

		used += (size_t)snprintf(buf + used, size - used, "%s[", used ? " " : "");
		while (hunk_next_row(&hunk, &row))
			used += (size_t)snprintf(buf + used, size - used, "%s%u%s",
						 buf[used - 1] == '[' ? "" : " ",
						 row.number, row.line ? "*" : "");
		used += (size_t)snprintf(buf + used, size - used, "]");
	}
}

#define HOT(...)                         \
	(const uint32_t[]){__VA_ARGS__}, \
		sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

static void test_hunks(void **state)
{
	static const struct {
		size_t nr_text;
		unsigned int context;
		uint32_t hot[4];
		const char *rows;
	} cases[] = {
		{20, 2, {10}, "[8 9 10* 11 12]"},
		{20, 2, {1}, "[1* 2 3]"},
		{20, 2, {20}, "[18 19 20*]"},
		{20, 0, {10}, "[10*]"},
		{20, 1, {4, 5}, "[3 4* 5* 6]"},
		/* a gap of one line is shown, a gap of two is not */
		{20, 1, {4, 8}, "[3 4* 5 6 7 8* 9]"},
		{20, 1, {4, 9}, "[3 4* 5] [8 9* 10]"},
		{20, 0, {4, 6}, "[4*] [6*]"},
		/* the source is shorter than the profile says: it was changed */
		{5, 2, {4, 9}, "[2 3 4* 5 9*]"},
		{5, 2, {7, UINT32_MAX}, "[5 7*] [4294967295*]"},
		/* no source */
		{0, 2, {4, 5}, "[4* 5*]"},
		{0, 2, {4, 6}, "[4*] [6*]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sheet s;
		char rows[256];
		size_t nr = 0;

		while (nr < 4 && cases[i].hot[nr])
			nr++;
		sheet_init(&s, cases[i].nr_text, cases[i].hot, nr);
		describe(&s, cases[i].context, 0, rows, sizeof(rows));
		assert_string_equal(rows, cases[i].rows);
	}
}

/* Only part of a large file was recorded: lines without text are left out. */
static void test_text_with_holes(void **state)
{
	struct sheet s;
	char rows[256];

	(void)state;
	sheet_init(&s, 20, HOT(10));
	s.text[8 - 1] = NULL;
	s.text[11 - 1] = NULL;
	describe(&s, 2, 0, rows, sizeof(rows));
	assert_string_equal(rows, "[9 10* 12]");
}

static void test_cool_lines_are_context(void **state)
{
	struct sheet s;
	char rows[256];

	(void)state;
	sheet_init(&s, 20, HOT(3, 9, 10));
	s.lines[2].total.samples = 50;
	describe(&s, 1, 0.2, rows, sizeof(rows));
	assert_string_equal(rows, "[9* 10* 11]");
	s.lines[2].total.samples = 0; /* lines without code are never hot */
	describe(&s, 1, 0, rows, sizeof(rows));
	assert_string_equal(rows, "[2 3* 4] [8 9* 10*]");
}

static void test_huge_context(void **state)
{
	struct sheet s;
	char rows[256];

	(void)state;
	sheet_init(&s, 3, HOT(2, UINT32_MAX));
	describe(&s, UINT32_MAX, 0, rows, sizeof(rows));
	assert_string_equal(rows, "[1 2* 3 4294967295*]");
}

static void test_shows_function(void **state)
{
	static const struct {
		const char *function, *text;
		bool shown;
	} cases[] = {
		{"dither", "void dither(int x)", true},
		{"dither", "void other(int x)", false},
		{"ns::List<int>::push(int const&)", "\tvoid push(T const &t)", true},
		{"ns::List<int>::push(int const&)", "\tclass List", false},
		{"push<>", "push(T t)", true},
		{">", ">", false},
		{"ns::List::push(int const&)", "\tvoid push(int const &t)", true},
		{"void ns::push<int>(int)", "push(T t)", true},
		{"pkg.(*T).Method", "func (t *T) Method()", false},
		{"", "anything", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sheet s;
		struct hunks hunks;
		struct hunk hunk;
		const struct render_options opts = {.context = 2};

		sheet_init(&s, 10, HOT(5));
		s.lines[0].function = cases[i].function;
		s.text[3 - 1] = (char *)cases[i].text;
		hunks = hunks_of(&s.attribution, &s.file, &opts);
		assert_true(hunks_next(&hunks, &hunk));
		assert_int_equal(hunk_shows_function(&hunk), cases[i].shown);
	}
}

/* Line 20 of f() is hot; its start line and source text vary. */
static void test_declaration(void **state)
{
	static const struct {
		const char *function;
		uint32_t function_line, text_line;
		const char *text;
		uint32_t expected;
	} cases[] = {
		{"f", 5, 5, "def f(x):", 5},
		{"C.f", 5, 7, "    def f(self):", 7}, /* after decorators */
		{"C.f", 5, 9, "def g():", 0}, /* the file was changed */
		{"f", 0, 5, "def f(x):", 0}, /* unknown start */
		{"f", 19, 19, "def f(x):", 0}, /* already shown */
		{"f", 5, 19, "def f(x):", 0}, /* only lines above count */
		{"<module>", 1, 1, "import f", 0},
		{"main.<locals>.<lambda>", 5, 5, "lambda: 0", 0},
		{"f", UINT32_MAX, 5, "def f(x):", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct render_options opts = {.context = 2};
		const uint32_t hot[] = {20};
		struct sheet s;
		struct hunks hunks;
		struct hunk hunk;

		sheet_init(&s, 30, hot, 1);
		for (size_t k = 0; k < 30; k++)
			s.text[k] = "...";
		s.lines[0].function = cases[i].function;
		s.lines[0].function_line = cases[i].function_line;
		s.text[cases[i].text_line - 1] = (char *)cases[i].text;
		hunks = hunks_of(&s.attribution, &s.file, &opts);
		assert_true(hunks_next(&hunks, &hunk));
		assert_int_equal(hunk_declaration(&hunk), cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hunks),
		cmocka_unit_test(test_text_with_holes),
		cmocka_unit_test(test_cool_lines_are_context),
		cmocka_unit_test(test_huge_context),
		cmocka_unit_test(test_shows_function),
		cmocka_unit_test(test_declaration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
