// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/answer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/golden.h"

static const struct frame inlined_chain[] = {
	{"std::min<int>", "_ZSt3minIiET_S0_S0_",
	 "/usr/include/c++/12/bits/stl_algobase.h", 235, 230, true},
	{"clamp", "", "/src/clamp.c", 17, 12, true},
	{"main", "", "/src/main.c", 99, 80, false},
};
static const struct frame symbol_only = {"dgemm_kernel", "", "", 0, 0, false};

struct fixture {
	struct wire_writer out;
	struct strpool *pool;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->pool = strpool_new(1 << 20);
	*state = f;
	return f->pool ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	wire_writer_deinit(&f->out);
	strpool_free(f->pool);
	free(f);
	return 0;
}

/* Four addresses: a chain of frames, the same chain, a symbol only, and nothing. */
static void write_sample(struct wire_writer *out)
{
	_cleanup_(answer_writer_freep) struct answer_writer *a = answer_writer_new(4);

	assert_non_null(a);
	answer_set(a, 2, 0x30, MISS_NO_DEBUG_INFO, &symbol_only, 1);
	answer_set(a, 0, 0x10, MISS_NONE, inlined_chain, 3);
	answer_set(a, 1, 0x20, MISS_NONE, inlined_chain, 3);
	answer_write(a, out);
	assert_false(out->failed);
}

static int read_bytes(const void *data, size_t len, size_t nr, struct strpool *pool,
		      struct answers *ret)
{
	struct wire_reader r = {.data = data, .len = len};

	return answers_read(&r, nr, pool, ret);
}

static void assert_frame(const struct frame *got, const struct frame *want)
{
	assert_string_equal(got->function, want->function);
	assert_string_equal(got->system_name, want->system_name);
	assert_string_equal(got->file, want->file);
	assert_int_equal(got->line, want->line);
	assert_int_equal(got->start_line, want->start_line);
	assert_int_equal(got->inlined, want->inlined);
}

static void round_trip_keeps_everything(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};

	write_sample(&f->out);
	assert_int_equal(read_bytes(f->out.data, f->out.len, 4, f->pool, &got), 0);
	assert_int_equal(got.nr, 4);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(got.items[i].vaddr, i ? 0x20 : 0x10);
		assert_int_equal(got.items[i].miss, MISS_NONE);
		assert_int_equal(got.items[i].nr_frames, 3);
		for (size_t k = 0; k < 3; k++)
			assert_frame(&got.items[i].frames[k], &inlined_chain[k]);
	}
	assert_int_equal(got.items[2].miss, MISS_NO_DEBUG_INFO);
	assert_int_equal(got.items[2].nr_frames, 1);
	assert_frame(&got.items[2].frames[0], &symbol_only);
	assert_int_equal(got.items[3].miss, MISS_NO_SYMBOLS);
	assert_int_equal(got.items[3].nr_frames, 0);
	assert_int_equal(got.items[3].vaddr, 0);
}

static void equal_chains_and_strings_are_sent_once(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};
	_cleanup_(answer_writer_freep) struct answer_writer *a = answer_writer_new(10000);
	struct frame chain[3];
	char copies[3][64];

	/* Strings are compared by content, not by address. */
	for (size_t i = 0; i < 10000; i++) {
		memcpy(chain, inlined_chain, sizeof(chain));
		for (size_t k = 0; k < 3; k++) {
			strcpy(copies[k], inlined_chain[k].file);
			chain[k].file = copies[k];
		}
		answer_set(a, i, i, MISS_NONE, chain, 3);
	}
	answer_write(a, &f->out);
	assert_in_range(f->out.len, 130000, 130000 + 300);
	assert_int_equal(read_bytes(f->out.data, f->out.len, 10000, f->pool, &got), 0);
	assert_int_equal(got.nr_frames, 3);
	assert_ptr_equal(got.items[0].frames, got.items[9999].frames);
	assert_ptr_equal(got.items[7].frames[1].function, strpool_add(f->pool, "clamp"));
}

static void the_last_answer_wins(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};
	_cleanup_(answer_writer_freep) struct answer_writer *a = answer_writer_new(1);

	answer_set(a, 0, 1, MISS_NONE, inlined_chain, 3);
	answer_set(a, 0, 2, MISS_NO_LINE, &symbol_only, 1);
	answer_write(a, &f->out);
	assert_int_equal(read_bytes(f->out.data, f->out.len, 1, f->pool, &got), 0);
	assert_int_equal(got.items[0].vaddr, 2);
	assert_int_equal(got.items[0].miss, MISS_NO_LINE);
	assert_frame(&got.items[0].frames[0], &symbol_only);
}

static void miss_agrees_with_the_line(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};
	_cleanup_(answer_writer_freep) struct answer_writer *a = answer_writer_new(3);

	answer_set(a, 0, 0, MISS_NO_DWZ, inlined_chain, 3);
	answer_set(a, 1, 0, MISS_NONE, &symbol_only, 1);
	answer_set(a, 2, 0, MISS_NONE, NULL, 0);
	answer_write(a, &f->out);
	assert_int_equal(read_bytes(f->out.data, f->out.len, 3, f->pool, &got), 0);
	assert_int_equal(got.items[0].miss, MISS_NONE);
	assert_int_equal(got.items[1].miss, MISS_NO_LINE);
	assert_int_equal(got.items[2].miss, MISS_NO_SYMBOLS);
}

static void deep_chains_lose_the_middle(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};
	_cleanup_(answer_writer_freep) struct answer_writer *a = answer_writer_new(1);
	struct frame chain[FRAMES_MAX_INLINE + 9];

	for (uint32_t i = 0; i < FRAMES_MAX_INLINE + 9; i++)
		chain[i] = (struct frame){.function = "f", .line = i + 1};
	answer_set(a, 0, 0, MISS_NONE, chain, FRAMES_MAX_INLINE + 9);
	answer_write(a, &f->out);
	assert_int_equal(read_bytes(f->out.data, f->out.len, 1, f->pool, &got), 0);
	assert_int_equal(got.items[0].nr_frames, FRAMES_MAX_INLINE);
	for (uint32_t i = 0; i < FRAMES_MAX_INLINE; i++)
		assert_int_equal(got.items[0].frames[i].line, i < 32 ? i + 1 : i + 10);
	assert_string_equal(got.items[0].frames[0].file, "");
}

/* What an answer has no room for keeps its innermost and its outermost frame. */
static void an_answer_has_a_maximum_of_frames(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};
	size_t nr_whole = ANSWER_MAX_FRAMES / FRAMES_MAX_INLINE, nr = nr_whole + 2;
	_cleanup_(answer_writer_freep) struct answer_writer *a = answer_writer_new(nr);
	struct frame chain[FRAMES_MAX_INLINE];

	for (uint32_t i = 0; i < FRAMES_MAX_INLINE; i++)
		chain[i] = (struct frame){.function = "f", .line = i + 1};
	for (uint32_t i = 0; i < nr; i++) {
		chain[0].start_line = i;
		answer_set(a, i, 0, MISS_NONE, chain, FRAMES_MAX_INLINE);
	}
	answer_write(a, &f->out);
	assert_int_equal(read_bytes(f->out.data, f->out.len, nr, f->pool, &got), 0);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(got.items[i].nr_frames,
				 i < nr_whole ? FRAMES_MAX_INLINE : 2);
	assert_int_equal(got.items[nr - 1].frames[0].start_line, nr - 1);
	assert_int_equal(got.items[nr - 1].frames[1].line, FRAMES_MAX_INLINE);
}

/* Also if the decoder lies: its answer takes no more memory. */
static void too_many_frames_are_refused(void **state)
{
	struct fixture *f = *state;
	struct answers got = {0};
	uint32_t nr = ANSWER_MAX_FRAMES / FRAMES_MAX_INLINE + 20000;

	wire_put_u32(&f->out, 1);
	wire_put_str(&f->out, "");
	wire_put_u32(&f->out, nr * FRAMES_MAX_INLINE);
	wire_put_u32(&f->out, nr);
	for (uint32_t i = 0; i < nr; i++) {
		wire_put_u8(&f->out, FRAMES_MAX_INLINE);
		for (uint32_t k = 0; k < FRAMES_MAX_INLINE; k++) {
			for (int word = 0; word < 5; word++)
				wire_put_u32(&f->out, 0);
			wire_put_u8(&f->out, 0);
		}
	}
	wire_put_u32(&f->out, nr);
	for (uint32_t i = 0; i < nr; i++) {
		wire_put_u32(&f->out, i);
		wire_put_u8(&f->out, MISS_NO_LINE);
		wire_put_u64(&f->out, 0);
	}
	for (int i = 0; i < 3; i++)
		wire_put_u32(&f->out, 0); /* no code */
	assert_false(f->out.failed);
	assert_int_equal(read_bytes(f->out.data, f->out.len, nr, f->pool, &got),
			 -EBADMSG);
}

static void the_middle_of_all_chains_is_dropped(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};

	write_sample(&f->out);
	assert_int_equal(read_bytes(f->out.data, f->out.len, 4, f->pool, &got), 0);
	assert_int_equal(answer_nr_middle(&got.items[0]), 1);
	assert_int_equal(answer_nr_middle(&got.items[2]), 0);
	assert_int_equal(answers_drop_middle(&got), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(got.items[i].nr_frames, 2);
		assert_frame(&got.items[i].frames[0], &inlined_chain[0]);
		assert_frame(&got.items[i].frames[1], &inlined_chain[2]);
	}
	assert_int_equal(got.items[2].nr_frames, 1);
	assert_frame(&got.items[2].frames[0], &symbol_only);
	assert_int_equal(got.items[3].nr_frames, 0);
	assert_int_equal(got.nr_frames, 5);
}

static void long_names_are_cut(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};
	_cleanup_(answer_writer_freep) struct answer_writer *a = answer_writer_new(1);
	_cleanup_free_ char *name = malloc(100001);
	struct frame frame = {.function = name};

	memset(name, 'x', 100000);
	name[100000] = '\0';
	answer_set(a, 0, 0, MISS_NO_LINE, &frame, 1);
	answer_write(a, &f->out);
	assert_int_equal(read_bytes(f->out.data, f->out.len, 1, f->pool, &got), 0);
	assert_int_equal(strlen(got.items[0].frames[0].function), 65536);
}

static void no_addresses_are_an_answer(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};
	_cleanup_(answer_writer_freep) struct answer_writer *a = answer_writer_new(0);

	answer_write(a, &f->out);
	assert_int_equal(read_bytes(f->out.data, f->out.len, 0, f->pool, &got), 0);
	assert_int_equal(got.nr, 0);
}

static void what_follows_is_left_to_the_caller(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};
	struct wire_reader r;

	wire_put_u64(&f->out, 1);
	write_sample(&f->out);
	wire_put_u32(&f->out, 0xcafe);
	r = (struct wire_reader){.data = f->out.data, .len = f->out.len, .pos = 8};
	assert_int_equal(answers_read(&r, 4, f->pool, &got), 0);
	assert_int_equal(wire_get_u32(&r), 0xcafe);
}

static void wrong_number_of_addresses_is_refused(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};

	write_sample(&f->out);
	for (size_t nr = 0; nr < 10; nr++)
		if (nr != 4)
			assert_int_equal(
				read_bytes(f->out.data, f->out.len, nr, f->pool, &got),
				-EBADMSG);
	assert_null(got.items);
}

static void truncation_at_each_byte_is_refused(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};

	write_sample(&f->out);
	for (size_t len = 0; len < f->out.len; len++) {
		/* Exact size, so that AddressSanitizer sees reads past the end. */
		_cleanup_free_ uint8_t *cut = malloc(len ? len : 1);

		memcpy(cut, f->out.data, len);
		assert_int_equal(read_bytes(cut, len, 4, f->pool, &got), -EBADMSG);
	}
	assert_null(got.items);
	assert_null(got.frames);
}

/* Reads all bytes of an answer, so that sanitizers see invalid ones. */
static void check_sane(const struct answers *a)
{
	for (size_t i = 0; i < a->nr; i++) {
		const struct answer *item = &a->items[i];
		bool has_line = item->nr_frames && item->frames[0].line;

		assert_true((unsigned int)item->miss < NR_MISSES);
		assert_int_equal(item->miss == MISS_NONE, has_line);
		for (size_t k = 0; k < item->nr_frames; k++)
			assert_true(strlen(item->frames[k].function) +
					    strlen(item->frames[k].system_name) +
					    strlen(item->frames[k].file) <
				    1000);
	}
}

static void flipped_bits_never_harm(void **state)
{
	struct fixture *f = *state;
	size_t nr_refused = 0, nr_read = 0;

	write_sample(&f->out);
	for (size_t bit = 0; bit < f->out.len * 8; bit++) {
		_cleanup_(answers_deinit) struct answers got = {0};

		f->out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (read_bytes(f->out.data, f->out.len, 4, f->pool, &got))
			nr_refused++;
		else
			nr_read++;
		check_sane(&got);
		f->out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	/* Flips in names or lines are not detected, flips in counts are. */
	assert_true(nr_refused > 300);
	assert_true(nr_read > 300);
}

/* ---- code and its lines ---- */

static const uint8_t machine_code[] = {0x55, 0xc3, 0x90, 0xcc};
static const struct code_row jit_rows[] = {
	{0x7f0000001000, {"dither", "_ZN6ditherE", "/src/dither.py", 17, 9, false}},
	{0x7f0000001000,
	 {"round_", "", "/np/round.py", 3, 1, true}}, /* inlined into 17 */
	{0x7f0000001002, {"dither", "_ZN6ditherE", "/src/dither.py", 0, 9, false}},
	{0x7f0000001004, {"dither", "_ZN6ditherE", "/src/dither.py", 12, 9, false}},
};
static const struct code jit_code = {.address = 0x7f0000001000,
				     .size_bytes = sizeof(machine_code),
				     .rows = jit_rows,
				     .nr_rows = 4,
				     .bytes = machine_code};
static const struct code_row elf_rows[] = {
	{0x1010, {"main", NULL, "/src/main.c", 99, 80, false}}};
static const struct code elf_code = {
	.address = 0x1000, .size_bytes = 0x40, .rows = elf_rows, .nr_rows = 1};

static void assert_code(const struct code *got, const struct code *want)
{
	assert_int_equal(got->address, want->address);
	assert_int_equal(got->size_bytes, want->size_bytes);
	assert_int_equal(got->nr_rows, want->nr_rows);
	for (size_t i = 0; i < want->nr_rows; i++) {
		const struct code_row *g = &got->rows[i], *w = &want->rows[i];

		assert_int_equal(g->address, w->address);
		assert_string_equal(g->frame.function, w->frame.function);
		assert_string_equal(g->frame.system_name,
				    w->frame.system_name ? w->frame.system_name : "");
		assert_string_equal(g->frame.file, w->frame.file);
		assert_int_equal(g->frame.line, w->frame.line);
		assert_int_equal(g->frame.start_line, w->frame.start_line);
	}
	assert_int_equal(!got->bytes, !want->bytes);
	if (want->bytes)
		assert_memory_equal(got->bytes, want->bytes, want->size_bytes);
}

/* One address, and two functions; only one of them has its bytes. */
static void write_codes(struct wire_writer *out)
{
	_cleanup_(answer_writer_freep) struct answer_writer *a = answer_writer_new(1);

	assert_non_null(a);
	answer_add_code(a, &jit_code);
	answer_set(a, 0, 0x10, MISS_NONE, inlined_chain, 3);
	answer_add_code(a, &elf_code);
	answer_write(a, out);
	assert_false(out->failed);
}

static void codes_make_the_round_trip(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};

	write_codes(&f->out);
	assert_int_equal(read_bytes(f->out.data, f->out.len, 1, f->pool, &got), 0);
	assert_int_equal(got.nr_codes, 2);
	assert_code(&got.codes[0], &jit_code);
	assert_code(&got.codes[1], &elf_code);
	/* Names are shared with those of frames: equal pointers. */
	assert_ptr_equal(got.codes[1].rows[0].frame.function,
			 got.items[0].frames[2].function);
	assert_string_equal(got.items[0].frames[2].function, "main");
}

static size_t nr_codes_after(struct fixture *f, const struct code *code)
{
	_cleanup_(answer_writer_freep) struct answer_writer *a = answer_writer_new(0);
	_cleanup_(answers_deinit) struct answers got = {0};
	struct wire_writer out = {0};

	answer_add_code(a, &elf_code);
	answer_add_code(a, code);
	answer_write(a, &out);
	assert_int_equal(read_bytes(out.data, out.len, 0, f->pool, &got), 0);
	wire_writer_deinit(&out);
	return got.nr_codes;
}

static void codes_that_make_no_sense_are_left_out(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ struct code_row *many = calloc(CODE_MAX_ROWS + 1, sizeof(*many));
	struct code_row rows[4];
	struct code code;

	for (size_t i = 0; i <= CODE_MAX_ROWS; i++)
		many[i] = (struct code_row){.address = 0x1000 + i, .frame.line = 1};
#define WITH(...)                                                                 \
	(memcpy(rows, jit_rows, sizeof(rows)), code = jit_code, code.rows = rows, \
	 __VA_ARGS__, nr_codes_after(f, &code))
	assert_int_equal(WITH((void)0), 2);
	assert_int_equal(WITH(code.size_bytes = 0), 1);
	assert_int_equal(WITH(code.nr_rows = 0), 1);
	assert_int_equal(WITH(code.address += 1), 1); /* a row before the code */
	assert_int_equal(WITH(code.size_bytes = 3), 1); /* a row past the code */
	assert_int_equal(WITH(rows[1].address += 3), 1); /* rows not in order */
	assert_int_equal(WITH(code.address = UINT64_MAX - 3, code.bytes = NULL,
			      code.nr_rows = 1, rows[0].address = code.address),
			 1);
	assert_int_equal(WITH(code.bytes = NULL, code.size_bytes = CODE_MAX_BYTES), 2);
	assert_int_equal(WITH(code.bytes = NULL, code.size_bytes = CODE_MAX_BYTES + 1),
			 1);
	assert_int_equal(WITH(code = elf_code, code.size_bytes = CODE_MAX_BYTES,
			      code.rows = many, code.nr_rows = CODE_MAX_ROWS),
			 2);
	assert_int_equal(WITH(code = elf_code, code.size_bytes = CODE_MAX_BYTES,
			      code.rows = many, code.nr_rows = CODE_MAX_ROWS + 1),
			 1);
#undef WITH
}

static void codes_over_the_maximum_are_left_out(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answer_writer_freep) struct answer_writer *a = answer_writer_new(1);
	_cleanup_(answers_deinit) struct answers got = {0};
	_cleanup_free_ uint8_t *bytes = calloc(1, CODE_MAX_BYTES);
	struct code big = {.address = 0x1000,
			   .size_bytes = CODE_MAX_BYTES,
			   .rows = elf_rows,
			   .nr_rows = 1,
			   .bytes = bytes};

	answer_set(a, 0, 0x10, MISS_NONE, inlined_chain, 3);
	for (size_t i = 0; i < 20; i++)
		answer_add_code(a, &big);
	answer_add_code(a, &jit_code); /* a small one still fits */
	answer_write(a, &f->out);
	assert_int_equal(read_bytes(f->out.data, f->out.len, 1, f->pool, &got), 0);
	assert_int_equal(got.nr_codes, ANSWER_MAX_CODE_BYTES / CODE_MAX_BYTES - 1 + 1);
	assert_int_equal(got.codes[got.nr_codes - 1].nr_rows, 4);
	assert_int_equal(got.items[0].nr_frames, 3);
}

static void cut_codes_are_refused(void **state)
{
	struct fixture *f = *state;
	_cleanup_(answers_deinit) struct answers got = {0};

	write_codes(&f->out);
	for (size_t len = 0; len < f->out.len; len++) {
		_cleanup_free_ uint8_t *cut = malloc(len ? len : 1);

		memcpy(cut, f->out.data, len);
		assert_int_equal(read_bytes(cut, len, 1, f->pool, &got), -EBADMSG);
	}
	assert_null(got.codes);
}

/* Reads all bytes of the codes. */
static void check_sane_codes(const struct answers *a)
{
	for (size_t i = 0; i < a->nr_codes; i++) {
		const struct code *code = &a->codes[i];
		uint64_t at = code->address, end = at + code->size_bytes;
		unsigned int sum = 0;

		assert_true(at < end && code->size_bytes <= CODE_MAX_BYTES);
		assert_in_range(code->nr_rows, 1, CODE_MAX_ROWS);
		for (size_t k = 0; k < code->nr_rows; k++) {
			assert_true(code->rows[k].address >= at);
			at = code->rows[k].address;
			assert_true(strlen(code->rows[k].frame.function) +
					    strlen(code->rows[k].frame.system_name) +
					    strlen(code->rows[k].frame.file) <
				    1000);
		}
		assert_true(at <= end);
		for (size_t k = 0; code->bytes && k < code->size_bytes; k++)
			sum += code->bytes[k];
		assert_true(sum <= code->size_bytes * 255);
	}
}

static void flipped_bits_of_codes_never_harm(void **state)
{
	struct fixture *f = *state;
	size_t nr_refused = 0, nr_read = 0;

	write_codes(&f->out);
	for (size_t bit = 0; bit < f->out.len * 8; bit++) {
		_cleanup_(answers_deinit) struct answers got = {0};

		f->out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (read_bytes(f->out.data, f->out.len, 1, f->pool, &got))
			nr_refused++;
		else
			nr_read++;
		check_sane_codes(&got);
		f->out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_true(nr_refused > 500);
	assert_true(nr_read > 500);
}

/* The code part of a hand-made message: one frame, code, row and byte. */
struct codes_by_hand {
	uint32_t nr_chains, nr_rows, nr_bytes, nr_codes;
	uint32_t text, rows_of_code, offset, chain;
	uint64_t address, size_bytes;
	uint8_t has_bytes;
};

static const struct codes_by_hand good_codes = {.nr_chains = 1,
						.nr_rows = 1,
						.nr_bytes = 1,
						.nr_codes = 1,
						.rows_of_code = 1,
						.address = 0x1000,
						.size_bytes = 1,
						.has_bytes = 1};

static int read_codes_by_hand(struct codes_by_hand h, struct strpool *pool)
{
	struct wire_writer w = {0};
	struct answers got = {0};
	int rc;

	wire_put_u32(&w, 1);
	wire_put_str(&w, "abc");
	wire_put_u32(&w, 1); /* frames */
	wire_put_u32(&w, h.nr_chains);
	wire_put_u8(&w, 1);
	for (int i = 0; i < 3; i++)
		wire_put_u32(&w, h.text);
	wire_put_u32(&w, 8);
	wire_put_u32(&w, 7);
	wire_put_u8(&w, 0);
	wire_put_u32(&w, 0); /* addresses */
	wire_put_u32(&w, h.nr_rows);
	wire_put_u32(&w, h.nr_bytes);
	wire_put_u32(&w, h.nr_codes);
	wire_put_u64(&w, h.address);
	wire_put_u64(&w, h.size_bytes);
	wire_put_u32(&w, h.rows_of_code);
	wire_put_u8(&w, h.has_bytes);
	wire_put_u32(&w, h.offset);
	wire_put_u32(&w, h.chain);
	wire_put_u8(&w, 0xc3);
	rc = read_bytes(w.data, w.len, 0, pool, &got);
	answers_deinit(&got);
	wire_writer_deinit(&w);
	return rc;
}

static void lies_about_code_are_refused(void **state)
{
	struct fixture *f = *state;
	struct codes_by_hand h;

#define REFUSED(...)                                                        \
	do {                                                                \
		h = good_codes;                                             \
		__VA_ARGS__;                                                \
		assert_int_equal(read_codes_by_hand(h, f->pool), -EBADMSG); \
	} while (0)
	assert_int_equal(read_codes_by_hand(good_codes, f->pool), 0);
	REFUSED(h.nr_chains = UINT32_MAX);
	REFUSED(h.nr_rows = UINT32_MAX);
	REFUSED(h.nr_rows = 0);
	REFUSED(h.nr_rows = 2);
	REFUSED(h.nr_bytes = UINT32_MAX);
	REFUSED(h.nr_bytes = 0);
	REFUSED(h.nr_bytes = 2);
	REFUSED(h.nr_codes = UINT32_MAX);
	REFUSED(h.nr_codes = 0);
	REFUSED(h.nr_codes = 2);
	REFUSED(h.text = 1);
	REFUSED(h.rows_of_code = 0);
	REFUSED(h.rows_of_code = 2);
	REFUSED(h.rows_of_code = UINT32_MAX);
	REFUSED(h.offset = 2);
	REFUSED(h.chain = 1);
	REFUSED(h.address = UINT64_MAX);
	REFUSED(h.size_bytes = 0);
	REFUSED(h.size_bytes = 2);
	REFUSED(h.size_bytes = CODE_MAX_BYTES + 1);
	REFUSED(h.size_bytes = UINT64_MAX);
	REFUSED(h.has_bytes = 2);
	REFUSED(h.has_bytes = 0); /* but the message has a byte */
#undef REFUSED
	h = good_codes;
	h.has_bytes = 0;
	h.nr_bytes = 0;
	h.size_bytes = CODE_MAX_BYTES;
	h.offset = CODE_MAX_BYTES;
	assert_int_equal(read_codes_by_hand(h, f->pool), 0);
}

/* A hand-made message: one string, frame, chain and address. */
struct by_hand {
	uint32_t nr_strings, nr_frames, nr_chains, nr_addresses;
	uint8_t in_chain, inlined, miss;
	uint32_t function, chain, line;
	const char *text;
	size_t text_len;
};

static const struct by_hand good = {.nr_strings = 1,
				    .nr_frames = 1,
				    .nr_chains = 1,
				    .nr_addresses = 1,
				    .in_chain = 1,
				    .miss = MISS_NO_LINE,
				    .text = "abc",
				    .text_len = 3};

static int read_by_hand(struct by_hand h, struct strpool *pool)
{
	struct wire_writer w = {0};
	struct answers got = {0};
	int rc;

	wire_put_u32(&w, h.nr_strings);
	wire_put_bytes(&w, h.text, h.text_len);
	wire_put_u32(&w, h.nr_frames);
	wire_put_u32(&w, h.nr_chains);
	wire_put_u8(&w, h.in_chain);
	wire_put_u32(&w, h.function);
	wire_put_u32(&w, 0);
	wire_put_u32(&w, 0);
	wire_put_u32(&w, h.line);
	wire_put_u32(&w, 0);
	wire_put_u8(&w, h.inlined);
	wire_put_u32(&w, h.nr_addresses);
	wire_put_u32(&w, h.chain);
	wire_put_u8(&w, h.miss);
	wire_put_u64(&w, 0);
	for (int i = 0; i < 4; i++)
		wire_put_u32(&w, 0); /* no code */
	rc = read_bytes(w.data, w.len, 1, pool, &got);
	answers_deinit(&got);
	wire_writer_deinit(&w);
	return rc;
}

static void lies_are_refused(void **state)
{
	struct fixture *f = *state;
	struct by_hand h;

#define REFUSED(...)                                                  \
	do {                                                          \
		h = good;                                             \
		__VA_ARGS__;                                          \
		assert_int_equal(read_by_hand(h, f->pool), -EBADMSG); \
	} while (0)
	assert_int_equal(read_by_hand(good, f->pool), 0);
	REFUSED(h.nr_strings = UINT32_MAX);
	REFUSED(h.nr_strings = 0);
	REFUSED(h.nr_frames = UINT32_MAX);
	REFUSED(h.nr_frames = 2);
	REFUSED(h.nr_frames = 0);
	REFUSED(h.nr_chains = UINT32_MAX);
	REFUSED(h.nr_chains = 2);
	REFUSED(h.nr_addresses = UINT32_MAX);
	REFUSED(h.nr_addresses = 0);
	REFUSED(h.in_chain = 0);
	REFUSED(h.in_chain = FRAMES_MAX_INLINE + 1);
	REFUSED(h.inlined = 2);
	REFUSED(h.function = 1);
	REFUSED(h.chain = 1);
	REFUSED(h.miss = NR_MISSES);
	REFUSED(h.miss = MISS_NONE); /* without a line */
	REFUSED(h.line = 5); /* a miss with a line */
	REFUSED(h.text = "a\0c"); /* a NUL in a name */
#undef REFUSED
	h = good;
	h.line = 5;
	h.miss = MISS_NONE;
	assert_int_equal(read_by_hand(h, f->pool), 0);
	h = good;
	h.chain = UINT32_MAX;
	assert_int_equal(read_by_hand(h, f->pool), 0);
}

static void too_long_a_name_is_refused(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *name = malloc(65537);
	struct by_hand h = good;

	memset(name, 'x', 65537);
	h.text = name;
	h.text_len = 65536;
	assert_int_equal(read_by_hand(h, f->pool), 0);
	h.text_len = 65537;
	assert_int_equal(read_by_hand(h, f->pool), -EBADMSG);
}

/* Names cost the reader more than the sender: there are no more than frames can have. */
static void names_of_no_frame_are_refused(void **state)
{
	struct fixture *f = *state;
	struct wire_writer w = {.max = 1 << 20};
	struct answers got = {0};

	wire_put_u32(&w, 1000);
	for (int i = 0; i < 1000; i++)
		wire_put_bytes(&w, NULL, 0);
	wire_put_u32(&w, 0); /* frames */
	wire_put_u32(&w, 0); /* chains */
	wire_put_u32(&w, 1); /* addresses */
	wire_put_u32(&w, UINT32_MAX);
	wire_put_u8(&w, MISS_NO_SYMBOLS);
	wire_put_u64(&w, 0);
	for (int i = 0; i < 4; i++)
		wire_put_u32(&w, 0); /* no code */
	assert_int_equal(read_bytes(w.data, w.len, 1, f->pool, &got), -EBADMSG);
	wire_writer_deinit(&w);
}

/* A seed of the fuzz target is the number of addresses, then the current message. */
static void assert_seed(const char *path, const struct wire_writer *seed)
{
	size_t len;
	_cleanup_free_ char *got = golden_read(path, seed->data, seed->len, &len);

	assert_int_equal(len, seed->len);
	assert_memory_equal(got, seed->data, len);
}

static void seeds_of_the_fuzz_target_are_answers(void **state)
{
	struct fixture *f = *state;
	_cleanup_(wire_writer_deinit) struct wire_writer codes = {0}, none = {0};
	_cleanup_(answer_writer_freep) struct answer_writer *a = answer_writer_new(0);

	wire_put_u8(&f->out, 4);
	write_sample(&f->out);
	assert_seed("tests/fuzz/corpus/answer/chain", &f->out);
	wire_put_u8(&codes, 1);
	write_codes(&codes);
	assert_seed("tests/fuzz/corpus/answer/code", &codes);
	wire_put_u8(&none, 0);
	answer_write(a, &none);
	assert_seed("tests/fuzz/corpus/answer/empty", &none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(round_trip_keeps_everything),
		T(equal_chains_and_strings_are_sent_once),
		T(the_last_answer_wins),
		T(miss_agrees_with_the_line),
		T(deep_chains_lose_the_middle),
		T(an_answer_has_a_maximum_of_frames),
		T(too_many_frames_are_refused),
		T(the_middle_of_all_chains_is_dropped),
		T(long_names_are_cut),
		T(no_addresses_are_an_answer),
		T(what_follows_is_left_to_the_caller),
		T(wrong_number_of_addresses_is_refused),
		T(truncation_at_each_byte_is_refused),
		T(flipped_bits_never_harm),
		T(lies_are_refused),
		T(too_long_a_name_is_refused),
		T(names_of_no_frame_are_refused),
		T(codes_make_the_round_trip),
		T(codes_that_make_no_sense_are_left_out),
		T(codes_over_the_maximum_are_left_out),
		T(cut_codes_are_refused),
		T(flipped_bits_of_codes_never_harm),
		T(lies_about_code_are_refused),
		T(seeds_of_the_fuzz_target_are_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
