// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/jitdump.h"

#include <errno.h>
#include <stdlib.h>

#include "dump.h"
#include "serve.h"

#define SAME "\xff" /* as a name: same as the previous one */

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct wire_writer));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	wire_writer_deinit(*state);
	free(*state);
	return 0;
}

static void serve_dump(const struct wire_writer *d, const struct ask *asks, size_t nr,
		       struct served *ret)
{
	_cleanup_close_ int fd = file_of(d->data, d->len);

	serve(jitdump_serve, fd, NULL, 0, asks, nr, ret);
}

/* Expected answer for one address. Line 0: @miss; function NULL: no frame. */
struct want {
	struct ask ask;
	const char *function, *file;
	uint32_t line;
	enum miss miss;
};

static void check(const struct wire_writer *d, const struct want *want, size_t nr)
{
	_cleanup_free_ struct ask *asks = calloc(nr, sizeof(*asks));
	_cleanup_(served_deinit) struct served s = {0};

	for (size_t i = 0; i < nr; i++)
		asks[i] = want[i].ask;
	serve_dump(d, asks, nr, &s);
	assert_int_equal(s.object_miss, MISS_NONE);
	for (size_t i = 0; i < nr; i++) {
		const struct answer *got = &s.answers.items[i];

		if (got->miss != want[i].miss)
			fail_msg("row %zu: %s, not %s", i, miss_name(got->miss),
				 miss_name(want[i].miss));
		assert_int_equal(got->nr_frames, want[i].function ? 1 : 0);
		if (!want[i].function)
			continue;
		assert_string_equal(got->frames[0].function, want[i].function);
		if (got->frames[0].line != want[i].line)
			fail_msg("row %zu: line %u", i, got->frames[0].line);
		assert_string_equal(got->frames[0].file, want[i].file);
	}
}

#define CHECK(d, ...)                                              \
	do {                                                       \
		const struct want want_[] = {__VA_ARGS__};         \
		check(d, want_, sizeof(want_) / sizeof(want_[0])); \
	} while (0)
#define AT(addr)               \
	{                      \
		addr, 500, 600 \
	}
#define UNKNOWN(addr)                                     \
	{                                                 \
		AT(addr), NULL, NULL, 0, MISS_JIT_UNKNOWN \
	}

static void a_name_without_lines(void **state)
{
	struct wire_writer *d = *state;

	dump_header(d, 0, 0);
	dump_load(d, 10, 0x1000, 0x100, 1, "TRACE-1$inner$4");
	dump_close(d, 20);
	CHECK(d, UNKNOWN(0xfff), {AT(0x1000), "inner", "", 0, MISS_JIT_NO_LINES},
	      {AT(0x10ff), "inner", "", 0, MISS_JIT_NO_LINES}, UNKNOWN(0x1100));
}

static void lines_are_those_of_the_entry_below(void **state)
{
	static const struct dump_entry e[] = {{0x1004, 7, 0, "/a.erl", 0},
					      {0x1010, 8, 0, SAME, 0},
					      {0x1020, 3, 0, "/b.hrl", 0},
					      {0x1030, 0, 0, "", 0},
					      {0x1040, 9, 0, "/a.erl", 0}};
	struct wire_writer *d = *state;

	dump_header(d, 0, 0);
	dump_debug(d, 10, 0x1000, e, 5);
	dump_other(d, 4, 10, 50);
	dump_load(d, 10, 0x1000, 0x100, 1, "$app:hot/1");
	dump_load(d, 10, 0x2000, 0x100, 1, "$app:other/1");
	CHECK(d, {AT(0x1000), "app:hot/1", "", 0, MISS_JIT_NO_LINES},
	      {AT(0x1003), "app:hot/1", "", 0, MISS_JIT_NO_LINES},
	      {AT(0x1004), "app:hot/1", "/a.erl", 7, MISS_NONE},
	      {AT(0x100f), "app:hot/1", "/a.erl", 7, MISS_NONE},
	      {AT(0x1010), "app:hot/1", "/a.erl", 8, MISS_NONE},
	      {AT(0x1020), "app:hot/1", "/b.hrl", 3, MISS_NONE},
	      {AT(0x102f), "app:hot/1", "/b.hrl", 3, MISS_NONE},
	      {AT(0x1030), "app:hot/1", "", 0, MISS_JIT_NO_LINES},
	      {AT(0x103f), "app:hot/1", "", 0, MISS_JIT_NO_LINES},
	      {AT(0x10ff), "app:hot/1", "/a.erl", 9, MISS_NONE},
	      /* DEBUG_INFO belongs to only one LOAD. */
	      {AT(0x2004), "app:other/1", "", 0, MISS_JIT_NO_LINES});
}

static void entries_need_no_order(void **state)
{
	static const struct dump_entry e[] = {{0x1040, 4, 0, "/a", 0},
					      {0x0ff8, 1, 0, "/a", 0}, /* Erlang */
					      {0x1020, 2, 0, "/a", 0},
					      {0x1020, 3, 0, "/a", 0},
					      {0x1010, 9, 0, "/b", 0}};
	struct wire_writer *d = *state;

	dump_header(d, 0, 0);
	dump_debug(d, 10, 0x1000, e, 5);
	dump_load(d, 10, 0x1000, 0x100, 1, "f");
	CHECK(d, {AT(0x1000), "f", "/a", 1, MISS_NONE},
	      {AT(0x1010), "f", "/b", 9, MISS_NONE},
	      {AT(0x1020), "f", "/a", 3, MISS_NONE},
	      {AT(0x103f), "f", "/a", 3, MISS_NONE},
	      {AT(0x1040), "f", "/a", 4, MISS_NONE},
	      {AT(0x10ff), "f", "/a", 4, MISS_NONE});
}

/* Two functions at one address, one after the other: the sample's time decides. */
static void a_reused_address_is_told_by_time(void **state)
{
	static const struct dump_entry old[] = {{0x1000, 11, 0, "/old.js", 0}};
	static const struct dump_entry new[] = {{0x1000, 22, 0, "/new.js", 0}};
	struct wire_writer *d = *state;

	dump_header(d, 0, 0);
	dump_debug(d, 100, 0x1000, old, 1);
	dump_load(d, 100, 0x1000, 0x100, 1, "old");
	dump_debug(d, 300, 0x1000, new, 1);
	dump_load(d, 300, 0x1000, 0x80, 2, "new");
	CHECK(d, {{0x1010, 150, 250}, "old", "/old.js", 11, MISS_NONE},
	      {{0x1010, 300, 400}, "new", "/new.js", 22, MISS_NONE},
	      {{0x1010, 250, 350}, NULL, NULL, 0, MISS_AMBIGUOUS_TIME},
	      /* The newer one is shorter: past its end only the older one is known. */
	      {{0x1090, 250, 350}, "old", "/old.js", 11, MISS_NONE},
	      /* Before the first record: the first function is taken. */
	      {{0x1010, 10, 20}, "old", "/old.js", 11, MISS_NONE});
}

static void timestamps_may_be_out_of_order(void **state)
{
	struct wire_writer *d = *state;

	dump_header(d, 0, 0);
	dump_load(d, 300, 0x1000, 0x100, 2, "new");
	dump_load(d, 100, 0x1000, 0x100, 1, "old");
	CHECK(d, {{0x1010, 150, 250}, "old", "", 0, MISS_JIT_NO_LINES},
	      {{0x1010, 350, 400}, "new", "", 0, MISS_JIT_NO_LINES});
}

static void recompiled_under_its_name(void **state)
{
	static const struct dump_entry e[] = {{0x1000, 11, 0, "/a.js", 0}};
	struct wire_writer *d = *state;

	dump_header(d, 0, 0);
	dump_debug(d, 100, 0x1000, e, 1);
	dump_load(d, 100, 0x1000, 0x100, 1, "f");
	dump_debug(d, 300, 0x1000, e, 1);
	dump_load(d, 300, 0x1000, 0x100, 2, "f");
	CHECK(d, {{0x1010, 250, 350}, "f", "", 0, MISS_AMBIGUOUS_TIME},
	      {{0x1010, 300, 350}, "f", "/a.js", 11, MISS_NONE});
}

static void arch_times_cannot_be_compared(void **state)
{
	struct wire_writer *d = *state;

	dump_header(d, 0, 1);
	dump_load(d, 100, 0x1000, 0x100, 1, "old");
	dump_load(d, 9000, 0x1000, 0x80, 2, "new");
	dump_load(d, 9000, 0x2000, 0x80, 3, "alone");
	CHECK(d, {{0x1010, 200, 200}, NULL, NULL, 0, MISS_AMBIGUOUS_TIME},
	      {{0x1090, 200, 200}, "old", "", 0, MISS_JIT_NO_LINES},
	      {{0x2010, 200, 200}, "alone", "", 0, MISS_JIT_NO_LINES});
}

static void moved_code_keeps_its_lines(void **state)
{
	static const struct dump_entry e[] = {{0x1000, 5, 0, "/a.java", 0},
					      {0x1080, 6, 0, "/a.java", 0}};
	struct wire_writer *d = *state;

	dump_header(d, 0, 0);
	dump_debug(d, 100, 0x1000, e, 2);
	dump_load(d, 100, 0x1000, 0x100, 7, "f");
	dump_move(d, 300, 0x1000, 0x5000, 0x100, 7);
	dump_move(d, 400, 0x5000, 0x9000, 0x100, 7);
	CHECK(d, {{0x1090, 200, 250}, "f", "/a.java", 6, MISS_NONE},
	      {{0x1090, 250, 350}, NULL, NULL, 0, MISS_AMBIGUOUS_TIME},
	      {{0x1090, 310, 350}, NULL, NULL, 0, MISS_JIT_UNKNOWN},
	      {{0x5010, 310, 350}, "f", "/a.java", 5, MISS_NONE},
	      {{0x5090, 310, 350}, "f", "/a.java", 6, MISS_NONE},
	      {{0x5090, 410, 450}, NULL, NULL, 0, MISS_JIT_UNKNOWN},
	      {{0x9090, 410, 450}, "f", "/a.java", 6, MISS_NONE});
}

static void moves_of_what_is_not_there_are_counted(void **state)
{
	struct wire_writer *d = *state;
	struct ask asks[] = {{0x1010, 500, 500}, {0x5010, 500, 500}};
	_cleanup_(served_deinit) struct served s = {0};

	dump_header(d, 0, 0);
	dump_load(d, 100, 0x1000, 0x100, 7, "f");
	dump_move(d, 300, 0x1000, 0x5000, 0x100, 8); /* no such code */
	dump_move(d, 300, 0x2000, 0x5000, 0x100, 7); /* its address differs */
	dump_move(d, 300, 0x1000, 0x5000, 0x80, 7); /* its size differs */
	dump_move(d, 300, 0x1000, UINT64_MAX - 0x10, 0x100, 7); /* wraps */
	dump_end(d, dump_begin(d, 1, 300)); /* too short */
	serve_dump(d, asks, 2, &s);
	assert_int_equal(s.nr_bad, 5);
	assert_string_equal(s.answers.items[0].frames[0].function, "f");
	assert_int_equal(s.answers.items[1].miss, MISS_JIT_UNKNOWN);
}

static void moves_may_overlap_themselves(void **state)
{
	struct wire_writer *d = *state;

	dump_header(d, 0, 0);
	dump_load(d, 100, 0x1000, 0x100, 7, "f");
	dump_move(d, 300, 0x1000, 0x1080, 0x100, 7);
	CHECK(d, {{0x1010, 310, 350}, NULL, NULL, 0, MISS_JIT_UNKNOWN},
	      {{0x1090, 310, 350}, "f", "", 0, MISS_JIT_NO_LINES},
	      {{0x1110, 310, 350}, "f", "", 0, MISS_JIT_NO_LINES});
}

static void only_dumps_of_this_machine_are_read(void **state)
{
	struct wire_writer *d = *state;
	struct ask ask = AT(0x1000);
	static const struct {
		size_t off;
		uint32_t value;
	} lies[] = {{0, 0x4454694a}, {0, 0}, {4, 2}, {8, 39}, {8, UINT32_MAX}};

	dump_header(d, 0, 0);
	dump_load(d, 10, 0x1000, 0x100, 1, "f");
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		_cleanup_(served_deinit) struct served s = {0};
		uint32_t old;

		memcpy(&old, d->data + lies[i].off, 4);
		dump_set_u32(d, lies[i].off, lies[i].value);
		serve_dump(d, &ask, 1, &s);
		assert_int_equal(s.object_miss, MISS_JIT_FILE_REFUSED);
		assert_int_equal(s.answers.items[0].miss, MISS_JIT_FILE_REFUSED);
		dump_set_u32(d, lies[i].off, old);
	}
	CHECK(d, {AT(0x1000), "f", "", 0, MISS_JIT_NO_LINES});
}

static void huge_odd_and_empty_files(void **state)
{
	struct ask ask = AT(0x1000);
	_cleanup_(served_deinit) struct served s = {0};
	int fd = memfd_create("sparse", MFD_CLOEXEC), pipe_fds[2];

	(void)state;
	serve(jitdump_serve, fd, NULL, 0, &ask, 1, &s);
	assert_int_equal(s.object_miss, MISS_NONE); /* empty: not flushed yet */
	assert_int_equal(s.answers.items[0].miss, MISS_JIT_UNKNOWN);
	assert_int_equal(ftruncate(fd, 1ll << 40), 0);
	serve(jitdump_serve, fd, NULL, 0, &ask, 1, &s);
	assert_int_equal(s.object_miss, MISS_JIT_FILE_REFUSED);
	close(fd);
	assert_int_equal(pipe(pipe_fds), 0);
	serve(jitdump_serve, pipe_fds[0], NULL, 0, &ask, 1, &s);
	assert_int_equal(s.object_miss, MISS_JIT_FILE_REFUSED);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void a_longer_header_is_skipped(void **state)
{
	struct wire_writer *d = *state;

	dump_header(d, 0, 0);
	wire_put_u64(d, 0);
	dump_set_u32(d, 8, 48);
	dump_load(d, 10, 0x1000, 0x100, 1, "f");
	CHECK(d, {AT(0x1000), "f", "", 0, MISS_JIT_NO_LINES});
}

/* Records that are complete before the cut are answered. */
static void truncated_at_each_byte(void **state)
{
	static const struct dump_entry e[] = {{0x1000, 5, 0, "/a.js", 0},
					      {0x1010, 6, 0, SAME, 0}};
	struct wire_writer *d = *state;
	size_t load_end;

	dump_header(d, 0, 0);
	dump_debug(d, 100, 0x1000, e, 2);
	dump_load(d, 100, 0x1000, 0x100, 1, "first");
	load_end = d->len;
	dump_move(d, 110, 0x1000, 0x1010, 0x100, 1);
	dump_load(d, 120, 0x3000, 0x20, 2, "second");
	for (size_t len = 0; len <= d->len; len++) {
		_cleanup_free_ uint8_t *cut = malloc(len ? len : 1);
		_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
		_cleanup_(answer_writer_freep) struct answer_writer *a =
			answer_writer_new(2);
		struct query items[] = {
			{.ip = 0x1010, .first_ns = 500, .last_ns = 500},
			{.ip = 0x3010, .first_ns = 500, .last_ns = 500, .index = 1}};
		struct queries q = {.items = items, .nr = 2};
		struct jitdump jd;
		uint64_t nr_bad = 99;

		/* Exact size, so that AddressSanitizer sees reads past the end. */
		memcpy(cut, d->data, len);
		if (len < 40) {
			assert_false(jitdump_open(cut, len, &jd));
			continue;
		}
		assert_true(jitdump_open(cut, len, &jd));
		assert_int_equal(jitdump_resolve(&jd, &q, pool, a, &nr_bad), 0);
		assert_int_equal(items[0].has_before, len >= load_end);
		assert_int_equal(items[1].has_before, len == d->len);
		assert_true(nr_bad <= 1);
		if (len == d->len || len == load_end)
			assert_int_equal(nr_bad, 0);
	}
}

static void sizes_that_lie_end_the_dump(void **state)
{
	static const uint32_t lies[] = {0, 1, 15, 0x7fffffff, UINT32_MAX};
	struct wire_writer *d = *state;
	struct ask asks[] = {AT(0x1010), AT(0x2010), AT(0x3010)};
	size_t second;

	dump_header(d, 0, 0);
	dump_load(d, 100, 0x1000, 0x100, 1, "first");
	second = dump_load(d, 100, 0x2000, 0x20, 2, "second");
	dump_load(d, 100, 0x3000, 0x20, 3, "third");
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		_cleanup_(served_deinit) struct served s = {0};

		dump_set_u32(d, second + 4, lies[i]);
		serve_dump(d, asks, 3, &s);
		assert_int_equal(s.nr_bad, 1);
		assert_string_equal(s.answers.items[0].frames[0].function, "first");
		assert_int_equal(s.answers.items[1].miss, MISS_JIT_UNKNOWN);
		assert_int_equal(s.answers.items[2].miss, MISS_JIT_UNKNOWN);
	}
}

static void malformed_loads_are_counted_and_skipped(void **state)
{
	struct wire_writer *d = *state;
	struct ask asks[] = {AT(0x1010), AT(0xfffffffffffffff8), AT(0x3010)};
	_cleanup_(served_deinit) struct served s = {0};
	size_t off;

	dump_header(d, 0, 0);
	dump_load(d, 100, UINT64_MAX - 0x10, 0x100, 1, "wraps");
	dump_other(d, 0, 100, 40); /* no name */
	off = dump_begin(d, 0, 100); /* a name without a NUL */
	for (size_t i = 0; i < 40; i++)
		wire_put_u8(d, (uint8_t)i);
	dump_raw(d, "endless", 7);
	dump_end(d, off);
	dump_load(d, 100, 0x1000, 0, 1, "nothing");
	dump_other(d, 77, 100, 1000); /* unknown record: skipped, not counted as bad */
	dump_load(d, 100, 0x3000, 0x20, 1, "last");
	serve_dump(d, asks, 3, &s);
	assert_int_equal(s.nr_bad, 3);
	assert_int_equal(s.answers.items[0].miss, MISS_JIT_UNKNOWN);
	assert_int_equal(s.answers.items[1].miss, MISS_JIT_UNKNOWN);
	assert_string_equal(s.answers.items[2].frames[0].function, "last");
}

static void debug_info_that_lies_gives_no_line(void **state)
{
	static const struct dump_entry e[] = {{0x1000, 5, 0, "/a.js", 0},
					      {0x1010, 6, 0, "/a.js", 0}};
	struct wire_writer *d = *state;
	struct ask ask = AT(0x1010);
	size_t off;

	dump_header(d, 0, 0);
	off = dump_debug(d, 100, 0x1000, e, 2);
	dump_load(d, 100, 0x1000, 0x100, 1, "f");
	for (uint32_t nr = 0; nr < 10; nr++) {
		_cleanup_(served_deinit) struct served s = {0};

		dump_set_u32(d, off + 24, nr < 9 ? nr : UINT32_MAX);
		serve_dump(d, &ask, 1, &s);
		assert_string_equal(s.answers.items[0].frames[0].function, "f");
		assert_int_equal(s.answers.items[0].frames[0].line, nr == 1   ? 5
								    : nr == 2 ? 6
									      : 0);
		assert_int_equal(s.nr_bad, nr > 2);
	}
}

/* ---- V8 ---- */

static void v8_entries_are_an_elf_header_too_high(void **state)
{
	static const struct dump_entry e[] = {{0x1040, 4, 13, "/app/x.js", 0},
					      {0x1050, 5, 1, "/app/x.js", 0},
					      {0x1130, 6, 1, "/app/x.js", 0}};
	static const struct dump_entry plain[] = {{0x2000, 4, 13, "/app/x.js", 0},
						  {0x2050, 5, 1, "/app/x.js", 0}};
	struct wire_writer *d = *state;

	dump_header(d, DUMP_PAD_V8, 0);
	dump_debug(d, 10, 0x1000, e, 3);
	dump_load(d, 10, 0x1000, 0x100, 1, "JS:*f /app/x.js:4:13");
	/* In case V8 stops adding the header's size. */
	dump_debug(d, 10, 0x2000, plain, 2);
	dump_load(d, 10, 0x2000, 0x100, 2, "JS:*g /app/x.js:4:13");
	CHECK(d, {AT(0x1000), "f", "/app/x.js", 4, MISS_NONE},
	      {AT(0x100f), "f", "/app/x.js", 4, MISS_NONE},
	      {AT(0x1010), "f", "/app/x.js", 5, MISS_NONE},
	      {AT(0x10ef), "f", "/app/x.js", 5, MISS_NONE},
	      {AT(0x10ff), "f", "/app/x.js", 6, MISS_NONE},
	      {AT(0x204f), "g", "/app/x.js", 4, MISS_NONE},
	      {AT(0x2050), "g", "/app/x.js", 5, MISS_NONE});
}

static void others_are_shifted_only_when_they_must_be(void **state)
{
	static const struct dump_entry fits[] = {{0x1040, 4, 0, "/x", 0},
						 {0x10ff, 5, 0, "/x", 0},
						 {0x1100, 0, 0, "", 0}}; /* the end */
	static const struct dump_entry high[] = {{0x2040, 4, 0, "/x", 0},
						 {0x213f, 5, 0, "/x", 0}};
	struct wire_writer *d = *state;

	dump_header(d, 0, 0);
	dump_debug(d, 10, 0x1000, fits, 3);
	dump_load(d, 10, 0x1000, 0x100, 1, "f");
	dump_debug(d, 10, 0x2000, high, 2);
	dump_load(d, 10, 0x2000, 0x100, 2, "g");
	CHECK(d, {AT(0x1000), "f", "", 0, MISS_JIT_NO_LINES},
	      {AT(0x1040), "f", "/x", 4, MISS_NONE},
	      {AT(0x10ff), "f", "/x", 5, MISS_NONE},
	      {AT(0x2000), "g", "/x", 4, MISS_NONE},
	      {AT(0x20ff), "g", "/x", 5, MISS_NONE});
}

static void v8_baseline_code_has_no_lines(void **state)
{
	static const struct dump_entry e[] = {{0x1040, 5, 11, "/app/x.js", 0},
					      {0x1042, 6, 16, "/app/x.js", 0}};
	struct wire_writer *d = *state;

	dump_header(d, DUMP_PAD_V8, 0);
	dump_debug(d, 10, 0x1000, e, 2);
	dump_load(d, 10, 0x1000, 0x100, 1, "JS:^f /app/x.js:4:13");
	CHECK(d, {AT(0x1001), "f", "/app/x.js", 0, MISS_JIT_NO_LINES},
	      {AT(0x10ff), "f", "/app/x.js", 0, MISS_JIT_NO_LINES});
}

static void inlined_entries_bring_their_own_file(void **state)
{
	static const struct dump_entry e[] = {{0x1040, 4, 13, "file:///app/x.mjs", 0},
					      {0x1050, 99, 1, "/app/lib/y.js", 0},
					      {0x1060, 5, 1, "file:///app/x.mjs", 0}};
	struct wire_writer *d = *state;
	struct ask asks[] = {AT(0x1000), AT(0x1010)};
	_cleanup_(served_deinit) struct served s = {0};

	dump_header(d, DUMP_PAD_V8, 0);
	dump_debug(d, 10, 0x1000, e, 3);
	dump_load(d, 10, 0x1000, 0x100, 1, "JS:*f file:///app/x.mjs:4:13");
	CHECK(d, {AT(0x1000), "f", "/app/x.mjs", 4, MISS_NONE},
	      {AT(0x1010), "f", "/app/lib/y.js", 99, MISS_NONE},
	      {AT(0x1020), "f", "/app/x.mjs", 5, MISS_NONE});
	serve_dump(d, asks, 2, &s);
	assert_int_equal(s.answers.items[0].frames[0].start_line, 4);
	assert_int_equal(s.answers.items[1].frames[0].start_line, 0);
}

/* Long enough that the base name is left undamaged. */
#define LONG  "/srv/projects/shop/server.js"
#define LONG2 "/srv/projects/shop/lib/router.js"

static void damaged_names_with_their_base_name_left(void **state)
{
	static const struct dump_entry e[] = {{0x1040, 4, 13, LONG, 16},
					      {0x1050, 90, 3, LONG2, 16},
					      {0x1060, 6, 1, LONG, 16},
					      {0x1070, 7, 1, "node:fs", 0},
					      {0x1080, 8, 1, LONG, 16}};
	struct wire_writer *d = *state;
	struct ask ask = AT(0x1000);
	_cleanup_(served_deinit) struct served s = {0};

	dump_header(d, DUMP_PAD_V8, 0);
	dump_debug(d, 10, 0x1000, e, 5);
	dump_load(d, 10, 0x1000, 0x100, 1, "JS:*hot " LONG ":4:13");
	dump_load(d, 20, 0x2000, 0x100, 2, "JS:^route " LONG2 ":88:1");
	CHECK(d, {AT(0x1000), "hot", LONG, 4, MISS_NONE},
	      {AT(0x1010), "hot", LONG2, 90, MISS_NONE},
	      {AT(0x1020), "hot", LONG, 6, MISS_NONE},
	      {AT(0x1030), "hot", "node:fs", 7, MISS_NONE},
	      {AT(0x1040), "hot", LONG, 8, MISS_NONE});
	serve_dump(d, &ask, 1, &s);
	assert_int_equal(s.nr_bad, 0);
}

/* Two known files have the same length and end: the name stays unknown. */
static void damaged_names_that_fit_two_files(void **state)
{
	static const struct dump_entry e[] = {
		{0x1040, 4, 13, "/srv/projects/a1/b/c.js", 16}};
	struct wire_writer *d = *state;
	struct ask ask = AT(0x1000);
	_cleanup_(served_deinit) struct served s = {0};

	dump_header(d, DUMP_PAD_V8, 0);
	dump_debug(d, 10, 0x1000, e, 1);
	dump_load(d, 10, 0x1000, 0x100, 1, "JS:*f /srv/projects/a1/b/c.js:4:13");
	dump_load(d, 10, 0x2000, 0x100, 2, "JS:*g /srv/projects/a2/b/c.js:4:13");
	CHECK(d, {AT(0x1000), "f", "/srv/projects/a1/b/c.js", 0, MISS_JIT_NO_LINES});
	serve_dump(d, &ask, 1, &s);
	assert_int_equal(s.nr_bad, 1);
}

static void damaged_names_of_unknown_files(void **state)
{
	static const struct dump_entry e[] = {{0x1040, 4, 13, LONG, 16},
					      {0x1050, 7, 1, LONG2, 16}};
	struct wire_writer *d = *state;

	dump_header(d, DUMP_PAD_V8, 0);
	dump_debug(d, 10, 0x1000, e, 2);
	dump_load(d, 10, 0x1000, 0x100, 1, "JS:*f " LONG ":4:13");
	CHECK(d, {AT(0x1000), "f", LONG, 4, MISS_NONE},
	      {AT(0x1010), "f", LONG, 0, MISS_JIT_NO_LINES});
}

/*
 * "/app/server.js" is all damaged: a position known from baseline code gives the file.
 */
static void short_damaged_names_need_a_known_position(void **state)
{
	static const struct dump_entry baseline[] = {
		{0x1040, 5, 11, "/app/server.js", 16},
		{0x1042, 6, 16, "/app/server.js", 16}};
	static const struct dump_entry optimized[] = {
		{0x2040, 4, 13, "/app/server.js", 16}, /* start of the function */
		{0x2050, 6, 16, "/app/server.js", 16}, /* known from baseline */
		{0x2060, 6, 17, "/app/server.js", 16}, /* unknown */
		{0x2070, 40, 1, "/app/router.js", 16}, /* start, inlined */
		{0x2080, 1, 1, "/app/router.js", 16}}; /* in both files */
	struct wire_writer *d = *state;

	dump_header(d, DUMP_PAD_V8, 0);
	dump_debug(d, 10, 0x1000, baseline, 2);
	dump_load(d, 10, 0x1000, 0x100, 1, "JS:^hot /app/server.js:4:13");
	dump_load(d, 10, 0x3000, 0x100, 2, "JS:^ /app/server.js:1:1");
	dump_load(d, 10, 0x4000, 0x100, 3, "JS:^ /app/router.js:1:1");
	dump_load(d, 10, 0x5000, 0x100, 4, "JS:^route /app/router.js:40:1");
	dump_debug(d, 20, 0x2000, optimized, 5);
	dump_load(d, 20, 0x2000, 0x100, 5, "JS:*hot /app/server.js:4:13");
	CHECK(d, {AT(0x2000), "hot", "/app/server.js", 4, MISS_NONE},
	      {AT(0x2010), "hot", "/app/server.js", 6, MISS_NONE},
	      {AT(0x2020), "hot", "/app/server.js", 0, MISS_JIT_NO_LINES},
	      {AT(0x2030), "hot", "/app/router.js", 40, MISS_NONE},
	      {AT(0x2040), "hot", "/app/server.js", 0, MISS_JIT_NO_LINES});
}

/* The names of files have no room: the text in their place is shorter than they are. */
static void damaged_names_without_room(void **state)
{
	static const struct dump_entry e[] = {{0x1040, 4, 13, LONG, 16}};
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(64);
	_cleanup_(answer_writer_freep) struct answer_writer *a = answer_writer_new(1);
	struct query item = {.ip = 0x1010, .first_ns = 15, .last_ns = 20};
	struct queries q = {.items = &item, .nr = 1};
	struct wire_writer *d = *state;
	struct jitdump jd;
	uint64_t nr_bad;

	dump_header(d, DUMP_PAD_V8, 0);
	dump_debug(d, 10, 0x1000, e, 1);
	dump_load(d, 10, 0x1000, 0x40, 1, "JS:*f " LONG ":4:13");
	assert_true(jitdump_open(d->data, d->len, &jd));
	assert_int_equal(jitdump_resolve(&jd, &q, pool, a, &nr_bad), 0);
	assert_int_equal(nr_bad, 1);
}

/* Replaces each byte by other values: answers stay valid, sanitizers find nothing. */
static void flipped_bytes_never_harm(void **state)
{
	static const struct dump_entry e[] = {{0x1040, 4, 13, LONG, 16},
					      {0x1050, 6, 16, SAME, 0},
					      {0x1060, 7, 1, "node:fs", 0}};
	static const uint8_t values[] = {0, 1, 0x7f, 0xff};
	struct wire_writer *d = *state;

	dump_header(d, DUMP_PAD_V8, 0);
	dump_debug(d, 10, 0x1000, e, 3);
	dump_load(d, 10, 0x1000, 0x40, 1, "JS:*f " LONG ":4:13");
	dump_move(d, 30, 0x1000, 0x2000, 0x40, 1);
	for (size_t i = 0; i < d->len * ARRAY_SIZE(values); i++) {
		_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
		_cleanup_(answer_writer_freep) struct answer_writer *a =
			answer_writer_new(1);
		_cleanup_free_ uint8_t *copy = malloc(d->len);
		struct query item = {.ip = 0x1010, .first_ns = 15, .last_ns = 20};
		struct queries q = {.items = &item, .nr = 1};
		struct jitdump jd;
		uint64_t nr_bad;

		memcpy(copy, d->data, d->len);
		copy[i / ARRAY_SIZE(values)] = values[i % ARRAY_SIZE(values)];
		if (jitdump_open(copy, d->len, &jd))
			assert_int_equal(jitdump_resolve(&jd, &q, pool, a, &nr_bad), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(a_name_without_lines),
		T(lines_are_those_of_the_entry_below),
		T(entries_need_no_order),
		T(a_reused_address_is_told_by_time),
		T(timestamps_may_be_out_of_order),
		T(recompiled_under_its_name),
		T(arch_times_cannot_be_compared),
		T(moved_code_keeps_its_lines),
		T(moves_of_what_is_not_there_are_counted),
		T(moves_may_overlap_themselves),
		T(only_dumps_of_this_machine_are_read),
		T(huge_odd_and_empty_files),
		T(a_longer_header_is_skipped),
		T(truncated_at_each_byte),
		T(sizes_that_lie_end_the_dump),
		T(malformed_loads_are_counted_and_skipped),
		T(debug_info_that_lies_gives_no_line),
		T(v8_entries_are_an_elf_header_too_high),
		T(others_are_shifted_only_when_they_must_be),
		T(v8_baseline_code_has_no_lines),
		T(inlined_entries_bring_their_own_file),
		T(damaged_names_with_their_base_name_left),
		T(damaged_names_that_fit_two_files),
		T(damaged_names_of_unknown_files),
		T(short_damaged_names_need_a_known_position),
		T(damaged_names_without_room),
		T(flipped_bytes_never_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
