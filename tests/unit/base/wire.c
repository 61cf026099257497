// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages from a worker, which an attacker may control. */
#include "base/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void test_round_trip(void **state)
{
	_cleanup_(wire_writer_deinit) struct wire_writer w = {0};
	struct wire_reader r;
	const char *s;
	size_t len;

	(void)state;
	wire_put_u8(&w, 0xfe);
	wire_put_u32(&w, 0x12345678);
	wire_put_u64(&w, 0x1122334455667788ULL);
	wire_put_str(&w, "name");
	wire_put_str(&w, NULL);
	wire_put_bytes(&w, "a\0b", 3);
	assert_false(w.failed);
	assert_int_equal(w.len, 1 + 4 + 8 + (4 + 4) + 4 + (4 + 3));
	/* Little-endian, without padding. */
	assert_memory_equal(
		w.data,
		"\xfe\x78\x56\x34\x12\x88\x77\x66\x55\x44\x33\x22\x11\x04\0\0\0name", 21);

	r = (struct wire_reader){.data = w.data, .len = w.len};
	assert_int_equal(wire_get_u8(&r), 0xfe);
	assert_int_equal(wire_get_u32(&r), 0x12345678);
	assert_int_equal(wire_get_u64(&r), 0x1122334455667788ULL);
	s = wire_get_str(&r, &len);
	assert_int_equal(len, 4);
	assert_memory_equal(s, "name", 4);
	s = wire_get_str(&r, &len);
	assert_int_equal(len, 0);
	s = wire_get_bytes(&r, &len);
	assert_int_equal(len, 3);
	assert_memory_equal(s, "a\0b", 3);
	assert_false(r.failed);
	assert_int_equal(r.pos, r.len);
}

/* Each get from a truncated message is right or fails, and all later ones fail. */
static void test_cut_anywhere(void **state)
{
	_cleanup_(wire_writer_deinit) struct wire_writer w = {0};

	(void)state;
	wire_put_u8(&w, 1);
	wire_put_u32(&w, 2);
	wire_put_u64(&w, 3);
	wire_put_str(&w, "text");
	for (size_t cut = 0; cut <= w.len; cut++) {
		/* Exact size, so that AddressSanitizer sees reads past the end. */
		_cleanup_free_ uint8_t *copy = malloc(cut ? cut : 1);
		struct wire_reader r = {.data = copy, .len = cut};
		const char *s;
		size_t len;

		memcpy(copy, w.data, cut);
		assert_int_equal(wire_get_u8(&r), cut >= 1 ? 1 : 0);
		assert_int_equal(wire_get_u32(&r), cut >= 5 ? 2 : 0);
		assert_int_equal(wire_get_u64(&r), cut >= 13 ? 3 : 0);
		s = wire_get_str(&r, &len);
		assert_non_null(s);
		assert_int_equal(len, cut == w.len ? 4 : 0);
		assert_int_equal(r.failed, cut != w.len);
		assert_true(r.pos <= r.len);
		if (cut != w.len) {
			assert_int_equal(wire_get_u8(&r), 0); /* with bytes left, too */
			assert_true(r.failed);
		}
	}
}

static void test_lying_length(void **state)
{
	static const uint8_t lies[][8] = {
		{0xff, 0xff, 0xff, 0xff, 'a', 'b', 'c', 'd'},
		{0x05, 0, 0, 0, 'a', 'b', 'c', 'd'},
		{0, 0, 0, 0x80, 'a', 'b', 'c', 'd'},
		{0xfc, 0xff, 0xff, 0xff, 'a', 'b', 'c', 'd'},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct wire_reader r = {.data = lies[i], .len = sizeof(lies[i])};
		size_t len = 99;

		assert_string_equal(wire_get_bytes(&r, &len), "");
		assert_int_equal(len, 0);
		assert_true(r.failed);
	}
}

static void test_string_with_nul(void **state)
{
	static const uint8_t data[] = {3, 0, 0, 0, 'a', 0, 'b', 7};
	struct wire_reader r = {.data = data, .len = sizeof(data)};
	size_t len = 99;

	(void)state;
	assert_string_equal(wire_get_str(&r, &len), "");
	assert_int_equal(len, 0);
	assert_true(r.failed);
	assert_int_equal(wire_get_u8(&r), 0);
}

static void test_nothing(void **state)
{
	struct wire_reader r = {0};
	size_t len;

	(void)state;
	assert_string_equal(wire_get_str(&r, &len), "");
	assert_true(r.failed);
}

static void test_writer_limit(void **state)
{
	_cleanup_(wire_writer_deinit) struct wire_writer w = {.max = 10};

	(void)state;
	wire_put_u64(&w, 1);
	assert_false(w.failed);
	wire_put_u8(&w, 2);
	wire_put_u8(&w, 3);
	assert_false(w.failed);
	assert_int_equal(w.len, 10);
	wire_put_u8(&w, 4);
	assert_true(w.failed);
	assert_int_equal(w.len, 10);
	/* After a failure nothing more is put, even if it would fit. */
	w.max = 100;
	wire_put_u8(&w, 5);
	assert_int_equal(w.len, 10);
	assert_true(w.cap <= 100);
	wire_writer_deinit(&w);
	assert_null(w.data);
	assert_false(w.failed);
}

static void test_writer_half_a_string(void **state)
{
	_cleanup_(wire_writer_deinit) struct wire_writer w = {.max = 6};

	(void)state;
	wire_put_str(&w, "abc"); /* the length fits, the text does not */
	assert_true(w.failed);
	wire_writer_deinit(&w);
	wire_put_bytes(&w, "", (size_t)UINT32_MAX + 1);
	assert_true(w.failed);
	assert_int_equal(w.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_lying_length),
		cmocka_unit_test(test_string_with_nul),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_writer_limit),
		cmocka_unit_test(test_writer_half_a_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
