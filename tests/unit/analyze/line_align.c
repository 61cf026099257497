// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of two versions of a text, and the partners that they get. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/line_align.h"
#include "base/cleanup.h"

#define MAX_LINES 64

static size_t split(char *text, char *lines[MAX_LINES])
{
	size_t nr = 0;

	for (char *line; (line = strsep(&text, "\n"));)
		lines[nr++] = strcmp(line, "?") != 0 ? line : NULL;
	return nr;
}

/*
 * "1 2m 0 4c": the partner of each line; m: moved, c: changed. "?" is an unknown line.
 */
static void check(const char *before, const char *after, const char *expected)
{
	static const char *const marks[] = {"", "", "m", "c"};
	_cleanup_free_ char *text_before = strdup(before), *text_after = strdup(after);
	char *lines_before[MAX_LINES], *lines_after[MAX_LINES], partners[512] = "";
	size_t nr_before = split(text_before, lines_before);
	size_t nr_after = split(text_after, lines_after);
	struct line_alignment a;

	assert_int_equal(line_align(lines_before, nr_before, lines_after, nr_after, &a),
			 0);
	assert_int_equal(a.nr, nr_before);
	for (size_t i = 0; i < a.nr; i++) {
		assert_int_equal(!a.partners[i].line,
				 a.partners[i].match == LINE_UNMATCHED);
		sprintf(partners + strlen(partners), "%s%u%s", i ? " " : "",
			a.partners[i].line, marks[a.partners[i].match]);
	}
	line_alignment_deinit(&a);
	assert_string_equal(partners, expected);
}

static void equal_and_empty(void **state)
{
	struct line_alignment a;

	(void)state;
	check("a\nb\n\nc", "a\nb\n\nc", "1 2 3 4");
	check("a", "b\nc", "0");
	assert_int_equal(line_align(NULL, 0, NULL, 0, &a), 0);
	assert_int_equal(a.nr, 0);
	line_alignment_deinit(&a);
}

static void inserted_and_deleted(void **state)
{
	(void)state;
	check("a\nb\nc", "new\na\nb\nnew2\nc", "2 3 5");
	check("a\nb\nc\nd", "a\nd", "1 0 0 2");
	/* Lines that occur often follow the rare ones around them. */
	check("f {\n1\n}\ng {\n2\n}", "f {\n1\n}\nh {\n3\n}\ng {\n2\n}", "1 2 3 7 8 9");
	check("f\n}\ng\n}\nh\n}", "g\n}\nh\n}", "0 0 1 2 3 4");
	/* No line is unique: the longest common subsequence. */
	check("x\ny\nx\ny", "y\nx\ny\nx", "0 1 2 3");
}

static void edited_lines(void **state)
{
	(void)state;
	check("a\nold\nb", "a\nnew\nb", "1 2c 3");
	check("a\nold1\nold2\nb", "a\nnew1\nnew2\nb", "1 2c 3c 4");
	/*
	 * Another number of lines, a blank line, too many: nobody knows which is which.
	 */
	check("a\nold\nb", "a\nnew1\nnew2\nb", "1 0 4");
	check("a\nold\nb", "a\n  \nb", "1 0 3");
	check("a\n1\n2\n3\n4\n5\n6\n7\n8\n9\nb", "a\nA\nB\nC\nD\nE\nF\nG\nH\nI\nb",
	      "1 0 0 0 0 0 0 0 0 0 11");
	/* An unknown line may belong to the gap. */
	check("a\nold\nb", "a\n?\nnew\nb", "1 0 4");
	check("a\nold\n?\nb", "a\nnew\nb", "1 0 0 3");
}

static void moved_blocks(void **state)
{
	(void)state;
	check("def first(image):\n    return image.sum()\n\nmain()\n1\n2",
	      "main()\n1\n2\n\ndef first(image):\n    return image.sum()",
	      "5m 6m 0 1 2 3");
	/* Too short to be known again. */
	check("x = 1\nmain()\n1\n2", "main()\n1\n2\nx = 1", "0 1 2 3");
}

static void unknown_lines(void **state)
{
	(void)state;
	check("a\n?\nb", "?\na\nb", "2 0 3");
	check("?\n?", "a\n?", "0 0");
}

/* ---- texts without sense ---- */

static uint32_t random_number(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void check_invariants(char *const *before, size_t nr_before, char *const *after,
			     size_t nr_after)
{
	_cleanup_free_ bool *taken = calloc(nr_after + 1, sizeof(*taken));
	struct line_alignment a;
	uint32_t last = 0;

	assert_int_equal(line_align(before, nr_before, after, nr_after, &a), 0);
	for (size_t i = 0; i < a.nr; i++) {
		const struct line_partner *partner = &a.partners[i];

		if (!partner->line)
			continue;
		assert_true(partner->line <= nr_after && !taken[partner->line]);
		taken[partner->line] = true;
		assert_non_null(before[i]);
		assert_non_null(after[partner->line - 1]);
		assert_int_equal(!strcmp(before[i], after[partner->line - 1]),
				 partner->match != LINE_CHANGED);
		if (partner->match == LINE_MOVED)
			continue;
		assert_true(partner->line > last);
		last = partner->line;
	}
	line_alignment_deinit(&a);
}

static void random_texts(void **state)
{
	static char *words[] = {"",  "{",  "}",
				"a", "b",  "a longer line of code(x)",
				"c", NULL, "another line, which = long"};
	char *before[40], *after[40];
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		size_t nr_before = random_number(&seed) % 40;
		size_t nr_after = random_number(&seed) % 40;
		uint32_t nr_words = 1 + random_number(&seed) % ARRAY_SIZE(words);

		for (size_t i = 0; i < nr_before; i++)
			before[i] = words[random_number(&seed) % nr_words];
		for (size_t i = 0; i < nr_after; i++)
			after[i] = words[random_number(&seed) % nr_words];
		check_invariants(before, nr_before, after, nr_after);
	}
}

/* Texts that are as bad as they can be end in time that their size bounds. */
static void hostile_sizes(void **state)
{
	enum {
		NR = 100000
	};
	_cleanup_free_ char **before = calloc(NR, sizeof(*before));
	_cleanup_free_ char **after = calloc(NR, sizeof(*after));
	_cleanup_free_ char *names = malloc(NR * 8);
	struct line_alignment a;
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < NR; i++)
		snprintf(names + 8 * i, 8, "%zu", i);
	for (size_t i = 0; i < NR; i++) { /* reversed */
		before[i] = names + 8 * i;
		after[i] = names + 8 * (NR - 1 - i);
	}
	check_invariants(before, NR, after, NR);
	for (size_t i = 0; i < NR; i++) { /* no line is unique */
		before[i] = names + 8 * (random_number(&seed) % 2);
		after[i] = names + 8 * (random_number(&seed) % 2);
	}
	check_invariants(before, NR, after, NR);
	for (size_t i = 0; i < NR; i++) { /* one anchor in each range: no end in sight */
		before[i] = names + 8 * (i % 2 ? i : 0);
		after[i] = names + 8 * (i % 2 ? i ^ 2 : 0);
	}
	check_invariants(before, NR, after, NR);
	assert_int_equal(line_align(before, LINE_ALIGN_MAX_LINES + 1, after, 1, &a),
			 -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_and_empty), cmocka_unit_test(inserted_and_deleted),
		cmocka_unit_test(edited_lines),    cmocka_unit_test(moved_blocks),
		cmocka_unit_test(unknown_lines),   cmocka_unit_test(random_texts),
		cmocka_unit_test(hostile_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
