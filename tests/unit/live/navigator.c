// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "live/navigator.h"

#define NR_ROWS 5

static struct navigator n;
static struct board_row rows[NR_ROWS];
static struct board b;

static int setup(void **state)
{
	(void)state;
	n.page = 3;
	return navigator_init(&n, BOARD_CONTAINERS);
}

static int teardown(void **state)
{
	(void)state;
	navigator_deinit(&n);
	return 0;
}

/* A board of @view whose rows have these names. */
static const struct board *board(enum board_view view, const char *const names[NR_ROWS])
{
	static char key[] = "key";
	static char none[] = "";

	b = (struct board){.view = view, .rows = rows, .nr_rows = NR_ROWS};
	for (size_t i = 0; i < NR_ROWS; i++)
		rows[i] = (struct board_row){.name = (char *)names[i],
					     .detail = none,
					     .pid = (uint32_t)i + 1,
					     .line = 10 * ((uint32_t)i + 1),
					     .key = key};
	return &b;
}

static const char *const letters[] = {"a", "b", "c", "d", "e"};

static const struct board_place *place(void)
{
	return &navigator_top(&n)->place;
}

/* container -> process -> function -> source, and back. */
static void test_way_down_and_back(void **state)
{
	(void)state;
	assert_int_equal(
		navigator_key(&n, board(BOARD_CONTAINERS, letters), KEY_OF_ENTER),
		NAVIGATOR_MAKE);
	assert_int_equal(place()->view, BOARD_PROCESSES);
	assert_string_equal(place()->container, "key");
	assert_string_equal(navigator_top(&n)->title, "container a");
	navigator_key(&n, board(BOARD_PROCESSES, letters), KEY_OF_DOWN);
	navigator_key(&n, &b, KEY_OF_ENTER);
	assert_int_equal(place()->view, BOARD_FUNCTIONS);
	assert_string_equal(place()->container, "key");
	assert_int_equal(place()->pid, 2);
	assert_string_equal(navigator_top(&n)->title, "process 2 b");
	navigator_key(&n, board(BOARD_FUNCTIONS, letters), KEY_OF_ENTER);
	assert_int_equal(place()->view, BOARD_SOURCE);
	assert_string_equal(place()->path, "key");
	assert_string_equal(place()->function, "a");
	assert_int_equal(place()->pid, 2);
	/* A line of the source leads nowhere. */
	assert_int_equal(navigator_key(&n, board(BOARD_SOURCE, letters), KEY_OF_ENTER),
			 NAVIGATOR_NOTHING);

	assert_int_equal(navigator_key(&n, &b, KEY_OF_BACK), NAVIGATOR_MAKE);
	assert_int_equal(place()->view, BOARD_FUNCTIONS);
	assert_int_equal(navigator_key(&n, &b, KEY_OF_ESCAPE), NAVIGATOR_MAKE);
	assert_int_equal(place()->view, BOARD_PROCESSES);
	assert_int_equal(navigator_top(&n)->cursor, 1);
	navigator_key(&n, &b, KEY_OF_BACK);
	assert_int_equal(navigator_key(&n, &b, KEY_OF_BACK), NAVIGATOR_NOTHING);
	assert_null(place()->container);
}

/* From a line the source begins there. Another table keeps the samples' choice. */
static void test_tables_of_one_place(void **state)
{
	(void)state;
	navigator_key(&n, board(BOARD_CONTAINERS, letters), KEY_OF_ENTER);
	assert_int_equal(navigator_key(&n, board(BOARD_PROCESSES, letters), 'l'),
			 NAVIGATOR_MAKE);
	assert_int_equal(place()->view, BOARD_LINES);
	assert_string_equal(place()->container, "key");
	navigator_key(&n, board(BOARD_LINES, letters), 'j');
	navigator_key(&n, &b, KEY_OF_ENTER);
	assert_int_equal(place()->view, BOARD_SOURCE);
	assert_int_equal(place()->line, 20);
	assert_null(place()->function);
	/* From the source it goes back to where its table was. */
	navigator_key(&n, board(BOARD_SOURCE, letters), '2');
	assert_int_equal(n.nr_levels, 2);
	assert_int_equal(place()->view, BOARD_FUNCTIONS);
	assert_string_equal(place()->container, "key");
}

static void test_rows(void **state)
{
	static const struct {
		int key;
		size_t cursor;
	} steps[] = {
		{KEY_OF_UP, 0},   {KEY_OF_DOWN, 1},
		{'j', 2},         {KEY_OF_PAGE_DOWN, 4},
		{KEY_OF_DOWN, 4}, {KEY_OF_PAGE_UP, 1},
		{'k', 0},         {KEY_OF_END, 4},
		{KEY_OF_HOME, 0}, {'G', 4},
		{'g', 0},
	};

	(void)state;
	n.page = 3;
	board(BOARD_LINES, letters);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		assert_int_equal(navigator_key(&n, &b, steps[i].key), NAVIGATOR_DRAW);
		assert_int_equal(navigator_top(&n)->cursor, steps[i].cursor);
	}
	b.nr_rows = 0;
	assert_int_equal(navigator_key(&n, &b, KEY_OF_DOWN), NAVIGATOR_NOTHING);
	assert_int_equal(navigator_key(&n, NULL, KEY_OF_DOWN), NAVIGATOR_NOTHING);
	assert_int_equal(navigator_key(&n, NULL, KEY_OF_ENTER), NAVIGATOR_NOTHING);
	assert_int_equal(navigator_key(&n, &b, KEY_OF_ENTER), NAVIGATOR_NOTHING);
}

/* The row that the reader chose stays chosen where it goes; the first row does not. */
static void test_follow(void **state)
{
	static const char *const later[] = {"c", "a", "b", "x", "y"};
	struct board_row now_rows[NR_ROWS];
	struct board now = {.view = BOARD_LINES, .rows = now_rows, .nr_rows = NR_ROWS};

	(void)state;
	board(BOARD_LINES, letters);
	for (size_t i = 0; i < NR_ROWS; i++) {
		now_rows[i] = rows[0];
		now_rows[i].name = (char *)later[i];
		now_rows[i].pid = (uint32_t)(later[i][0] - 'a') + 1;
		now_rows[i].line = 10 * now_rows[i].pid;
	}
	navigator_follow(&n, &b, &now);
	assert_int_equal(navigator_top(&n)->cursor, 0);
	navigator_key(&n, &b, KEY_OF_DOWN); /* b */
	navigator_follow(&n, &b, &now);
	assert_int_equal(navigator_top(&n)->cursor, 2);
	navigator_key(&n, &now, KEY_OF_END); /* y, which is gone in the next one */
	navigator_follow(&n, &now, &b);
	assert_int_equal(navigator_top(&n)->cursor, 4);
	b.nr_rows = 2;
	navigator_follow(&n, &now, &b);
	assert_int_equal(navigator_top(&n)->cursor, 1);
	b.nr_rows = 0;
	navigator_follow(&n, &now, &b);
	assert_int_equal(navigator_top(&n)->cursor, 0);
}

/* A source begins at its line, and stays there while figures change. */
static void test_start_of_a_source(void **state)
{
	(void)state;
	navigator_key(&n, board(BOARD_LINES, letters), KEY_OF_ENTER);
	board(BOARD_SOURCE, letters);
	b.start = 3;
	navigator_follow(&n, NULL, &b);
	assert_int_equal(navigator_top(&n)->cursor, 3);
	b.start = 0;
	navigator_follow(&n, &b, &b);
	assert_int_equal(navigator_top(&n)->cursor, 3);
}

static void type(const char *text)
{
	for (; *text; text++)
		navigator_key(&n, board(BOARD_LINES, letters), *text);
}

/* Letters are text while the reader types, also those that are keys. */
static void test_find(void **state)
{
	(void)state;
	type("/qs");
	assert_true(n.is_finding);
	assert_string_equal(n.find, "qs");
	navigator_key(&n, &b, KEY_OF_BACK);
	assert_string_equal(n.find, "q");
	assert_int_equal(navigator_key(&n, &b, 0x1b), NAVIGATOR_NOTHING);
	assert_int_equal(navigator_key(&n, &b, KEY_OF_ENTER), NAVIGATOR_MAKE);
	assert_false(n.is_finding);
	assert_string_equal(n.find, "q");
	assert_int_equal(navigator_key(&n, &b, KEY_OF_ESCAPE), NAVIGATOR_MAKE);
	assert_string_equal(n.find, "");
	type("/x");
	navigator_key(&n, &b, KEY_OF_ESCAPE);
	assert_false(n.is_finding);
	assert_string_equal(n.find, "");
	type("/");
	for (int i = 0; i < 2 * NAVIGATOR_MAX_FIND; i++)
		navigator_key(&n, &b, 'y');
	assert_int_equal(strlen(n.find), NAVIGATOR_MAX_FIND - 1);
	/* Another place has other rows. */
	navigator_key(&n, &b, KEY_OF_ENTER);
	navigator_key(&n, board(BOARD_LINES, letters), KEY_OF_ENTER);
	assert_string_equal(n.find, "");
}

static void test_other_keys(void **state)
{
	(void)state;
	board(BOARD_LINES, letters);
	assert_int_equal(navigator_key(&n, &b, 't'), NAVIGATOR_MAKE);
	assert_int_equal(n.sort, BOARD_BY_TOTAL);
	assert_int_equal(navigator_key(&n, &b, 'n'), NAVIGATOR_MAKE);
	assert_int_equal(n.sort, BOARD_BY_NAME);
	assert_int_equal(navigator_key(&n, &b, 's'), NAVIGATOR_MAKE);
	assert_int_equal(n.sort, BOARD_BY_SELF);
	assert_int_equal(navigator_key(&n, &b, ' '), NAVIGATOR_PAUSE);
	assert_true(n.is_paused);
	assert_int_equal(navigator_key(&n, &b, ' '), NAVIGATOR_PAUSE);
	assert_false(n.is_paused);
	assert_int_equal(navigator_key(&n, &b, 'h'), NAVIGATOR_DRAW);
	assert_true(n.shows_help);
	navigator_key(&n, &b, KEY_OF_ESCAPE);
	assert_false(n.shows_help);
	assert_int_equal(navigator_key(&n, &b, 'q'), NAVIGATOR_QUIT);
	assert_int_equal(navigator_key(&n, &b, 3), NAVIGATOR_QUIT);
	assert_int_equal(navigator_key(&n, &b, '%'), NAVIGATOR_NOTHING);
	type("/");
	assert_int_equal(navigator_key(&n, &b, 3), NAVIGATOR_QUIT);
}

/* The way cannot be longer than there is room. */
static void test_many_levels(void **state)
{
	(void)state;
	for (int i = 0; i < 3 * NAVIGATOR_MAX_LEVELS; i++)
		navigator_key(&n, board(BOARD_CONTAINERS, letters), KEY_OF_ENTER);
	assert_int_equal(n.nr_levels, NAVIGATOR_MAX_LEVELS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_way_down_and_back),
		TEST(test_tables_of_one_place),
		TEST(test_rows),
		TEST(test_follow),
		TEST(test_start_of_a_source),
		TEST(test_find),
		TEST(test_other_keys),
		TEST(test_many_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
