// SPDX-License-Identifier: GPL-2.0-or-later
/* Which samples are merged into one row, and what a row keeps. */
#include "record/stack_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const __u64 user_ips[] = {0x1000, 0x2000, 0x3000};
static const __u64 kern_ips[] = {0xffffffff81000000, 0xffffffff82000000};

static struct sample one(void)
{
	return (struct sample){
		.start_boottime_ns = 1,
		.tgid = 100,
		.exec_id = 1,
		.status = LB_STACK_COMPLETE,
		.count = 3,
		.source = LB_SOURCE_PAGE_FAULTS,
		.values = {31},
		.first_ns = 1000,
		.last_ns = 2000,
		.comm = "worker-7",
		.tid = 107,
		.cgroup_id = 4242,
		.uid = 1000,
		.has_uid = true,
		.user_hash = 0xaaaa,
		.kern_hash = 0xbbbb,
		.user_ips = user_ips,
		.kern_ips = kern_ips,
		.user_leaf_is_return = true,
		.nr_user = 3,
		.nr_kern = 2,
	};
}

static void test_row(void **state)
{
	struct stack_table rows = {0};
	struct process process = {0};
	struct sample s = one();
	const struct row_stack *stack;

	(void)state;
	stack_table_add(&rows, &s, &process, NULL, 9);
	assert_int_equal(rows.nr, 1);
	assert_int_equal(rows.nr_samples, 3);
	assert_ptr_equal(rows.items[0].process, &process);
	assert_int_equal(rows.items[0].count, 3);
	assert_int_equal(rows.items[0].values[0], 31);
	assert_int_equal(rows.items[0].source, LB_SOURCE_PAGE_FAULTS);
	assert_int_equal(rows.items[0].epoch, 9);
	assert_int_equal(rows.items[0].tgid, 100);
	assert_int_equal(rows.items[0].exec_id, 1);
	assert_int_equal(rows.items[0].status, LB_STACK_COMPLETE);
	stack = stack_table_stack(&rows, &rows.items[0]);
	assert_string_equal(stack->comm, "worker-7");
	assert_int_equal(stack->cgroup_id, 4242);
	assert_int_equal(stack->tid, 107);
	assert_true(stack->has_uid);
	assert_int_equal(stack->uid, 1000);
	assert_true(stack->user_leaf_is_return);
	assert_int_equal(stack->nr_user, 3);
	assert_int_equal(stack->nr_kern, 2);
	assert_memory_equal(stack->ips, user_ips, sizeof(user_ips));
	assert_memory_equal(stack->ips + 3, kern_ips, sizeof(kern_ips));
	stack_table_clear(&rows);
}

/* The same stack in later drains: one row for the whole time, in any order. */
static void test_merges(void **state)
{
	struct stack_table rows = {0};
	struct process process = {0};
	struct sample s = one();
	size_t words;

	(void)state;
	stack_table_add(&rows, &s, &process, NULL, 9);
	words = rows.nr_words;
	s.first_ns = 5000;
	s.last_ns = 6000;
	s.count = 4;
	stack_table_add(&rows, &s, &process, NULL, 9);
	s.first_ns = 500;
	s.last_ns = 700;
	s.count = 1;
	stack_table_add(&rows, &s, &process, NULL, 9);
	assert_int_equal(rows.nr, 1);
	assert_int_equal(rows.nr_words, words);
	assert_int_equal(rows.items[0].count, 8);
	assert_int_equal(rows.items[0].values[0], 3 * 31);
	assert_int_equal(rows.items[0].first_ns, 500);
	assert_int_equal(rows.items[0].last_ns, 6000);
	assert_int_equal(rows.nr_samples, 8);
	stack_table_clear(&rows);
}

/* Each of these differences makes another row. Stacks with equal hashes are shared. */
static void test_distinguishes(void **state)
{
	struct stack_table rows = {0};
	struct process process = {0}, other = {0};
	struct sample s = one();
	size_t words;

	(void)state;
	stack_table_add(&rows, &s, &process, NULL, 9);
	words = rows.nr_words;

	stack_table_add(&rows, &s, &process, NULL, 10);
	assert_int_equal(rows.nr, 2);
	stack_table_add(&rows, &s, &other, NULL, 9);
	assert_int_equal(rows.nr, 3);
	stack_table_add(&rows, &s, NULL, NULL, 9);
	assert_int_equal(rows.nr, 4);
	s.tgid = 101;
	stack_table_add(&rows, &s, NULL, NULL, 9);
	assert_int_equal(rows.nr, 5);
	s.exec_id = 2;
	stack_table_add(&rows, &s, NULL, NULL, 9);
	assert_int_equal(rows.nr, 6);
	s.status = LB_STACK_FAULT;
	stack_table_add(&rows, &s, NULL, NULL, 9);
	assert_int_equal(rows.nr, 7);
	s.source = LB_SOURCE_CPU_CLOCK;
	stack_table_add(&rows, &s, NULL, NULL, 9);
	assert_int_equal(rows.nr, 8);
	assert_int_equal(rows.nr_words, words);

	s.user_hash++;
	stack_table_add(&rows, &s, NULL, NULL, 9);
	assert_int_equal(rows.nr, 9);
	assert_true(rows.nr_words > words);
	words = rows.nr_words;
	s.kern_hash++;
	stack_table_add(&rows, &s, NULL, NULL, 9);
	assert_int_equal(rows.nr, 10);
	assert_true(rows.nr_words > words);
	for (size_t i = 0; i < rows.nr; i++)
		assert_int_equal(rows.items[i].count, 3);
	assert_int_equal(rows.nr_samples, 30);
	stack_table_clear(&rows);
}

/*
 * Without a body the hashes are the two leaf addresses. An address may equal the hash
 * of a real stack, whose frames must not be used.
 */
static void test_no_body(void **state)
{
	struct stack_table rows = {0};
	struct sample s = one();
	__u64 leaf = s.user_hash, kern_leaf = s.kern_hash;
	const struct row_stack *stack;

	(void)state;
	stack_table_add(&rows, &s, NULL, NULL, 0);
	s.status = LB_STACK_NO_BODY;
	s.comm = NULL;
	s.user_ips = &leaf;
	s.kern_ips = &kern_leaf;
	s.nr_user = s.nr_kern = 1;
	s.user_leaf_is_return = false;
	stack_table_add(&rows, &s, NULL, NULL, 0);
	assert_int_equal(rows.nr, 2);
	stack = stack_table_stack(&rows, &rows.items[1]);
	assert_int_equal(stack->nr_user, 1);
	assert_int_equal(stack->nr_kern, 1);
	assert_int_equal(stack->ips[0], leaf);
	assert_int_equal(stack->ips[1], kern_leaf);
	assert_string_equal(stack->comm, "");
	stack = stack_table_stack(&rows, &rows.items[0]);
	assert_int_equal(stack->nr_user, 3);
	stack_table_clear(&rows);
}

static void test_empty_stacks(void **state)
{
	struct stack_table rows = {0};
	struct sample s = one();
	const struct row_stack *stack;

	(void)state;
	s.status = LB_STACK_NO_USER;
	s.user_hash = s.kern_hash = 0;
	s.user_ips = s.kern_ips = NULL;
	s.nr_user = s.nr_kern = 0;
	s.comm = "a name as long as there is none";
	stack_table_add(&rows, &s, NULL, NULL, 0);
	stack = stack_table_stack(&rows, &rows.items[0]);
	assert_int_equal(stack->nr_user + stack->nr_kern, 0);
	assert_int_equal(strlen(stack->comm), sizeof(stack->comm) - 1);
	stack_table_clear(&rows);
}

/* Rows have offsets, not pointers: they stay valid while the arrays move. */
static void test_many(void **state)
{
	enum {
		NR = 40000
	};
	struct stack_table rows = {0};
	struct sample s = one();
	__u64 ips[3];

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		for (uint64_t i = 0; i < NR; i++) {
			ips[0] = ips[1] = ips[2] = i;
			s.user_ips = ips;
			s.user_hash = i * 0x9e3779b97f4a7c15ULL;
			stack_table_add(&rows, &s, NULL, NULL, 0);
		}
	}
	assert_int_equal(rows.nr, NR);
	for (uint64_t i = 0; i < NR; i++) {
		const struct row_stack *stack = stack_table_stack(&rows, &rows.items[i]);

		assert_int_equal(rows.items[i].count, 6);
		assert_int_equal(stack->ips[0], i);
		assert_int_equal(stack->ips[2], i);
		assert_int_equal(stack->ips[4], kern_ips[1]);
	}
	assert_int_equal(rows.nr_dropped, 0);
	assert_false(stack_table_is_full(&rows));
	stack_table_clear(&rows);
}

/* In a full table new rows are counted as dropped; existing rows still merge. */
static void test_limit(void **state)
{
	struct stack_table rows = {0};
	struct sample s = one();
	bool ok = true;

	(void)state;
	s.nr_user = s.nr_kern = 0;
	s.count = 1;
	for (uint64_t i = 0; i < 2 * STACK_TABLE_MAX_ROWS + 10; i++) {
		s.tgid = (uint32_t)i; /* same stack, many processes */
		ok &= stack_table_is_full(&rows) == (i >= STACK_TABLE_MAX_ROWS);
		stack_table_add(&rows, &s, NULL, NULL, 0);
	}
	assert_true(ok);
	assert_int_equal(rows.nr, 2 * STACK_TABLE_MAX_ROWS);
	assert_int_equal(rows.nr_dropped, 10);
	assert_int_equal(rows.nr_samples, 2 * STACK_TABLE_MAX_ROWS);
	s.tgid = 5;
	stack_table_add(&rows, &s, NULL, NULL, 0);
	assert_int_equal(rows.nr_dropped, 10);
	assert_int_equal(rows.items[5].count, 2);

	stack_table_clear(&rows);
	assert_int_equal(rows.nr, 0);
	assert_int_equal(rows.nr_words, 0);
	assert_int_equal(rows.nr_dropped, 10);
	assert_int_equal(rows.nr_samples, 2 * STACK_TABLE_MAX_ROWS + 1);
	assert_false(stack_table_is_full(&rows));
	stack_table_add(&rows, &s, NULL, NULL, 0);
	assert_int_equal(rows.items[0].count, 1);
	stack_table_clear(&rows);
}

/* While a file is written, existing rows grow; other samples are counted as dropped. */
static void test_limit_of_bytes(void **state)
{
	struct stack_table rows = {.max_bytes = 1 << 20};
	struct sample s = one();
	size_t nr;

	(void)state;
	s.count = 1;
	for (uint64_t i = 0; i < 100000; i++) {
		s.user_hash = i;
		stack_table_add(&rows, &s, NULL, NULL, 0);
	}
	nr = rows.nr;
	assert_in_range(nr, 1000, (1 << 20) / sizeof(struct row));
	assert_true(rows.nr_words * 8 < (1 << 20) + 4096);
	assert_int_equal(rows.nr_dropped, 100000 - nr);
	assert_int_equal(rows.nr_samples, nr);
	s.user_hash = 5;
	stack_table_add(&rows, &s, NULL, NULL, 0);
	assert_int_equal(rows.items[5].count, 2);
	assert_int_equal(rows.nr_dropped, 100000 - nr);
	rows.max_bytes = 0;
	s.user_hash = 100000;
	stack_table_add(&rows, &s, NULL, NULL, 0);
	assert_int_equal(rows.nr, nr + 1);
	stack_table_clear(&rows);
}

/* Returns how many samples a row has in a bucket of SERIES_FIRST_NS. */
static uint64_t count_in(const struct stack_table *rows, uint32_t bucket)
{
	uint64_t count = 0;

	for (uint32_t n = rows->items[0].times.first; n;
	     n = rows->times.points[n - 1].next)
		if (rows->times.points[n - 1].bucket == bucket)
			count += rows->times.points[n - 1].count;
	return count;
}

static void test_times_are_spread(void **state)
{
	const uint64_t from_ns = 50 * UINT64_C(100000000) + 1000;
	struct stack_table rows = {0};
	struct process process = {0};
	struct sample s = one();

	(void)state;
	/* A second with 25 samples, which begins just after a bucket does. */
	s.count = 25;
	s.first_ns = from_ns;
	s.last_ns = from_ns + 1000000000;
	stack_table_add(&rows, &s, &process, NULL, 9);
	/* The first and the last where they are, 23 others between them. */
	for (uint32_t i = 50; i <= 60; i++)
		assert_int_equal(count_in(&rows, i), i == 50  ? 1 + 3
						     : i < 53 ? 3
						     : i < 60 ? 2
							      : 1);
	assert_int_equal(rows.nr_samples, 25);
	/* Two are at the first and the last time, one is where it is. */
	s.count = 2;
	s.first_ns += 2000000000;
	s.last_ns += 2000000000;
	stack_table_add(&rows, &s, &process, NULL, 9);
	assert_int_equal(count_in(&rows, 70), 1);
	assert_int_equal(count_in(&rows, 80), 1);
	s.count = 1;
	s.first_ns = s.last_ns = from_ns + 4000000000;
	stack_table_add(&rows, &s, &process, NULL, 9);
	assert_int_equal(count_in(&rows, 90), 1);
	s.count = 3;
	s.first_ns = from_ns + 5000000000;
	s.last_ns = from_ns + 6000000000;
	stack_table_add(&rows, &s, &process, NULL, 9);
	assert_int_equal(count_in(&rows, 100), 1);
	assert_int_equal(count_in(&rows, 105), 1);
	assert_int_equal(count_in(&rows, 110), 1);
	/* No time is before the first or after the last one, and none is lost. */
	assert_int_equal(rows.nr, 1);
	for (uint32_t i = 50; i <= 110; i++)
		s.count += count_in(&rows, i);
	assert_int_equal(s.count, 3 + 25 + 2 + 1 + 3);
	assert_false(rows.times_lost);
	stack_table_clear(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_row),
		cmocka_unit_test(test_times_are_spread),
		cmocka_unit_test(test_merges),
		cmocka_unit_test(test_distinguishes),
		cmocka_unit_test(test_no_body),
		cmocka_unit_test(test_empty_stacks),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_limit_of_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
