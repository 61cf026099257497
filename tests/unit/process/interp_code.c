// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "process/interp_code.h"

static struct interp_store *s;
static struct interp_codes c; /* code objects of an image */
static struct lb_interp_code r;

static int setup(void **state)
{
	(void)state;
	memset(&c, 0, sizeof(c));
	return interp_store_new(INTERP_STORE_DEFAULT_BYTES, &s);
}

static int teardown(void **state)
{
	(void)state;
	interp_codes_deinit(&c);
	interp_store_free(s);
	return 0;
}

static const size_t head_bytes = offsetof(struct lb_interp_code, table);

/* Makes a record as the kernel side does: file and name have one byte a character. */
static size_t make(uint64_t code_id, const char *file, const char *name,
		   size_t table_bytes)
{
	size_t copied = table_bytes < LB_INTERP_TABLE_BYTES ? table_bytes
							    : LB_INTERP_TABLE_BYTES;

	memset(&r, 0, sizeof(r));
	r.code_id = code_id;
	r.code_addr = 0x7f0000001000 + code_id * 0x100;
	r.table_addr = 0x7f0000002000;
	r.version = 0x030b;
	r.first_line = 7;
	r.file_chars = (uint32_t)strlen(file);
	r.name_chars = (uint32_t)strlen(name);
	r.file_width = r.name_width = 1;
	memcpy(r.file, file,
	       strlen(file) < LB_INTERP_TEXT_BYTES ? strlen(file) : LB_INTERP_TEXT_BYTES);
	memcpy(r.name, name,
	       strlen(name) < LB_INTERP_TEXT_BYTES ? strlen(name) : LB_INTERP_TEXT_BYTES);
	r.table_bytes = (uint32_t)table_bytes;
	r.table_copied = (uint32_t)copied;
	memset(r.table, 0x80, copied);
	return head_bytes + copied;
}

static void assert_text(const struct interp_text *t, const char *expected, bool is_cut)
{
	assert_int_equal(t->len, strlen(expected));
	assert_memory_equal(t->bytes, expected, t->len);
	assert_int_equal(t->is_cut, is_cut);
}

static void test_texts_are_shared(void **state)
{
	struct interp_codes a = {0}, b = {0};
	struct interp_store_stats stats;
	const struct interp_code *code;
	size_t len;

	(void)state;
	len = make(1, "/srv/app.py", "f", 10);
	assert_int_equal(interp_codes_add(&a, s, &r, len), 0);
	len = make(2, "/srv/app.py", "g", 10);
	assert_int_equal(interp_codes_add(&a, s, &r, len), 0);
	len = make(1, "/srv/app.py", "f", 10);
	assert_int_equal(interp_codes_add(&b, s, &r, len), 0);

	stats = s->stats;
	assert_int_equal(stats.nr_texts, 4); /* file, f, g, table */
	code = interp_codes_find(&a, 1);
	assert_text(&code->file, "/srv/app.py", false);
	assert_text(&code->name, "f", false);
	assert_int_equal(code->table.len, 10);
	assert_int_equal(code->first_line, 7);
	assert_false(code->is_cut);
	assert_ptr_equal(interp_codes_find(&b, 1)->file.bytes, code->file.bytes);
	assert_ptr_equal(interp_codes_find(&a, 2)->file.bytes, code->file.bytes);
	assert_null(interp_codes_find(&b, 2));
	assert_null(interp_codes_find(&b, 1ULL << 42));

	/* Texts shared with the other image stay. */
	interp_codes_deinit(&a);
	stats = s->stats;
	assert_int_equal(stats.nr_texts, 3);
	assert_text(&interp_codes_find(&b, 1)->name, "f", false);
	interp_codes_deinit(&b);
	stats = s->stats;
	assert_int_equal(stats.nr_texts, 0);
	assert_int_equal(stats.nr_bytes, 0);
}

/* A user has a quarter of the bytes, and gives back what has gone. */
static void test_a_user_leaves_room_to_others(void **state)
{
	struct interp_codes other = {.tenant.uid = 1001};
	struct interp_codes same = {.tenant.uid = 1000};
	uint64_t nr;
	size_t len;

	(void)state;
	interp_store_free(s);
	interp_store_new(65536, &s);
	interp_store_share(s);
	c.tenant.uid = 1000;
	for (nr = 0; !c.nr_lost; nr++) {
		len = make(nr, "/srv/app.py", "f", 100);
		interp_codes_add(&c, s, &r, len);
	}
	assert_in_range(s->stats.nr_bytes, 65536 / 4 - 1000, 65536 / 4);
	len = make(nr, "/srv/other.py",
		   "a longer name than is left in its part of the room", 100);
	assert_int_equal(interp_codes_add(&same, s, &r, len), -ENOSPC);
	assert_int_equal(interp_codes_add(&other, s, &r, len), 0);
	/* Where all is used up, who has less than a quarter is refused, too. */
	assert_false(quota_met_full(&s->quota, other.tenant));
	s->max_bytes = s->stats.nr_bytes;
	len = make(1000, "/srv/third.py", "third", 100);
	assert_int_equal(interp_codes_add(&other, s, &r, len), -ENOSPC);
	assert_true(quota_met_full(&s->quota, other.tenant));
	s->max_bytes = 65536;
	len = make(nr, "/srv/other.py",
		   "a longer name than is left in its part of the room", 100);
	interp_codes_deinit(&c);
	assert_int_equal(interp_codes_add(&same, s, &r, len), 0);
	interp_codes_deinit(&same);
	interp_codes_deinit(&other);
	assert_int_equal(s->stats.nr_bytes, 0);
	assert_int_equal(s->quota.nr_accounts, 2); /* refusals that are not told yet */
}

static void refuse(size_t len)
{
	/* A copy of exact size, so that AddressSanitizer sees reads past its end. */
	_cleanup_free_ void *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, &r, len);
	assert_int_equal(interp_codes_add(&c, s, copy, len), -EINVAL);
	assert_int_equal(c.nr, 0);
	assert_int_equal(c.nr_lost, 0);
}

static void test_malformed(void **state)
{
	size_t len;

	(void)state;
	len = make(1, "a.py", "f", 100);
	refuse(len - 1); /* the table is truncated */
	refuse(0);
	refuse(head_bytes - 1);
	r.table_bytes = 99; /* more copied than its size */
	refuse(len);
	r.table_bytes = r.table_copied = LB_INTERP_TABLE_BYTES + 1;
	refuse(sizeof(r));
	r.table_copied = UINT32_MAX;
	refuse(sizeof(r));
	len = make(1ULL << LB_FRAME_ID_BITS, "a.py", "f", 100);
	refuse(len);
	len = make(1, "a.py", "f", 100);
	r.file_width = 3;
	refuse(len);
	r.file_width = 1;
	r.name_width = 8;
	refuse(len);
	/* Bytes after the table do not belong to it. */
	r.name_width = 1;
	assert_int_equal(interp_codes_add(&c, s, &r, sizeof(r)), 0);
	assert_int_equal(interp_codes_find(&c, 1)->table.len, 100);
}

static void test_wide_names(void **state)
{
	const struct interp_code *code;
	size_t len = make(1, "", "", 1);

	(void)state;
	r.file_width = 2;
	r.file_chars = 128;
	r.name_width = 4;
	r.name_chars = 0x40000001; /* times 4 it overflows to 4 */
	assert_int_equal(interp_codes_add(&c, s, &r, len), 0);
	code = interp_codes_find(&c, 1);
	assert_int_equal(code->file.len, 256);
	assert_int_equal(code->file.width, 2);
	assert_false(code->file.is_cut);
	assert_int_equal(code->name.len, 256);
	assert_true(code->name.is_cut);
	assert_true(code->is_cut);
	assert_int_equal(c.nr_cut, 1);
}

/* A name of 300 bytes: the first sample has 256, a later read has all. */
static void test_cut_is_completed(void **state)
{
	struct interp_code whole;
	char name[301] = "";
	uint8_t table[5000] = {0x80};
	size_t len;

	(void)state;
	memset(name, 'n', 300);
	len = make(1, "a.py", name, 5000);
	assert_int_equal(interp_codes_add(&c, s, &r, len), 0);
	assert_int_equal(c.nr_cut, 1);
	whole = *interp_codes_find(&c, 1);
	assert_int_equal(whole.table.len, LB_INTERP_TABLE_BYTES);
	assert_true(whole.name.is_cut && whole.table.is_cut && !whole.file.is_cut);

	whole.file = (struct interp_text){
		.bytes = (const uint8_t *)"b.py", .len = 4, .width = 1};
	whole.name = (struct interp_text){
		.bytes = (const uint8_t *)name, .len = 300, .width = 1};
	whole.table =
		(struct interp_text){.bytes = table, .len = sizeof(table), .width = 1};
	interp_codes_complete(&c, &whole);
	assert_int_equal(c.nr_cut, 0);
	assert_text(&interp_codes_find(&c, 1)->name, name, false);
	assert_text(&interp_codes_find(&c, 1)->file, "a.py", false); /* was complete */
	assert_int_equal(interp_codes_find(&c, 1)->table.len, sizeof(table));
	/* The kernel side's record comes again: the complete texts stay. */
	assert_int_equal(interp_codes_add(&c, s, &r, len), 0);
	assert_int_equal(interp_codes_find(&c, 1)->table.len, sizeof(table));
	assert_int_equal(c.nr, 1);
}

static void test_another_one_by_now(void **state)
{
	struct interp_code whole;
	size_t len = make(1, "a.py", "f", 5000);
	uint8_t table[5000] = {0};

	(void)state;
	assert_int_equal(interp_codes_add(&c, s, &r, len), 0);
	whole = *interp_codes_find(&c, 1);
	whole.first_line++;
	whole.table =
		(struct interp_text){.bytes = table, .len = sizeof(table), .width = 1};
	interp_codes_complete(&c, &whole);
	assert_true(interp_codes_find(&c, 1)->table.is_cut);
	assert_int_equal(c.nr_cut, 0); /* and is not read again */
	whole.code_id = 2;
	interp_codes_complete(&c, &whole); /* unknown id */
	interp_codes_give_up(&c, 3);
	assert_int_equal(c.nr, 1);
}

/* Names that could not be read the first time are added by the second read. */
static void test_unread_is_filled_in(void **state)
{
	size_t len = make(1, "a.py", "f", 0);

	(void)state;
	r.file_width = r.name_width = 0;
	r.table_bytes = LB_INTERP_NOT_READ;
	assert_int_equal(interp_codes_add(&c, s, &r, len), 0);
	assert_null(interp_codes_find(&c, 1)->file.bytes);
	assert_int_equal(c.nr_cut, 1);
	len = make(1, "a.py", "f", 8);
	assert_int_equal(interp_codes_add(&c, s, &r, len), 0);
	assert_text(&interp_codes_find(&c, 1)->file, "a.py", false);
	assert_int_equal(interp_codes_find(&c, 1)->table.len, 8);
	assert_int_equal(c.nr_cut, 0);
}

static void test_full(void **state)
{
	struct interp_store_stats stats;
	uint64_t nr_lost = 0;

	(void)state;
	interp_store_free(s);
	assert_int_equal(interp_store_new(100000, &s), 0);
	for (uint64_t id = 0; id < 1000; id++) {
		size_t len = make(id, "a.py", "f", 2000);

		r.table[0] = (uint8_t)id;
		r.table[1] = (uint8_t)(id >> 8);
		if (interp_codes_add(&c, s, &r, len) == -ENOSPC)
			nr_lost++;
	}
	stats = s->stats;
	assert_true(c.nr > 20 && c.nr < 100);
	assert_int_equal(c.nr + nr_lost, 1000);
	assert_int_equal(c.nr_lost, nr_lost);
	assert_true(stats.nr_bytes <= 100000);
	assert_int_equal(stats.nr_refused, nr_lost);
	assert_null(interp_codes_find(&c, 999));
	interp_codes_deinit(&c);
	stats = s->stats;
	assert_int_equal(stats.nr_bytes, 0);
	/* Ids and memory are free again. */
	for (uint64_t id = 0; id < 20; id++)
		assert_int_equal(interp_codes_add(&c, s, &r, make(id, "a.py", "f", 2000)),
				 0);
}

static void test_most_of_one_image(void **state)
{
	size_t len = make(0, "a.py", "f", 8);

	(void)state;
	interp_store_free(s);
	assert_int_equal(interp_store_new(1ULL << 30, &s), 0);
	for (uint64_t id = 0; id < INTERP_MAX_CODES + 3; id++) {
		r.code_id = id;
		assert_int_equal(interp_codes_add(&c, s, &r, len),
				 id < INTERP_MAX_CODES ? 0 : -ENOSPC);
	}
	assert_int_equal(c.nr, INTERP_MAX_CODES);
	assert_int_equal(c.nr_lost, 3);
}

/* CPython 3.9 has an empty table for code on one line, unlike an unread table. */
static void test_table_of_no_bytes_is_whole(void **state)
{
	size_t len;

	(void)state;
	len = make(1, "<string>", "<module>", 0);
	assert_int_equal(interp_codes_add(&c, s, &r, len), 0);
	assert_false(interp_codes_find(&c, 1)->is_cut);
	len = make(2, "<string>", "<module>", 0);
	r.table_bytes = LB_INTERP_NOT_READ;
	assert_int_equal(interp_codes_add(&c, s, &r, len), 0);
	assert_true(interp_codes_find(&c, 2)->table.is_cut);
	assert_int_equal(c.nr_cut, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_texts_are_shared, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_user_leaves_room_to_others, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_table_of_no_bytes_is_whole, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wide_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_is_completed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_one_by_now, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unread_is_filled_in, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_most_of_one_image, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
