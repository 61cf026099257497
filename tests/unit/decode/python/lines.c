// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Known tables of each format, and line tables of the standard library of each CPython
 * on this machine, compared with that CPython's own reading: all files for those in
 * /usr/bin, every sixth file for others (LB_THOROUGH=1: all).
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "decode/python/lines.h"

struct expected {
	uint32_t start, end, line;
};

static void check(uint32_t version, uint32_t first_line, const void *table, size_t len,
		  bool is_whole, const struct expected *expected, size_t nr)
{
	/* A copy of exact size, so that AddressSanitizer sees reads past its end. */
	_cleanup_free_ uint8_t *copy = malloc(len ? len : 1);
	struct python_lines l;
	struct python_range range;

	assert_non_null(copy);
	memcpy(copy, table, len);
	python_lines_init(&l, version, first_line, copy, len, is_whole);
	for (size_t i = 0; i < nr; i++) {
		assert_true(python_lines_next(&l, &range));
		assert_int_equal(range.start, expected[i].start);
		assert_int_equal((uint32_t)range.end, expected[i].end);
		assert_int_equal(range.line, expected[i].line);
	}
	assert_false(python_lines_next(&l, &range));
	assert_false(python_lines_next(&l, &range));
}

#define CHECK(version, first_line, table, is_whole, ...)                           \
	do {                                                                       \
		const struct expected e_[] = {__VA_ARGS__};                        \
		check(version, first_line, table, sizeof(table) - 1, is_whole, e_, \
		      ARRAY_SIZE(e_));                                             \
	} while (0)
#define NOTHING(version, table, is_whole) \
	check(version, 7, table, sizeof(table) - 1, is_whole, NULL, 0)
#define END UINT32_MAX

static void test_lnotab(void **state)
{
	(void)state;
	CHECK(0x0309, 5, "", true, {0, END, 5});
	/* Objects/lnotab_notes.txt: 6 bytes on 1, then 44 on 7, 50 + 300 on 207, ... */
	CHECK(0x0309, 1, "\x00\x01\x06\x01\x2c\x05", true, {0, 6, 2}, {6, 50, 3},
	      {50, END, 8});
	CHECK(0x0309, 1, "\x06\x7f\x00\x49\xff\x00\x2d\x01", true, {0, 6, 1},
	      {6, 261, 201}, {261, 306, 201}, {306, END, 202});
	/* Backwards, as in a loop; half a pair at the end is ignored. */
	CHECK(0x0309, 10, "\x08\xfd\x02", true, {0, 8, 10}, {8, END, 7});
	/* Truncated: the line after the last pair is unknown. */
	CHECK(0x0309, 1, "\x00\x01\x06\x01", false, {0, 6, 2});
	NOTHING(0x0309, "", false);
	/* A line below 1 is no line. */
	CHECK(0x0309, 1, "\x02\x80\x02\x7f\x02\x02", true, {0, 2, 1}, {2, 4, 0},
	      {4, 6, 0}, {6, END, 2});
}

static void test_linetable(void **state)
{
	(void)state;
	NOTHING(0x030a, "", true);
	NOTHING(0x030a, "\x04", true);
	CHECK(0x030a, 5, "\x04\x00\x06\x01\x02\x80\x08\xff", true, {0, 4, 5}, {4, 10, 6},
	      {10, 12, 0}, {12, 20, 5});
	/* A step of more than 127 lines, and an entry without code or line. */
	CHECK(0x030a, 1, "\x00\x7f\x00\x80\x06\x7f", true, {0, 6, 255});
	CHECK(0x030a, 5, "\x04\x00\x06", false, {0, 4, 5});
}

static void test_locations(void **state)
{
	(void)state;
	NOTHING(0x030b, "", true);
	/* Short forms, one-line forms, each followed by columns. */
	CHECK(0x030b, 3, "\x80\x01\xd8\x02\x03\xe1\x04\x05", true, {0, 2, 3}, {2, 4, 4},
	      {4, 8, 6});
	/* Without columns: -1, then + 64 (in two bytes: bit 6 means more follow). */
	CHECK(0x030b, 9, "\xe8\x03\xe8\x40\x02", true, {0, 2, 8}, {2, 4, 72});
	/* Long form: + 1, followed by three varints. */
	CHECK(0x030d, 9, "\xf7\x02\x41\x01\x02\x03", true, {0, 16, 10});
	/* No location: 2 units; the next line is relative to the previous one. */
	CHECK(0x030e, 9, "\x80\x01\xf9\x80\x01", true, {0, 2, 9}, {2, 6, 0}, {6, 8, 9});
	/* Future versions are assumed to have the same format. */
	CHECK(0x0310, 3, "\x80\x01", true, {0, 2, 3});
}

static void test_malformed_locations(void **state)
{
	(void)state;
	NOTHING(0x030b, "\x01\x80\x01", true); /* no head */
	NOTHING(0x030b, "\xe8", true); /* its number is missing */
	NOTHING(0x030b, "\xe8\x41", true); /* its number has no end */
	NOTHING(0x030b, "\xe8\x41\x80\x01", true); /* a head inside a number */
	NOTHING(0x030b, "\xe8\x41\x41\x41\x41\x41\x41\x01", true); /* 42 bits */
	CHECK(0x030b, 3, "\x80\x01\xe8\x41", false, {0, 2, 3}); /* truncated */
	/* The largest number leaves the range of lines, and returns. */
	CHECK(0x030b, 3, "\xe8\x7e\x7f\x7f\x7f\x7f\x3f\xe8\x7f\x7f\x7f\x7f\x7f\x3f", true,
	      {0, 2, 0}, {2, 4, 3});
	NOTHING(0x0308, "\x80\x01", true);
	NOTHING(0, "\x80\x01", true);
}

/* ---- the standard library ---- */

struct oracle {
	FILE *pipe;
	uint32_t version;
	uint64_t nr_codes, nr_units, nr_wrong;
};

static bool get(FILE *f, void *ret, size_t len)
{
	return fread(ret, 1, len, f) == len;
}

static uint32_t get_u32(FILE *f)
{
	uint32_t v;

	assert_true(get(f, &v, sizeof(v)));
	return v;
}

struct truth {
	uint32_t start, end;
	int32_t line;
};

/* The line of the unit at @byte. Calls must be in increasing order. */
static uint32_t line_at(struct python_lines *l, struct python_range *at, uint64_t byte)
{
	while (byte >= at->end)
		if (!python_lines_next(l, at))
			return UINT32_MAX;
	return byte < at->start ? UINT32_MAX : at->line;
}

/* Compares one code object, whose first line was already read. */
static void compare(struct oracle *o, uint32_t first_line)
{
	uint32_t len = get_u32(o->pipe), code_bytes, nr;
	_cleanup_free_ uint8_t *table = malloc(len + 1);
	_cleanup_free_ struct truth *truth = NULL;
	struct python_range range = {0};
	struct python_lines l;
	uint64_t byte = 0;

	assert_non_null(table);
	assert_true(get(o->pipe, table, len));
	code_bytes = get_u32(o->pipe);
	nr = get_u32(o->pipe);
	truth = calloc(nr + 1, sizeof(*truth));
	assert_non_null(truth);
	assert_true(get(o->pipe, truth, nr * sizeof(*truth)));
	python_lines_init(&l, o->version, first_line, table, len, true);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t line = truth[i].line < 0 ? 0 : (uint32_t)truth[i].line;

		assert_int_equal(truth[i].start, byte);
		for (; byte < truth[i].end; byte += 2, o->nr_units++)
			o->nr_wrong += line_at(&l, &range, byte) != line;
	}
	assert_int_equal(byte, code_bytes);
	o->nr_codes++;
}

/* @nth  every @nth file of the library is read */
static void ask(const char *python, uint32_t version, int nth)
{
	struct oracle o = {0};
	char command[4096];
	uint32_t first_line;

	snprintf(command, sizeof(command),
		 "%s -I -W ignore tests/fixtures/python/line_tables.py %d", python, nth);
	o.pipe = popen(command, "r");
	assert_non_null(o.pipe);
	o.version = get_u32(o.pipe);
	assert_int_equal(o.version, version);
	while (get(o.pipe, &first_line, sizeof(first_line)))
		compare(&o, first_line);
	assert_int_equal(pclose(o.pipe), 0);
	print_message("%s: %lu code objects, %lu offsets, %lu wrong\n", python,
		      (unsigned long)o.nr_codes, (unsigned long)o.nr_units,
		      (unsigned long)o.nr_wrong);
	/* Debian's minimal Python has only a hundredth of the library. */
	assert_true(o.nr_units > 10000);
	assert_int_equal(o.nr_wrong, 0);
}

/*
 * The Pythons 3.@minor of this machine; of pyenv's, which may be many, every sixth
 * file.
 */
static void test_standard_library(void **state)
{
	const unsigned int minor = *(const unsigned int *)*state;
	const char *home = getenv("HOME");
	const bool thorough = getenv("LB_THOROUGH");
	char pattern[512];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/usr/bin/python3.%u", minor);
	assert_true(glob(pattern, 0, NULL, &found) != GLOB_NOSPACE);
	snprintf(pattern, sizeof(pattern), "%s/.pyenv/versions/3.%u.*/bin/python3",
		 home ? home : "", minor);
	glob(pattern, GLOB_APPEND, NULL, &found);
	if (!found.gl_pathc) {
		print_message("no CPython 3.%u in /usr/bin or ~/.pyenv\n", minor);
		globfree(&found);
		skip();
	}
	for (size_t i = 0; i < found.gl_pathc; i++)
		ask(found.gl_pathv[i], 0x0300 + minor,
		    thorough || !strncmp(found.gl_pathv[i], "/usr/bin/", 9) ? 1 : 6);
	globfree(&found);
}

int main(void)
{
	static unsigned int minors[] = {9, 10, 11, 12, 13, 14, 15};
#define STANDARD_LIBRARY(i) cmocka_unit_test_prestate(test_standard_library, &minors[i])
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lnotab),
		cmocka_unit_test(test_linetable),
		cmocka_unit_test(test_locations),
		cmocka_unit_test(test_malformed_locations),
		STANDARD_LIBRARY(0),
		STANDARD_LIBRARY(1),
		STANDARD_LIBRARY(2),
		STANDARD_LIBRARY(3),
		STANDARD_LIBRARY(4),
		STANDARD_LIBRARY(5),
		STANDARD_LIBRARY(6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
