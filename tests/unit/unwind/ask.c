// SPDX-License-Identifier: GPL-2.0-or-later
/* Which answers of a decoder are accepted. A fake worker gives them. */
#include "base/clock.h"
#include "unwind/ask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "decode/operation.h"
#include "lib/rows.h"
#include "unit/unwind/fakes.h"

static struct wire_writer said; /* the next reply */
static enum worker_answer how; /* the result with which it comes */
static struct wire_writer asked; /* the last request */
static uint32_t asked_op;
static int asked_fd;

enum worker_answer (*fake_decoder)(struct wire_reader *request, int fd,
				   struct wire_reader *ret);
bool fake_decoder_is_late;
struct tenant fake_served;
static bool is_sent;
static struct wire_reader answer; /* to what is sent; its result is how_sent */
static enum worker_answer how_sent;

void worker_serves(struct worker *w, struct tenant who)
{
	(void)w;
	fake_served = who;
}

enum worker_answer worker_call(struct worker *w, uint32_t op, const void *request,
			       size_t len, const int *fds, size_t nr_fds,
			       worker_need_fn need, void *need_ctx,
			       unsigned int deadline_ms, struct wire_reader *ret,
			       int *ret_error)
{
	(void)w;
	(void)need;
	(void)need_ctx;
	(void)ret_error;
	assert_false(is_sent);
	assert_int_equal(nr_fds, 1);
	assert_int_equal(deadline_ms, ROWS_DEADLINE_MS);
	if (fake_decoder) {
		struct wire_reader r = {.data = request, .len = len};

		assert_true(op == DECODER_CFI || op == DECODER_CFI_JIT);
		return fake_decoder(&r, fds[0], ret);
	}
	wire_writer_deinit(&asked);
	for (size_t i = 0; i < len; i++)
		wire_put_u8(&asked, ((const uint8_t *)request)[i]);
	asked_op = op;
	asked_fd = fds[0];
	*ret = (struct wire_reader){.data = said.data, .len = said.len};
	return how;
}

static uint64_t begun_ns; /* the last call */

void worker_send(struct worker *w, uint32_t op, const void *request, size_t len,
		 const int *fds, size_t nr_fds, worker_need_fn need, void *need_ctx,
		 unsigned int deadline_ms)
{
	begun_ns = clock_now_ns();
	how_sent = worker_call(w, op, request, len, fds, nr_fds, need, need_ctx,
			       deadline_ms, &answer, NULL);
	is_sent = true;
}

uint64_t worker_begin_ns(const struct worker *w)
{
	(void)w;
	return begun_ns;
}

enum worker_answer worker_receive(struct worker *w, struct wire_reader *ret,
				  int *ret_error)
{
	(void)w;
	(void)ret_error;
	assert_true(is_sent);
	if (fake_decoder_is_late)
		return WORKER_PENDING;
	is_sent = false;
	*ret = answer;
	return how_sent;
}

bool worker_waits(const struct worker *w, struct worker_wait *ret)
{
	(void)w;
	(void)ret;
	return is_sent;
}

void worker_wait_until(const struct worker *w, int64_t until_ns)
{
	(void)w;
	(void)until_ns;
	fail_msg("waited for the decoder");
}

void worker_cancel(struct worker *w)
{
	(void)w;
	is_sent = false;
}

static int set_up(void **state)
{
	(void)state;
	how = WORKER_OK;
	wire_writer_deinit(&said);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	wire_writer_deinit(&said);
	wire_writer_deinit(&asked);
	return 0;
}

/* ---- replies ---- */

static void say_rule(uint8_t cfa, uint8_t fp, int32_t fp_off, int32_t cfa_off)
{
	wire_put_u8(&said, cfa);
	wire_put_u8(&said, fp);
	wire_put_u32(&said, (uint32_t)fp_off);
	wire_put_u32(&said, (uint32_t)cfa_off);
}

/* Two rules: none, and SP + 16 with FP at CFA - 16, with all flags. */
static void say_rules(void)
{
	wire_put_u32(&said, 2);
	say_rule(LB_CFA_NONE, 0, 0, 0);
	say_rule(LB_CFA_SP, LB_FP_AT_CFA | LB_FP_UNCALLED | LB_FP_DERIVED, -16, 16);
}

static void say_row(uint16_t pc_low, uint16_t rule)
{
	wire_put_u32(&said, pc_low | (uint32_t)rule << 16);
}

static void say_page(uint64_t page, uint32_t nr_rows)
{
	wire_put_u64(&said, page);
	wire_put_u32(&said, nr_rows);
}

static enum worker_answer ask_file(struct row_pages *ret)
{
	const struct asked_page pages[] = {{7, true}, {3, false}};

	return rows_of_file(NULL, 42, pages, 2, ret);
}

/* Ends a reply: no page is left out. */
static void say_end(void)
{
	wire_put_u32(&said, 0);
}

static void assert_refused(void)
{
	struct row_pages p = {.nr_pages = 99};

	assert_int_equal(ask_file(&p), WORKER_BAD_REPLY);
	assert_int_equal(p.nr_pages, 99); /* unchanged */
	wire_writer_deinit(&said);
}

static void assert_bad(void)
{
	say_end();
	assert_refused();
}

/* A reply up to its pages. */
static void say_begin(uint32_t whole, uint32_t nr_pages)
{
	wire_put_u32(&said, whole);
	say_rules();
	wire_put_u32(&said, nr_pages);
}

static void test_file(void **state)
{
	struct wire_reader r;
	struct row_pages p;

	(void)state;
	say_begin(0, 2);
	say_page(3, 2);
	say_row(0, 1);
	say_row(0xffff, 0);
	say_page(7, 1);
	say_row(0, 1);
	say_end();
	assert_int_equal(ask_file(&p), WORKER_OK);
	r = (struct wire_reader){.data = asked.data, .len = asked.len};
	assert_int_equal(asked_op, DECODER_CFI);
	assert_int_equal(asked_fd, 42);
	assert_int_equal(wire_get_u32(&r), 2);
	assert_int_equal(wire_get_u64(&r), 7);
	assert_int_equal(wire_get_u8(&r), 1);
	assert_int_equal(wire_get_u64(&r), 3);
	assert_int_equal(wire_get_u8(&r), 0);
	assert_int_equal(r.pos, r.len);

	assert_false(p.whole);
	assert_int_equal(p.nr_rules, 2);
	assert_int_equal(p.rules[1].cfa, LB_CFA_SP);
	assert_int_equal(p.rules[1].fp, LB_FP_AT_CFA | LB_FP_UNCALLED | LB_FP_DERIVED);
	assert_int_equal(p.rules[1].fp_off, -16);
	assert_int_equal(p.rules[1].cfa_off, 16);
	assert_int_equal(p.nr_pages, 2);
	assert_int_equal(p.nr_rows, 3);
	assert_int_equal(p.pages[0].page, 3);
	assert_int_equal(p.pages[0].nr_rows, 2);
	assert_int_equal(p.pages[0].rows[1].pc_low, 0xffff);
	assert_int_equal(p.pages[0].rows[1].rule, 0);
	assert_int_equal(p.pages[1].page, 7);
	assert_int_equal(p.pages[1].rows[0].rule, 1);
	row_pages_deinit(&p);
}

/* An answer about a whole file may have other pages, and no page at all. */
static void test_whole(void **state)
{
	struct row_pages p;

	(void)state;
	say_begin(1, 1);
	say_page(1000, 1);
	say_row(0, 1);
	say_end();
	assert_int_equal(ask_file(&p), WORKER_OK);
	assert_true(p.whole);
	row_pages_deinit(&p);
	wire_writer_deinit(&said);

	wire_put_u32(&said, 1);
	wire_put_u32(&said, 0);
	wire_put_u32(&said, 0);
	say_end();
	assert_int_equal(ask_file(&p), WORKER_OK);
	assert_int_equal(p.nr_pages, 0);
	row_pages_deinit(&p);
}

static void say_left_out(uint32_t nr, uint64_t page)
{
	say_begin(0, 1);
	say_page(7, 1);
	say_row(0, 1);
	wire_put_u32(&said, nr);
	wire_put_u64(&said, page);
}

/* Only a page that was asked and is not needed may be left out. */
static void test_left_out(void **state)
{
	struct row_pages p;

	(void)state;
	say_left_out(1, 3);
	assert_int_equal(ask_file(&p), WORKER_OK);
	assert_int_equal(p.nr_left_out, 1);
	assert_true(page_is_left_out(&p, 3));
	assert_false(page_is_left_out(&p, 7));
	row_pages_deinit(&p);
	wire_writer_deinit(&said);
	say_left_out(1, 7);
	assert_refused();
	say_left_out(1, 4);
	assert_refused();
	say_left_out(0, 3);
	assert_refused();
	say_left_out(2, 3);
	assert_refused();
	say_left_out(UINT32_MAX, 3);
	assert_refused();
}

static void test_no_answer(void **state)
{
	static const enum worker_answer answers[] = {WORKER_FAILED, WORKER_DIED,
						     WORKER_DEADLINE, WORKER_BAD_REPLY,
						     WORKER_CANNOT_START};
	struct row_pages p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		how = answers[i];
		assert_int_equal(ask_file(&p), answers[i]);
		assert_int_equal(rows_of_jit(NULL, 1, NULL, 0, NULL, NULL), answers[i]);
	}
}

static void test_hostile_pages(void **state)
{
	(void)state;
	say_begin(0, 1); /* not requested */
	say_page(4, 1);
	say_row(0, 1);
	assert_bad();
	say_begin(2, 0);
	assert_bad();
	say_begin(0, 2); /* twice the same; in the wrong order */
	say_page(3, 1);
	say_row(0, 1);
	say_page(3, 1);
	say_row(0, 1);
	assert_bad();
	say_begin(1, 2);
	say_page(7, 1);
	say_row(0, 1);
	say_page(3, 1);
	say_row(0, 1);
	assert_bad();
	say_begin(1, 1); /* above all addresses */
	say_page(1ull << 48, 1);
	say_row(0, 1);
	assert_bad();
	say_begin(0, 2); /* too few; 2^32; trailing bytes */
	say_page(3, 1);
	say_row(0, 1);
	assert_bad();
	say_begin(0, UINT32_MAX);
	assert_bad();
	say_begin(0, 0);
	wire_put_u8(&said, 0);
	assert_bad();
	assert_bad(); /* empty */
}

static void test_hostile_rows(void **state)
{
	(void)state;
	say_begin(0, 1); /* no rows, too many, 2^32 */
	say_page(3, 0);
	assert_bad();
	say_begin(0, 1);
	say_page(3, 65537);
	for (size_t i = 0; i < 65537; i++)
		say_row((uint16_t)i, 1);
	assert_bad();
	say_begin(0, 1);
	say_page(3, UINT32_MAX);
	assert_bad();
	say_begin(0, 1); /* does not begin at 0 */
	say_page(3, 1);
	say_row(1, 1);
	assert_bad();
	say_begin(0, 1); /* equal or decreasing addresses */
	say_page(3, 3);
	say_row(0, 1);
	say_row(8, 0);
	say_row(8, 1);
	assert_bad();
	say_begin(0, 1); /* unknown rule */
	say_page(3, 1);
	say_row(0, 2);
	assert_bad();
}

static void test_hostile_rules(void **state)
{
	static const struct {
		uint8_t cfa, fp;
		int32_t fp_off;
	} bad[] = {
		{LB_CFA_REG + 16, 0, 0},
		{255, 0, 0},
		{LB_CFA_SP, LB_FP_UNSUPPORTED + 1, 0},
		{LB_CFA_SP, LB_FP_AT_CFA, 32768},
		{LB_CFA_SP, LB_FP_AT_CFA, -32769},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		wire_put_u32(&said, 0);
		wire_put_u32(&said, 1);
		say_rule(bad[i].cfa, bad[i].fp, bad[i].fp_off, 8);
		wire_put_u32(&said, 0);
		assert_bad();
	}
	wire_put_u32(&said, 0);
	wire_put_u32(&said, UINT32_MAX);
	assert_bad();
}

/* ---- objects of a JIT ---- */

struct seen {
	size_t pieces[4];
	uint64_t starts[4];
	size_t nr, nr_pages;
	struct row_pages taken; /* of the first text */
};

static void note(void *ctx, size_t piece, struct jit_text *text)
{
	struct seen *seen = ctx;

	assert_true(seen->nr < 4);
	assert_true(text->pages.whole);
	seen->pieces[seen->nr] = piece;
	seen->starts[seen->nr++] = text->start;
	seen->nr_pages += text->pages.nr_pages;
	if (seen->nr == 1) {
		seen->taken = text->pages;
		text->pages = (struct row_pages){0};
	}
}

static enum worker_answer ask_jit(struct seen *ret)
{
	const struct jit_piece pieces[] = {{0, 100}, {4096, 200}, {8192, 1}};

	*ret = (struct seen){0};
	return rows_of_jit(NULL, 43, pieces, 3, note, ret);
}

static void say_text(uint64_t start, uint64_t end, uint64_t page)
{
	wire_put_u64(&said, start);
	wire_put_u64(&said, end);
	say_rules();
	wire_put_u32(&said, 1);
	say_page(page, 1);
	say_row(0, 1);
}

static void test_jit(void **state)
{
	struct wire_reader r;
	struct seen seen;

	(void)state;
	wire_put_u32(&said, 2);
	say_text(0x7f0000001000, 0x7f0000001100, 0);
	say_text(0x7f0000100000, 0x7f0000110001, 1);
	wire_put_u32(&said, 0);
	wire_put_u32(&said, 1);
	say_text(0x7f0000002000, 0x7f0000002001, 0);
	assert_int_equal(ask_jit(&seen), WORKER_OK);
	r = (struct wire_reader){.data = asked.data, .len = asked.len};
	assert_int_equal(asked_op, DECODER_CFI_JIT);
	assert_int_equal(asked_fd, 43);
	assert_int_equal(wire_get_u32(&r), 3);
	assert_int_equal(wire_get_u64(&r), 0);
	assert_int_equal(wire_get_u64(&r), 100);
	assert_int_equal(wire_get_u64(&r), 4096);

	assert_int_equal(seen.nr, 3);
	assert_int_equal(seen.pieces[1], 0);
	assert_int_equal(seen.pieces[2], 2);
	assert_int_equal(seen.starts[2], 0x7f0000002000);
	assert_int_equal(seen.nr_pages, 3);
	assert_int_equal(seen.taken.pages[0].rows[0].rule, 1); /* now ours */
	row_pages_deinit(&seen.taken);
}

static void assert_bad_jit(void)
{
	struct seen seen;

	assert_int_equal(ask_jit(&seen), WORKER_BAD_REPLY);
	row_pages_deinit(&seen.taken);
	wire_writer_deinit(&said);
}

static void test_hostile_jit(void **state)
{
	(void)state;
	wire_put_u32(&said, 1); /* empty text; a page past it; a page missing */
	say_text(0x1000, 0x1000, 0);
	assert_bad_jit();
	wire_put_u32(&said, 1);
	say_text(0x1000, 0x11000, 1);
	assert_bad_jit();
	wire_put_u32(&said, UINT32_MAX);
	say_text(0x1000, 0x1001, 0);
	assert_bad_jit();
	wire_put_u32(&said, 4096);
	say_text(0x1000, 0x1001, 0);
	assert_bad_jit();
	for (size_t i = 0; i < 4; i++) /* too many pieces */
		wire_put_u32(&said, 0);
	assert_bad_jit();
	for (size_t i = 0; i < 2; i++) /* too few pieces */
		wire_put_u32(&said, 0);
	assert_bad_jit();
}

/* A reply that is truncated anywhere is refused. */
static void test_cut_replies(void **state)
{
	struct row_pages p;
	struct seen seen;
	size_t whole;

	(void)state;
	say_begin(0, 2);
	say_page(3, 2);
	say_row(0, 1);
	say_row(9, 0);
	say_page(7, 1);
	say_row(0, 1);
	say_end();
	whole = said.len;
	for (said.len = 0; said.len < whole; said.len++)
		assert_int_equal(ask_file(&p), WORKER_BAD_REPLY);
	wire_writer_deinit(&said);
	for (size_t i = 0; i < 3; i++) {
		wire_put_u32(&said, 1);
		say_text(0x1000, 0x1001, 0);
	}
	whole = said.len;
	for (said.len = 0; said.len < whole; said.len++) {
		assert_int_equal(ask_jit(&seen), WORKER_BAD_REPLY);
		row_pages_deinit(&seen.taken);
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_file),          TEST(test_whole),
		TEST(test_left_out),      TEST(test_no_answer),
		TEST(test_hostile_pages), TEST(test_hostile_rows),
		TEST(test_hostile_rules), TEST(test_jit),
		TEST(test_hostile_jit),   TEST(test_cut_replies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
