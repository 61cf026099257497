// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows split into pages: the reply, word by word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "decode/cfi/cfi.h"

#define NONE    LB_CFA_NONE, 0, 0, 0
#define SP(off) LB_CFA_SP, LB_FP_SAME, 0, off
#define FP(off) LB_CFA_FP, LB_FP_AT_CFA, -16, off

/* offs[] has the CFA offset of each rule. Rule 0 stands for rules over the maximum. */
struct reply {
	struct wire_writer w;
	struct wire_reader r;
	int32_t offs[16];
	uint32_t nr_rules, nr_pages;
};

static struct reply write_rows(const struct cfi_row *items, size_t nr, uint64_t bias,
			       uint64_t lo, uint64_t hi)
{
	const struct cfi_rows rows = {.items = (struct cfi_row *)items, .nr = nr};
	struct reply reply = {0};

	cfi_pages_write(&rows, bias, lo, hi, &reply.w);
	assert_false(reply.w.failed);
	reply.r = (struct wire_reader){.data = reply.w.data, .len = reply.w.len};
	reply.nr_rules = wire_get_u32(&reply.r);
	assert_true(reply.nr_rules <= 16);
	for (uint32_t i = 0; i < reply.nr_rules; i++) {
		uint8_t cfa = wire_get_u8(&reply.r);
		uint8_t fp = wire_get_u8(&reply.r);
		int32_t fp_off = (int32_t)wire_get_u32(&reply.r);

		assert_true(fp == LB_FP_AT_CFA ? fp_off == -16 : !fp_off);
		assert_true(cfa <= LB_CFA_UNSUPPORTED);
		reply.offs[i] = (int32_t)wire_get_u32(&reply.r);
	}
	reply.nr_pages = wire_get_u32(&reply.r);
	return reply;
}

static void assert_page(struct reply *reply, uint64_t page, uint32_t nr_rows)
{
	assert_int_equal(wire_get_u64(&reply->r), page);
	assert_int_equal(wire_get_u32(&reply->r), nr_rows);
}

static void assert_row(struct reply *reply, uint16_t pc_low, int32_t cfa_off)
{
	uint32_t word = wire_get_u32(&reply->r);

	assert_int_equal(word & 0xffff, pc_low);
	assert_true(word >> 16 < reply->nr_rules);
	assert_int_equal(reply->offs[word >> 16], cfa_off);
}

static void assert_end(struct reply *reply)
{
	assert_false(reply->r.failed);
	assert_int_equal(reply->r.pos, reply->r.len);
	wire_writer_deinit(&reply->w);
}

static const struct cfi_row rows[] = {
	{0x401000, {SP(8)}},   {0x401004, {FP(16)}}, {0x401100, {NONE}},
	{0x40fff0, {SP(8)}},   {0x42fffe, {FP(24)}}, /* spans two whole pages */
	{0x430000, {SP(32)}},  {0x430010, {NONE}},   {0x450000, {NONE}},
	{0x5000000, {FP(16)}}, {0x5000001, {NONE}},
};

static void test_pages(void **state)
{
	struct reply r =
		write_rows(rows, ARRAY_SIZE(rows), 0x400000, 0x400000, UINT64_MAX);

	(void)state;
	assert_int_equal(r.nr_rules, 6); /* unsupported, none, and four others */
	assert_int_equal(r.nr_pages, 5);
	assert_page(&r, 0, 5);
	assert_row(&r, 0, 0);
	assert_row(&r, 0x1000, 8);
	assert_row(&r, 0x1004, 16);
	assert_row(&r, 0x1100, 0);
	assert_row(&r, 0xfff0, 8);
	assert_page(&r, 1, 1);
	assert_row(&r, 0, 8);
	assert_page(&r, 2, 2);
	assert_row(&r, 0, 8);
	assert_row(&r, 0xfffe, 24);
	assert_page(&r, 3, 2);
	assert_row(&r, 0, 32);
	assert_row(&r, 0x10, 0);
	assert_page(&r, 0x4c00000 >> 16, 2);
	assert_row(&r, 0, 16);
	assert_row(&r, 1, 0);
	assert_end(&r);
}

/*
 * The first row of a page repeats the row in force before it, even in the first page.
 */
static void test_a_part(void **state)
{
	struct reply r = write_rows(rows, ARRAY_SIZE(rows), 0x400000, 0x410000, 0x430000);

	(void)state;
	assert_int_equal(r.nr_pages, 2);
	assert_page(&r, 1, 1);
	assert_row(&r, 0, 8);
	assert_page(&r, 2, 2);
	assert_row(&r, 0, 8);
	assert_row(&r, 0xfffe, 24);
	assert_end(&r);

	/* Page 4 begins before @hi but has no rows. */
	r = write_rows(rows, ARRAY_SIZE(rows), 0x400000, 0x440000, 0x450001);
	assert_int_equal(r.nr_pages, 0);
	assert_end(&r);

	/* Rows below the bias have no page, but the last one continues above it. */
	r = write_rows(rows, 5, 0x418000, 0, 0x428001);
	assert_int_equal(r.nr_pages, 2);
	assert_page(&r, 0, 1);
	assert_row(&r, 0, 8);
	assert_page(&r, 1, 2);
	assert_row(&r, 0, 8);
	assert_row(&r, 0x7ffe, 24);
	assert_end(&r);
}

static void test_nothing(void **state)
{
	const struct cfi_row none = {0x1000, {NONE}};
	struct reply r = write_rows(NULL, 0, 0, 0, UINT64_MAX);

	(void)state;
	assert_int_equal(r.nr_pages, 0);
	assert_end(&r);
	r = write_rows(&none, 1, 0, 0, UINT64_MAX);
	assert_int_equal(r.nr_pages, 0);
	assert_end(&r);
}

/* A function of 2^60 bytes has pages up to the maximum. */
static void test_endless(void **state)
{
	const struct cfi_row items[] = {{0x1000, {SP(8)}}, {1ull << 60, {NONE}}};
	struct reply r = write_rows(items, 2, 0, 0, UINT64_MAX);

	(void)state;
	assert_int_equal(r.nr_pages, CFI_MAX_PAGES);
	assert_page(&r, 0, 2);
	assert_row(&r, 0, 0);
	assert_row(&r, 0x1000, 8);
	for (uint64_t page = 1; page < CFI_MAX_PAGES; page++) {
		assert_page(&r, page, 1);
		assert_row(&r, 0, 8);
	}
	assert_end(&r);
	/* No page begins above 2^64 - 1. */
	r = write_rows(items, 2, 0xfffffffffffff000, UINT64_MAX, UINT64_MAX);
	assert_int_equal(r.nr_pages, 0);
	assert_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_a_part),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
