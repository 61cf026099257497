// SPDX-License-Identifier: GPL-2.0-or-later
/* CPython's debug offsets: real ones and invalid ones. */
#include "decode/python/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

/* _Py_DebugOffsets of 3.13.0, as far as lineburn uses it; all other bits are set. */
struct debug {
	uint64_t words[PYTHON_MAX_DEBUG_BYTES / 8];
};

static void set_debug(struct debug *d)
{
	static const struct {
		uint8_t word;
		uint16_t value;
	} known[] = {
		{2, 0},   {5, 632},  {8, 7264}, {9, 7344}, {20, 0},   {21, 8},
		{22, 16}, {23, 72},  {24, 152}, {29, 8},   {30, 0},   {31, 56},
		{33, 70}, {35, 112}, {36, 120}, {37, 128}, {38, 136}, {39, 68},
		{41, 96}, {42, 104}, {43, 200}, {65, 16},  {66, 32},  {68, 32},
		{69, 16}, {70, 40},
	};

	memset(d, 0xff, sizeof(*d));
	memcpy(d->words, "xdebugpy", 8);
	d->words[1] = 0x030d00f0;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		d->words[known[i].word] = known[i].value;
}

static void what_3_13_says(void **state)
{
	static const uint16_t identity[] = {16, 64, 112, 120, 128, 136, 96, 104};
	struct python_layout l;
	struct debug d;

	(void)state;
	set_debug(&d);
	assert_int_equal(python_debug_bytes(0x030d), 584);
	assert_true(python_layout_read(0x030d, &d, &l));
	assert_int_equal(l.frames.version, 0x030d);
	assert_int_equal(l.frames.link, LB_LINK_SHIM);
	assert_int_equal(l.frames.ts_frame, 72);
	assert_int_equal(l.frames.frame_ip, 56);
	assert_int_equal(l.frames.frame_owner, 70);
	assert_int_equal(l.frames.frame_bytes, 72);
	assert_int_equal(l.frames.code_bytecode, 200);
	assert_int_equal(l.frames.code_bytes, 144);
	assert_int_equal(l.frames.str_wide, 56);
	assert_memory_equal(l.frames.code_identity, identity, sizeof(identity));
	assert_int_equal(l.lists.runtime_interpreters, 632);
	assert_int_equal(l.lists.thread_id, 152);
}

static void builds_that_are_not_known(void **state)
{
	struct python_layout l;
	struct debug d;

	(void)state;
	set_debug(&d);
	d.words[1] = 0x030d00b2; /* beta */
	assert_false(python_layout_read(0x030d, &d, &l));
	d.words[1] = 0x030d00c2; /* a release candidate */
	assert_true(python_layout_read(0x030d, &d, &l));
	d.words[1] = 0x030e00f0;
	assert_false(python_layout_read(0x030d, &d, &l));
	set_debug(&d);
	d.words[0]++;
	assert_false(python_layout_read(0x030d, &d, &l));
	set_debug(&d);
	d.words[2] = 1; /* free-threaded */
	assert_true(python_layout_read(0x030d, &d, &l));
	d.words[2] = 2;
	assert_false(python_layout_read(0x030d, &d, &l));
	assert_false(python_layout_read(0x030c, &d, &l));
	assert_false(python_layout_read(0x0310, &d, &l));
	assert_int_equal(python_debug_bytes(0x030c), 0);
	assert_int_equal(python_debug_bytes(0x0310), 0);
}

static void without_the_gil_from_3_14_on(void **state)
{
	struct python_layout l;
	struct debug d;

	(void)state;
	memset(&d, 0, sizeof(d));
	memcpy(d.words, "xdebugpy", 8);
	d.words[1] = 0x030e0af0;
	assert_true(python_layout_read(0x030e, &d, &l));
	d.words[2] = 1;
	assert_false(python_layout_read(0x030e, &d, &l));
}

/* Each word with each of these values: refused, or within bounds. */
static void offsets_that_lie(void **state)
{
	static const uint64_t lies[] = {7,       88,  96,         105,       112,
					248,     249, 0xffef,     0xfff0,    0xffff,
					0x10000, 1,   1ULL << 63, UINT64_MAX};
	struct python_layout l;
	struct debug d;

	(void)state;
	for (size_t word = 3; word < 584 / 8; word++)
		for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
			set_debug(&d);
			d.words[word] = lies[i];
			if (!python_layout_read(0x030d, &d, &l))
				continue;
			assert_true(python_layout_is_sane(&l.frames));
			assert_true(l.frames.frame_bytes <= LB_INTERP_FRAME_BYTES);
			assert_true(l.frames.frame_code + 8 <= LB_INTERP_FRAME_BYTES);
			assert_true(l.frames.frame_owner + 8 <= LB_INTERP_FRAME_BYTES);
			assert_true(l.frames.code_linetable + 8 <= LB_INTERP_CODE_BYTES);
			assert_true(l.frames.code_firstlineno + 8 <=
				    LB_INTERP_CODE_BYTES);
		}
	set_debug(&d);
	d.words[38] = 249;
	assert_false(python_layout_read(0x030d, &d, &l));
	d.words[38] = 0x10000 + 136;
	assert_false(python_layout_read(0x030d, &d, &l));
}

static void layouts_of_the_table(void **state)
{
	(void)state;
	for (uint32_t version = 0x0309; version <= 0x030c; version++) {
		const struct python_layout *l = python_layout_find(version);

		assert_non_null(l);
		assert_int_equal(l->frames.version, version);
		assert_true(python_layout_is_sane(&l->frames));
		for (size_t i = 0; i < LB_INTERP_IDENTITY_WORDS; i++)
			assert_int_equal(l->frames.code_identity[i] % 8, 0);
	}
	assert_null(python_layout_find(0x0308));
	assert_null(python_layout_find(0x030d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_3_13_says),
		cmocka_unit_test(builds_that_are_not_known),
		cmocka_unit_test(without_the_gil_from_3_14_on),
		cmocka_unit_test(offsets_that_lie),
		cmocka_unit_test(layouts_of_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
