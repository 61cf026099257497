// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "collect/jit_assembly.h"

#define MIB (1u << 20)

/* The events that were delivered; objects' bytes are checked when they come. */
struct seen {
	struct jit_event evs[8192];
	bool whole[8192];
	size_t nr;
};

static uint8_t byte_at(uint64_t cookie, uint64_t offset)
{
	return (uint8_t)(cookie * 31 + offset * 7 + (offset >> 8));
}

/* Tests use entry_addr as the cookie. */
static void note(void *ctx, const struct jit_event *ev)
{
	struct seen *seen = ctx;
	const uint8_t *bytes = ev->object;

	assert_true(seen->nr < 8192);
	for (uint64_t i = 0; bytes && i < ev->size_bytes; i++)
		assert_int_equal(bytes[i], byte_at(ev->entry_addr, i));
	seen->whole[seen->nr] = bytes;
	seen->evs[seen->nr++] = *ev;
}

static void put(struct jit_assembly *a, struct seen *seen, uint32_t kind, uint64_t cookie,
		uint64_t size, uint32_t failed)
{
	struct lb_jit_record rec = {
		.kind = kind,
		.cookie = cookie,
		.entry_addr = cookie,
		.time_ns = cookie,
		.symfile_bytes = size,
		.failed = failed,
	};

	jit_assembly_take(a, &rec, sizeof(rec), note, seen);
}

static void put_chunk(struct jit_assembly *a, struct seen *seen, uint64_t cookie,
		      uint64_t offset, uint32_t len, size_t size)
{
	struct lb_jit_record *rec = calloc(1, sizeof(*rec) + LB_JIT_CHUNK_BYTES);

	assert_non_null(rec);
	rec->kind = LB_JIT_CHUNK;
	rec->cookie = cookie;
	rec->offset = offset;
	rec->len = len;
	for (uint32_t i = 0; i < len && i < LB_JIT_CHUNK_BYTES; i++)
		rec->data[i] = byte_at(cookie, offset + i);
	jit_assembly_take(a, rec, size, note, seen);
	free(rec);
}

static void put_whole_chunk(struct jit_assembly *a, struct seen *seen, uint64_t cookie,
			    uint64_t offset, uint32_t len)
{
	put_chunk(a, seen, cookie, offset, len, sizeof(struct lb_jit_record) + len);
}

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct seen));
	return !*state;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void objects_come_whole_in_order_of_completion(void **state)
{
	_cleanup_(jit_assembly_freep) struct jit_assembly *a = jit_assembly_new();
	struct seen *seen = *state;

	assert_non_null(a);
	put(a, seen, LB_JIT_REGISTER, 1, 3 * LB_JIT_CHUNK_BYTES + 5, 0);
	put_whole_chunk(a, seen, 1, 0, LB_JIT_CHUNK_BYTES);
	put(a, seen, LB_JIT_REGISTER, 2, 5000, 0);
	put_whole_chunk(a, seen, 1, LB_JIT_CHUNK_BYTES, LB_JIT_CHUNK_BYTES);
	put_chunk(a, seen, 2, 0, 5000, sizeof(struct lb_jit_record) + 8192);
	put_whole_chunk(a, seen, 1, 2 * LB_JIT_CHUNK_BYTES, LB_JIT_CHUNK_BYTES);
	put(a, seen, LB_JIT_UNREGISTER, 3, 77, 0);
	assert_int_equal(seen->nr, 2);
	put_whole_chunk(a, seen, 1, 3 * LB_JIT_CHUNK_BYTES, 5);
	assert_int_equal(seen->nr, 3);

	assert_int_equal(seen->evs[0].entry_addr, 2);
	assert_true(seen->whole[0]);
	assert_int_equal(seen->evs[1].entry_addr, 3);
	assert_int_equal(seen->evs[1].kind, LB_JIT_UNREGISTER);
	assert_false(seen->whole[1]);
	assert_int_equal(seen->evs[2].entry_addr, 1);
	assert_int_equal(seen->evs[2].time_ns, 1); /* the time of the call */
	assert_true(seen->whole[2]);
	assert_int_equal(jit_assembly_broken(a), 0);
}

static void failures_are_handed_over_at_once(void **state)
{
	_cleanup_(jit_assembly_freep) struct jit_assembly *a = jit_assembly_new();
	struct lb_jit_record end = {
		.kind = LB_JIT_CHUNK, .cookie = 2, .failed = LB_JIT_NO_ROOM};
	struct seen *seen = *state;

	put(a, seen, LB_JIT_REGISTER, 1, 100, LB_JIT_NOT_ELF);
	assert_int_equal(seen->nr, 1);
	assert_int_equal(seen->evs[0].failure, LB_JIT_NOT_ELF);
	assert_int_equal(jit_assembly_broken(a), 0); /* none was unfinished */

	put(a, seen, LB_JIT_REGISTER, 2, 20000, 0);
	put_whole_chunk(a, seen, 2, 0, LB_JIT_CHUNK_BYTES);
	jit_assembly_take(a, &end, sizeof(end), note, seen);
	assert_int_equal(seen->nr, 2);
	assert_int_equal(seen->evs[1].failure, LB_JIT_NO_ROOM);
	assert_false(seen->whole[1]);
	assert_int_equal(jit_assembly_broken(a), 1);
}

static void records_without_sense_do_no_harm(void **state)
{
	static const struct {
		uint64_t offset;
		uint32_t len;
		size_t size;
	} bad[] = {
		{0, 0, 80}, /* nothing in it */
		{0, 200, 80 + 100}, /* longer than the record */
		{0, UINT32_MAX, 80 + 8192}, /* longer than the record */
		{0, 6000, 80 + 8192}, /* longer than the object */
		{8, 5000, 80 + 8192}, /* a gap */
		{UINT64_MAX, 16, 80 + 16}, /* a gap */
	};
	_cleanup_(jit_assembly_freep) struct jit_assembly *a = jit_assembly_new();
	struct seen *seen = *state;
	struct lb_jit_record odd = {.kind = 99};

	jit_assembly_take(a, &odd, sizeof(odd), note, seen);
	odd.kind = LB_JIT_REGISTER;
	jit_assembly_take(a, &odd, sizeof(odd) - 1, note, seen);
	put_whole_chunk(a, seen, 7, 0, 16); /* of an object without a start record */
	assert_int_equal(seen->nr, 0);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		put(a, seen, LB_JIT_REGISTER, i, 5000, 0);
		put_chunk(a, seen, i, bad[i].offset, bad[i].len, bad[i].size);
		assert_int_equal(seen->nr, i + 1);
		assert_false(seen->whole[i]);
		assert_int_equal(jit_assembly_broken(a), i + 1);
		/* Later chunks of the object are ignored. */
		put_whole_chunk(a, seen, i, 0, 5000);
		assert_int_equal(seen->nr, i + 1);
	}
	/* Sizes that no probe sends are delivered at once. */
	put(a, seen, LB_JIT_REGISTER, 50, UINT64_MAX, 0);
	put(a, seen, LB_JIT_REGISTER, 51, 0, 0);
	assert_int_equal(seen->nr, ARRAY_SIZE(bad) + 2);
}

static void unfinished_objects_are_bounded(void **state)
{
	_cleanup_(jit_assembly_freep) struct jit_assembly *a = jit_assembly_new();
	struct seen *seen = *state;

	for (uint64_t i = 0; i < JIT_ASSEMBLY_MAX_OBJECTS; i++)
		put(a, seen, LB_JIT_REGISTER, i, 100, 0);
	assert_int_equal(seen->nr, 0);
	put(a, seen, LB_JIT_REGISTER, 5000, 100, 0);
	assert_int_equal(seen->nr, 1);
	assert_int_equal(seen->evs[0].entry_addr, 0);
	assert_false(seen->whole[0]);
	assert_int_equal(seen->evs[0].failure, LB_JIT_OK);
	put_whole_chunk(a, seen, 5000, 0, 100);
	assert_true(seen->whole[1]);
}

/* Objects of 16 MiB: four fit into 64 MiB. */
static void unfinished_bytes_are_bounded(void **state)
{
	_cleanup_(jit_assembly_freep) struct jit_assembly *a = jit_assembly_new();
	struct seen *seen = *state;

	for (uint64_t i = 1; i <= 4; i++) {
		put(a, seen, LB_JIT_REGISTER, i, 16 * MIB, 0);
		put_whole_chunk(a, seen, i, 0, LB_JIT_CHUNK_BYTES);
	}
	put(a, seen, LB_JIT_REGISTER, 5, 1 * MIB, 0);
	assert_int_equal(seen->nr, 0);
	put_whole_chunk(a, seen, 5, 0, LB_JIT_CHUNK_BYTES);
	assert_int_equal(seen->nr, 1);
	assert_int_equal(seen->evs[0].entry_addr, 1);
	assert_int_equal(jit_assembly_broken(a), 1);
	/* The other objects are completed. */
	for (uint64_t offset = LB_JIT_CHUNK_BYTES; offset < 16 * MIB;
	     offset += LB_JIT_CHUNK_BYTES)
		put_whole_chunk(a, seen, 4, offset, LB_JIT_CHUNK_BYTES);
	assert_int_equal(seen->nr, 2);
	assert_int_equal(seen->evs[1].entry_addr, 4);
	assert_true(seen->whole[1]);
}

static void patience_ends(void **state)
{
	_cleanup_(jit_assembly_freep) struct jit_assembly *a = jit_assembly_new();
	struct seen *seen = *state;

	put(a, seen, LB_JIT_REGISTER, 1000, 100, 0);
	put(a, seen, LB_JIT_REGISTER, 2000, 100, 0);
	jit_assembly_expire(a, 1000 + JIT_ASSEMBLY_PATIENCE_NS, note, seen);
	assert_int_equal(seen->nr, 0);
	jit_assembly_expire(a, 1001 + JIT_ASSEMBLY_PATIENCE_NS, note, seen);
	assert_int_equal(seen->nr, 1);
	assert_int_equal(seen->evs[0].entry_addr, 1000);
	assert_int_equal(jit_assembly_broken(a), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(objects_come_whole_in_order_of_completion,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(failures_are_handed_over_at_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(records_without_sense_do_no_harm, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(unfinished_objects_are_bounded, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(unfinished_bytes_are_bounded, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(patience_ends, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
