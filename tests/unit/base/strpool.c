// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/strpool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DROPPED "[too many names]"

static void test_interns(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	char mine[] = "dither";
	const char *a = strpool_add(pool, mine);

	(void)state;
	assert_ptr_not_equal(a, mine);
	assert_string_equal(a, "dither");
	mine[0] = 'X';
	assert_string_equal(a, "dither");
	assert_ptr_equal(strpool_add(pool, "dither"), a);
	assert_ptr_equal(strpool_add_n(pool, "dither_more", 6), a);
	assert_ptr_equal(strpool_add_n(pool, "dither\0more", 11), a);
	assert_ptr_not_equal(strpool_add(pool, "dithe"), a);
	assert_ptr_not_equal(strpool_add(pool, "dither2"), a);
	assert_int_equal(strpool_nr_dropped(pool), 0);
}

/* A tenant has a quarter of the bytes; a name that is there is everybody's. */
static void test_a_tenant_leaves_room_to_others(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(8192);
	const char *own, *name = "";
	char text[16];
	int nr = 0;

	(void)state;
	strpool_share(pool);
	own = strpool_add(pool, "of root");
	strpool_serve(pool, (struct tenant){.uid = 1000});
	for (; strcmp(name, DROPPED) != 0; nr++) {
		snprintf(text, sizeof(text), "name %d", nr);
		name = strpool_add(pool, text);
	}
	assert_in_range(nr, 20, 2048 / 40);
	assert_int_equal(strpool_nr_dropped(pool), 1);
	assert_ptr_equal(strpool_add(pool, "of root"), own);
	assert_string_equal(
		strpool_add_namesake(
			pool, "a namesake that has more bytes than are left of the part"),
		DROPPED);
	strpool_serve(pool, (struct tenant){.uid = 1001});
	assert_string_equal(strpool_add(pool, text), text);
	assert_string_equal(strpool_add_namesake(pool, "x"), "x");
}

/* What a pool had that is replaced is kept, and counts for its owner. */
static void test_moved_strings_are_kept(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(8192);
	char text[16];

	(void)state;
	strpool_share(pool);
	strpool_serve(pool, (struct tenant){.uid = 1000});
	for (int i = 0; i < 60; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		assert_string_equal(strpool_move(pool, text), text);
	}
	assert_ptr_equal(strpool_move(pool, text), strpool_add(pool, text));
	assert_string_equal(strpool_add(pool, "new"), DROPPED);
	/* Any of them pays. */
	strpool_serve_any(
		pool, &(struct payers){.items = {{.uid = 1000}, {.uid = 1001}}, .nr = 2});
	for (int i = 0; i < 60; i++) {
		snprintf(text, sizeof(text), "both's %d", i);
		strpool_move(pool, text);
	}
	strpool_serve(pool, (struct tenant){.uid = 1001});
	assert_string_equal(strpool_add(pool, "new"), DROPPED);
	strpool_serve(pool, (struct tenant){.uid = 1002});
	assert_string_equal(strpool_add(pool, "new"), "new");
}

static void test_empty_and_null(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	const char *empty = strpool_add(pool, "");

	(void)state;
	assert_string_equal(empty, "");
	assert_ptr_equal(strpool_add(pool, NULL), empty);
	assert_ptr_equal(strpool_add_n(pool, "xyz", 0), empty);
	strpool_free(NULL);
}

/* Pointers stay valid while the pool grows by chunks and rebuilds its index. */
static void test_many(void **state)
{
	enum {
		NR = 50000
	};
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(64 << 20);
	static const char *strings[NR];
	char text[64];

	(void)state;
	for (int i = 0; i < NR; i++) {
		snprintf(text, sizeof(text), "function_%d", i);
		strings[i] = strpool_add(pool, text);
	}
	for (int i = 0; i < NR; i++) {
		snprintf(text, sizeof(text), "function_%d", i);
		assert_string_equal(strings[i], text);
		assert_ptr_equal(strpool_add(pool, text), strings[i]);
	}
	assert_int_equal(strpool_nr_dropped(pool), 0);
}

/* Strings longer than a chunk, between short ones. */
static void test_long(void **state)
{
	enum {
		LEN = 200000
	};
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(64 << 20);
	_cleanup_free_ char *big = malloc(LEN + 1);
	const char *small[50], *large[50];
	char text[16];

	(void)state;
	for (int i = 0; i < 50; i++) {
		memset(big, 'a' + i % 26, LEN);
		big[LEN] = '\0';
		big[0] = (char)('0' + i);
		snprintf(text, sizeof(text), "s%d", i);
		small[i] = strpool_add(pool, text);
		large[i] = strpool_add(pool, big);
	}
	for (int i = 0; i < 50; i++) {
		snprintf(text, sizeof(text), "s%d", i);
		assert_string_equal(small[i], text);
		assert_int_equal(strlen(large[i]), LEN);
		assert_int_equal(large[i][0], '0' + i);
		assert_int_equal(large[i][LEN - 1], 'a' + i % 26);
	}
}

/* Memory including the index stays below the maximum; other strings are dropped. */
static void test_limit(void **state)
{
	enum {
		MAX = 10000,
		STRING = 8,
		INDEX = 40
	};
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(MAX);
	const char *first = strpool_add(pool, "n000000");
	int nr_held = 1;
	char text[16];

	(void)state;
	for (int i = 1; i < 1000; i++) {
		snprintf(text, sizeof(text), "n%06d", i);
		if (strcmp(strpool_add(pool, text), DROPPED))
			nr_held++;
	}
	assert_in_range(nr_held * (STRING + INDEX), MAX - (STRING + INDEX), MAX);
	assert_int_equal(strpool_nr_dropped(pool), 1000 - nr_held);
	/* Strings in the pool are still found, and finding them drops nothing. */
	assert_ptr_equal(strpool_add(pool, "n000000"), first);
	assert_int_equal(strpool_nr_dropped(pool), 1000 - nr_held);
	assert_string_equal(strpool_add(pool, "yet another"), DROPPED);
	assert_int_equal(strpool_nr_dropped(pool), 1001 - nr_held);
}

static void test_limit_edge(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(45);
	_cleanup_(strpool_freep) struct strpool *tiny = strpool_new(1);

	(void)state;
	assert_string_equal(strpool_add(pool, "12345"), DROPPED);
	assert_string_equal(strpool_add(pool, "1234"), "1234"); /* 4 + 1 + 40 */
	assert_string_equal(strpool_add(pool, ""), DROPPED);
	assert_int_equal(strpool_nr_dropped(pool), 2);
	assert_string_equal(strpool_add(tiny, ""), DROPPED);
}

static void test_namesakes(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(64 + 5);
	const char *first = strpool_add(pool, "same"), *second;

	(void)state;
	second = strpool_add_namesake(pool, "same");
	assert_string_equal(second, "same");
	assert_ptr_not_equal(second, first);
	assert_ptr_equal(strpool_add(pool, "same"), first);
	while ((second = strpool_add_namesake(pool, "same")) != first)
		assert_string_equal(second, "same");
	assert_int_equal(strpool_nr_dropped(pool), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_tenant_leaves_room_to_others),
		cmocka_unit_test(test_moved_strings_are_kept),
		cmocka_unit_test(test_interns),
		cmocka_unit_test(test_empty_and_null),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_namesakes),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_limit_edge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
