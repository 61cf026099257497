// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of runtimes, and the encoding of frames in a stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "decode/python/build.h"
#include "lineburn.h"
#include "process/file.h"
#include "process/maps.h"
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

static struct target_file python_file(struct file_facts *facts, uint32_t version)
{
	struct python_build build = {.version = version, .runtime_off = 0x1000};
	struct runtime_facts *ours = &facts->runtimes[RUNTIME_PYTHON];

	*facts = (struct file_facts){.is_elf = true};
	ours->is_known = true;
	memcpy(ours->words, &build, sizeof(build));
	return (struct target_file){.fd = 0, .path = "/home/alice/notpy", .facts = facts};
}

/* Return: the version; 0: it is no interpreter for who maps it there. */
static uint32_t version_at(struct target_file *file, const char *path)
{
	const struct mapping m = {.path = path, .file = file};
	struct runtime_facts facts;
	struct python_build build;
	uint64_t again_ns = UINT64_MAX;

	if (!runtime_facts_of(RUNTIME_PYTHON, &m, NULL, (struct tenant){0}, &facts,
			      &again_ns))
		return 0;
	assert_int_equal(again_ns, UINT64_MAX);
	memcpy(&build, facts.words, sizeof(build));
	return build.version;
}

/* Alice has it under another name, and had it first. */
static void everybody_has_a_path_of_his_own(void **state)
{
	struct file_facts facts;
	struct target_file file = python_file(&facts, 0x030b);

	(void)state;
	assert_int_equal(version_at(&file, "/home/alice/notpy"), 0);
	assert_int_equal(version_at(&file, "/usr/bin/python3.9"), 0x030b);
	assert_int_equal(version_at(&file, "/home/alice/notpy"), 0);

	/* A version that only the name tells. */
	file = python_file(&facts, 0);
	assert_int_equal(version_at(&file, "/usr/bin/python3.9"), 0x0309);
	assert_int_equal(version_at(&file, "/usr/bin/python3.12"), 0x030c);
	assert_int_equal(version_at(&file, "/usr/bin/python3"), 0);

	facts.runtimes[RUNTIME_PYTHON].is_known = false;
	assert_int_equal(version_at(&file, "/usr/bin/python3.9"), 0);
}

/* It is known that it will be long: who can go on without does so. */
static void who_asks_is_told_when_to_ask_again(void **state)
{
	struct target_file file = {.fd = 0, .path = "/usr/bin/python3"};
	const struct mapping m = {.path = file.path, .file = &file};
	uint64_t until_ns = clock_now_ns() + 3600 * CLOCK_SECOND_NS, again_ns;
	struct runtime_facts facts;

	(void)state;
	file.inspect_from_ns = file.inspect_late.until_ns = until_ns;
	for (uint64_t i = 0; i < 3; i++) {
		again_ns = until_ns - 1 + i;
		assert_false(runtime_facts_of(RUNTIME_PYTHON, &m, NULL,
					      (struct tenant){0}, &facts, &again_ns));
		assert_int_equal(again_ns, i ? until_ns : until_ns - 1);
	}
	file.inspect_late.until_ns = 0; /* the decoder died, and was not late before */
	assert_false(runtime_facts_of(RUNTIME_PYTHON, &m, NULL, (struct tenant){0},
				      &facts, &again_ns));
	assert_int_equal(again_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_whole),
		cmocka_unit_test(a_frame_tells_its_runtime),
		cmocka_unit_test(everybody_has_a_path_of_his_own),
		cmocka_unit_test(who_asks_is_told_when_to_ask_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
