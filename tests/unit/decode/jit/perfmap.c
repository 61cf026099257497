// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/perfmap.h"

#include <errno.h>
#include <stdlib.h>

#include "decode/jit/name.h"
#include "serve.h"

static const struct look no_looks[1];

/* Looks up one address at times 1 to 2; "" for a miss. */
static const char *name_at(struct served *s, const char *map, size_t len, uint64_t ip)
{
	struct ask ask = {.ip = ip, .first_ns = 1, .last_ns = 2};
	_cleanup_close_ int fd = file_of(map, len);

	serve(perfmap_serve, fd, no_looks, 0, &ask, 1, s);
	return s->answers.items[0].nr_frames ? s->answers.items[0].frames[0].function
					     : "";
}

static void lines_as_runtimes_write_them(void **state)
{
	static const struct {
		const char *line;
		uint64_t start, size;
		const char *name;
	} rows[] = {
		{"7f00 10 foo", 0x7f00, 0x10, "foo"},
		{"0x7f00 0x10 foo", 0x7f00, 0x10, "foo"},
		{"0X7F00 0X1A foo", 0x7f00, 0x1a, "foo"},
		{"AbCd eF foo", 0xabcd, 0xef, "foo"},
		{"0x00007fd55c2a1e80 0x00000000000003a0 void A.f(int, long)",
		 0x7fd55c2a1e80, 0x3a0, "void A.f(int, long)"},
		{"7f00 10 foo\r", 0x7f00, 0x10, "foo"},
		{"7f00\t10\tfoo bar ", 0x7f00, 0x10, "foo bar "},
		{"7f00  10   foo", 0x7f00, 0x10, "foo"},
		{"0 0 x", 0, 0, "x"},
		{"0 1 0", 0, 1, "0"},
		{"ffffffffffffffff 0 end", UINT64_MAX, 0, "end"},
		{"ffffffffffffff00 ff end", 0xffffffffffffff00, 0xff, "end"},
	};
	static const char *const bad[] = {"",
					  "\r",
					  "7f00",
					  "7f00 10",
					  "7f00 10 ",
					  "7f00 10 \r",
					  " 7f00 10 foo",
					  "zz 10 foo",
					  "7f00 zz foo",
					  "7f00 -1 foo",
					  "0x 10 foo",
					  "7f00:10 foo",
					  "7f00,10,foo",
					  "10000000000000000 1 too wide",
					  "ffffffffffffffff 1 wraps",
					  "8000000000000000 8000000000000000 wraps"};
	struct perfmap_line line;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(
			perfmap_parse_line(rows[i].line, strlen(rows[i].line), &line));
		assert_int_equal(line.start_ip, rows[i].start);
		assert_int_equal(line.size_bytes, rows[i].size);
		assert_int_equal(line.name_len, strlen(rows[i].name));
		assert_memory_equal(line.name, rows[i].name, line.name_len);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (perfmap_parse_line(bad[i], strlen(bad[i]), &line))
			fail_msg("taken: \"%s\"", bad[i]);
	assert_false(perfmap_parse_line("7f00 10 a\0b", 11, &line));
}

#define MAP(text) text, sizeof(text) - 1

static void unsorted_and_overlapping(void **state)
{
	static const char map[] = "3000 100 third\n"
				  "1000 100 first\n"
				  "2000 100 second\n"
				  "1080 10 cut\n" /* cuts the older one */
				  "2000 0 nothing\n"
				  "0x3000 0x80 newer third\n";
	static const struct {
		uint64_t ip;
		const char *name;
	} rows[] = {{0xfff, ""},
		    {0x1000, "first"},
		    {0x107f, "first"},
		    {0x1080, "cut"},
		    {0x108f, "cut"},
		    {0x1090, "first"},
		    {0x10ff, "first"},
		    {0x1100, ""},
		    {0x2000, "second"},
		    {0x3000, "newer third"},
		    {0x307f, "newer third"},
		    {0x3080, "third"},
		    {0x3100, ""},
		    {0, ""},
		    {0xffffffffffffffff, ""}};
	struct served s = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_string_equal(name_at(&s, MAP(map), rows[i].ip), rows[i].name);
		assert_int_equal(s.answers.items[0].miss,
				 *rows[i].name ? MISS_JIT_NO_LINES : MISS_JIT_UNKNOWN);
		assert_int_equal(s.nr_bad, 0);
		assert_int_equal(s.object_miss, MISS_NONE);
	}
	served_deinit(&s);
}

static void last_line_without_newline_is_not_there_yet(void **state)
{
	struct served s = {0};

	(void)state;
	assert_string_equal(name_at(&s, MAP("1000 10 a\n2000 10 b"), 0x2000), "");
	assert_int_equal(s.nr_bad, 0);
	assert_string_equal(name_at(&s, MAP("1000 10 a\n2000 10 b\n"), 0x2000), "b");
	assert_string_equal(name_at(&s, MAP("1000 10 a"), 0x1000), "");
	assert_int_equal(s.object_miss, MISS_NONE);
	assert_string_equal(name_at(&s, MAP(""), 0x1000), "");
	assert_int_equal(s.object_miss, MISS_NONE);
	served_deinit(&s);
}

static void garbage_is_refused_bad_lines_are_counted(void **state)
{
	_cleanup_free_ char *noise = malloc(100000);
	uint32_t seed = 1;
	struct served s = {0};

	(void)state;
	assert_string_equal(name_at(&s, MAP("hello\n1000 10 a\r\n\n\x80\xff\n"), 0x1000),
			    "a");
	assert_int_equal(s.nr_bad, 3);
	assert_int_equal(s.object_miss, MISS_NONE);
	for (size_t i = 0; i < 100000; i++)
		noise[i] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
	name_at(&s, noise, 100000, 0x1000);
	assert_int_equal(s.object_miss, MISS_JIT_FILE_REFUSED);
	assert_int_equal(s.answers.items[0].miss, MISS_JIT_FILE_REFUSED);
	assert_true(s.nr_bad > 100);
	served_deinit(&s);
}

static void long_names(void **state)
{
	_cleanup_free_ char *map = malloc(300000);
	struct served s = {0};
	int n;

	(void)state;
	n = sprintf(map, "1000 10 %0288d\n2000 10 %05000d\n3000 10 %070000d\n4000 10 z\n",
		    1, 2, 3);
	assert_int_equal(strlen(name_at(&s, map, (size_t)n, 0x1000)), 288);
	assert_int_equal(strlen(name_at(&s, map, (size_t)n, 0x2000)), 4096);
	assert_string_equal(name_at(&s, map, (size_t)n, 0x3000), "");
	assert_int_equal(s.nr_bad, 1);
	assert_string_equal(name_at(&s, map, (size_t)n, 0x4000), "z");
	served_deinit(&s);
}

/* The result does not depend on the size of the pieces. */
static void pieces_of_any_size(void **state)
{
	static const char map[] = "1000 10 a\n\nbad line\r\n0x2000 10 second name\r\n"
				  "3000 10 c\n4000 10 unfinished";
	static const uint64_t asks[] = {0x1000, 0x2000, 0x3000, 0x4000};
	static const char *const names[] = {"a", "second name", "c", NULL};

	(void)state;
	for (size_t piece = 1; piece <= sizeof(map); piece++) {
		_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
		struct query items[4] = {0};
		struct queries q = {.items = items, .nr = 4};
		struct perfmap_scan scan;

		for (size_t i = 0; i < 4; i++)
			items[i].ip = asks[i];
		perfmap_scan_init(&scan, NULL, 0, &q, pool);
		for (size_t at = 0; at < sizeof(map) - 1; at += piece) {
			size_t left = sizeof(map) - 1 - at;
			size_t n = left < piece ? left : piece;
			/*
			 * A heap copy of exact size, so that AddressSanitizer sees
			 * reads past its end.
			 */
			_cleanup_free_ char *copy = malloc(n);

			memcpy(copy, map + at, n);
			assert_int_equal(perfmap_scan_bytes(&scan, copy, n), 0);
		}
		assert_int_equal(scan.nr_lines, 3);
		assert_int_equal(scan.nr_bad, 2);
		assert_int_equal(scan.offset, sizeof(map) - 1);
		for (size_t i = 0; i < 4; i++) {
			struct claim c = {0};

			assert_int_equal(query_owner(&items[i], &c),
					 names[i] ? OWNER_ONE : OWNER_NONE);
			if (names[i])
				assert_string_equal(c.name, names[i]);
		}
		perfmap_scan_deinit(&scan);
	}
}

/* One address, three owners: 10 bytes at time 100, 20 at 200, 30 at 300. */
static void the_file_size_tells_the_age(void **state)
{
	static const char map[] = "1000 10 a\n1000 10 b\n1000 10 c\n";
	static const struct look looks[] = {
		{100, 10}, {150, 19}, {200, 20}, {300, 30}, {400, 30}};
	static const struct {
		uint64_t first, last;
		const char *name; /* NULL: ambiguous */
	} rows[] = {
		{100, 100, "a"},
		{110, 150, "a"},
		{100, 151, NULL},
		{160, 170, NULL},
		{200, 200, "b"},
		{199, 200, NULL},
		{200, 201, NULL},
		{300, 300, "c"},
		{350, 999, "c"},
		{0, 999, NULL},
		/* a may have been written any time before the first look. */
		{50, 60, "a"},
		{0, 0, "a"},
	};
	_cleanup_close_ int fd = file_of(map, sizeof(map) - 1);
	struct served s = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ask ask = {0x1008, rows[i].first, rows[i].last};
		const struct answer *got;

		serve(perfmap_serve, fd, looks, ARRAY_SIZE(looks), &ask, 1, &s);
		got = &s.answers.items[0];
		if (!rows[i].name) {
			if (got->miss != MISS_AMBIGUOUS_TIME)
				fail_msg("row %zu: %s", i, miss_name(got->miss));
			assert_int_equal(got->nr_frames, 0);
			continue;
		}
		if (got->miss != MISS_JIT_NO_LINES)
			fail_msg("row %zu: %s", i, miss_name(got->miss));
		assert_string_equal(got->frames[0].function, rows[i].name);
	}
	served_deinit(&s);
}

static void a_line_that_came_late_names_earlier_samples(void **state)
{
	static const char map[] = "1000 10 a\n2000 10 late\n";
	static const struct look looks[] = {{100, 10}, {500, 23}};
	struct ask asks[] = {{0x2000, 110, 120}, {0x2000, 600, 600}};
	_cleanup_close_ int fd = file_of(map, sizeof(map) - 1);
	struct served s = {0};

	(void)state;
	serve(perfmap_serve, fd, looks, 2, asks, 2, &s);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(s.answers.items[i].frames[0].function, "late");
	/* Written after the last look. */
	serve(perfmap_serve, fd, looks, 1, asks, 2, &s);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(s.answers.items[i].frames[0].function, "late");
	served_deinit(&s);
}

static void a_rewritten_file_starts_anew(void **state)
{
	static const char map[] = "1000 10 now\n1000 10 later\n";
	/* 9000 bytes of the old file, then 12 and 26 of a new one. */
	static const struct look looks[] = {{100, 9000}, {200, 12}, {300, 26}};
	struct ask asks[] = {{0x1000, 200, 250}, {0x1000, 300, 300}, {0x1000, 210, 220}};
	_cleanup_close_ int fd = file_of(map, sizeof(map) - 1);
	struct served s = {0};

	(void)state;
	serve(perfmap_serve, fd, looks, 3, asks, 1, &s);
	assert_int_equal(s.answers.items[0].miss, MISS_AMBIGUOUS_TIME);
	serve(perfmap_serve, fd, looks, 3, asks + 1, 1, &s);
	assert_string_equal(s.answers.items[0].frames[0].function, "later");
	/* If the old size were kept, the first look would cover both lines. */
	asks[0] = (struct ask){0x1000, 200, 200};
	serve(perfmap_serve, fd, looks, 3, asks, 1, &s);
	assert_string_equal(s.answers.items[0].frames[0].function, "now");
	served_deinit(&s);
}

static void frames_carry_what_the_name_tells(void **state)
{
	static const char map[] = "1000 10 JS:*hot /app/x.js:4:13\n";
	const struct frame *f;
	struct served s = {0};

	(void)state;
	name_at(&s, MAP(map), 0x1000);
	assert_int_equal(s.answers.items[0].miss, MISS_JIT_NO_LINES);
	assert_int_equal(s.answers.items[0].nr_frames, 1);
	f = &s.answers.items[0].frames[0];
	assert_string_equal(f->function, "hot");
	assert_string_equal(f->system_name, "JS:*hot /app/x.js:4:13");
	assert_string_equal(f->file, "/app/x.js");
	assert_int_equal(f->start_line, 4);
	assert_int_equal(f->line, 0);
	served_deinit(&s);
}

static void huge_and_odd_files_are_refused(void **state)
{
	struct ask ask = {0x1000, 0, 0};
	struct served s = {0};
	int fd = memfd_create("sparse", MFD_CLOEXEC), pipe_fds[2];

	(void)state;
	assert_int_equal(ftruncate(fd, 1ll << 40), 0);
	serve(perfmap_serve, fd, no_looks, 0, &ask, 1, &s);
	assert_int_equal(s.object_miss, MISS_JIT_FILE_REFUSED);
	close(fd);
	assert_int_equal(pipe(pipe_fds), 0);
	serve(perfmap_serve, pipe_fds[0], no_looks, 0, &ask, 1, &s);
	assert_int_equal(s.object_miss, MISS_JIT_FILE_REFUSED);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	served_deinit(&s);
}

static void malformed_requests_are_refused(void **state)
{
	static const uint8_t lie[] = {0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0};
	struct wire_reader r = {.data = lie, .len = sizeof(lie)};
	struct wire_writer reply = {0};
	int fd = 0;

	(void)state;
	assert_int_equal(perfmap_serve(NULL, &r, &fd, 1, &reply), -EBADMSG);
	assert_int_equal(perfmap_serve(NULL, &r, &fd, 0, &reply), -EINVAL);
	assert_int_equal(reply.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_as_runtimes_write_them),
		cmocka_unit_test(unsorted_and_overlapping),
		cmocka_unit_test(last_line_without_newline_is_not_there_yet),
		cmocka_unit_test(garbage_is_refused_bad_lines_are_counted),
		cmocka_unit_test(long_names),
		cmocka_unit_test(pieces_of_any_size),
		cmocka_unit_test(the_file_size_tells_the_age),
		cmocka_unit_test(a_line_that_came_late_names_earlier_samples),
		cmocka_unit_test(a_rewritten_file_starts_anew),
		cmocka_unit_test(frames_carry_what_the_name_tells),
		cmocka_unit_test(huge_and_odd_files_are_refused),
		cmocka_unit_test(malformed_requests_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
