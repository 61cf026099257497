// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of runtimes, and the encoding of frames in a stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lineburn.h"
#include "runtime/runtime.h"

/* A runtime with frames of its own has all functions that they need. */
static void rows_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_RUNTIMES; i++) {
		const struct runtime *r = runtimes[i];

		assert_non_null(r->name);
		assert_int_equal(!r->name_frames, !r->locate);
		if (r->locate)
			assert_true(r->object && r->unit_bytes && r->recognise &&
				    r->facts_are_sane);
	}
}

static void a_frame_tells_its_runtime(void **state)
{
	const uint64_t largest_id = (1ULL << LB_FRAME_ID_BITS) - 1;
	const struct {
		uint32_t kind, index;
		uint64_t id;
	} cases[] = {
		{0, 0, 0},
		{RUNTIME_PYTHON, 0, 1},
		{RUNTIME_PYTHON, LB_FRAME_INDEX_UNKNOWN, largest_id},
		{7, 0, largest_id},
		{7, 12345, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t frame = LB_FRAME_OF(cases[i].kind, cases[i].id, cases[i].index);

		assert_true(frame & LB_FRAME_TAG);
		assert_int_equal(LB_FRAME_KIND(frame), cases[i].kind);
		assert_int_equal(LB_FRAME_ID(frame), cases[i].id);
		assert_int_equal(LB_FRAME_INDEX(frame), cases[i].index);
	}
	/* Values that are too large do not change neighbouring fields. */
	assert_int_equal(LB_FRAME_OF(8 + 1, largest_id + 3, LB_FRAME_INDEX_UNKNOWN + 5),
			 LB_FRAME_OF(1, 2, 4));
	assert_ptr_equal(runtime_of_frame(LB_FRAME_OF(RUNTIME_PYTHON, 1, 2)),
			 &python_runtime);
	assert_null(runtime_of_frame(LB_FRAME_OF(RUNTIME_JIT, 1, 2)));
	assert_null(runtime_of_frame(LB_FRAME_OF(7, 1, 2)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_whole),
		cmocka_unit_test(a_frame_tells_its_runtime),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
