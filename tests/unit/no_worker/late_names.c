// SPDX-License-Identifier: GPL-2.0-or-later
/* When a late decoder is asked for names again, with fakes of the decoder and the clock. */
#include "symbolize/symbolizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "decode/answer.h"
#include "decode/operation.h"
#include "decode/requests.h"
#include "process/file.h"
#include "process/maps.h"
#include "unit/no_worker/fakes.h"

#define BASE   UINT64_C(0x555500000000)
#define MINUTE (60 * CLOCK_SECOND_NS)

static struct strpool *pool;
static struct symbolizer *sym;
static struct process proc;
static struct target_file file;

/* ---- the decoder ---- */

static struct {
	/* How it answers requests with and without lines. */
	enum worker_answer whole, symbols;
	uint64_t late_ns; /* what a late answer with lines takes; without, a quarter */
	size_t nr_whole, nr_symbols; /* requests */
	size_t nr_addresses; /* of the last one */
	struct wire_writer said;
} decoder;

static void answer(size_t nr, bool lines)
{
	struct answer_writer *a = answer_writer_new(nr);
	struct frame frame = {
		.function = "fn", .file = lines ? "a.c" : "", .line = lines ? 5 : 0};

	for (size_t i = 0; i < nr; i++)
		answer_set(a, i, 0x1000, MISS_NONE, &frame, 1);
	wire_writer_deinit(&decoder.said);
	decoder.said = (struct wire_writer){.max = 1 << 20};
	wire_put_u32(&decoder.said, MISS_NONE);
	wire_put_bytes(&decoder.said, NULL, 0);
	for (int i = 0; i < 4; i++)
		wire_put_u64(&decoder.said, 0);
	answer_write(a, &decoder.said);
	answer_writer_free(a);
}

static enum worker_answer decode(uint32_t op, struct wire_reader *request,
				 struct wire_reader *ret)
{
	bool lines = !(wire_get_u32(request) & ELF_REQUEST_NO_LINES);
	enum worker_answer how = lines ? decoder.whole : decoder.symbols;
	size_t len;

	assert_int_equal(op, DECODER_ELF);
	wire_get_bytes(request, &len);
	decoder.nr_addresses = wire_get_u32(request);
	if (lines)
		decoder.nr_whole++;
	else
		decoder.nr_symbols++;
	if (how == WORKER_DEADLINE)
		fake_now_ns += lines ? decoder.late_ns : decoder.late_ns / 4;
	if (how == WORKER_OK)
		answer(decoder.nr_addresses, lines);
	*ret = (struct wire_reader){.data = decoder.said.data, .len = decoder.said.len};
	return how;
}

static void assert_asked(size_t nr_whole, size_t nr_symbols)
{
	assert_int_equal(decoder.nr_whole, nr_whole);
	assert_int_equal(decoder.nr_symbols, nr_symbols);
}

/* ---- fixture ---- */

static int begin(void **state)
{
	const struct symbolizer_config config = {.debug_dir = "/none"};
	struct mapping m = {.start = BASE,
			    .end = BASE + 0x100000,
			    .kind = MAPPING_FILE,
			    .path = "/opt/prog",
			    .file = &file,
			    .until_ns = UINT64_MAX};

	(void)state;
	memset(&decoder, 0, sizeof(decoder));
	decoder.late_ns = 20 * CLOCK_SECOND_NS;
	fake_worker = decode;
	fake_now_ns = 1000 * CLOCK_SECOND_NS;
	file = (struct target_file){.fd = 0, .path = "/opt/prog", .id = 1};
	proc = (struct process){.tgid = 100, .root_fd = -1, .until_ns = UINT64_MAX};
	assert_int_equal(maps_add(&proc.maps, &m), 0);
	pool = strpool_new(1 << 20);
	return symbolizer_new(&config, pool, NULL, NULL, &sym, NULL);
}

static int end(void **state)
{
	(void)state;
	symbolizer_free(sym);
	strpool_free(pool);
	maps_deinit(&proc.maps);
	wire_writer_deinit(&decoder.said);
	return 0;
}

/* Wants one address, and names it. Return: its id. */
static uint32_t name(uint64_t off)
{
	uint32_t id = symbolizer_want(sym, &proc, BASE + off, FRAME_LEAF, 1, 2);

	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
	return id;
}

static void assert_named(uint32_t id, size_t nr_frames, bool has_line)
{
	const struct resolved *r = symbolizer_get(sym, id);

	assert_int_equal(r->nr_frames, nr_frames);
	assert_int_equal(r->miss, has_line ? MISS_NONE : MISS_DECODER_GAVE_UP);
	if (has_line)
		assert_int_equal(r->frames[0].line, 5);
}

/* ---- tests ---- */

/* An address that got no line has one after the pause; what is in a profile stays. */
static void a_late_file_has_lines_after_a_pause(void **state)
{
	uint32_t id, later;

	(void)state;
	decoder.whole = WORKER_DEADLINE;
	id = name(0x10);
	assert_asked(1, 1);
	assert_named(id, 1, false);
	decoder.whole = WORKER_OK;
	fake_now_ns += 10 * MINUTE - 1;
	assert_int_equal(name(0x10), id);
	assert_asked(1, 1);
	fake_now_ns++;
	later = name(0x10);
	assert_asked(2, 1);
	assert_int_not_equal(later, id);
	assert_named(later, 1, true);
	assert_named(id, 1, false);
	assert_int_equal(name(0x10), later);
	assert_asked(2, 1);
}

/* New addresses have names meanwhile, if symbols alone came in time. */
static void new_addresses_have_names_in_the_pause(void **state)
{
	uint32_t id, second;

	(void)state;
	decoder.whole = WORKER_DEADLINE;
	id = name(0x10);
	fake_now_ns += MINUTE;
	second = name(0x20);
	assert_named(second, 1, false);
	assert_asked(1, 2);
	fake_now_ns += 9 * MINUTE;
	decoder.whole = WORKER_OK;
	symbolizer_want(sym, &proc, BASE + 0x10, FRAME_LEAF, 1, 2);
	id = name(0x20);
	assert_asked(2, 2);
	assert_int_equal(decoder.nr_addresses, 2);
	assert_named(id, 1, true);
}

/* If even these are late, nothing is asked. */
static void a_file_without_symbols_is_left_alone(void **state)
{
	uint32_t id;

	(void)state;
	decoder.whole = decoder.symbols = WORKER_DEADLINE;
	id = name(0x10);
	assert_asked(1, 1);
	assert_named(id, 0, false);
	id = name(0x20);
	assert_named(id, 0, false);
	assert_asked(1, 1);
	fake_now_ns += 10 * MINUTE;
	decoder.whole = WORKER_OK;
	assert_named(name(0x10), 1, true);
	assert_named(name(0x20), 1, true);
	assert_asked(3, 1);
	/* It has lost its names in the middle of a pause. */
	decoder.whole = WORKER_DEADLINE;
	decoder.symbols = WORKER_OK;
	name(0x30);
	assert_asked(4, 2);
	decoder.symbols = WORKER_DEADLINE;
	assert_named(name(0x40), 0, false);
	assert_named(name(0x50), 0, false);
	assert_asked(4, 3);
	/* That was one read: names without lines are asked for again before the lines are. */
	fake_now_ns += 150 * CLOCK_SECOND_NS;
	decoder.symbols = WORKER_DIED;
	assert_named(name(0x40), 0, false);
	assert_asked(4, 4);
	/* A decoder that died is no reason to lose the names of others. */
	decoder.symbols = WORKER_OK;
	assert_named(name(0x60), 1, false);
	assert_asked(4, 5);
}

/* An address keeps what name it has, if it cannot be asked for after a pause. */
static void a_name_is_kept_until_there_is_a_better_one(void **state)
{
	uint32_t id, later;

	(void)state;
	decoder.whole = WORKER_DEADLINE;
	id = name(0x10);
	assert_named(id, 1, false);
	fake_now_ns += 10 * MINUTE;
	decoder.symbols = WORKER_DEADLINE;
	later = name(0x10);
	assert_int_not_equal(later, id);
	assert_named(later, 1, false);
	assert_int_equal(symbolizer_get(sym, later)->address,
			 symbolizer_get(sym, id)->address);
	fake_now_ns += 20 * MINUTE;
	symbolizer_hurry(sym);
	assert_named(name(0x10), 1, false);
}

/*
 * A file that is always late is asked about in 10, 20, 40 ... minutes, and for names without
 * lines once more in 43 minutes at most.
 */
static void the_pauses_double_without_an_end(void **state)
{
	uint64_t begin_ns = fake_now_ns, end_ns = begin_ns;
	size_t nr = 1;

	(void)state;
	decoder.whole = decoder.symbols = WORKER_DEADLINE;
	name(0);
	for (uint64_t minutes = 10; minutes < 10000; minutes *= 2) {
		/* The pause began before the request for symbols, which took 5 s. */
		end_ns = fake_now_ns + minutes * MINUTE - 5 * CLOCK_SECOND_NS;
		while (fake_now_ns + MINUTE < end_ns) {
			fake_now_ns += MINUTE;
			name(100 * nr);
		}
		assert_int_equal(decoder.nr_whole, nr);
		fake_now_ns = end_ns;
		name(0);
		assert_int_equal(decoder.nr_whole, ++nr);
	}
	assert_in_range(decoder.nr_symbols, nr,
			nr + 12 + (end_ns - begin_ns) / (42 * MINUTE));
}

/* A read that gets stuck costs little: it is tried again soon. */
static void the_pause_depends_on_the_time(void **state)
{
	(void)state;
	decoder.whole = WORKER_DEADLINE;
	decoder.late_ns = CLOCK_SECOND_NS / 2;
	name(0);
	fake_now_ns += 15 * CLOCK_SECOND_NS;
	name(0);
	assert_asked(2, 2);
	fake_now_ns += 30 * CLOCK_SECOND_NS - 1;
	name(0);
	assert_asked(2, 2);
	fake_now_ns++;
	decoder.late_ns = 20 * CLOCK_SECOND_NS;
	name(0);
	assert_asked(3, 3);
	fake_now_ns += 10 * MINUTE - 1;
	name(0);
	assert_asked(3, 3);
	fake_now_ns++;
	/* If it went well for as long as the last pause took, the next one is short again. */
	decoder.whole = WORKER_OK;
	name(0);
	assert_asked(4, 3);
	fake_now_ns += 10 * MINUTE;
	name(1);
	decoder.whole = WORKER_DEADLINE;
	decoder.late_ns = CLOCK_SECOND_NS / 2;
	name(2);
	assert_asked(6, 4);
	fake_now_ns += 15 * CLOCK_SECOND_NS;
	name(2);
	assert_asked(7, 5);
}

/* What fails otherwise does so again: it is asked once. */
static void a_decoder_that_dies_is_not_asked_again(void **state)
{
	static const enum worker_answer answers[] = {WORKER_DIED, WORKER_BAD_REPLY};

	for (size_t i = 0; i < 2; i++) {
		uint32_t id;

		decoder.whole = answers[i];
		id = name(0x10);
		assert_named(id, 1, false);
		fake_now_ns += 100000 * MINUTE;
		assert_int_equal(name(0x10), id);
		assert_asked(1, 1);
		/* Others are. */
		decoder.whole = WORKER_OK;
		assert_named(name(0x20), 1, true);
		end(state);
		begin(state);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_late_file_has_lines_after_a_pause),
		TEST(new_addresses_have_names_in_the_pause),
		TEST(a_name_is_kept_until_there_is_a_better_one),
		TEST(a_file_without_symbols_is_left_alone),
		TEST(the_pauses_double_without_an_end),
		TEST(the_pause_depends_on_the_time),
		TEST(a_decoder_that_dies_is_not_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
