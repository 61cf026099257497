// SPDX-License-Identifier: GPL-2.0-or-later
/* In which order records of the kernel side are delivered, and what waits. */
#include "collect/notices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "lineburn.h"
#include "lineburn_unwind.h"

#define MAX_TOLD 32

static struct notices n;
static int rings[3]; /* empty */

/* What was delivered: "f1" is the first sample of process 1; r: request, c: code. */
static char told[4 * MAX_TOLD + 1];
static uint32_t known; /* a bit for each process whose first sample was delivered */
static size_t nr_together, nr_announced; /* announced at once */
static void (*meanwhile)(void); /* while the next one is delivered */

/* ---- records ---- */

static void first_sample_of(uint32_t tgid)
{
	struct lb_first_sample first = {.tgid = tgid};

	notices_keep(&n, NOTICE_FIRST_SAMPLE, &first, sizeof(first));
}

static void request_of(uint32_t tgid, uint64_t ip)
{
	struct lb_unwind_request request = {.image.tgid = tgid, .ip = ip};

	notices_keep(&n, NOTICE_REQUEST, &request, sizeof(request));
}

static void code_of(uint32_t tgid)
{
	struct lb_interp_code code = {.image.tgid = tgid};

	notices_keep(&n, NOTICE_CODE, &code, offsetof(struct lb_interp_code, table) + 5);
}

/* ---- receiver ---- */

static void take(void *ctx, enum notice_kind kind, const void *data, size_t size)
{
	const struct lb_first_sample *first = data;
	const struct lb_image *image = data; /* of the two others, at their begin */
	void (*now)(void) = meanwhile;
	uint32_t tgid = kind == NOTICE_FIRST_SAMPLE ? first->tgid : image->tgid;

	(void)ctx;
	assert_true(strlen(told) + 4 < sizeof(told));
	snprintf(told + strlen(told), 5, "%s%c%u", *told ? " " : "", "frc"[kind], tgid);
	if (kind == NOTICE_FIRST_SAMPLE)
		known |= 1U << tgid;
	if (kind == NOTICE_CODE)
		assert_int_equal(size, offsetof(struct lb_interp_code, table) + 5);
	meanwhile = NULL;
	if (now)
		now();
}

static bool announce(void *ctx, const struct lb_first_sample *first)
{
	(void)ctx;
	(void)first;
	return ++nr_announced % nr_together;
}

static void announced(void *ctx, bool is_next)
{
	(void)ctx;
	(void)is_next;
}

static bool knows(void *ctx, const struct lb_image *image)
{
	(void)ctx;
	return known & 1U << image->tgid;
}

/* Delivers what there is time for. */
static void assert_told_in(uint64_t firsts_ns, uint64_t others_ns, const char *expected)
{
	const struct notice_receiver to = {.take = take,
					   .announce = announce,
					   .announced = announced,
					   .knows = knows};

	*told = '\0';
	notices_deliver(&n, &to, firsts_ns, others_ns);
	assert_string_equal(told, expected);
}

/* Of first samples. */
static void assert_told(uint64_t firsts_ns, const char *expected)
{
	assert_told_in(firsts_ns, UINT64_MAX, expected);
}

#define NO_TIME  0
#define ALL_TIME UINT64_MAX

static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rings); i++) {
		rings[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, 4096, NULL);
		assert_true(rings[i] >= 0);
	}
	assert_int_equal(notices_open(&n, rings[0], rings[1], rings[2]), 0);
	known = 0;
	nr_announced = 0;
	nr_together = 1;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	notices_close(&n);
	for (size_t i = 0; i < ARRAY_SIZE(rings); i++)
		close(rings[i]);
	return 0;
}

/* ---- tests ---- */

static void first_samples_come_before_all_others(void **state)
{
	(void)state;
	request_of(1, 7);
	code_of(1);
	first_sample_of(1);
	first_sample_of(2);
	assert_told(ALL_TIME, "f1 f2 r1 c1");
	assert_false(notices_are_left(&n));
	assert_told(ALL_TIME, "");
}

static void without_time_those_announced_together_are_told(void **state)
{
	(void)state;
	nr_together = 2;
	for (uint32_t tgid = 1; tgid <= 5; tgid++)
		first_sample_of(tgid);
	assert_told(NO_TIME, "f1 f2");
	assert_true(notices_are_left(&n));
	first_sample_of(6);
	/* However long those before took: slow_ones_are_announced_one_by_one(). */
	n.together = 0;
	assert_told(NO_TIME, "f3 f4");
	n.together = 0;
	assert_told(NO_TIME, "f5 f6");
	assert_false(notices_are_left(&n));
}

static void take_long(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 15000000}, NULL);
}

/* Where one takes long, so that all of a group would keep the caller too long. */
static void slow_ones_are_announced_one_by_one(void **state)
{
	(void)state;
	nr_together = 8;
	for (uint32_t tgid = 1; tgid <= 15; tgid++)
		first_sample_of(tgid);
	meanwhile = take_long;
	assert_told(NO_TIME, "f1 f2 f3 f4 f5 f6 f7 f8");
	nr_announced = 0;
	meanwhile = take_long;
	assert_told(NO_TIME, "f9 f10 f11 f12");
	nr_announced = 0;
	meanwhile = take_long;
	assert_told(NO_TIME, "f13 f14");
	meanwhile = take_long;
	assert_told(NO_TIME, "f15");
	/* And together again where they do not; this thread may lose the CPU. */
	for (int try = 0; try < 1000 && n.together < 4; try++) {
		for (uint32_t tgid = 1; tgid <= 8; tgid++)
			first_sample_of(tgid);
		nr_announced = 0;
		assert_told(ALL_TIME, "f1 f2 f3 f4 f5 f6 f7 f8");
	}
	assert_true(n.together >= 4);
}

/*
 * Process 2 may have called exec since its sample: it must not be identified by a request,
 * which has no time.
 */
static void images_are_identified_by_their_first_samples(void **state)
{
	(void)state;
	first_sample_of(1);
	first_sample_of(2);
	request_of(2, 7);
	code_of(2);
	request_of(1, 7);
	code_of(1);
	request_of(3, 0); /* is known before its first sample */
	assert_told(NO_TIME, "f1 r1 c1 r3");
	assert_true(notices_are_left(&n));
	code_of(2);
	request_of(2, 8);
	assert_told(NO_TIME, "f2 c2 c2 r2");
	assert_false(notices_are_left(&n));
}

static void code_waits_as_long_as_its_first_sample(void **state)
{
	(void)state;
	for (uint32_t tgid = 1; tgid <= 4; tgid++)
		first_sample_of(tgid);
	code_of(4);
	assert_told(NO_TIME, "f1");
	assert_told(NO_TIME, "f2");
	code_of(2);
	assert_told(NO_TIME, "f3 c2");
	assert_told(NO_TIME, "f4 c4");
	assert_false(notices_are_left(&n));
}

/* That of a process of which no first sample came, because a ring was full. */
static void what_has_no_first_sample_is_told(void **state)
{
	(void)state;
	request_of(1, 7);
	code_of(2);
	assert_told(NO_TIME, "r1 c2");
}

static void a_program_begins(void)
{
	first_sample_of(2);
	request_of(2, 7);
	code_of(2);
}

static void what_comes_meanwhile_is_told_next(void **state)
{
	(void)state;
	first_sample_of(1);
	request_of(1, 7);
	meanwhile = a_program_begins;
	assert_told(ALL_TIME, "f1 r1");
	assert_true(notices_are_left(&n));
	assert_told(ALL_TIME, "f2 r2 c2");
	assert_false(notices_are_left(&n));
}

static void records_for_which_is_no_time_are_told_later(void **state)
{
	(void)state;
	for (uint32_t tgid = 1; tgid <= 3; tgid++)
		code_of(tgid);
	assert_told_in(ALL_TIME, NO_TIME, "c1");
	assert_true(notices_are_left(&n));
	first_sample_of(4);
	code_of(4);
	assert_told_in(ALL_TIME, NO_TIME, "f4 c2");
	/* The last of those that were left before, and one of those that came since. */
	assert_told_in(ALL_TIME, NO_TIME, "c3 c4");
	assert_false(notices_are_left(&n));
	for (uint32_t tgid = 5; tgid <= 7; tgid++)
		request_of(tgid, 7);
	assert_told_in(ALL_TIME, NO_TIME, "r5");
	request_of(8, 7);
	assert_told(ALL_TIME, "r6 r7 r8");
	assert_false(notices_are_left(&n));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(first_samples_come_before_all_others),
		TEST(without_time_those_announced_together_are_told),
		TEST(slow_ones_are_announced_one_by_one),
		TEST(images_are_identified_by_their_first_samples),
		TEST(code_waits_as_long_as_its_first_sample),
		TEST(what_has_no_first_sample_is_told),
		TEST(what_comes_meanwhile_is_told_next),
		TEST(records_for_which_is_no_time_are_told_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
