// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hot_lines.h"
#include "base/cleanup.h"

#define LINE(number, self_nr, total_nr)                                      \
	{                                                                    \
		.line = (number), .self = {.samples = (self_nr)}, .total = { \
			.samples = (total_nr)                                \
		}                                                            \
	}

static struct attribution_line main_lines[] = {
	LINE(3, 5, 9),
	{.line = 4, .no_code = true},
	LINE(7, 0, 20),
	LINE(9, 5, 5),
};
static struct attribution_line util_lines[] = {LINE(1, 8, 8), LINE(2, 5, 9)};
static struct attribution_line rare_lines[] = {LINE(30, 1, 1)};
static struct attribution_file files[] = {
	{.path = "/a/main.c", .lines = main_lines, .nr_lines = ARRAY_SIZE(main_lines)},
	{.path = "/a/util.c", .lines = util_lines, .nr_lines = ARRAY_SIZE(util_lines)},
	{.path = "/a/rare.c", .lines = rare_lines, .nr_lines = ARRAY_SIZE(rare_lines)},
};
static struct attribution attribution = {.files = files, .nr_files = ARRAY_SIZE(files)};

static void check_order(const char *suffix, const char *expected)
{
	_cleanup_free_ struct hot_line *lines = NULL;
	char text[256] = "";
	size_t nr;

	assert_int_equal(hot_lines_of(&attribution, suffix, &lines, &nr), 0);
	for (size_t i = 0; i < nr; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s:%u",
			 i ? " " : "", lines[i].file->path + 3, lines[i].line->line);
	assert_string_equal(text, expected);
}

/* Most self, then most total, then as files and lines follow each other. */
static void order(void **state)
{
	(void)state;
	check_order(NULL, "util.c:1 main.c:3 util.c:2 main.c:9 rare.c:30 main.c:7");
	check_order("main.c", "main.c:3 main.c:9 main.c:7");
	check_order("other.c", "");
}

/* "main.c: 3 7; 3 files, ..." */
static void check_limit(const char *suffix, size_t limit, const char *expected)
{
	char text[256] = "";

	assert_int_equal(hot_lines_limit(&attribution, suffix, limit), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const struct attribution_file *f = &files[i];

		if (f->left_out)
			continue;
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s:", f->path + 3);
		for (size_t j = 0; j < f->nr_lines; j++)
			if (!f->lines[j].left_out)
				snprintf(text + strlen(text), sizeof(text) - strlen(text),
					 " %u", f->lines[j].line);
		strcat(text, "; ");
	}
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "left out %zu %zu %d",
		 attribution.left_out.files, attribution.left_out.lines,
		 (int)attribution.left_out.self.samples);
	assert_string_equal(text, expected);
}

static void limits(void **state)
{
	(void)state;
	check_limit(NULL, 1, "util.c: 1; left out 2 5 16");
	check_limit(NULL, 2, "main.c: 3; util.c: 1; left out 1 4 11");
	check_limit(NULL, 5, "main.c: 3 9; util.c: 1 2; rare.c: 30; left out 0 1 0");
	/* All fit: lines without code stay, too. */
	check_limit(NULL, 6, "main.c: 3 4 7 9; util.c: 1 2; rare.c: 30; left out 0 0 0");
	check_limit(NULL, SIZE_MAX,
		    "main.c: 3 4 7 9; util.c: 1 2; rare.c: 30; left out 0 0 0");
	/* Files that --file excludes do not count. */
	check_limit("main.c", 1, "main.c: 3; util.c: 1 2; rare.c: 30; left out 0 2 5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
