// SPDX-License-Identifier: GPL-2.0-or-later
/* Names made to attack the terminal that shows them. */
#include "base/escape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static const struct {
	const char *in, *out; /* out holds only ASCII */
} cases[] = {
	{"", ""},
	{"plain_name<int>::f(char const*)", "plain_name<int>::f(char const*)"},
	{"a\tb", "a\tb"},
	{"a\nb\rc", "a\\x0ab\\x0dc"},
	{"\x01\x1f\x7f", "\\x01\\x1f\\x7f"},
	/* CSI: clear the screen, red, cursor home. */
	{"\033[2J\033[31mx\033[H", "\\x1b[2J\\x1b[31mx\\x1b[H"},
	/* OSC 52 writes the clipboard; terminated by BEL and by ST. */
	{"\033]52;c;cm0gLXJmIH4=\a", "\\x1b]52;c;cm0gLXJmIH4=\\x07"},
	{"\033]52;c;eA==\033\\", "\\x1b]52;c;eA==\\x1b\\"},
	/* OSC 8: a link. */
	{"\033]8;;http://x\033\\y", "\\x1b]8;;http://x\\x1b\\y"},
	/* CSI and OSC as single C1 characters, in UTF-8 and as bare bytes. */
	{"\xc2\x9b"
	 "31m\xc2\x9d",
	 "\\x9b31m\\x9d"},
	{"\x9b"
	 "31m",
	 "\\x9b31m"},
	/* Line and paragraph separator. */
	{"a\xe2\x80\xa8"
	 "b\xe2\x80\xa9",
	 "a\\u{2028}b\\u{2029}"},
	/* Bidirectional: overrides, embeddings, isolates, marks. */
	{"\xe2\x80\xae"
	 "c.exe\xe2\x80\xac",
	 "\\u{202e}c.exe\\u{202c}"},
	{"\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8e\xe2\x80\x8f",
	 "\\u{2066}\\u{2069}\\u{200e}\\u{200f}"},
	{"\xd8\x9c\xef\xbb\xbf", "\\u{61c}\\u{feff}"},
	/* Overlong: NUL, '/', ESC, and the euro sign in four bytes. */
	{"\xc0\x80\xc0\xaf", "\\xc0\\x80\\xc0\\xaf"},
	{"\xc1\x9b", "\\xc1\\x9b"},
	{"\xe0\x80\x9b", "\\xe0\\x80\\x9b"},
	{"\xf0\x82\x82\xac", "\\xf0\\x82\\x82\\xac"},
	/* A surrogate, beyond U+10FFFF, bytes that never occur. */
	{"\xed\xa0\x80", "\\xed\\xa0\\x80"},
	{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
	{"\xf8\x88\x80\x80\x80\xff\xfe", "\\xf8\\x88\\x80\\x80\\x80\\xff\\xfe"},
	/* A truncated sequence at the end, and one before a letter, which is kept. */
	{"x\xe2\x82", "x\\xe2\\x82"},
	{"\xf0\x9f\xa6", "\\xf0\\x9f\\xa6"},
	{"\xe2(\xa1", "\\xe2(\\xa1"},
	{"\xc3\033[0m", "\\xc3\\x1b[0m"},
};

static const struct {
	const char *in, *out;
	size_t columns;
} letters[] = {
	/* The end of the C1 range. */
	{"\xc2\x80\xc2\x9f\xc2\xa0", "\\x80\\x9f\xc2\xa0", 9},
	/* The neighbours of escaped characters stay. */
	{"\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa", "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa",
	 3},
	/* Letters of two, three and four bytes take one column each. */
	{"na\xc3\xafve \xe2\x82\xac \xf0\x9f\xa6\x80",
	 "na\xc3\xafve \xe2\x82\xac \xf0\x9f\xa6\x80", 9},
	{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", 1},
};

static char *to_stream(const char *s, size_t *columns)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	*columns = escape_terminal(f, s);
	fclose(f);
	return text;
}

static void check(const char *in, const char *out, size_t columns)
{
	size_t got;
	_cleanup_free_ char *text = to_stream(in, &got);
	char buf[256];

	assert_string_equal(text, out);
	assert_int_equal(got, columns);
	assert_ptr_equal(escape_terminal_buf(buf, sizeof(buf), in), buf);
	assert_string_equal(buf, out);
}

static void test_terminal(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(cases[i].in, cases[i].out, strlen(cases[i].out));
	for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
		check(letters[i].in, letters[i].out, letters[i].columns);
}

/* In its log only, and in a buffer only what is a command anywhere in a line. */
static void test_commands_of_github(void **state)
{
	static const struct {
		const char *in, *line, *part;
	} commands[] = {
		{"::add-mask::a", "\\x3a:add-mask::a", NULL},
		{" \t::a::b", " \t\\x3a:a::b", NULL},
		/* No-break and ideographic space. */
		{"\xc2\xa0\xe3\x80\x80::a", "\xc2\xa0\xe3\x80\x80\\x3a:a", NULL},
		{"a ::b", NULL, NULL},
		{":", NULL, NULL},
		{"a ##[add-mask]b", "a \\x23#[add-mask]b", "a \\x23#[add-mask]b"},
		{"###[a]", "#\\x23#[a]", "#\\x23#[a]"},
		{"## [a]", NULL, NULL},
	};
	size_t columns;

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(commands); i++) {
		const char *in = commands[i / 2].in;
		const char *line = i % 2 ? commands[i / 2].line : NULL;
		const char *part = i % 2 ? commands[i / 2].part : NULL;
		_cleanup_free_ char *text = NULL;
		char buf[64];

		if (i % 2)
			setenv("GITHUB_ACTIONS", "true", 1);
		else
			unsetenv("GITHUB_ACTIONS");
		text = to_stream(in, &columns);
		assert_string_equal(text, line ? line : in);
		escape_terminal_buf(buf, sizeof(buf), in);
		assert_string_equal(buf, part ? part : in);
	}
	unsetenv("GITHUB_ACTIONS");
}

/* No pair of bytes gives output that controls a terminal. */
static void test_every_byte_pair(void **state)
{
	(void)state;
	for (unsigned int a = 1; a < 256; a++) {
		for (unsigned int b = 1; b < 256; b++) {
			char in[] = {(char)a, (char)b, '\0'}, out[64];

			escape_terminal_buf(out, sizeof(out), in);
			assert_true(strlen(out) > 0);
			for (const unsigned char *c = (void *)out; *c; c++) {
				assert_true(*c == '\t' || (*c >= 0x20 && *c != 0x7f));
				/* C1 bytes only as the second byte of a letter. */
				if (*c >= 0x80 && *c < 0xa0)
					assert_true(c > (unsigned char *)out &&
						    c[-1] >= 0xc3);
			}
		}
	}
}

/* Output is truncated between escapes and letters, in a buffer of exactly that size. */
static void test_small_buffers(void **state)
{
	static const char in[] = "a\033\xe2\x82\xac\xe2\x80\xae";
	static const char *const wanted[] = {
		"",       "a",      "a",
		"a",      "a",      "a\\x1b",
		"a\\x1b", "a\\x1b", "a\\x1b\xe2\x82\xac",
	};

	(void)state;
	for (size_t size = 1; size <= ARRAY_SIZE(wanted); size++) {
		_cleanup_free_ char *buf = malloc(size);

		escape_terminal_buf(buf, size, in);
		assert_string_equal(buf, wanted[size - 1]);
	}
	escape_terminal_buf(NULL, 0, in);
}

static void test_utf8(void **state)
{
	static const struct {
		const char *in, *out;
	} texts[] = {
		{"", ""},
		{"na\xc3\xafve \xf0\x9f\xa6\x80\n", "na\xc3\xafve \xf0\x9f\xa6\x80\n"},
		{"a\xff"
		 "b",
		 "a\xef\xbf\xbd"
		 "b"},
		{"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"x\xe2\x82", "x\xef\xbf\xbd\xef\xbf\xbd"},
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_string_equal(escape_utf8_buf(buf, sizeof(buf), texts[i].in),
				    texts[i].out);
	assert_string_equal(escape_utf8_buf(buf, 3, "a\xff"), "a");
	assert_string_equal(escape_utf8_buf(buf, 5, "a\xff"), "a\xef\xbf\xbd");
	assert_string_equal(escape_utf8_buf(buf, 3, "\xe2\x82\xac"), "");
	assert_string_equal(escape_utf8_buf(buf, 1, "x"), "");
	escape_utf8_buf(NULL, 0, "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_commands_of_github),
		cmocka_unit_test(test_every_byte_pair),
		cmocka_unit_test(test_small_buffers),
		cmocka_unit_test(test_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
