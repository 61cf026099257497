// SPDX-License-Identifier: GPL-2.0-or-later
/* Known bytes give known rows; malformed bytes are rejected quickly. */
#include "decode/cfi/cfi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dwarf.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"

#define VADDR 0x10000 /* of the section */
#define TEXT  0x400000

/* ---- a section, byte by byte ---- */

struct build {
	uint8_t bytes[65536];
	size_t len;
	size_t entry; /* offset of the open entry */
	bool is_debug_frame;
};

static void put(struct build *b, const void *data, size_t len)
{
	assert_true(len <= sizeof(b->bytes) - b->len);
	memcpy(b->bytes + b->len, data, len);
	b->len += len;
}

static void put_n(struct build *b, uint64_t v, size_t nr_bytes)
{
	put(b, &v, nr_bytes);
}

#define PUT(b, ...)                                   \
	do {                                          \
		const uint8_t put_[] = {__VA_ARGS__}; \
		put(b, put_, sizeof(put_));           \
	} while (0)

static void close_entry(struct build *b)
{
	uint32_t len;

	while ((b->len - b->entry) % 8 != 4)
		PUT(b, DW_CFA_nop);
	len = (uint32_t)(b->len - b->entry - 4);
	memcpy(b->bytes + b->entry, &len, 4);
}

static size_t open_cie(struct build *b)
{
	b->entry = b->len;
	put_n(b, 0, 4);
	put_n(b, b->is_debug_frame ? UINT32_MAX : 0, 4);
	return b->entry;
}

/* As gcc writes it: the CFA is SP + 8, the return address is just below. */
#define INITIAL DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1

static size_t put_cie(struct build *b, const char *letters, uint8_t encoding)
{
	size_t at = open_cie(b);

	PUT(b, 1);
	put(b, letters, strlen(letters) + 1);
	PUT(b, 1, 0x78, 16); /* code * 1, data * -8 */
	if (*letters == 'z')
		PUT(b, 1, encoding);
	PUT(b, INITIAL);
	close_entry(b);
	return at;
}

/* 4 bytes, relative to their own address: used by nearly all compilers. */
#define PCREL4 (DW_EH_PE_pcrel | DW_EH_PE_sdata4)

static void open_fde_of(struct build *b, size_t cie)
{
	b->entry = b->len;
	put_n(b, 0, 4);
	put_n(b, b->is_debug_frame ? cie : b->len - cie, 4);
}

static void open_fde(struct build *b, size_t cie, uint64_t vaddr, uint32_t size)
{
	open_fde_of(b, cie);
	put_n(b, vaddr - (VADDR + b->len), 4);
	put_n(b, size, 4);
	PUT(b, 0);
}

static struct cfi_section section_of(const struct build *b)
{
	return (struct cfi_section){.bytes = b->bytes,
				    .len = b->len,
				    .vaddr = VADDR,
				    .text_vaddr = TEXT,
				    .is_debug_frame = b->is_debug_frame};
}

static struct cfi_rows read_part(const struct build *b, uint64_t lo, uint64_t hi)
{
	const struct cfi_section section = section_of(b);
	struct cfi_rows rows = {0};
	uint64_t steps = 1000000;

	assert_int_equal(cfi_read(&section, lo, hi, &steps, &rows), 0);
	assert_int_equal(cfi_rows_finish(&rows), 0);
	return rows;
}

/* ---- rows as text: "address cfa fp uncalled" ---- */

static const char *cfa_text(const struct lb_unwind_rule *r, char *buf, size_t size)
{
	static const char *const names[] = {"none",   "sp",  "fp",         "plt",
					    "*fp",    "*sp", "*fp+8",      "*sp+8",
					    "signal", "end", "unsupported"};

	if (r->cfa >= LB_CFA_REG)
		snprintf(buf, size, "r%d%+d", r->cfa - LB_CFA_REG, r->cfa_off);
	else if (r->cfa_off)
		snprintf(buf, size, "%s%+d", names[r->cfa], r->cfa_off);
	else
		snprintf(buf, size, "%s", names[r->cfa]);
	return buf;
}

static void row_text(const struct cfi_row *row, char *buf, size_t size)
{
	static const char *const fps[] = {"", " @cfa", " @fp", " fp?", " fp!"};
	char cfa[40], off[16] = "";

	if (row->rule.fp_off)
		snprintf(off, sizeof(off), "%+d", row->rule.fp_off);
	snprintf(buf, size, "%lx %s%s%s%s\n", row->vaddr,
		 cfa_text(&row->rule, cfa, sizeof(cfa)), fps[row->rule.fp & LB_FP_KIND],
		 off, row->rule.fp & LB_FP_UNCALLED ? " uncalled" : "");
}

static void assert_rows(const struct cfi_rows *rows, const char *expected)
{
	char text[8192] = "", line[128];

	for (size_t i = 0; i < rows->nr; i++) {
		row_text(&rows->items[i], line, sizeof(line));
		assert_true(strlen(text) + strlen(line) < sizeof(text));
		strcat(text, line);
	}
	assert_string_equal(text, expected);
}

static void assert_section(const struct build *b, const char *expected)
{
	struct cfi_rows rows = read_part(b, 0, UINT64_MAX);

	assert_rows(&rows, expected);
	cfi_rows_deinit(&rows);
}

static struct cfi_stats stats_of(const struct build *b)
{
	struct cfi_rows rows = read_part(b, 0, UINT64_MAX);
	struct cfi_stats stats = rows.stats;

	cfi_rows_deinit(&rows);
	return stats;
}

/* A function of 64 bytes with these instructions. */
#define ASSERT_FUNCTION(expected, ...)                         \
	do {                                                   \
		struct build b_ = {0};                         \
		size_t cie_ = put_cie(&b_, "zR", PCREL4);      \
		open_fde(&b_, cie_, TEXT, 64);                 \
		PUT(&b_, __VA_ARGS__);                         \
		close_entry(&b_);                              \
		assert_section(&b_, expected "400040 none\n"); \
	} while (0)

/* ---- as compilers write it ---- */

static void test_functions(void **state)
{
	(void)state;
	/* push %rbp; mov %rsp,%rbp; ... leave */
	ASSERT_FUNCTION("400000 sp+8\n400001 sp+16 @cfa-16\n400004 fp+16 @cfa-16\n"
			"40003f sp+8 @cfa-16\n",
			DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16,
			DW_CFA_offset | 6, 2, DW_CFA_advance_loc | 3,
			DW_CFA_def_cfa_register, 6, DW_CFA_advance_loc1, 59,
			DW_CFA_def_cfa, 7, 8);
	/* An early return in the middle. */
	ASSERT_FUNCTION("400000 sp+8\n400002 sp+4096\n400010 sp+8\n400011 sp+4096\n",
			DW_CFA_advance_loc | 2, DW_CFA_def_cfa_offset, 0x80, 0x20,
			DW_CFA_advance_loc | 14, DW_CFA_remember_state,
			DW_CFA_def_cfa_offset, 8, DW_CFA_advance_loc | 1,
			DW_CFA_restore_state);
	/* Rules of unused registers; rules that return to the initial ones. */
	ASSERT_FUNCTION("400000 sp+8\n400008 sp+8 @cfa-32\n400010 sp+8\n400018 sp+8 fp?\n"
			"400020 sp+8\n",
			DW_CFA_advance_loc | 8, DW_CFA_offset | 3, 3, DW_CFA_offset | 6,
			4, DW_CFA_advance_loc | 8, DW_CFA_restore | 6, DW_CFA_restore | 3,
			DW_CFA_advance_loc | 8, DW_CFA_undefined, 6,
			DW_CFA_advance_loc | 8, DW_CFA_same_value, 6,
			DW_CFA_GNU_args_size, 32, DW_CFA_advance_loc2, 8, 0);
	/* Other encodings of these rules; several at one address; no duplicate rows. */
	ASSERT_FUNCTION("400000 fp+24 @cfa-16\n", DW_CFA_def_cfa, 6, 24,
			DW_CFA_offset_extended, 6, 2, DW_CFA_advance_loc | 4,
			DW_CFA_def_cfa_sf, 6, 0x7d, DW_CFA_advance_loc | 4,
			DW_CFA_offset_extended_sf, 6, 2, DW_CFA_advance_loc4, 4, 0, 0, 0,
			DW_CFA_GNU_negative_offset_extended, 6, 0x7e & 0x3f,
			DW_CFA_offset | 6, 2, DW_CFA_advance_loc | 0);
	/* The last instruction may advance past the function's end. */
	ASSERT_FUNCTION("400000 sp+8\n400010 sp+16\n", DW_CFA_advance_loc | 16,
			DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc1, 200,
			DW_CFA_def_cfa_offset, 24);
}

/* A table of one rule that is not the one behind a call: no call enters the code. */
static void test_code_that_no_call_enters(void **state)
{
	(void)state;
	ASSERT_FUNCTION("400000 sp+8\n", DW_CFA_nop);
	ASSERT_FUNCTION("400000 sp+8\n", DW_CFA_advance_loc | 0);
	/* LuaJIT's assembly; a part of a function (.cold). */
	ASSERT_FUNCTION("400000 sp+80 @cfa-16 uncalled\n", DW_CFA_def_cfa_offset, 80,
			DW_CFA_offset | 6, 2);
	ASSERT_FUNCTION("400000 fp+16 @cfa-16 uncalled\n", DW_CFA_def_cfa, 6, 16,
			DW_CFA_offset | 6, 2);
	ASSERT_FUNCTION("400000 fp+8 uncalled\n", DW_CFA_def_cfa, 6, 8);
	/* It has its frame from the first instruction on, but not to the last one. */
	ASSERT_FUNCTION("400000 sp+80\n40003f sp+8\n", DW_CFA_def_cfa_offset, 80,
			DW_CFA_advance_loc1, 63, DW_CFA_def_cfa_offset, 8);
	/* The flag belongs to the function, not to the part of it that is read. */
	{
		struct build b = {0};
		size_t cie = put_cie(&b, "zR", PCREL4);
		_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};

		open_fde(&b, cie, TEXT, 64);
		PUT(&b, DW_CFA_def_cfa_offset, 80);
		close_entry(&b);
		open_fde(&b, cie, TEXT + 64, 64);
		PUT(&b, DW_CFA_advance_loc | 8, DW_CFA_def_cfa_offset, 80);
		close_entry(&b);
		rows = read_part(&b, TEXT + 32, TEXT + 96);
		assert_rows(&rows, "400020 sp+80 uncalled\n400040 sp+8\n400048 sp+80\n"
				   "400060 none\n");
	}
}

static void test_ends_of_stacks(void **state)
{
	(void)state;
	ASSERT_FUNCTION("400000 end\n", DW_CFA_undefined, 16);
	/* The return address is elsewhere or SP is not restored: unlike a call. */
	ASSERT_FUNCTION("400000 unsupported\n", DW_CFA_offset | 16, 2);
	ASSERT_FUNCTION("400000 unsupported\n", DW_CFA_register, 16, 2);
	ASSERT_FUNCTION("400000 unsupported\n", DW_CFA_same_value, 16);
	ASSERT_FUNCTION("400000 unsupported\n400004 sp+8\n400008 unsupported\n",
			DW_CFA_offset | 7, 2, DW_CFA_advance_loc | 4, DW_CFA_val_offset,
			7, 0, DW_CFA_advance_loc | 4, DW_CFA_val_offset_sf, 7, 1);
	ASSERT_FUNCTION("400000 sp+8 fp!\n400004 sp+8\n400008 sp+8 fp!\n",
			DW_CFA_val_offset, 6, 2, DW_CFA_advance_loc | 4,
			DW_CFA_restore_extended, 6, DW_CFA_advance_loc | 4,
			DW_CFA_register, 6, 3);
}

static void test_expressions(void **state)
{
	(void)state;
	/* .plt */
	ASSERT_FUNCTION("400000 plt+11 uncalled\n", DW_CFA_def_cfa_expression, 11,
			DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and,
			DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus);
	/* gcc's main() with an aligned stack: CFA in r10, later above *(rbp - 8). */
	ASSERT_FUNCTION("400000 r10+0\n400005 r10+0 @fp\n400009 *fp-8 @fp\n",
			DW_CFA_def_cfa, 10, 0, DW_CFA_advance_loc | 5, DW_CFA_expression,
			6, 2, DW_OP_breg6, 0, DW_CFA_advance_loc | 4,
			DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref);
	/* OpenSSL */
	ASSERT_FUNCTION("400000 *sp+8+40 @cfa-16\n400008 *sp+64\n400010 *fp+8+64\n",
			DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 40, DW_OP_deref,
			DW_OP_plus_uconst, 8, DW_CFA_offset | 6, 2,
			DW_CFA_advance_loc | 8, DW_CFA_restore | 6,
			DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0xc0, 0, DW_OP_deref,
			DW_CFA_advance_loc | 8, DW_CFA_def_cfa_expression, 6, DW_OP_breg6,
			0xc0, 0, DW_OP_deref, DW_OP_plus_uconst, 8);
	/* An expression for a register and an offset; FP saved relative to SP. */
	ASSERT_FUNCTION("400000 sp+48 @cfa-40 uncalled\n", DW_CFA_def_cfa_expression, 4,
			DW_OP_breg7, 40, DW_OP_plus_uconst, 8, DW_CFA_expression, 6, 2,
			DW_OP_breg7, 8);
	/* Other expressions. */
	ASSERT_FUNCTION("400000 unsupported\n", DW_CFA_def_cfa_expression, 2, DW_OP_lit1,
			DW_OP_lit2);
	ASSERT_FUNCTION("400000 unsupported\n", DW_CFA_def_cfa_expression, 0);
	ASSERT_FUNCTION("400000 unsupported\n", DW_CFA_def_cfa_expression, 4, DW_OP_breg7,
			8, DW_OP_deref, DW_OP_deref);
	ASSERT_FUNCTION("400000 unsupported\n", DW_CFA_def_cfa, 17, 8);
	ASSERT_FUNCTION("400000 sp+8 fp!\n", DW_CFA_val_expression, 6, 2, DW_OP_breg7, 8);
	ASSERT_FUNCTION("400000 sp+8 fp!\n", DW_CFA_expression, 6, 2, DW_OP_breg3, 8);
}

/* glibc's signal frame begins a byte early, for lookups of ip - 1. */
static void test_signal_frame(void **state)
{
	struct build b = {0};
	size_t cie = open_cie(&b);

	(void)state;
	PUT(&b, 1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, PCREL4, DW_CFA_nop);
	close_entry(&b);
	open_fde(&b, cie, TEXT - 1, 10);
	PUT(&b, DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0xa0, 1, DW_OP_deref,
	    DW_CFA_expression, 16, 3, DW_OP_breg7, 0xa8, 1);
	close_entry(&b);
	/* A frame that only looks like a signal frame. */
	open_fde(&b, cie, TEXT + 9, 10);
	PUT(&b, DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1);
	close_entry(&b);
	assert_section(&b, "3fffff signal\n400009 sp+8\n400013 none\n");
}

/* ---- formats ---- */

static void test_pointer_encodings(void **state)
{
	static const struct {
		uint8_t encoding;
		uint64_t base;
		size_t nr_bytes;
	} cases[] = {
		{DW_EH_PE_absptr, 0, 8},
		{DW_EH_PE_udata8, 0, 8},
		{DW_EH_PE_udata4, 0, 4},
		{DW_EH_PE_sdata8, 0, 8},
		{DW_EH_PE_textrel | DW_EH_PE_udata4, TEXT, 4},
		{DW_EH_PE_textrel | DW_EH_PE_udata2, TEXT, 2},
		{DW_EH_PE_textrel | DW_EH_PE_sdata2, TEXT, 2},
		{DW_EH_PE_datarel | DW_EH_PE_sdata4, 0x600000, 4},
		{DW_EH_PE_pcrel | DW_EH_PE_sdata8, 1, 8},
		{DW_EH_PE_pcrel | DW_EH_PE_sdata4, 1, 4},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};
		uint64_t base = cases[i].base, steps = 100;
		struct cfi_section section;
		struct build b = {0};
		size_t cie = put_cie(&b, "zR", cases[i].encoding);

		open_fde_of(&b, cie);
		if (base == 1)
			base = VADDR + b.len;
		put_n(&b, TEXT + 0x100 - base, cases[i].nr_bytes);
		put_n(&b, 64, cases[i].nr_bytes);
		PUT(&b, 0);
		close_entry(&b);
		section = section_of(&b);
		section.data_vaddr = 0x600000;
		assert_int_equal(cfi_read(&section, 0, UINT64_MAX, &steps, &rows), 0);
		assert_int_equal(cfi_rows_finish(&rows), 0);
		assert_rows(&rows, "400100 sp+8\n400140 none\n");
	}
}

static void test_odd_pointers(void **state)
{
	struct build b = {0};
	size_t cie = put_cie(&b, "zR", DW_EH_PE_pcrel | DW_EH_PE_uleb128), aligned;

	(void)state;
	open_fde_of(&b, cie); /* starts 0x3f00 behind this field; 300 bytes long */
	PUT(&b, 0x80, 0x7e, 0xac, 2, 0);
	close_entry(&b);
	aligned = put_cie(&b, "zR", DW_EH_PE_aligned);
	open_fde_of(&b, aligned);
	while (b.len % 8)
		PUT(&b, 0);
	put_n(&b, TEXT, 8);
	put_n(&b, 32, 8);
	PUT(&b, 0, DW_CFA_set_loc);
	while (b.len % 8)
		PUT(&b, 0);
	put_n(&b, TEXT + 16, 8);
	PUT(&b, DW_CFA_def_cfa_offset, 16);
	close_entry(&b);
	/* Indirect: the address is only in the running process. */
	cie = put_cie(&b, "zR", DW_EH_PE_indirect | DW_EH_PE_udata8);
	open_fde_of(&b, cie);
	put_n(&b, TEXT, 8);
	put_n(&b, 32, 8);
	PUT(&b, 0);
	close_entry(&b);
	assert_section(
		&b, "13f24 sp+8\n14050 none\n400000 sp+8\n400010 sp+16\n400020 none\n");
	assert_int_equal(stats_of(&b).nr_malformed, 1);
}

/* Old versions, those of .debug_frame, and the 64-bit format. */
static void test_versions(void **state)
{
	struct build b = {.is_debug_frame = true};
	size_t cie = open_cie(&b);

	(void)state;
	PUT(&b, 3, 0, 4, 0x78, 0x90, 0, INITIAL); /* the register as LEB128; code * 4 */
	close_entry(&b);
	open_fde_of(&b, cie);
	put_n(&b, TEXT, 8);
	put_n(&b, 64, 8);
	PUT(&b, DW_CFA_advance_loc | 2, DW_CFA_def_cfa_offset, 16);
	close_entry(&b);
	cie = b.len;
	put_n(&b, UINT32_MAX, 4);
	put_n(&b, 23, 8);
	put_n(&b, UINT64_MAX, 8);
	PUT(&b, 4, 0, 8, 0, 1, 0x78, 16, INITIAL, 0, 0, 0);
	put_n(&b, UINT32_MAX, 4);
	put_n(&b, 8 + 16, 8);
	put_n(&b, cie, 8);
	put_n(&b, TEXT + 64, 8);
	put_n(&b, 8, 8);
	assert_section(&b, "400000 sp+8\n400008 sp+16\n400040 sp+8\n400048 none\n");
	assert_int_equal(stats_of(&b).nr_malformed, 0);

	b = (struct build){0};
	cie = open_cie(&b);
	PUT(&b, 1, 'e', 'h', 0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0x78, 16, INITIAL);
	close_entry(&b);
	open_fde_of(&b, cie);
	put_n(&b, TEXT, 8);
	put_n(&b, 64, 8);
	close_entry(&b);
	assert_section(&b, "400000 sp+8\n400040 none\n");
}

/* zPLR as in C++; the letters of arm64; an unknown letter. */
static void test_augmentations(void **state)
{
	struct build b = {0};
	size_t cie = open_cie(&b);

	(void)state;
	PUT(&b, 1, 'z', 'P', 'L', 'R', 0, 1, 0x78, 16, 7,
	    DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4, 1, 2, 3, 4, PCREL4,
	    PCREL4, INITIAL);
	close_entry(&b);
	open_fde_of(&b, cie);
	put_n(&b, TEXT - (VADDR + b.len), 4);
	put_n(&b, 16, 4);
	PUT(&b, 4, 9, 9, 9, 9, DW_CFA_advance_loc | 1, DW_CFA_AARCH64_negate_ra_state,
	    DW_CFA_def_cfa_offset, 16);
	close_entry(&b);
	cie = open_cie(&b);
	PUT(&b, 1, 'z', 'R', 'B', 'G', 0, 1, 0x78, 16, 1, PCREL4, INITIAL);
	close_entry(&b);
	open_fde(&b, cie, TEXT + 16, 16);
	close_entry(&b);
	cie = open_cie(&b);
	PUT(&b, 1, 'z', 'R', 'Q', 0, 1, 0x78, 16, 1, PCREL4, INITIAL);
	close_entry(&b);
	open_fde(&b, cie, TEXT + 64, 16);
	close_entry(&b);
	assert_section(&b, "400000 sp+8\n400001 sp+16\n400010 sp+8\n400020 none\n");
	assert_int_equal(stats_of(&b).nr_malformed, 2); /* the CIE and its FDE */
}

/* ---- many functions ---- */

static void add_function(struct build *b, size_t cie, uint64_t vaddr, uint32_t size,
			 uint8_t cfa_off)
{
	open_fde(b, cie, vaddr, size);
	PUT(b, DW_CFA_def_cfa_offset, cfa_off);
	close_entry(b);
}

static void test_order_and_overlap(void **state)
{
	struct build b = {0};
	size_t cie = put_cie(&b, "zR", PCREL4);
	_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};

	(void)state;
	add_function(&b, cie, TEXT + 0x300, 0x100, 24);
	put_n(&b, 0, 4); /* an empty entry, as linkers leave between files */
	add_function(&b, cie, TEXT + 0x100, 0x100, 16);
	add_function(&b, cie, TEXT + 0x200, 0x80, 16);
	add_function(&b, cie, TEXT + 0x340, 0x10,
		     32); /* within another; the later start wins */
	add_function(&b, cie, TEXT + 0x3f0, 0x20, 40);
	add_function(&b, cie, TEXT + 0x500, 0, 48); /* of length 0 */
	open_fde_of(&b, cie); /* the linker dropped its function: the address is 0 */
	put_n(&b, 0, 4);
	put_n(&b, 64, 4);
	PUT(&b, 0);
	close_entry(&b);
	assert_section(&b, "400100 sp+16 uncalled\n400280 none\n400300 sp+24 "
			   "uncalled\n400340 sp+32 uncalled\n"
			   "400350 sp+24 uncalled\n4003f0 sp+40 uncalled\n400410 none\n");

	/* Only a part of the section. */
	rows = read_part(&b, TEXT + 0x180, TEXT + 0x345);
	assert_rows(&rows, "400180 sp+16 uncalled\n400280 none\n400300 sp+24 "
			   "uncalled\n400340 sp+32 uncalled\n"
			   "400345 none\n");
	assert_int_equal(rows.stats.nr_fdes, 4);
	assert_int_equal(rows.stats.nr_malformed, 0);
}

/* Reading by the index gives the same rows as reading everything. */
static void test_index(void **state)
{
	const uint64_t vaddr = 0x9000;
	struct build b = {0}, table = {0};
	size_t cie = put_cie(&b, "zR", PCREL4);
	struct cfi_section section;
	struct cfi_index index;

	(void)state;
	PUT(&table, 1, PCREL4, DW_EH_PE_udata4, DW_EH_PE_datarel | DW_EH_PE_sdata4);
	put_n(&table, VADDR - (vaddr + 4), 4);
	put_n(&table, 100, 4);
	for (uint32_t i = 0; i < 100; i++) {
		put_n(&table, TEXT + i * 64 - vaddr, 4);
		put_n(&table, VADDR + b.len - vaddr, 4);
		add_function(&b, cie, TEXT + i * 64, 60, (uint8_t)(8 + i));
	}
	section = section_of(&b);
	assert_true(cfi_index_open(table.bytes, table.len, vaddr, &index));
	assert_int_equal(index.nr, 100);
	assert_int_equal(index.frames_vaddr, VADDR);
	for (uint64_t lo = TEXT - 70; lo < TEXT + 6500; lo += 37) {
		_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};
		_cleanup_(cfi_rows_deinit) struct cfi_rows all =
			read_part(&b, lo, lo + 130);
		uint64_t steps = 20; /* enough for a few entries only */

		assert_int_equal(
			cfi_read_indexed(&section, &index, lo, lo + 130, &steps, &rows),
			0);
		assert_int_equal(cfi_rows_finish(&rows), 0);
		assert_false(rows.stats.is_cut);
		assert_int_equal(rows.nr, all.nr);
		if (rows.nr)
			assert_memory_equal(rows.items, all.items,
					    rows.nr * sizeof(*rows.items));
	}
	/* A truncated or invalid table. */
	assert_true(cfi_index_open(table.bytes, table.len - 1, vaddr, &index));
	assert_int_equal(index.nr, 0);
	assert_false(cfi_index_open(table.bytes, 7, vaddr, &index));
	table.bytes[0] = 2;
	assert_false(cfi_index_open(table.bytes, table.len, vaddr, &index));
}

/* ---- hostile ---- */

static void test_nonsense_in_a_function(void **state)
{
	(void)state;
	/* Rows before the bad instruction stay; after it nothing is known. */
	ASSERT_FUNCTION("400000 sp+8\n400004 sp+16\n400008 unsupported\n",
			DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 16,
			DW_CFA_advance_loc | 4, 0x3f, 0);
	ASSERT_FUNCTION("400000 unsupported\n", DW_CFA_restore_state);
	ASSERT_FUNCTION("400000 sp+8\n400004 unsupported\n", DW_CFA_advance_loc | 4,
			DW_CFA_set_loc, 0, 0, 0, 0); /* backwards */
	ASSERT_FUNCTION("400000 unsupported\n", DW_CFA_def_cfa_expression, 0xff, 0xff, 3);
	ASSERT_FUNCTION("400000 unsupported\n", DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80,
			0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0);
	ASSERT_FUNCTION("400000 unsupported\n", DW_CFA_def_cfa_offset, 0xff, 0xff, 0xff,
			0xff, 0x7f);
	ASSERT_FUNCTION("400000 sp+8 fp!\n", DW_CFA_offset | 6, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 0xff, 0x7f);
	ASSERT_FUNCTION("400000 sp+8 fp!\n", DW_CFA_offset | 6, 0x80, 0x80, 1);
	/* Advances by 2^60 bytes. */
	ASSERT_FUNCTION("400000 sp+8\n", DW_CFA_MIPS_advance_loc8, 0, 0, 0, 0, 0, 0, 0,
			0x10, DW_CFA_def_cfa_offset, 16);
	/* Remembers states without end. */
	ASSERT_FUNCTION(
		"400000 unsupported\n", DW_CFA_remember_state, DW_CFA_remember_state,
		DW_CFA_remember_state, DW_CFA_remember_state, DW_CFA_remember_state,
		DW_CFA_remember_state, DW_CFA_remember_state, DW_CFA_remember_state,
		DW_CFA_remember_state, DW_CFA_remember_state, DW_CFA_remember_state,
		DW_CFA_remember_state, DW_CFA_remember_state, DW_CFA_remember_state,
		DW_CFA_remember_state, DW_CFA_remember_state, DW_CFA_remember_state);
}

static void test_bad_links(void **state)
{
	struct build b = {0};
	size_t cie = put_cie(&b, "zR", PCREL4), fde = b.len;

	(void)state;
	add_function(&b, cie, TEXT, 16, 16);
	add_function(&b, fde, TEXT + 16, 16, 16); /* its CIE is an FDE */
	add_function(&b, b.len, TEXT + 32, 16, 16); /* its CIE is itself */
	add_function(&b, (size_t)0 - 64, TEXT + 48, 16, 16); /* CIE before it */
	add_function(&b, b.len + 400, TEXT + 64, 16, 16); /* CIE past the section */
	add_function(&b, cie, TEXT + 80, 16, 24);
	assert_section(&b, "400000 sp+16 uncalled\n400010 none\n"
			   "400050 sp+24 uncalled\n400060 none\n");
	assert_int_equal(stats_of(&b).nr_malformed, 8); /* four links and their FDEs */
	/* A length past the section's end: entries before it are read. */
	b.entry = b.len;
	put_n(&b, 0x7fffffff, 4);
	put_n(&b, 0, 8);
	put_n(&b, 0, 4);
	assert_section(&b, "400000 sp+16 uncalled\n400010 none\n"
			   "400050 sp+24 uncalled\n400060 none\n");
	b.bytes[b.entry] = b.bytes[b.entry + 3] = 0xff;
	assert_section(&b, "400000 sp+16 uncalled\n400010 none\n"
			   "400050 sp+24 uncalled\n400060 none\n");
}

/* Truncated or changed input is read in bounded steps, and rows stay ordered. */
static void test_truncated(void **state)
{
	struct build b = {0};
	size_t cie = put_cie(&b, "zR", PCREL4), whole;

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		add_function(&b, cie, TEXT + i * 64, 60, (uint8_t)(8 + i));
	whole = b.len;
	for (b.len = 0; b.len < whole; b.len++) {
		/* Exact size, so that AddressSanitizer sees reads past the end. */
		_cleanup_free_ uint8_t *copy = malloc(b.len ? b.len : 1);
		_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};
		struct cfi_section section = section_of(&b);
		uint64_t steps = 1000;

		assert_non_null(copy);
		memcpy(copy, b.bytes, b.len);
		section.bytes = copy;
		assert_int_equal(cfi_read(&section, 0, UINT64_MAX, &steps, &rows), 0);
		assert_int_equal(cfi_rows_finish(&rows), 0);
		for (size_t i = 1; i < rows.nr; i++)
			assert_true(rows.items[i - 1].vaddr < rows.items[i].vaddr);
	}
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A 64 MB section whose entries all run the same program of 1 MB: 10^9 instructions. */
static void test_budget(void **state)
{
	struct build b = {0};
	const size_t nops = 1u << 20, nr = 1u << 15;
	struct cfi_section section;
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t at = 0;
	double start = now_s();
	uint64_t steps = 5000000;
	_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};

	(void)state;
	/* Nested CIEs: FDEs use more of them than are cached. */
	put_cie(&b, "zR", PCREL4);
	bytes = calloc(1, b.len * 64 + nops + nr * 32);
	assert_non_null(bytes);
	for (size_t i = 0; i < 64; i++, at += b.len) {
		uint32_t len = (uint32_t)(b.len * (64 - i) + nops - 4);

		memcpy(bytes + at, b.bytes, b.len);
		memcpy(bytes + at, &len, 4);
	}
	at += nops;
	for (size_t i = 0; i < nr; i++) {
		uint32_t fde[] = {20, (uint32_t)(at + 4 - i % 64 * b.len),
				  (uint32_t)(TEXT + i * 16 - VADDR - (at + 8)), 16};

		memcpy(bytes + at, fde, sizeof(fde));
		at += 24;
	}
	section = (struct cfi_section){.bytes = bytes, .len = at, .vaddr = VADDR};
	assert_int_equal(cfi_read(&section, 0, UINT64_MAX, &steps, &rows), 0);
	assert_true(rows.stats.is_cut);
	assert_int_equal(steps, 0);
	assert_true(now_s() - start < 5);
}

/* 2,000 functions, each within the previous one: they must not be compared pairwise. */
static void test_nested(void **state)
{
	static struct build b;
	size_t cie = put_cie(&b, "zR", PCREL4);
	_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};

	(void)state;
	for (uint32_t i = 0; i < 2000; i++)
		add_function(&b, cie, TEXT + i, 4001 - 2 * i, (uint8_t)(8 + i % 100));
	rows = read_part(&b, 0, UINT64_MAX);
	/* Rows go in to the innermost function and back out. */
	assert_int_equal(rows.nr, 4000);
	for (uint32_t i = 0; i < 1999; i++) {
		assert_int_equal(rows.items[i].vaddr, TEXT + i);
		assert_int_equal(rows.items[i].rule.cfa_off, 8 + i % 100);
		assert_int_equal(rows.items[3999 - i].vaddr, TEXT + 4001 - i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_code_that_no_call_enters),
		cmocka_unit_test(test_ends_of_stacks),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_signal_frame),
		cmocka_unit_test(test_pointer_encodings),
		cmocka_unit_test(test_odd_pointers),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_augmentations),
		cmocka_unit_test(test_order_and_overlap),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_nonsense_in_a_function),
		cmocka_unit_test(test_bad_links),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_nested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
