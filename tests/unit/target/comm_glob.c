// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/comm_glob.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const uint32_t in = LB_FILTER_IN(LB_FILTER_COMM),
		      out = LB_FILTER_OUT(LB_FILTER_COMM);

static struct lb_comm_table table; /* 16 KiB */

static bool matches(const char *pattern, const char *comm)
{
	uint32_t mask;

	memset(&table, 0, sizeof(table));
	assert_int_equal(comm_glob_add(&table, pattern, false), 0);
	mask = comm_glob_match(&table, comm);
	assert_true(mask == 0 || mask == in);
	return mask == in;
}

static void known_answers(void **state)
{
	static const struct {
		const char *pattern, *comm;
		bool matches;
	} cases[] = {
		{"gzip", "gzip", true},
		{"gzip", "gzi", false},
		{"gzip", "gzipp", false},
		{"*", "", true},
		{"*", "anything", true},
		{"", "", true},
		{"", "a", false},
		{"python*", "python3.11", true},
		{"*3.11", "python3.11", true},
		{"*.1", "python3.11", false},
		{"kworker/?:*", "kworker/0:1H", true},
		{"kworker/?:*", "kworker/u4:1", false},
		{"[a-c]x", "bx", true},
		{"[!a-c]x", "bx", false},
		{"[]x]", "]", true},
		{"[[:digit:]]*", "7z", true},
		{"[[:digit:]]*", "z7", false},
		{"\\*", "*", true},
		{"\\*", "x", false},
		{"a**b", "ab", true},
		{"*a*b*c*", "xxaxxbxxcxx", true},
		{"???????????????", "fifteen-bytes!!", true},
		{"fifteen-bytes!!*", "fifteen-bytes!!", true},
		{"\xff*", "\xff\xfe", true},
		/* The kernel truncates names: a longer name matches its beginning. */
		{"gnome-terminal-server", "gnome-terminal-", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (matches(cases[i].pattern, cases[i].comm) != cases[i].matches)
			fail_msg("\"%s\" and \"%s\"", cases[i].pattern, cases[i].comm);
}

/* A text of few different characters, so that patterns match often. */
static void text_of(char *text, size_t max, const char *alphabet)
{
	size_t len = (size_t)rand() % (max + 1), nr = strlen(alphabet);

	for (size_t i = 0; i < len; i++)
		text[i] = alphabet[(size_t)rand() % nr];
	text[len] = '\0';
}

static void as_fnmatch(void **state)
{
	char pattern[16], comm[16];
	int nr_matches = 0;

	(void)state;
	srand(1);
	for (int i = 0; i < 20000; i++) {
		bool expected;

		text_of(pattern, 9, "aab**?[]!-\\");
		text_of(comm, 7, "aab[]!-\\");
		/* Undefined in POSIX, and specific to glibc. */
		if (strstr(pattern, "[") ||
		    (*pattern && pattern[strlen(pattern) - 1] == '\\'))
			continue;
		expected = !fnmatch(pattern, comm, 0);
		nr_matches += expected;
		if (matches(pattern, comm) != expected)
			fail_msg("\"%s\" and \"%s\": %d", pattern, comm, expected);
	}
	assert_true(nr_matches > 500);
}

/* "[xx...x]" matches "x" or is refused; it is never accepted without matching. */
static void long_brackets_are_refused(void **state)
{
	char pattern[128];

	(void)state;
	for (size_t len = 3; len < sizeof(pattern); len++) {
		memset(pattern, 'x', len);
		pattern[0] = '[';
		pattern[len - 1] = ']';
		pattern[len] = '\0';
		if (len < 64) {
			assert_true(matches(pattern, "x"));
			assert_false(matches(pattern, "y"));
			continue;
		}
		memset(&table, 0, sizeof(table));
		assert_int_equal(comm_glob_add(&table, pattern, false), -E2BIG);
		assert_int_equal(table.nr_words, 0);
	}
}

static void many_patterns_at_once(void **state)
{
	static struct lb_comm_table before;
	char pattern[16], comm[16];

	(void)state;
	memset(&table, 0, sizeof(table));
	for (int i = 0; i < LB_COMM_PATTERNS; i++) {
		snprintf(pattern, sizeof(pattern), "*fourteen-by%c?*", 'a' + i);
		assert_int_equal(comm_glob_add(&table, pattern, i % 2), 0);
	}
	before = table;
	assert_int_equal(comm_glob_add(&table, "x", false), -ENOSPC);
	assert_int_equal(comm_glob_add(&table, "0123456789abcde?", false), -E2BIG);
	assert_memory_equal(&table, &before, sizeof(table));
	for (int i = 0; i < LB_COMM_PATTERNS; i++) {
		snprintf(comm, sizeof(comm), "fourteen-by%c!", 'a' + i);
		assert_int_equal(comm_glob_match(&table, comm), i % 2 ? out : in);
	}
	assert_int_equal(comm_glob_match(&table, "fourteen-byz!"), 0);
	assert_int_equal(comm_glob_match(&table, ""), 0);
}

static void both_answers(void **state)
{
	(void)state;
	memset(&table, 0, sizeof(table));
	assert_int_equal(comm_glob_match(&table, "a"), 0);
	assert_int_equal(comm_glob_add(&table, "g*", false), 0);
	assert_int_equal(comm_glob_add(&table, "*p", true), 0);
	assert_int_equal(comm_glob_match(&table, "gcc"), in);
	assert_int_equal(comm_glob_match(&table, "gzip"), in | out);
	assert_int_equal(comm_glob_match(&table, "cp"), out);
}

/* The kernel keeps old bytes behind the NUL of a name. */
static void old_bytes_behind_a_name(void **state)
{
	static const uint8_t bytes[] = {'a', 0x01, 0x7f, 0x80, 0x81, 0xff, 0x02};
	union {
		uint8_t bytes[LB_COMM_LEN];
		__u64 words[LB_COMM_LEN / 8];
	} name, ended;

	(void)state;
	for (size_t length = 0; length <= LB_COMM_LEN; length++) {
		for (size_t turn = 0; turn < sizeof(bytes) * sizeof(bytes); turn++) {
			memset(ended.bytes, 0, sizeof(ended.bytes));
			for (size_t i = 0; i < LB_COMM_LEN; i++) {
				name.bytes[i] =
					bytes[(i * turn + turn / 7) % sizeof(bytes)];
				if (i < length)
					ended.bytes[i] = name.bytes[i];
			}
			if (length < LB_COMM_LEN)
				name.bytes[length] = 0;
			lb_comm_end_at_nul(name.words);
			assert_memory_equal(name.bytes, ended.bytes, LB_COMM_LEN);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers),
		cmocka_unit_test(old_bytes_behind_a_name),
		cmocka_unit_test(as_fnmatch),
		cmocka_unit_test(long_brackets_are_refused),
		cmocka_unit_test(many_patterns_at_once),
		cmocka_unit_test(both_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
