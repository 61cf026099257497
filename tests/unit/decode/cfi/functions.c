// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames derived from machine code: known functions, and a library compared with its
 * own call frame information.
 */
#include "decode/cfi/functions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "decode/cfi/file.h"
#include "lib/scratch.h"

#define VADDR 0x7f0000000000

static void rows_text(const struct cfi_rows *rows, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < rows->nr && len < size; i++) {
		const struct lb_unwind_rule *r = &rows->items[i].rule;
		static const char *const names[] = {"none", "sp", "fp"};

		len += (size_t)snprintf(buf + len, size - len, "%lu ",
					rows->items[i].vaddr - VADDR);
		if (r->cfa >= LB_CFA_REG && len < size)
			len += (size_t)snprintf(buf + len, size - len, "r%d%+d",
						r->cfa - LB_CFA_REG, r->cfa_off);
		else if (len < size)
			len += (size_t)snprintf(buf + len, size - len, "%s%+d",
						r->cfa < 3 ? names[r->cfa] : "?",
						r->cfa_off);
		if (r->cfa != LB_CFA_NONE && r->cfa != LB_CFA_UNSUPPORTED)
			assert_true(r->fp & LB_FP_DERIVED);
		if (r->fp == (LB_FP_AT_CFA | LB_FP_DERIVED) && len < size)
			len += (size_t)snprintf(buf + len, size - len, " @%+d",
						r->fp_off);
		if (len < size)
			len += (size_t)snprintf(buf + len, size - len, "\n");
	}
}

static void assert_code(const uint8_t *code, size_t len, const char *expected)
{
	_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};
	uint64_t steps = 1000 * CODE_FRAMES_STEPS;
	char text[1024];

	assert_int_equal(code_frames_read(code, len, VADDR, &steps, &rows), 0);
	rows_text(&rows, text, sizeof(text));
	assert_string_equal(text, expected);
}

#define ASSERT_CODE(expected, ...)                           \
	do {                                                 \
		const uint8_t code_[] = {__VA_ARGS__};       \
		assert_code(code_, sizeof(code_), expected); \
	} while (0)

#define RET 0xc3
#define NOP 0x90

static void test_known(void **state)
{
	(void)state;
	ASSERT_CODE("0 sp+8\n1 none+0\n", RET);
	/*
	 * push %r14; push %rbx; sub $24,%rsp; nop; add $24,%rsp; pop %rbx; pop %r14;
	 * ret
	 */
	ASSERT_CODE("0 sp+8\n2 sp+16\n3 sp+24\n7 sp+48\n12 sp+24\n13 sp+16\n15 sp+8\n"
		    "16 none+0\n",
		    0x41, 0x56, 0x53, 0x48, 0x83, 0xec, 24, NOP, 0x48, 0x83, 0xc4, 24,
		    0x5b, 0x41, 0x5e, RET);
	/* push %rbp; mov %rsp,%rbp; and $-32,%rsp; sub %rax,%rsp; nop; leave; ret */
	ASSERT_CODE("0 sp+8\n1 sp+16 @-16\n8 fp+16 @-16\n13 sp+8\n14 none+0\n", 0x55,
		    0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x29, 0xc4, NOP, 0xc9,
		    RET);
	/* the same, ended by lea -8(%rbp),%rsp; pop %rbx; pop %rbp; ret */
	ASSERT_CODE("0 sp+8\n1 sp+16 @-16\n5 sp+24 @-16\n9 fp+16 @-16\n13 sp+24 @-16\n"
		    "14 sp+16 @-16\n15 sp+8\n16 none+0\n",
		    0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x8d,
		    0x65, 0xf8, 0x5b, 0x5d, RET);
	/*
	 * push %rbx; mov %rsp,%rbx; sub $128,%rsp; and $-4096,%rsp; nop; mov %rbx,%rsp;
	 * pop %rbx; ret: kernels of OpenBLAS
	 */
	ASSERT_CODE("0 sp+8\n1 sp+16\n11 sp+144\n18 r3+16\n22 sp+16\n23 sp+8\n"
		    "24 none+0\n",
		    0x53, 0x48, 0x89, 0xe3, 0x48, 0x81, 0xec, 0x80, 0, 0, 0, 0x48, 0x81,
		    0xe4, 0, 0xf0, 0xff, 0xff, NOP, 0x48, 0x89, 0xdc, 0x5b, RET);
	/* the same, but xor %ebx,%ebx loses it */
	ASSERT_CODE("0 sp+8\n1 sp+16\n8 r3+16\n10 ?+0\n11 none+0\n", 0x53, 0x48, 0x89,
		    0xe3, 0x48, 0x83, 0xe4, 0xe0, 0x31, 0xdb, RET);
	/* push %rbp as a register among others */
	ASSERT_CODE("0 sp+8\n1 sp+16\n2 sp+24 @-24\n6 sp+16\n7 sp+8\n8 none+0\n", 0x53,
		    0x55, 0x48, 0x31, 0xed, 0x5d, 0x5b, RET);
}

static void test_flow(void **state)
{
	(void)state;
	/* push %rbx; jz +2; pop %rbx; ret; nop; pop %rbx; ret: early return */
	ASSERT_CODE("0 sp+8\n1 sp+16\n4 sp+8\n5 sp+16\n7 sp+8\n8 none+0\n", 0x53, 0x74, 2,
		    0x5b, RET, NOP, 0x5b, RET);
	/* push %rbx; jmp *%rax; pop %rbx; ret: code reached only by a jump table */
	ASSERT_CODE("0 sp+8\n1 sp+16\n4 sp+8\n5 none+0\n", 0x53, 0xff, 0xe0, 0x5b, RET);
	/* ret; nop: unreachable */
	ASSERT_CODE("0 sp+8\n1 ?+0\n2 none+0\n", RET, NOP);
	/* push %rbx; pop %rbx; jmp (not relocated); push %rbx: does not fall through */
	ASSERT_CODE("0 sp+8\n1 sp+16\n2 sp+8\n7 ?+0\n8 none+0\n", 0x53, 0x5b, 0xe9, 0, 0,
		    0, 0, 0x53);
	/* mov %rax,%rsp: switches the stack */
	ASSERT_CODE("0 sp+8\n3 ?+0\n4 none+0\n", 0x48, 0x89, 0xc4, RET);
	/* a loop that pushes: it is followed only once */
	ASSERT_CODE("0 sp+8\n1 sp+16\n3 none+0\n", 0x53, 0xeb, 0xfd);
	/* a jump past the function, and one into the middle of an instruction */
	ASSERT_CODE("0 sp+8\n5 none+0\n", 0x74, 0x70, 0x74, 0xfd, RET);
}

static void test_limits(void **state)
{
	_cleanup_free_ uint8_t *nops = malloc(CODE_FRAMES_MAX_BYTES + 1);
	_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};
	const uint8_t bad[] = {0x06, 0x06}; /* invalid in 64-bit mode */
	uint64_t steps = 100 * CODE_FRAMES_STEPS;

	(void)state;
	assert_non_null(nops);
	memset(nops, NOP, CODE_FRAMES_MAX_BYTES + 1);
	assert_int_equal(code_frames_read(nops, 1000, VADDR, &steps, &rows), 0);
	assert_int_equal(rows.nr, 0);
	assert_true(rows.stats.is_cut);
	assert_true(steps < CODE_FRAMES_STEPS);
	steps = UINT64_MAX;
	assert_int_equal(
		code_frames_read(nops, CODE_FRAMES_MAX_BYTES + 1, VADDR, &steps, &rows),
		0);
	assert_int_equal(code_frames_read(nops, 0, VADDR, &steps, &rows), 0);
	assert_int_equal(code_frames_read(nops, 16, UINT64_MAX - 8, &steps, &rows), 0);
	assert_int_equal(code_frames_read(bad, 2, VADDR, &steps, &rows), 0);
	assert_int_equal(rows.nr, 0);
	/* Room for a function costs steps, too, even if it is not code. */
	memset(nops, bad[0], CODE_FRAMES_MAX_BYTES);
	steps = CODE_FRAMES_MAX_BYTES;
	assert_int_equal(
		code_frames_read(nops, CODE_FRAMES_MAX_BYTES, VADDR, &steps, &rows), 0);
	assert_int_equal(steps, CODE_FRAMES_MAX_BYTES - CODE_FRAMES_MAX_BYTES / 16);
	assert_int_equal(rows.nr, 0);
}

/* ---- a library ---- */

struct counts {
	size_t nr_functions, nr_bytes, nr_unsupported, nr_different;
};

static const struct lb_unwind_rule *rule_at(const struct cfi_rows *rows, uint64_t vaddr)
{
	size_t low = 0, high = rows->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (rows->items[mid].vaddr <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &rows->items[low - 1].rule : NULL;
}

/* Compares each byte of a function. A CFA by SP does not contradict one by FP. */
static void compare(const struct cfi_rows *known, const struct cfi_rows *rows,
		    struct counts *counts)
{
	for (size_t i = 0; i + 1 < rows->nr; i++) {
		const struct lb_unwind_rule *ours = &rows->items[i].rule;

		for (uint64_t at = rows->items[i].vaddr; at < rows->items[i + 1].vaddr;
		     at++) {
			const struct lb_unwind_rule *rule = rule_at(known, at);

			if (!rule || (rule->cfa != LB_CFA_SP && rule->cfa != LB_CFA_FP))
				continue;
			counts->nr_bytes++;
			if (ours->cfa == LB_CFA_UNSUPPORTED)
				counts->nr_unsupported++;
			else if (ours->cfa == rule->cfa && ours->cfa_off != rule->cfa_off)
				counts->nr_different++;
		}
	}
}

static void read_function(const struct cfi_file *file, const GElf_Sym *sym,
			  const struct cfi_rows *known, struct counts *counts)
{
	size_t len;
	const uint8_t *bytes = (const uint8_t *)elf_rawfile(file->binary->elf, &len);

	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct cfi_segment *s = &file->segments[i];
		_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};
		uint64_t steps = UINT64_MAX;

		if (sym->st_value < s->vaddr ||
		    sym->st_value - s->vaddr >= s->size_bytes ||
		    sym->st_size > s->size_bytes - (sym->st_value - s->vaddr))
			continue;
		assert_int_equal(
			code_frames_read(bytes + s->file_off + (sym->st_value - s->vaddr),
					 sym->st_size, sym->st_value, &steps, &rows),
			0);
		compare(known, &rows, counts);
		counts->nr_functions++;
	}
}

static void test_library(void **state)
{
	_cleanup_(cfi_file_deinit) struct cfi_file file = {0};
	_cleanup_(cfi_rows_deinit) struct cfi_rows known = {0};
	_cleanup_close_ int fd = -1;
	struct counts counts = {0};
	uint64_t steps = UINT64_MAX;
	Elf_Scn *scn = NULL;
	glob_t found;
	GElf_Shdr sh;
	GElf_Sym sym;

	(void)state;
	assert_int_equal(glob("/lib/*/libc.so.6", 0, NULL, &found), 0);
	fd = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	globfree(&found);
	assert_true(cfi_file_open(fd, &file));
	assert_int_equal(cfi_read(&file.section, 0, UINT64_MAX, &steps, &known), 0);
	assert_int_equal(cfi_rows_finish(&known), 0);
	while ((scn = elf_nextscn(file.binary->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNSYM)
			break;
	assert_non_null(scn);
	for (int i = 0; gelf_getsym(elf_getdata(scn, NULL), i, &sym); i++)
		if (GELF_ST_TYPE(sym.st_info) == STT_FUNC)
			read_function(&file, &sym, &known, &counts);
	print_message("%zu functions, %zu bytes: %zu unsupported, %zu different\n",
		      counts.nr_functions, counts.nr_bytes, counts.nr_unsupported,
		      counts.nr_different);
	assert_true(counts.nr_functions > 1000);
	assert_true(counts.nr_unsupported < counts.nr_bytes / 20);
	assert_true(counts.nr_different < counts.nr_bytes / 500);
}

/* Finds a function of this program by its name. */
static Elf64_Sym symbol_of(const struct image_table *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->nr; i++) {
		Elf64_Sym sym = image_table_symbol(symbols, i);

		if (!strcmp(image_table_name(symbols, &sym), name))
			return sym;
	}
	fail_msg("there is no %s", name);
	return (Elf64_Sym){0};
}

/* The code of a function is not read when its call frame information is known. */
static void test_known_from_its_middle(void **state)
{
	_cleanup_(cfi_file_deinit) struct cfi_file file = {0};
	_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct image_table symbols;
	struct cfi_piece piece;
	uint64_t steps = UINT64_MAX;
	Elf64_Sym sym;

	(void)state;
	assert_true(cfi_file_open(fd, &file));
	assert_true(cfi_file_symbols(&file, &symbols));
	sym = symbol_of(&symbols, "test_library");
	assert_true(sym.st_size > 16);
	piece = (struct cfi_piece){.vaddr = sym.st_value + 1,
				   .size_bytes = sym.st_size - 1,
				   .is_needed = true};
	assert_int_equal(cfi_read(&file.section, piece.vaddr,
				  piece.vaddr + piece.size_bytes, &steps, &rows),
			 0);
	assert_int_equal(cfi_rows_finish(&rows), 0);
	steps = UINT64_MAX;
	assert_int_equal(cfi_functions_read(&file, &piece, 1, &steps, &rows), 0);
	assert_int_equal(UINT64_MAX - steps, symbols.nr);
}

/* ---- functions of a file ---- */

#define STEPS_OF_SYMBOL 18 /* it is read, found to be in a piece, and sorted */

#define FUNCTION        ".type f,@function\nf:\n.fill 100,1,0x90\nret\n.size f,.-f\n"

/* Returns the steps that a library costs that is made of @assembly. */
static uint64_t steps_of(const char *assembly)
{
	_cleanup_(cfi_rows_deinit) struct cfi_rows rows = {0};
	_cleanup_(cfi_file_deinit) struct cfi_file file = {0};
	_cleanup_close_ int fd = -1;
	struct cfi_piece piece = {.is_needed = true};
	uint64_t steps = UINT64_MAX;
	char dir[64], path[96], command[256];
	FILE *f;

	scratch_make(dir, 0700);
	snprintf(path, sizeof(path), "%s/library", dir);
	snprintf(command, sizeof(command), "gcc -shared -nostdlib -x assembler -o %s -",
		 path);
	f = popen(command, "w");
	assert_non_null(f);
	fputs(assembly, f);
	assert_int_equal(pclose(f), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(cfi_file_open(fd, &file));
	assert_int_equal(file.nr_segments, 1);
	piece.vaddr = file.segments[0].vaddr;
	piece.size_bytes = file.segments[0].size_bytes;
	assert_int_equal(cfi_functions_read(&file, &piece, 1, &steps, &rows), 0);
	assert_true(rows.nr > 1);
	scratch_remove(dir);
	return UINT64_MAX - steps;
}

/* Code is read once, whatever the number of its names. */
static void test_other_names(void **state)
{
	uint64_t one = steps_of(FUNCTION);
	uint64_t four = steps_of(FUNCTION ".irp name,g,h,i\n.type \\name,@function\n"
					  ".set \\name,f\n.size \\name,101\n.endr\n");

	(void)state;
	assert_int_equal(four - one, 3 * STEPS_OF_SYMBOL);
}

/*
 * Entries at each byte of a function: the first, of 100 bytes, and the last, of one, still
 * are no more than the function itself.
 */
static void test_overlaps(void **state)
{
	static const char entry[] = ".type e%d,@function\n.set e%d,f+%d\n.size e%d,%d\n";
	char many[16384];
	size_t len = (size_t)snprintf(many, sizeof(many), FUNCTION);

	(void)state;
	for (int i = 1; i <= 100; i++)
		len += (size_t)snprintf(many + len, sizeof(many) - len, entry, i, i, i, i,
					101 - i);
	assert_true(len < sizeof(many));
	assert_int_equal(steps_of(many) - steps_of(FUNCTION),
			 100 * STEPS_OF_SYMBOL + (100 + 1) * CODE_FRAMES_STEPS +
				 100 / 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_known_from_its_middle),
		cmocka_unit_test(test_other_names),
		cmocka_unit_test(test_overlaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
