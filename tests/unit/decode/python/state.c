// SPDX-License-Identifier: GPL-2.0-or-later
/* Thread states of a hand-made process, word by word. */
#include "decode/python/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"

/* ---- a process: regions of memory with gaps between them ---- */

#define RUNTIME      0x400000ULL
#define INTERPRETER  0x500000ULL
#define STATE(i)     (0x600000ULL + (i)*0x1000)
#define THREAD(i)    (0x7f0000004000ULL + (i)*0x100000)
#define TABLE(i)     (0x7e0000000000ULL + (i)*0x1000)
#define REGION_BYTES 0x1000
#define MAX_REGIONS  400

struct region {
	uint64_t addr;
	uint8_t *bytes;
};

struct process {
	struct region regions[MAX_REGIONS];
	size_t nr;
	size_t nr_reads, max_reads; /* read max_reads + 1 times out; 0: no limit */
};

static void put(struct process *p, uint64_t addr, uint64_t word)
{
	uint64_t start = addr & ~(uint64_t)(REGION_BYTES - 1);
	size_t i = 0;

	while (i < p->nr && p->regions[i].addr != start)
		i++;
	if (i == p->nr) {
		assert_true(p->nr < MAX_REGIONS);
		p->regions[p->nr].addr = start;
		p->regions[p->nr].bytes = calloc(1, REGION_BYTES);
		assert_non_null(p->regions[p->nr++].bytes);
	}
	memcpy(p->regions[i].bytes + (addr - start), &word, sizeof(word));
}

static const struct region *find_region(const struct process *p, uint64_t addr)
{
	for (size_t i = 0; i < p->nr; i++)
		if (addr - p->regions[i].addr < REGION_BYTES)
			return &p->regions[i];
	return NULL;
}

static ssize_t read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct process *p = ctx;
	size_t done = 0;

	if (p->max_reads && ++p->nr_reads > p->max_reads)
		return -ETIME;
	while (done < len) {
		const struct region *r = find_region(p, addr + done);
		size_t off, n;

		if (!r)
			break;
		off = (size_t)(addr + done - r->addr);
		n = REGION_BYTES - off < len - done ? REGION_BYTES - off : len - done;
		memcpy((uint8_t *)buf + done, r->bytes + off, n);
		done += n;
	}
	return done ? (ssize_t)done : -EFAULT;
}

static int set_up(void **state)
{
	static struct process p;

	memset(&p, 0, sizeof(p));
	*state = &p;
	return 0;
}

static int tear_down(void **state)
{
	struct process *p = *state;

	for (size_t i = 0; i < p->nr; i++)
		free(p->regions[i].bytes);
	return 0;
}

/* ---- CPython 3.11 in the process ---- */

enum {
	RUNTIME_INTERPRETERS = 40,
	INTERPRETER_NEXT = 0,
	INTERPRETER_THREADS = 16,
	STATE_PREV = 0,
	STATE_NEXT = 8,
	STATE_INTERPRETER = 16,
	STATE_THREAD_ID = 152,
};

#define SLOT 0x318 /* where glibc stores key 0 */

static void add_interpreter(struct process *p)
{
	put(p, RUNTIME + RUNTIME_INTERPRETERS, INTERPRETER);
	put(p, INTERPRETER + INTERPRETER_NEXT, 0);
}

/* The newest is first, as in CPython. */
static void add_state(struct process *p, unsigned int i)
{
	put(p, STATE(i) + STATE_NEXT, i ? STATE(i - 1) : 0);
	if (i)
		put(p, STATE(i - 1) + STATE_PREV, STATE(i));
	put(p, STATE(i) + STATE_INTERPRETER, INTERPRETER);
	put(p, STATE(i) + STATE_THREAD_ID, THREAD(i));
	put(p, INTERPRETER + INTERPRETER_THREADS, STATE(i));
	put(p, THREAD(i), THREAD(i));
}

static enum locate_result search(struct process *p, uint32_t version,
				 struct python_state_found *ret)
{
	const struct python_search s = {.version = version,
					.runtime_addr = RUNTIME,
					.read = read_memory,
					.ctx = p};

	memset(ret, 0, sizeof(*ret));
	return python_state_search(&s, ret);
}

static enum locate_result search_3_11(struct process *p, struct python_state_found *ret)
{
	return search(p, 0x030b, ret);
}

/* ---- tests ---- */

static void slots_of_three_threads(void **state)
{
	struct process *p = *state;
	struct python_state_found found;

	add_interpreter(p);
	for (unsigned int i = 0; i < 3; i++) {
		add_state(p, i);
		put(p, THREAD(i) + SLOT, STATE(i));
	}
	put(p, THREAD(1) + 0x100, STATE(1)); /* equal by chance */
	assert_int_equal(search_3_11(p, &found), LOCATE_FOUND);
	assert_int_equal(found.tls_off, SLOT);
	assert_int_equal(found.nr_threads, 3);
	assert_int_equal(found.nr_candidates, 1);
	assert_int_equal(found.layout.version, 0x030b);
	assert_int_equal(found.layout.ts_is_in_table, 0);
}

/* The thread's memory begins a few words below its pointer, and is small. */
static void little_memory_around_a_thread(void **state)
{
	struct process *p = *state;
	struct python_state_found found;
	const uint64_t thread = 0x7f0000000010;

	add_interpreter(p);
	add_state(p, 0);
	put(p, STATE(0) + STATE_THREAD_ID, thread);
	put(p, thread, thread);
	put(p, thread + SLOT, STATE(0));
	assert_int_equal(search_3_11(p, &found), LOCATE_FOUND);
	assert_int_equal(found.tls_off, SLOT);
}

static void variables_are_taken_where_they_last(void **state)
{
	struct process *p = *state;
	struct python_state_found found;

	add_interpreter(p);
	for (unsigned int i = 0; i < 2; i++) {
		add_state(p, i);
		put(p, THREAD(i) - 0x28, STATE(i));
		put(p, THREAD(i) - 0x800, STATE(i)); /* on its stack */
	}
	assert_int_equal(search_3_11(p, &found), LOCATE_NOT_YET);
}

static void a_thread_that_has_none_yet(void **state)
{
	struct process *p = *state;
	struct python_state_found found;

	add_interpreter(p);
	for (unsigned int i = 0; i < 4; i++) {
		add_state(p, i);
		put(p, THREAD(i) + SLOT, i == 3 ? 0 : STATE(i));
	}
	assert_int_equal(search_3_11(p, &found), LOCATE_FOUND);
	assert_int_equal(found.tls_off, SLOT);
}

static void a_thread_with_a_state_that_another_made(void **state)
{
	struct process *p = *state;
	struct python_state_found found;

	add_interpreter(p);
	for (unsigned int i = 0; i < 3; i++) {
		add_state(p, i);
		put(p, THREAD(i) + SLOT, STATE(i));
	}
	put(p, THREAD(2) + SLOT, STATE(0));
	assert_int_equal(search_3_11(p, &found), LOCATE_FOUND);
	assert_int_equal(found.tls_off, SLOT);
}

/* As in musl: not near the thread pointer, but in a table that each thread has. */
static void slots_in_tables(void **state)
{
	struct process *p = *state;
	struct python_state_found found;

	add_interpreter(p);
	for (unsigned int i = 0; i < 3; i++) {
		add_state(p, i);
		put(p, THREAD(i) + 0x10, TABLE(7)); /* shared by all threads */
		put(p, THREAD(i) + 0x80, TABLE(i));
		put(p, TABLE(i) + 0x18, STATE(i));
	}
	put(p, TABLE(7), STATE(0));
	assert_int_equal(search_3_11(p, &found), LOCATE_FOUND);
	assert_int_equal(found.tls_off, 0x80);
	assert_int_equal(found.layout.ts_is_in_table, 1);
	assert_int_equal(found.layout.ts_table_off, 0x18);
}

static void nothing_is_there_yet(void **state)
{
	struct process *p = *state;
	struct python_state_found found;

	put(p, RUNTIME + RUNTIME_INTERPRETERS, 0);
	assert_int_equal(search_3_11(p, &found), LOCATE_NOT_YET);
	add_interpreter(p);
	put(p, INTERPRETER + INTERPRETER_THREADS, 0);
	assert_int_equal(search_3_11(p, &found), LOCATE_NOT_YET);
	put(p, INTERPRETER + INTERPRETER_THREADS, 0xdead0000);
	assert_int_equal(search_3_11(p, &found), LOCATE_NOT_YET);
	add_state(p, 0);
	put(p, STATE(0) + STATE_THREAD_ID, 0);
	assert_int_equal(search_3_11(p, &found), LOCATE_NOT_YET);
	put(p, STATE(0) + STATE_THREAD_ID, THREAD(1)); /* the thread is gone */
	assert_int_equal(search_3_11(p, &found), LOCATE_NOT_YET);
}

static void versions_that_are_not_known(void **state)
{
	struct process *p = *state;
	struct python_state_found found;

	assert_int_equal(search_3_11(p, &found), LOCATE_UNKNOWN); /* no memory */
	add_interpreter(p);
	assert_int_equal(search(p, 0x0308, &found), LOCATE_UNKNOWN);
	assert_int_equal(search(p, 0x030d, &found), LOCATE_UNKNOWN); /* no cookie */
	assert_int_equal(search(p, 0x0310, &found), LOCATE_UNKNOWN);
}

static void lists_that_loop(void **state)
{
	struct process *p = *state;
	struct python_state_found found;

	add_interpreter(p);
	put(p, INTERPRETER + INTERPRETER_NEXT, INTERPRETER);
	add_state(p, 0);
	put(p, STATE(0) + STATE_PREV, STATE(0));
	put(p, STATE(0) + STATE_NEXT, STATE(0));
	put(p, THREAD(0) + SLOT, STATE(0));
	assert_int_equal(search_3_11(p, &found), LOCATE_FOUND);
	assert_int_equal(found.nr_threads, 1);
	put(p, THREAD(0) + SLOT, 0);
	assert_int_equal(search_3_11(p, &found), LOCATE_NOT_YET);
}

/* The next state is invalid: the few before it are not enough. */
static void a_list_that_is_cut_short(void **state)
{
	struct process *p = *state;
	struct python_state_found found;

	add_interpreter(p);
	for (unsigned int i = 0; i < 6; i++) {
		add_state(p, i);
		put(p, THREAD(i) + SLOT, STATE(i));
	}
	put(p, STATE(4) + STATE_INTERPRETER, 0x1234);
	assert_int_equal(search_3_11(p, &found), LOCATE_NOT_YET);
	put(p, STATE(4) + STATE_INTERPRETER, INTERPRETER);
	put(p, STATE(0) + STATE_PREV, STATE(2));
	assert_int_equal(search_3_11(p, &found), LOCATE_FOUND);
	assert_int_equal(found.nr_threads, 5);
}

/* If there are more threads than the maximum, the oldest are searched. */
static void a_hundred_threads(void **state)
{
	struct process *p = *state;
	struct python_state_found found;

	add_interpreter(p);
	for (unsigned int i = 0; i < 100; i++) {
		add_state(p, i);
		put(p, THREAD(i) + SLOT, i < PYTHON_MAX_THREADS ? STATE(i) : 1);
	}
	assert_int_equal(search_3_11(p, &found), LOCATE_FOUND);
	assert_int_equal(found.tls_off, SLOT);
	assert_int_equal(found.nr_threads, PYTHON_MAX_THREADS);
}

/* Whichever read times out, there is no answer or the right one. */
static void memory_that_is_slow(void **state)
{
	struct process *p = *state;
	struct python_state_found found;
	enum locate_result result;

	add_interpreter(p);
	for (unsigned int i = 0; i < 3; i++) {
		add_state(p, i);
		put(p, THREAD(i) + SLOT, STATE(i));
	}
	for (p->max_reads = 1; p->max_reads < 100; p->max_reads++) {
		p->nr_reads = 0;
		result = search_3_11(p, &found);
		if (p->max_reads < 6)
			assert_int_equal(result, LOCATE_NO_ANSWER);
		else if (result == LOCATE_FOUND)
			assert_int_equal(found.tls_off, SLOT);
	}
	assert_int_equal(result, LOCATE_FOUND);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(slots_of_three_threads),
		TEST(little_memory_around_a_thread),
		TEST(variables_are_taken_where_they_last),
		TEST(a_thread_that_has_none_yet),
		TEST(a_thread_with_a_state_that_another_made),
		TEST(slots_in_tables),
		TEST(nothing_is_there_yet),
		TEST(versions_that_are_not_known),
		TEST(lists_that_loop),
		TEST(a_list_that_is_cut_short),
		TEST(a_hundred_threads),
		TEST(memory_that_is_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
