// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbol tables that compilers do not make. elf.c's test has those of compilers. */
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "decode/elf/symbols.h"
#include "fixture.h"

#define NR_VADDRS 5000

/* 2000 functions that all cover all 5000 addresses, with a twentieth of the budget. */
static void test_budget(void **state)
{
	_cleanup_free_ uint64_t *vaddrs = calloc(NR_VADDRS, sizeof(*vaddrs));
	_cleanup_(binary_freep) struct binary *b = NULL;
	_cleanup_close_ int fd = -1;
	FILE *f = fopen("overlap.s", "w");
	clock_t start = clock();
	struct elf_symbols s;
	uint64_t text;

	(void)state;
	assert_non_null(f);
	fputs(".text\nbase:\n", f);
	for (int i = 0; i < 2000; i++)
		fprintf(f,
			".globl f%d\n.type f%d,@function\n.set f%d, base\n"
			".size f%d, %d\n",
			i, i, i, i, NR_VADDRS);
	fprintf(f, ".skip %d\n.globl _start\n_start: nop\n", NR_VADDRS);
	fclose(f);
	fixture_run("gcc -nostdlib -static overlap.s -o overlap");
	text = fixture_vaddr("overlap", "base");
	for (size_t i = 0; i < NR_VADDRS; i++)
		vaddrs[i] = text + i;
	fd = open("overlap", O_RDONLY | O_CLOEXEC);
	assert_int_equal(binary_open(fd, &b), 0);
	assert_int_equal(elf_symbols_init(&s, vaddrs, NR_VADDRS), 0);
	assert_int_equal(s.budget, ELF_SYMBOLS_BUDGET);
	s.budget /= 20;
	assert_int_equal(elf_symbols_read(&s, b, SHT_SYMTAB), 0);
	elf_symbols_finish(&s);
	assert_true(s.gave_up);
	assert_true(clock() - start < 30 * CLOCKS_PER_SEC);
	elf_symbols_deinit(&s);
}

/* The order of symbols does not change the answer. */
static void test_order_does_not_matter(void **state)
{
	static const char *const orders[] = {"__a a b c w", "w c b a __a", "b __a w c a"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		_cleanup_(binary_freep) struct binary *b = NULL;
		_cleanup_close_ int fd = -1;
		struct elf_symbols s;
		uint64_t vaddr;

		fixture_run(
			"{ echo '.text; .weak w; .globl __a, a, b, _start; base: "
			"_start:'; for n in %s; do echo \".type $n,@function; .set $n, "
			"base; .size $n, 8\"; done; echo '.skip 8'; } >order.s && "
			"gcc -nostdlib -static order.s -o order",
			orders[i]);
		vaddr = fixture_vaddr("order", "base") + 3;
		fd = open("order", O_RDONLY | O_CLOEXEC);
		assert_int_equal(binary_open(fd, &b), 0);
		assert_int_equal(elf_symbols_init(&s, &vaddr, 1), 0);
		assert_int_equal(elf_symbols_read(&s, b, SHT_DYNSYM), -ENODATA);
		assert_int_equal(elf_symbols_read(&s, b, SHT_SYMTAB), 0);
		elf_symbols_finish(&s);
		assert_string_equal(elf_symbols_at(&s, 0)->name, "a");
		elf_symbols_deinit(&s);
	}
}

/* ---- stubs ---- */

enum {
	NONE,
	PLT,
	SYMBOLS,
	NAMES,
	OTHERS,
	RELOCATIONS,
	NR_SECTIONS
};

struct stub_file {
	Elf64_Ehdr header;
	Elf64_Shdr sections[NR_SECTIONS];
	Elf64_Sym symbols[2];
	char names[16];
	uint8_t stub[16]; /* jmp *0(%rip) */
	Elf64_Rela relocation;
};

static void make_stub(struct stub_file *f)
{
	*f = (struct stub_file){
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				       ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_ehsize = sizeof(f->header),
			   .e_shoff = offsetof(struct stub_file, sections),
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = NR_SECTIONS,
			   .e_shstrndx = NAMES},
		.names = "\0.plt\0puts",
		.symbols[1] = {.st_name = 6},
		.stub = {0xff, 0x25},
		.relocation = {.r_offset = 0x1006, .r_info = ELF64_R_INFO(1, 7)},
	};
	f->sections[PLT] = (Elf64_Shdr){.sh_name = 1,
					.sh_type = SHT_PROGBITS,
					.sh_addr = 0x1000,
					.sh_offset = offsetof(struct stub_file, stub),
					.sh_size = sizeof(f->stub),
					.sh_entsize = sizeof(f->stub)};
	f->sections[SYMBOLS] =
		(Elf64_Shdr){.sh_type = SHT_DYNSYM,
			     .sh_link = NAMES,
			     .sh_offset = offsetof(struct stub_file, symbols),
			     .sh_size = sizeof(f->symbols),
			     .sh_entsize = sizeof(Elf64_Sym)};
	f->sections[NAMES] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
					  .sh_offset = offsetof(struct stub_file, names),
					  .sh_size = sizeof(f->names)};
	f->sections[RELOCATIONS] =
		(Elf64_Shdr){.sh_type = SHT_RELA,
			     .sh_flags = SHF_ALLOC,
			     .sh_link = SYMBOLS,
			     .sh_offset = offsetof(struct stub_file, relocation),
			     .sh_size = sizeof(f->relocation),
			     .sh_entsize = sizeof(Elf64_Rela)};
	f->sections[OTHERS] = f->sections[RELOCATIONS];
	f->sections[OTHERS].sh_offset = 0;
}

/* Sections that list the same bytes over and over are not read as often. */
static void test_relocations_longer_than_the_file(void **state)
{
	const uint64_t vaddr = 0x1000;

	(void)state;
	for (int is_too_long = 0; is_too_long < 2; is_too_long++) {
		_cleanup_(binary_freep) struct binary *b = NULL;
		const char *name = NULL;
		struct stub_file f;

		make_stub(&f);
		f.sections[OTHERS].sh_size = sizeof(f) - sizeof(f.relocation) +
					     is_too_long;
		assert_int_equal(binary_open_memory(&f, sizeof(f), &b), 0);
		assert_int_equal(elf_plt_names(b, &vaddr, 1, &name), 0);
		if (is_too_long)
			assert_null(name);
		else
			assert_string_equal(name, "puts");
	}
}

/* A string table that does not end is not searched for an end: it has no texts. */
static void test_names_without_an_end(void **state)
{
	const uint64_t vaddr = 0x1000;

	(void)state;
	for (int has_end = 0; has_end < 2; has_end++) {
		_cleanup_(binary_freep) struct binary *b = NULL;
		const char *name = NULL;
		struct stub_file f;

		make_stub(&f);
		f.names[sizeof(f.names) - 1] = has_end ? '\0' : 'x';
		assert_int_equal(binary_open_memory(&f, sizeof(f), &b), 0);
		assert_int_equal(!!binary_section(b, ".plt", NULL), has_end);
		assert_int_equal(elf_plt_names(b, &vaddr, 1, &name), 0);
		assert_int_equal(!!name, has_end);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_order_does_not_matter),
		cmocka_unit_test(test_relocations_longer_than_the_file),
		cmocka_unit_test(test_names_without_an_end),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
