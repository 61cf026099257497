// SPDX-License-Identifier: GPL-2.0-or-later
/* Two texts beside each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "render/diff_sources.h"

static char *old_lines[] = {"import os", "def f():", "    return 1",
			    "def g():", "    return 2"};
static char *new_lines[] = {"import os", "def g():", "    return 2",
			    "x = 3",     "def f():", "    return 4"};

/* "1-1 same; 2-0 moved 5; ..." */
static const char *rows_text(const struct diff_file *f)
{
	static const char *const kinds[] = {"same", "changed", "moved", "alone",
					    "unknown"};
	static char text[1024];
	struct diff_row *rows;
	size_t nr, len = 0;

	*text = '\0';
	assert_int_equal(diff_rows_of(f, &rows, &nr), 0);
	for (size_t i = 0; i < nr; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u-%u %s",
					i ? "; " : "", rows[i].line[DIFF_BEFORE],
					rows[i].line[DIFF_AFTER], kinds[rows[i].kind]);
		if (rows[i].kind == DIFF_ROW_MOVED)
			len += (size_t)snprintf(text + len, sizeof(text) - len, " %u",
						rows[i].other);
	}
	free(rows);
	return text;
}

static struct diff_file file_of(const struct line_partner *partners, bool is_whole)
{
	return (struct diff_file){
		.path = "a.py",
		.text = {{old_lines, ARRAY_SIZE(old_lines)},
			 {new_lines, ARRAY_SIZE(new_lines)}},
		.partners = partners,
		.is_whole = is_whole,
	};
}

static void aligned(void **state)
{
	static const struct line_partner partners[] = {{1, LINE_SAME},
						       {5, LINE_SAME},
						       {6, LINE_CHANGED},
						       {2, LINE_MOVED},
						       {3, LINE_MOVED}};
	struct diff_file f = file_of(partners, true);

	(void)state;
	assert_string_equal(rows_text(&f),
			    "1-1 same; 0-2 moved 4; 0-3 moved 5; 0-4 alone; 2-5 same; "
			    "3-6 changed; 4-0 moved 2; 5-0 moved 3");
}

/* Without the whole text of the other side, a line without a partner may not be new. */
static void parts_of_texts(void **state)
{
	static const struct line_partner partners[5] = {{1, LINE_SAME}};
	struct diff_file f = file_of(partners, false);

	(void)state;
	assert_string_equal(
		rows_text(&f),
		"1-1 same; 2-0 unknown; 3-0 unknown; 4-0 unknown; 5-0 "
		"unknown; 0-2 unknown; 0-3 unknown; 0-4 unknown; 0-5 unknown; "
		"0-6 unknown");
	f.text[DIFF_BEFORE] = (struct diff_text){0};
	f.partners = NULL;
	new_lines[1] = NULL; /* a gap */
	assert_string_equal(rows_text(&f), "0-1 unknown; 0-3 unknown; 0-4 unknown; 0-5 "
					   "unknown; 0-6 unknown");
	new_lines[1] = (char *)"def g():";
	f.text[DIFF_AFTER] = (struct diff_text){0};
	assert_string_equal(rows_text(&f), "");
}

/* An alignment that is not in order, as none should be, has all lines all the same. */
static void out_of_order(void **state)
{
	static const struct line_partner partners[] = {{1, LINE_SAME},
						       {5, LINE_SAME},
						       {3, LINE_SAME},
						       {0, LINE_UNMATCHED},
						       {6, LINE_SAME}};
	struct diff_file f = file_of(partners, true);

	(void)state;
	assert_string_equal(rows_text(&f),
			    "1-1 same; 0-2 alone; 0-3 moved 3; 0-4 alone; 2-5 same; 3-0 "
			    "moved 3; 4-0 alone; 5-6 same");
}

/* ---- what a page has of them ---- */

static struct diff_line lines[] = {{.path = "a.py", .line = {2, 5}},
				   {.path = "b.py", .line = {0, 900}}};
static char *many[1000];

static json_t *value_of(struct diff_file *files, size_t nr, struct page_texts *paths)
{
	struct profile_diff d = {
		.lines = lines, .nr_lines = 2, .files = files, .nr_files = nr};
	struct json_builder b = {0};
	json_t *value = diff_sources_value(&b, &d, 2, paths, 10);

	assert_false(b.failed);
	return value;
}

static const json_t *rows_of(const json_t *files, size_t i)
{
	return json_object_get(json_array_get(files, i), "rows");
}

static void whole_or_around_figures(void **state)
{
	static const struct line_partner partners[] = {{1, LINE_SAME},
						       {5, LINE_SAME},
						       {6, LINE_CHANGED},
						       {2, LINE_MOVED},
						       {3, LINE_MOVED}};
	struct diff_file files[] = {file_of(partners, true),
				    {.path = "b.py", .text = {{0}, {many, 1000}}},
				    {.path = "c.py", .text = {{0}, {many, 1000}}}};
	struct page_texts paths = {.values = json_array()};
	char long_line[100];
	json_t *value;
	const json_t *rows;

	(void)state;
	memset(long_line, 'x', sizeof(long_line) - 1);
	long_line[sizeof(long_line) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = long_line;
	files[0].self[DIFF_AFTER] = 7;
	value = value_of(files, 3, &paths);
	assert_int_equal(json_array_size(value), 3);
	assert_int_equal(json_array_size(rows_of(value, 0)), 8);
	rows = json_array_get(rows_of(value, 0), 5);
	assert_string_equal(json_string_value(json_array_get(rows, 3)), "    return 1");
	assert_string_equal(json_string_value(json_array_get(rows, 4)), "    return 4");
	rows = rows_of(value, 1);
	assert_int_equal(json_array_size(rows), 31);
	assert_int_equal(json_integer_value(json_array_get(json_array_get(rows, 0), 1)),
			 885);
	/* No line of it has a figure. */
	assert_int_equal(json_array_size(rows_of(value, 2)), 0);
	assert_int_equal(json_array_size(paths.values), 3);
	json_decref(value);
	json_decref(paths.values);
	tally_deinit(&paths.index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aligned),
		cmocka_unit_test(parts_of_texts),
		cmocka_unit_test(out_of_order),
		cmocka_unit_test(whole_or_around_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
