// SPDX-License-Identifier: GPL-2.0-or-later
/* Line tables and range lists of the DWARF reader, written byte by byte. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dwarf.h>

#include "decode/dwarf/line.h"
#include "decode/dwarf/scope.h"

/* A file with only sections; its code is at [0x1000, 0x2000). */
struct fake {
	struct debug_context context;
	struct debug_file file;
	struct addr_range exec;
	struct unit unit;
};

static void fake_init(struct fake *f, uint8_t version)
{
	*f = (struct fake){.context.work_left = 1 << 20, .exec = {0x1000, 0x2000}};
	f->file.context = &f->context;
	f->file.exec = &f->exec;
	f->file.nr_exec = 1;
	f->unit.file = &f->file;
	f->unit.widths = (struct form_widths){version, 8, 4};
	f->unit.has_stmt_list = true;
	f->unit.comp_dir = (struct form_value){
		.form = DW_FORM_string, .block = (const uint8_t *)"/build", .u = 6};
}

static void fake_section(struct fake *f, enum debug_section which, const void *data,
			 size_t len)
{
	f->file.sections[which].bytes = (struct bytes){data, len};
	f->file.sections[which].loaded = true;
}

/* Writes a version 4 table: two directories, three files, then @program. */
static size_t table_4(uint8_t *out, const uint8_t *program, size_t len)
{
	static const uint8_t header[] = {
		0,   0,   0,   0,   4,   0,   0,   0,   0, 0, /* lengths, set below */
		1,   1,   1,   251, 14,  13, /* line_base -5, range 14 */
		0,   1,   1,   1,   1,   0,   0,   0,   1, 0, 0, 1, /* opcodes */
		's', 'u', 'b', 0,   '/', 'a', 'b', 's', 0, 0, /* directories */
		'a', '.', 'c', 0,   0,   0,   0, /* 1: /build/a.c */
		'b', '.', 'c', 0,   1,   0,   0, /* 2: /build/sub/b.c */
		'c', '.', 'c', 0,   2,   0,   0,   0, /* 3: /abs/c.c */
	};
	uint32_t total = (uint32_t)(sizeof(header) - 4 + len);
	uint32_t header_len = sizeof(header) - 10;

	memcpy(out, header, sizeof(header));
	memcpy(out, &total, 4);
	memcpy(out + 6, &header_len, 4);
	if (len)
		memcpy(out + sizeof(header), program, len);
	return sizeof(header) + len;
}

#define SET_ADDRESS(lo, hi) 0, 9, DW_LNE_set_address, lo, hi, 0, 0, 0, 0, 0, 0
#define END_SEQUENCE        0, 1, DW_LNE_end_sequence
#define LINE(delta)         DW_LNS_advance_line, (delta)&0x7f
#define ROW                 DW_LNS_copy
#define FORWARD(bytes)      DW_LNS_advance_pc, bytes

struct row {
	uint64_t vaddr;
	bool found;
	uint32_t file, line, near_line;
};

static void check_rows(const uint8_t *program, size_t len, int expected,
		       const struct row *rows, size_t nr)
{
	_cleanup_(line_table_freep) struct line_table *t = NULL;
	struct address_hit hits[16] = {0};
	uint8_t bytes[512];
	struct fake f;

	fake_init(&f, 4);
	fake_section(&f, DEBUG_LINE, bytes, table_4(bytes, program, len));
	assert_int_equal(line_table_open(&f.unit, &t), 0);
	for (size_t i = 0; i < nr; i++)
		hits[i].vaddr = rows[i].vaddr;
	assert_int_equal(line_table_run(t, hits, nr, NULL), expected);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(hits[i].has_row, rows[i].found);
		if (!rows[i].found)
			continue;
		assert_int_equal(hits[i].file, rows[i].file);
		assert_int_equal(hits[i].line, rows[i].line);
		assert_int_equal(hits[i].near_line, rows[i].near_line);
	}
}

static void test_rows(void **state)
{
	static const uint8_t program[] = {
		SET_ADDRESS(0x00, 0x10),
		LINE(9),
		ROW, /* 0x1000: 10 */
		LINE(1),
		ROW, /* same address: 11 wins */
		FORWARD(16),
		DW_LNS_set_file,
		2,
		LINE(4),
		ROW, /* 0x1010: b.c 15 */
		FORWARD(16),
		LINE(-15),
		ROW, /* 0x1020: 0 */
		DW_LNS_const_add_pc,
		LINE(20),
		ROW, /* 0x1031: 20 */
		13 + 14 * 2 + 5 + 3, /* 0x1033: 23 */
		FORWARD(1),
		END_SEQUENCE,
	};
	static const struct row rows[] = {
		{.vaddr = 0xfff},          {0x1000, true, 1, 11, 11},
		{0x100f, true, 1, 11, 11}, {0x1010, true, 2, 15, 15},
		{0x1020, true, 2, 0, 15},  {0x1030, true, 2, 0, 15},
		{0x1031, true, 2, 20, 20}, {0x1033, true, 2, 23, 23},
		{.vaddr = 0x1034},
	};

	(void)state;
	check_rows(program, sizeof(program), 0, rows, ARRAY_SIZE(rows));
}

/* The linker moved a discarded function to 0, so its rows cover those of real code. */
static void test_thrown_away_sequence(void **state)
{
	static const uint8_t program[] = {
		SET_ADDRESS(0x00, 0x00), LINE(98), ROW,  FORWARD(0x80), FORWARD(0x80),
		DW_LNS_advance_pc,       0x80,     0x60, END_SEQUENCE, /* [0, 0x3000) */
		SET_ADDRESS(0x00, 0x11), LINE(4),  ROW,  FORWARD(8),    END_SEQUENCE,
	};
	static const struct row rows[] = {
		{.vaddr = 0x1080}, {0x1101, true, 1, 5, 5}, {.vaddr = 0x1108}};

	(void)state;
	check_rows(program, sizeof(program), 0, rows, ARRAY_SIZE(rows));
}

/* Two sequences contain the address: the nearest row counts, in either order. */
static void test_overlapping_sequences(void **state)
{
	static const uint8_t program[] = {
		SET_ADDRESS(0x00, 0x10), LINE(1), ROW, FORWARD(64), END_SEQUENCE,
		SET_ADDRESS(0x10, 0x10), LINE(2), ROW, FORWARD(16), END_SEQUENCE,
		SET_ADDRESS(0x00, 0x10), LINE(3), ROW, FORWARD(64), END_SEQUENCE,
	};
	static const struct row rows[] = {{0x1008, true, 1, 2, 2},
					  {0x1018, true, 1, 3, 3},
					  {0x1030, true, 1, 2, 2}};

	(void)state;
	check_rows(program, sizeof(program), 0, rows, ARRAY_SIZE(rows));
}

/* Rows with decreasing addresses, as from hand-written assembly. */
static void test_rows_going_back(void **state)
{
	static const uint8_t program[] = {
		SET_ADDRESS(0x20, 0x10),
		LINE(1),
		ROW,
		FORWARD(16),
		LINE(1),
		ROW,
		SET_ADDRESS(0x00, 0x10),
		LINE(1),
		ROW,
		FORWARD(16),
		LINE(1),
		ROW,
		FORWARD(4),
		END_SEQUENCE,
	};
	static const struct row rows[] = {{0x1000, true, 1, 4, 4},
					  {0x1013, true, 1, 5, 5},
					  {.vaddr = 0x1014},
					  {0x1028, true, 1, 2, 2}};

	(void)state;
	check_rows(program, sizeof(program), 0, rows, ARRAY_SIZE(rows));
}

static void test_program_breaks_off(void **state)
{
	static const uint8_t program[] = {
		SET_ADDRESS(0x00, 0x10),
		LINE(1),
		ROW,
		FORWARD(16),
		LINE(1),
		ROW,
		0,
		200,
		1, /* longer than the remaining bytes */
	};
	static const struct row rows[] = {{0x1008, true, 1, 2, 2}, {.vaddr = 0x1010}};

	(void)state;
	check_rows(program, sizeof(program), -EBADMSG, rows, ARRAY_SIZE(rows));
}

static void test_paths(void **state)
{
	_cleanup_(line_table_freep) struct line_table *t = NULL;
	uint8_t bytes[512];
	struct fake f;

	(void)state;
	fake_init(&f, 4);
	fake_section(&f, DEBUG_LINE, bytes, table_4(bytes, NULL, 0));
	assert_int_equal(line_table_open(&f.unit, &t), 0);
	assert_string_equal(line_table_path(t, 0), "");
	assert_string_equal(line_table_path(t, 1), "/build/a.c");
	assert_string_equal(line_table_path(t, 2), "/build/sub/b.c");
	assert_string_equal(line_table_path(t, 3), "/abs/c.c");
	assert_string_equal(line_table_path(t, 4), "");
	assert_string_equal(line_table_path(t, UINT64_MAX), "");
}

/* DWARF 5: directory 0 is the compilation directory, and files count from 0. */
static void test_paths_5(void **state)
{
	static const uint8_t table[] = {
		0x38,
		0,
		0,
		0,
		5,
		0,
		8,
		0,
		0x30,
		0,
		0,
		0, /* header_length: the rest of the table */
		1,
		1,
		1,
		251,
		14,
		1, /* opcode_base 1: no standard opcodes */
		1,
		DW_LNCT_path,
		DW_FORM_string,
		2, /* two directories */
		'/',
		'c',
		'd',
		0,
		's',
		0,
		3,
		DW_LNCT_path,
		DW_FORM_string,
		DW_LNCT_directory_index,
		DW_FORM_data1,
		DW_LNCT_MD5,
		DW_FORM_data16,
		1, /* one file */
		'x',
		'.',
		'c',
		0,
		1,
		1,
		2,
		3,
		4,
		5,
		6,
		7,
		8,
		9,
		10,
		11,
		12,
		13,
		14,
		15,
		16,
	};
	_cleanup_(line_table_freep) struct line_table *t = NULL;
	uint8_t bytes[sizeof(table)];
	struct fake f;

	(void)state;
	memcpy(bytes, table, sizeof(table));
	bytes[0] = sizeof(table) - 4;
	bytes[8] = sizeof(table) - 12;
	fake_init(&f, 5);
	fake_section(&f, DEBUG_LINE, bytes, sizeof(bytes));
	assert_int_equal(line_table_open(&f.unit, &t), 0);
	assert_string_equal(line_table_path(t, 0), "/cd/s/x.c");
	assert_string_equal(line_table_path(t, 1), "");
}

/* Writes a version 4 table of one file, whose name has @name_bytes. */
static size_t table_of_long_name(uint8_t *out, size_t name_bytes)
{
	size_t lists = 28, end = lists + 1 + name_bytes + 5;
	uint32_t total = (uint32_t)(end - 4), header_len = (uint32_t)(end - 10);

	table_4(out, NULL, 0);
	memset(out + lists, 0, end - lists); /* no directories */
	memset(out + lists + 1, 'n', name_bytes);
	memcpy(out, &total, 4);
	memcpy(out + 6, &header_len, 4);
	return end;
}

/* Any number of files can have one long directory. */
static void test_long_paths(void **state)
{
	static char dir[2 * PATH_MAX];
	static const size_t lengths[] = {PATH_MAX - 1, PATH_MAX, sizeof(dir) - 1};
	struct fake f;
	uint8_t bytes[512];

	(void)state;
	fake_init(&f, 4);
	fake_section(&f, DEBUG_LINE, bytes, table_4(bytes, NULL, 0));
	f.unit.comp_dir = (struct form_value){.form = DW_FORM_line_strp};
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		_cleanup_(line_table_freep) struct line_table *t = NULL;
		uint64_t before;

		memset(dir, 0, sizeof(dir));
		memset(dir, 'd', lengths[i]);
		fake_section(&f, DEBUG_LINE_STR, dir, sizeof(dir));
		assert_int_equal(line_table_open(&f.unit, &t), 0);
		before = f.context.work_left;
		assert_int_equal(strlen(line_table_path(t, 1)),
				 lengths[i] < PATH_MAX ? lengths[i] + 4 : 0);
		assert_in_range(before - f.context.work_left, PATH_MAX - 1, PATH_MAX + 4);
		before = f.context.work_left;
		line_table_path(t, 1);
		assert_int_equal(f.context.work_left, before);
	}
}

/* A directory in a mapped file, whose owner makes it shorter and longer. */
struct changing {
	char text[3000];
	atomic_bool ends;
};

static void *change(void *arg)
{
	struct changing *c = arg;

	for (unsigned int i = 0; !c->ends; i++)
		*(volatile char *)&c->text[1] = i & 1 ? 'd' : '\0';
	return NULL;
}

/* What was checked of it, as its length, must not be read again. */
static void test_path_that_changes(void **state)
{
	static struct changing dir;
	uint8_t bytes[4096];
	pthread_t thread;
	struct fake f;

	(void)state;
	memset(dir.text, 'd', sizeof(dir.text) - 1);
	fake_init(&f, 4);
	fake_section(&f, DEBUG_LINE, bytes, table_of_long_name(bytes, 3900));
	fake_section(&f, DEBUG_LINE_STR, dir.text, sizeof(dir.text));
	f.unit.comp_dir = (struct form_value){.form = DW_FORM_line_strp};
	assert_int_equal(pthread_create(&thread, NULL, change, &dir), 0);
	for (int i = 0; i < 20000; i++) {
		_cleanup_(line_table_freep) struct line_table *t = NULL;

		f.context.work_left = 1 << 20;
		assert_int_equal(line_table_open(&f.unit, &t), 0);
		assert_in_range(strlen(line_table_path(t, 1)), 1,
				sizeof(dir.text) + 3900);
	}
	dir.ends = true;
	pthread_join(thread, NULL);
}

static void test_bad_headers(void **state)
{
	struct line_table *t = NULL;
	uint8_t bytes[512], good[512];
	size_t len = table_4(good, NULL, 0);
	struct fake f;

	(void)state;
	fake_init(&f, 4);
	for (size_t cut = 0; cut < len; cut++) {
		fake_section(&f, DEBUG_LINE, good, cut);
		assert_int_equal(line_table_open(&f.unit, &t), -EBADMSG);
	}
	fake_section(&f, DEBUG_LINE, bytes, len);
	memcpy(bytes, good, len);
	bytes[14] = 0; /* line_range: division by 0 must not happen */
	assert_int_equal(line_table_open(&f.unit, &t), -EBADMSG);
	memcpy(bytes, good, len);
	bytes[15] = 0; /* opcode_base */
	assert_int_equal(line_table_open(&f.unit, &t), -EBADMSG);
	memcpy(bytes, good, len);
	bytes[4] = 6; /* version */
	assert_int_equal(line_table_open(&f.unit, &t), -EBADMSG);
	bytes[4] = 4;
	bytes[5] = 1; /* 0x104 is not 4 */
	assert_int_equal(line_table_open(&f.unit, &t), -EBADMSG);
	f.unit.stmt_list = len + 1;
	assert_int_equal(line_table_open(&f.unit, &t), -EBADMSG);
	f.unit.has_stmt_list = false;
	assert_int_equal(line_table_open(&f.unit, &t), -ENODATA);
}

/*
 * Writes a version 5 table: directories of one byte, of @nr_formats values of which all
 * but the first have no bytes, then more files than there are bytes.
 */
static size_t table_without_files(uint8_t *out, uint8_t nr_formats, uint8_t nr_dirs)
{
	static const uint8_t header[] = {
		0, 0, 0, 0, 5,   0,  8, 0, 0, 0, 0, /* lengths, set below */
		0, 1, 1, 1, 251, 14, 1, /* opcode_base 1: no standard opcodes */
	};
	size_t at = sizeof(header);
	uint32_t len;

	memcpy(out, header, sizeof(header));
	out[at++] = nr_formats;
	for (uint8_t i = 0; i < nr_formats; i++) {
		out[at++] = DW_LNCT_path;
		out[at++] = i ? DW_FORM_flag_present : DW_FORM_data1;
	}
	out[at++] = nr_dirs;
	memset(out + at, 0, nr_dirs);
	at += nr_dirs;
	out[at++] = 1;
	out[at++] = DW_LNCT_path;
	out[at++] = DW_FORM_data1;
	out[at++] = 100;
	len = (uint32_t)at - 4;
	memcpy(out, &len, 4);
	len = (uint32_t)at - 12;
	memcpy(out + 8, &len, 4);
	return at;
}

/* Any number of units can have one table, also if it cannot be read. */
static void test_headers_within_budget(void **state)
{
	static const uint8_t nr_formats[] = {1, 100};
	struct line_table *t = NULL;
	uint8_t bytes[512];
	struct fake f;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(nr_formats); i++) {
		uint64_t paid = 120U * (16 + nr_formats[i]);

		fake_init(&f, 5);
		fake_section(&f, DEBUG_LINE, bytes,
			     table_without_files(bytes, nr_formats[i], 120));
		f.context.work_left = paid + 1000;
		assert_int_equal(line_table_open(&f.unit, &t), -EBADMSG);
		assert_in_range(f.context.work_left, 1, 999);
		assert_int_equal(line_table_open(&f.unit, &t), -EBADMSG);
		assert_int_equal(f.context.work_left, 0);
	}
}

/* ---- range lists ---- */

static void check_ranges(struct fake *f, const struct form_value *ranges,
			 const struct addr_range *expected, size_t nr, bool failed)
{
	const struct form_value none = {0};
	struct addr_range got;
	struct pc_ranges it;

	pc_ranges_start(&it, &f->unit, &none, &none, ranges);
	for (size_t i = 0; i < nr; i++) {
		assert_true(pc_ranges_next(&it, &got));
		assert_int_equal(got.start, expected[i].start);
		assert_int_equal(got.end, expected[i].end);
	}
	assert_false(pc_ranges_next(&it, &got));
	assert_int_equal(it.failed, failed);
}

static void test_ranges_4(void **state)
{
	static const uint64_t list[] = {
		0x10,       0x20, /* from the unit's base */
		UINT64_MAX, 0x1800, /* sets another base */
		0x10,       0x18,   0x20, 0x20, /* empty */
		UINT64_MAX, 0,      0x0,  0x10, /* discarded: no code at 0 */
		0x1900,     0x1904, 0,    0,    0x1, 0x2,
	};
	static const struct addr_range expected[] = {
		{0x1010, 0x1020}, {0x1810, 0x1818}, {0x1900, 0x1904}};
	const struct form_value ranges = {.form = DW_FORM_sec_offset};
	struct fake f;

	(void)state;
	fake_init(&f, 4);
	f.unit.low_pc = (struct form_value){.form = DW_FORM_addr, .u = 0x1000};
	fake_section(&f, DEBUG_RANGES, list, sizeof(list));
	check_ranges(&f, &ranges, expected, ARRAY_SIZE(expected), false);
	/* Truncated before the terminator: entries before it count. */
	fake_section(&f, DEBUG_RANGES, list, 40);
	check_ranges(&f, &ranges, expected, 1, true);
}

static void test_ranges_5(void **state)
{
	static const uint64_t addresses[] = {0, 0x1100, 0x1200};
	static const uint8_t lists[] = {0,
					0,
					0,
					0,
					0,
					0,
					0,
					0,
					0,
					0,
					0,
					0, /* the header */
					4,
					0,
					0,
					0, /* offset of list 0 from here */
					DW_RLE_startx_endx,
					1,
					2, /* 0x1100 .. 0x1200 */
					DW_RLE_startx_length,
					2,
					8, /* 0x1200 .. 0x1208 */
					DW_RLE_base_addressx,
					1,
					DW_RLE_offset_pair,
					4,
					6,
					DW_RLE_start_length,
					0,
					0x13,
					0,
					0,
					0,
					0,
					0,
					0,
					16,
					DW_RLE_start_end,
					0,
					0x14,
					0,
					0,
					0,
					0,
					0,
					0,
					1,
					0x14,
					0,
					0,
					0,
					0,
					0,
					0,
					DW_RLE_base_address,
					0,
					0x15,
					0,
					0,
					0,
					0,
					0,
					0,
					DW_RLE_offset_pair,
					0,
					1,
					DW_RLE_startx_length,
					0,
					9, /* address 0: discarded */
					DW_RLE_end_of_list,
					DW_RLE_startx_length,
					1,
					1};
	static const struct addr_range expected[] = {
		{0x1100, 0x1200}, {0x1200, 0x1208}, {0x1104, 0x1106},
		{0x1300, 0x1310}, {0x1400, 0x1401}, {0x1500, 0x1501},
	};
	struct form_value ranges = {.form = DW_FORM_rnglistx, .u = 0};
	struct fake f;

	(void)state;
	fake_init(&f, 5);
	f.unit.rnglists_base = 12;
	fake_section(&f, DEBUG_ADDR, addresses, sizeof(addresses));
	fake_section(&f, DEBUG_RNGLISTS, lists, sizeof(lists));
	check_ranges(&f, &ranges, expected, ARRAY_SIZE(expected), false);
	ranges = (struct form_value){.form = DW_FORM_sec_offset, .u = 16};
	check_ranges(&f, &ranges, expected, ARRAY_SIZE(expected), false);
	ranges.u = sizeof(lists) + 1;
	check_ranges(&f, &ranges, NULL, 0, true);
	/* Without an address table the first entry fails. */
	fake_section(&f, DEBUG_ADDR, NULL, 0);
	ranges.u = 16;
	check_ranges(&f, &ranges, NULL, 0, true);
}

/* The limit of work in a call ends any list. */
static void test_ranges_within_budget(void **state)
{
	static const uint64_t list[] = {0x1000, 0x1001, 0x1002, 0x1003,
					0x1004, 0x1005, 0,      0};
	static const struct addr_range expected[] = {{0x1000, 0x1001}, {0x1002, 0x1003}};
	const struct form_value ranges = {.form = DW_FORM_sec_offset};
	struct fake f;

	(void)state;
	fake_init(&f, 4);
	f.context.work_left = 2;
	fake_section(&f, DEBUG_RANGES, list, sizeof(list));
	check_ranges(&f, &ranges, expected, 2, false);
	assert_int_equal(f.context.work_left, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_thrown_away_sequence),
		cmocka_unit_test(test_overlapping_sequences),
		cmocka_unit_test(test_rows_going_back),
		cmocka_unit_test(test_program_breaks_off),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_paths_5),
		cmocka_unit_test(test_long_paths),
		cmocka_unit_test(test_path_that_changes),
		cmocka_unit_test(test_bad_headers),
		cmocka_unit_test(test_headers_within_budget),
		cmocka_unit_test(test_ranges_4),
		cmocka_unit_test(test_ranges_5),
		cmocka_unit_test(test_ranges_within_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
