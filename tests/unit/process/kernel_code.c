// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "process/kernel_code.h"

#define MS 1000000ULL

static struct kernel_code code;

static int set_up(void **state)
{
	(void)state;
	code = (struct kernel_code){.must_list = true};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	kernel_code_deinit(&code);
	return 0;
}

static void tell(enum task_event_kind kind, uint64_t time_ms, uint64_t start,
		 const char *name)
{
	const struct task_event ev = {.kind = kind,
				      .time_ns = time_ms * MS,
				      .start = start,
				      .end = start + 0x100,
				      .name = name};

	kernel_code_event(&code, &ev);
}

static void add(uint64_t time_ms, uint64_t start, const char *name)
{
	tell(TASK_EVENT_KERNEL_CODE, time_ms, start, name);
}

static void remove_(uint64_t time_ms, uint64_t start, const char *name)
{
	tell(TASK_EVENT_KERNEL_CODE_END, time_ms, start, name);
}

static void lose(uint64_t time_ms)
{
	tell(TASK_EVENT_LOST, time_ms, 0, NULL);
}

/*
 * The name of what was at @ip in [first_ms, last_ms]; "symbol": that of the kernel symbol
 * at its start; "none", "ambiguous".
 */
static const char *at(uint64_t ip, uint64_t first_ms, uint64_t last_ms)
{
	const struct kernel_function *f;

	switch (kernel_code_find(&code, ip, first_ms * MS, last_ms * MS, &f)) {
	case KERNEL_CODE_FOUND:
		return f->name ? f->name : "symbol";
	case KERNEL_CODE_NONE:
		return "none";
	default:
		return "ambiguous";
	}
}

#define assert_at(ip, first_ms, last_ms, name) \
	assert_string_equal(at(ip, first_ms, last_ms), name)

static void functions_have_their_time(void **state)
{
	(void)state;
	assert_at(0x1000, 1, 1, "none");
	add(100, 0x1000, "first");
	add(110, 0x2000, "other");
	assert_at(0xfff, 200, 300, "none");
	assert_at(0x1000, 200, 300, "first");
	assert_at(0x10ff, 200, 300, "first");
	assert_at(0x1100, 200, 300, "none");
	assert_at(0x20ff, 200, 300, "other");
	/* Before it, and partly before it. */
	assert_at(0x1000, 50, 99, "none");
	assert_at(0x1000, 50, 200, "ambiguous");
	/* Later code at the same address. */
	remove_(400, 0x1000, "first");
	add(500, 0x1000, "second");
	assert_at(0x1000, 200, 300, "first");
	assert_at(0x1000, 450, 460, "none");
	assert_at(0x1000, 500, 501, "second");
	assert_at(0x1000, 300, 600, "ambiguous");
	/* Later code over parts of two. */
	add(600, 0x0f80, "lower");
	assert_at(0x1000, 700, 700, "lower");
	assert_at(0x1090, 700, 700, "none");
	assert_at(0x1090, 599, 599, "second");
}

/* Programs that were there before are listed after their events are recorded. */
static void a_list_and_events_agree(void **state)
{
	(void)state;
	add(0, 0x1000, NULL);
	add(0, 0x2000, NULL); /* its event is read later */
	add(0, 0x3000, NULL);
	kernel_code_is_listed(&code);
	assert_false(code.must_list);
	assert_at(0x1000, 1, 9, "symbol");
	add(20, 0x2000, "second");
	assert_at(0x2000, 5, 10, "none");
	assert_at(0x2000, 30, 40, "second");
	/* What ends has its name, when its symbol has gone. */
	remove_(50, 0x3000, "third");
	assert_at(0x3000, 1, 49, "third");
	assert_at(0x3000, 60, 60, "none");
	/* It came and went before the list, which has what is there now. */
	remove_(10, 0x4000, "fourth");
	assert_at(0x4000, 1, 9, "fourth");
	add(60, 0x5000, "fifth");
	add(0, 0x5000, NULL);
	assert_at(0x5000, 70, 70, "fifth");
	assert_int_equal(code.nr, 5);
}

/* The list has the second program, whose events and the first one's end come later. */
static void a_list_is_newer_than_events(void **state)
{
	(void)state;
	add(0, 0x1000, NULL);
	kernel_code_is_listed(&code);
	remove_(10, 0x1000, "first");
	add(20, 0x1000, "second");
	assert_at(0x1000, 1, 9, "first");
	assert_at(0x1000, 15, 15, "none");
	assert_at(0x1000, 20, 90, "second");
	/* The list comes between the events of one that was added after the last list. */
	lose(90);
	add(100, 0x2000, "third");
	add(0, 0x2080, NULL);
	kernel_code_is_listed(&code);
	remove_(120, 0x2000, "third");
	add(130, 0x2080, "fourth");
	assert_at(0x2080, 91, 99, "none");
	assert_at(0x2080, 100, 119, "third");
	assert_at(0x2080, 130, 140, "fourth");
}

static void lost_events_end_what_is_known(void **state)
{
	uint64_t nr = code.nr_lists;

	(void)state;
	add(10, 0x1000, "first");
	add(10, 0x2000, "second");
	kernel_code_is_listed(&code);
	lose(100);
	assert_true(code.must_list);
	assert_at(0x1000, 50, 60, "first");
	assert_at(0x1000, 150, 160, "none");
	add(0, 0x2000, NULL);
	kernel_code_is_listed(&code);
	assert_int_equal(code.nr_lists, nr + 2);
	assert_at(0x2000, 50, 60, "second");
	assert_at(0x2000, 150, 160, "symbol");
	assert_at(0x1000, 150, 160, "none");
}

static void what_has_ended_is_forgotten(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		add(10 * i, 0x1000, "turn");
		remove_(10 * i + 5, 0x1000, "turn");
	}
	add(2000, 0x1000, "last");
	assert_int_equal(code.nr, 101);
	kernel_code_forget(&code, 500 * MS);
	assert_at(0x1000, 492, 492, "none");
	assert_at(0x1000, 502, 502, "turn");
	kernel_code_forget(&code, 5000 * MS);
	assert_int_equal(code.nr, 1);
	assert_at(0x1000, 3000, 3000, "last");
}

static void there_is_a_maximum(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < KERNEL_CODE_MAX + 10; i++)
		add(1, 0x1000 * (i + 1), "one");
	assert_int_equal(code.nr, KERNEL_CODE_MAX);
	assert_at(0x1000, 2, 2, "one");
	assert_at(0x1000ULL * (KERNEL_CODE_MAX + 5), 2, 2, "none");
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH(functions_have_their_time),   WITH(a_list_and_events_agree),
		WITH(a_list_is_newer_than_events), WITH(lost_events_end_what_is_known),
		WITH(what_has_ended_is_forgotten), WITH(there_is_a_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
