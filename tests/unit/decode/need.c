// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "decode/need.h"

static struct need sample_need(void)
{
	struct need need = {
		.kind = NEED_DWO, .build_id = {1, 2, 3, 0xff}, .build_id_len = 4};

	strcpy(need.name, "a/b.dwo");
	strcpy(need.comp_dir, "/src");
	return need;
}

static void test_round_trip(void **state)
{
	struct need in = sample_need(), out;
	struct wire_writer w = {0};
	struct wire_reader r;

	(void)state;
	memset(in.name, 'x', sizeof(in.name) - 1); /* the longest that fits */
	need_put(&w, &in);
	r = (struct wire_reader){.data = w.data, .len = w.len};
	assert_int_equal(need_get(&r, &out), 0);
	assert_int_equal(r.pos, r.len);
	assert_int_equal(out.kind, NEED_DWO);
	assert_int_equal(out.build_id_len, 4);
	assert_memory_equal(out.build_id, in.build_id, 4);
	assert_string_equal(out.name, in.name);
	assert_string_equal(out.comp_dir, "/src");
	wire_writer_deinit(&w);
}

static void test_every_truncation_is_refused(void **state)
{
	struct need in = sample_need(), out;
	struct wire_writer w = {0};

	(void)state;
	need_put(&w, &in);
	for (size_t len = 0; len < w.len; len++) {
		struct wire_reader r = {.data = w.data, .len = len};

		assert_int_equal(need_get(&r, &out), -EBADMSG);
	}
	wire_writer_deinit(&w);
}

static int get_hand_made(uint32_t kind, size_t id_len, size_t name_len, int name_byte)
{
	static uint8_t bytes[8192];
	struct wire_writer w = {0};
	struct wire_reader r;
	struct need out;
	int err;

	wire_put_u32(&w, kind);
	memset(bytes, 0, sizeof(bytes));
	wire_put_bytes(&w, bytes, id_len);
	memset(bytes, name_byte, sizeof(bytes));
	wire_put_bytes(&w, bytes, name_len);
	wire_put_str(&w, "");
	r = (struct wire_reader){.data = w.data, .len = w.len};
	err = need_get(&r, &out);
	wire_writer_deinit(&w);
	return err;
}

static void test_hostile_fields_are_refused(void **state)
{
	(void)state;
	assert_int_equal(get_hand_made(NEED_DWP, 64, 4095, 'n'), 0);
	assert_int_equal(get_hand_made(NEED_DWP + 1, 64, 4095, 'n'), -EBADMSG);
	assert_int_equal(get_hand_made(UINT32_MAX, 64, 4095, 'n'), -EBADMSG);
	assert_int_equal(get_hand_made(NEED_DWP, 65, 4095, 'n'), -EBADMSG);
	assert_int_equal(get_hand_made(NEED_DWP, 64, 4096, 'n'), -EBADMSG);
	assert_int_equal(get_hand_made(NEED_DWP, 64, 3, '\0'), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_hostile_fields_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
