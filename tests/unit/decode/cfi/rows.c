// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares every row of real libraries, and the gaps between them, with libdw's answers
 * for the same addresses. LB_THOROUGH=1: of all files of this machine; arguments are
 * other files. All rules that the unwinder does not support count as the same rule; that
 * no call enters the code is not compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "decode/cfi/cfi.h"
#include "decode/cfi/file.h"
#include "lib/elf_files.h"

#define FP 6
#define SP 7

static bool is_at_cfa(const Dwarf_Op *ops, size_t nr, int64_t *ret_off)
{
	if (!nr || nr > 2 || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	*ret_off = 0;
	if (nr == 1)
		return true;
	*ret_off = (int64_t)ops[1].number;
	return ops[1].atom == DW_OP_plus_uconst;
}

/* Converts libdw's CFA. Return: whether the unwinder supports it. */
static bool cfa_of(Dwarf_Frame *frame, struct lb_unwind_rule *rule)
{
	Dwarf_Op *ops;
	size_t nr;
	unsigned int reg;
	int64_t add;

	if (dwarf_frame_cfa(frame, &ops, &nr) || !nr)
		return false;
	if (nr == 9 && ops[0].atom == DW_OP_breg7 && ops[1].atom == DW_OP_breg16) {
		rule->cfa = LB_CFA_PLT;
		rule->cfa_off = ops[4].atom - DW_OP_lit0;
		return true;
	}
	if (ops[0].atom == DW_OP_bregx) {
		reg = (unsigned int)ops[0].number;
		rule->cfa_off = (int32_t)ops[0].number2;
	} else {
		reg = ops[0].atom - DW_OP_breg0;
		rule->cfa_off = (int32_t)ops[0].number;
	}
	if (nr == 1) {
		rule->cfa = reg == SP   ? LB_CFA_SP
			    : reg == FP ? LB_CFA_FP
					: LB_CFA_REG + reg;
		return reg < 16;
	}
	add = nr == 3 && ops[2].atom == DW_OP_plus_uconst ? (int64_t)ops[2].number : 0;
	if (nr > 3 || (nr == 3 && add != 8) || ops[1].atom != DW_OP_deref ||
	    (reg != SP && reg != FP))
		return false;
	if (reg == SP)
		rule->cfa = add ? LB_CFA_DEREF_SP_8 : LB_CFA_DEREF_SP;
	else
		rule->cfa = add ? LB_CFA_DEREF_FP_8 : LB_CFA_DEREF_FP;
	return true;
}

static void fp_of(Dwarf_Frame *frame, struct lb_unwind_rule *rule)
{
	Dwarf_Op memory[3], *ops = NULL;
	int64_t off;
	size_t nr;

	assert_int_equal(dwarf_frame_register(frame, FP, memory, &ops, &nr), 0);
	if (!nr) {
		rule->fp = ops ? LB_FP_UNDEFINED : LB_FP_SAME;
	} else if (is_at_cfa(ops, nr, &off) && off == (int16_t)off) {
		rule->fp = LB_FP_AT_CFA;
		rule->fp_off = (int16_t)off;
	} else if (nr == 2 && ops[1].atom == DW_OP_breg6) {
		/* An expression begins with the CFA on the stack: that is ops[0]. */
		rule->fp = LB_FP_AT_FP;
		rule->fp_off = (int16_t)ops[1].number;
	} else {
		rule->fp = LB_FP_UNSUPPORTED;
	}
}

/* Converts libdw's answer to a rule. */
static struct lb_unwind_rule expected(Dwarf_Frame *frame)
{
	struct lb_unwind_rule rule = {0};
	Dwarf_Op memory[3], *ops = NULL;
	bool is_signal;
	int64_t off = 0;
	size_t nr;
	int ra = dwarf_frame_info(frame, NULL, NULL, &is_signal);

	assert_int_equal(dwarf_frame_register(frame, ra, memory, &ops, &nr), 0);
	if (!nr && ops)
		rule.cfa = LB_CFA_END;
	else if (is_signal)
		rule.cfa = LB_CFA_SIGNAL;
	else if (!is_at_cfa(ops, nr, &off) || off != -8 || !cfa_of(frame, &rule))
		rule = (struct lb_unwind_rule){.cfa = LB_CFA_UNSUPPORTED};
	else
		fp_of(frame, &rule);
	return rule;
}

static void fail_at(uint64_t vaddr, const struct lb_unwind_rule *ours,
		    const struct lb_unwind_rule *theirs)
{
	fail_msg("at %#lx: cfa %u%+d fp %u%+d, libdw says cfa %u%+d fp %u%+d", vaddr,
		 ours->cfa, ours->cfa_off, ours->fp, ours->fp_off, theirs->cfa,
		 theirs->cfa_off, theirs->fp, theirs->fp_off);
}

struct counts {
	size_t nr_rows, nr_gaps, nr_unsupported;
};

/* Compares the rule @ours of [from, to) with libdw's. */
static void compare(Dwarf_CFI *cfi, uint64_t from, uint64_t to,
		    const struct lb_unwind_rule *ours, struct counts *counts)
{
	while (from < to) {
		_cleanup_free_ Dwarf_Frame *frame = NULL;
		struct lb_unwind_rule theirs;
		Dwarf_Addr end;
		bool is_signal;

		if (dwarf_cfi_addrframe(cfi, from, &frame))
			fail_msg("at %#lx: libdw has no frame", from);
		theirs = expected(frame);
		if (memcmp(ours, &theirs, sizeof(theirs)))
			fail_at(from, ours, &theirs);
		counts->nr_rows++;
		counts->nr_unsupported += ours->cfa == LB_CFA_UNSUPPORTED;
		dwarf_frame_info(frame, NULL, &end, &is_signal);
		assert_true(end > from);
		from = end;
	}
}

static void compare_gap(Dwarf_CFI *cfi, uint64_t from, uint64_t to, struct counts *counts)
{
	const uint64_t places[] = {from, from + (to - from) / 2, to - 1};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		Dwarf_Frame *frame = NULL;

		if (!dwarf_cfi_addrframe(cfi, places[i], &frame))
			fail_msg("at %#lx: libdw has a frame", places[i]);
	}
	counts->nr_gaps++;
}

/* Object files and files of other machines are refused. */
static bool is_refused(Elf *elf)
{
	GElf_Ehdr e;

	return !gelf_getehdr(elf, &e) || e.e_machine != EM_X86_64 ||
	       e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB ||
	       e.e_type == ET_REL;
}

/* Does libdw find call frames in the file, which should not be refused? */
static bool only_libdw_reads(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = NULL;
	Dwarf *dw = NULL;
	bool found;

	if (elf && !is_refused(elf)) {
		cfi = dwarf_getcfi_elf(elf);
		dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	}
	found = cfi || (dw && dwarf_getcfi(dw));
	if (cfi)
		dwarf_cfi_end(cfi);
	dwarf_end(dw);
	elf_end(elf);
	return found;
}

/* Return: whether @path has call frames of x86-64. */
static bool compare_file(const char *path, struct counts *counts)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(cfi_file_deinit) struct cfi_file file = {0};
	_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};
	uint64_t steps = UINT64_MAX;
	Dwarf *dw = NULL;
	Dwarf_CFI *cfi;

	if (!cfi_file_open(fd, &file) || file.binary->type == ET_REL ||
	    !file.section.len) {
		if (only_libdw_reads(fd))
			fail_msg("%s: only libdw reads it", path);
		return false;
	}
	print_message("%s: ", path);
	if (file.section.is_debug_frame) {
		dw = dwarf_begin_elf(file.binary->elf, DWARF_C_READ, NULL);
		cfi = dwarf_getcfi(dw);
	} else {
		cfi = dwarf_getcfi_elf(file.binary->elf);
	}
	assert_non_null(cfi);
	assert_int_equal(cfi_read(&file.section, 0, UINT64_MAX, &steps, &rows), 0);
	assert_int_equal(cfi_rows_finish(&rows), 0);
	assert_int_equal(rows.stats.nr_malformed, 0);
	for (size_t i = 0; i + 1 < rows.nr; i++) {
		const struct cfi_row *row = &rows.items[i];
		struct lb_unwind_rule rule = row->rule;

		rule.fp &= LB_FP_KIND;
		assert_true(row->vaddr < row[1].vaddr);
		assert_memory_not_equal(&row->rule, &row[1].rule, sizeof(row->rule));
		if (rule.cfa == LB_CFA_NONE)
			compare_gap(cfi, row->vaddr, row[1].vaddr, counts);
		else
			compare(cfi, row->vaddr, row[1].vaddr, &rule, counts);
	}
	if (rows.nr)
		assert_int_equal(rows.items[rows.nr - 1].rule.cfa, LB_CFA_NONE);
	if (dw)
		dwarf_end(dw);
	else
		dwarf_cfi_end(cfi);
	print_message("%zu functions, %zu rows of libdw (%zu unsupported), %zu gaps\n",
		      (size_t)rows.stats.nr_fdes, counts->nr_rows, counts->nr_unsupported,
		      counts->nr_gaps);
	return true;
}

/* Skips and prints a reason if no file matches. */
static struct counts compare_first(const char *pattern)
{
	struct counts counts = {0};
	glob_t found;

	if (glob(pattern, 0, NULL, &found)) {
		print_message("skipped: there is no %s\n", pattern);
		skip();
	}
	assert_true(compare_file(found.gl_pathv[0], &counts));
	globfree(&found);
	return counts;
}

static void test_libc(void **state)
{
	struct counts counts = compare_first("/lib/*/libc.so.6");

	(void)state;
	assert_true(counts.nr_rows > 10000);
	assert_true(counts.nr_unsupported < 20);
}

static void test_python(void **state)
{
	struct counts counts = compare_first("/usr/bin/python3.[0-9]*[0-9]");

	(void)state;
	assert_true(counts.nr_rows > 10000);
	assert_int_equal(counts.nr_unsupported, 0);
}

/* libcrypto contains hand-written assembly. */
static void test_libcrypto(void **state)
{
	struct counts counts = compare_first("/usr/lib/*/libcrypto.so.3");

	(void)state;
	assert_true(counts.nr_rows > 10000);
	assert_true(counts.nr_unsupported < counts.nr_rows / 1000);
}

static void test_libllvmlite(void **state)
{
	struct counts counts = compare_first(
		"build/venv/numba-new/lib/python3*/site-packages/llvmlite/binding/"
		"libllvmlite.so");

	(void)state;
	assert_true(counts.nr_rows > 100000);
	assert_int_equal(counts.nr_unsupported, 0);
}

static size_t nr_files, nr_rows;

static void compare_one(const char *path)
{
	struct counts counts = {0};

	nr_files += compare_file(path, &counts);
	nr_rows += counts.nr_rows;
}

static void test_machine(void **state)
{
	(void)state;
	elf_files_walk(compare_one);
	print_message("%zu files, %zu rows of libdw\n", nr_files, nr_rows);
	assert_true(nr_files > 100);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_python),
		cmocka_unit_test(test_libcrypto),
		cmocka_unit_test(test_libllvmlite),
	};
	const struct CMUnitTest all[] = {cmocka_unit_test(test_machine)};

	for (int i = 1; i < argc; i++)
		compare_one(argv[i]);
	if (argc > 1)
		return 0;
	if (getenv("LB_THOROUGH"))
		return cmocka_run_group_tests(all, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
