// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/image.h"

#include <errno.h>

#include "registered.h"

/* A hand-made object: one .text, one .debug_info and its relocations. */
struct object {
	Elf64_Ehdr header;
	uint8_t text[16];
	uint64_t info[4]; /* relocated */
	uint8_t line[8];
	Elf64_Sym symbols[3];
	Elf64_Rela rela[3];
	char names[64];
	Elf64_Shdr sections[8];
};

enum {
	TEXT = 1,
	INFO,
	LINE,
	SYMTAB,
	RELA,
	STRTAB,
	NR
};

#define IP 0x7f0000001000

static const char names[64] =
	"\0.text\0.debug_info\0.debug_line\0.symtab\0.rela.debug_info\0f\0";

static void object_init(struct object *o, uint16_t machine, uint32_t r64, uint32_t r32)
{
	static const uint32_t name_at[] = {0, 1, 7, 19, 31, 39, 31};

	*o = (struct object){0};
	memcpy(o->header.e_ident, ELFMAG, SELFMAG);
	o->header.e_ident[EI_CLASS] = ELFCLASS64;
	o->header.e_ident[EI_DATA] = ELFDATA2LSB;
	o->header.e_type = ET_REL;
	o->header.e_machine = machine;
	o->header.e_shoff = offsetof(struct object, sections);
	o->header.e_shentsize = sizeof(Elf64_Shdr);
	o->header.e_shnum = NR;
	o->header.e_shstrndx = STRTAB;
	memcpy(o->names, names, sizeof(names));
#define SECTION(n, type, member)                                                    \
	o->sections[n] = (Elf64_Shdr){.sh_name = name_at[n],                        \
				      .sh_type = (type),                            \
				      .sh_offset = offsetof(struct object, member), \
				      .sh_size = sizeof(o->member)}
	SECTION(TEXT, SHT_PROGBITS, text);
	SECTION(INFO, SHT_PROGBITS, info);
	SECTION(LINE, SHT_PROGBITS, line);
	SECTION(SYMTAB, SHT_SYMTAB, symbols);
	SECTION(RELA, SHT_RELA, rela);
	SECTION(STRTAB, SHT_STRTAB, names);
#undef SECTION
	o->sections[TEXT].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	o->sections[TEXT].sh_addr = IP;
	o->sections[SYMTAB].sh_entsize = sizeof(Elf64_Sym);
	o->sections[SYMTAB].sh_link = STRTAB;
	o->sections[RELA].sh_entsize = sizeof(Elf64_Rela);
	o->sections[RELA].sh_info = INFO;
	o->sections[RELA].sh_link = SYMTAB;
	o->symbols[1] = (Elf64_Sym){.st_name = 56,
				    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				    .st_shndx = TEXT,
				    .st_value = 4,
				    .st_size = 8};
	o->rela[0] = (Elf64_Rela){0, ELF64_R_INFO(1, r64), 2};
	o->rela[1] = (Elf64_Rela){8, ELF64_R_INFO(1, r32), 3};
	o->rela[2] = (Elf64_Rela){16, ELF64_R_INFO(2, r64), 9}; /* undefined */
	o->info[2] = 77;
}

static const struct object *link_copy(const struct object *o, int want)
{
	static uint8_t *copy;
	struct jit_image m;

	free(copy);
	copy = NULL;
	assert_true(image_open(o, sizeof(*o), &m));
	assert_int_equal(image_linked_copy(&m, &copy), want);
	return (const struct object *)copy;
}

static void addresses_are_written_into_debug_sections(void **state)
{
	static const struct {
		uint16_t machine;
		uint32_t r64, r32;
	} rows[] = {{EM_X86_64, R_X86_64_64, R_X86_64_32},
		    {EM_X86_64, R_X86_64_64, R_X86_64_32S},
		    {EM_AARCH64, R_AARCH64_ABS64, R_AARCH64_ABS32}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct object *copy;
		struct object o;

		object_init(&o, rows[i].machine, rows[i].r64, rows[i].r32);
		copy = link_copy(&o, 0);
		assert_int_equal(copy->info[0], IP + 4 + 2);
		assert_int_equal(copy->info[1], (uint32_t)(IP + 4 + 3));
		assert_int_equal(copy->info[2], 77);
		assert_int_equal(copy->header.e_type, ET_EXEC);
		assert_int_equal(o.info[0], 0);
		/* Without an addend the value in place is added. */
		object_init(&o, rows[i].machine, rows[i].r64, rows[i].r32);
		o.sections[RELA].sh_type = SHT_REL;
		o.sections[RELA].sh_entsize = o.sections[RELA].sh_size =
			sizeof(Elf64_Rel);
		o.info[0] = 5;
		assert_int_equal(link_copy(&o, 0)->info[0], IP + 4 + 5);
	}
}

static void relocations_stay_in_their_section(void **state)
{
	struct object o;

	(void)state;
	object_init(&o, EM_X86_64, R_X86_64_64, R_X86_64_32);
	o.rela[0].r_offset = sizeof(o.info) - 7;
	link_copy(&o, -EBADMSG);
	object_init(&o, EM_X86_64, R_X86_64_64, R_X86_64_32);
	o.rela[0].r_offset = UINT64_MAX - 3;
	link_copy(&o, -EBADMSG);
	object_init(&o, EM_X86_64, R_X86_64_64, R_X86_64_32);
	o.rela[0].r_info = ELF64_R_INFO(3, R_X86_64_64); /* symbols: 0 to 2 */
	link_copy(&o, -EBADMSG);
	object_init(&o, EM_X86_64, R_X86_64_64, R_X86_64_PC32); /* invalid here */
	link_copy(&o, -EBADMSG);
	object_init(&o, EM_X86_64, R_X86_64_64, R_X86_64_32);
	o.sections[INFO].sh_flags = SHF_COMPRESSED;
	link_copy(&o, -EBADMSG);
	object_init(&o, EM_X86_64, R_X86_64_64, R_X86_64_32);
	o.sections[LINE].sh_name = 0;
	link_copy(&o, -ENODATA);
	/* Relocations of code are ignored. */
	object_init(&o, EM_X86_64, R_X86_64_64, R_X86_64_PC32);
	o.sections[RELA].sh_info = TEXT;
	assert_int_equal(link_copy(&o, 0)->info[0], 0);
}

static void code_and_symbols_are_where_they_run(void **state)
{
	struct image_code code[IMAGE_MAX_CODE];
	struct image_symbols symbols;
	struct object o;
	struct jit_image m;

	(void)state;
	object_init(&o, EM_X86_64, R_X86_64_64, R_X86_64_32);
	assert_true(image_open(&o, sizeof(o), &m));
	assert_int_equal(image_code(&m, code), 1);
	assert_int_equal(code[0].start_ip, IP);
	assert_int_equal(code[0].end_ip, IP + 16);
	assert_ptr_equal(code[0].bytes, o.text);
	assert_int_equal(image_symbols_read(&m, &symbols), 0);
	assert_null(image_symbols_at(&symbols, IP + 3));
	assert_string_equal(image_symbols_at(&symbols, IP + 4)->name, "f");
	assert_string_equal(image_symbols_at(&symbols, IP + 11)->name, "f");
	assert_null(image_symbols_at(&symbols, IP + 12));
	image_symbols_deinit(&symbols);
	/* LuaJIT's: NOBITS; the object only gives the address of the code. */
	o.sections[TEXT].sh_type = SHT_NOBITS;
	assert_true(image_open(&o, sizeof(o), &m));
	assert_int_equal(image_code(&m, code), 1);
	assert_null(code[0].bytes);
	/* A linked file: symbol values are addresses. */
	o.header.e_type = ET_EXEC;
	o.symbols[1].st_value = IP + 4;
	assert_true(image_open(&o, sizeof(o), &m));
	assert_int_equal(image_symbols_read(&m, &symbols), 0);
	assert_string_equal(image_symbols_at(&symbols, IP + 4)->name, "f");
	image_symbols_deinit(&symbols);
}

static void segments_stand_in_for_sections(void **state)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[2];
	} o = {0};
	struct image_code code[IMAGE_MAX_CODE];
	struct jit_image m;

	(void)state;
	memcpy(o.header.e_ident, ELFMAG, SELFMAG);
	o.header.e_ident[EI_CLASS] = ELFCLASS64;
	o.header.e_ident[EI_DATA] = ELFDATA2LSB;
	o.header.e_type = ET_DYN;
	o.header.e_phoff = sizeof(o.header);
	o.header.e_phentsize = sizeof(Elf64_Phdr);
	o.header.e_phnum = 2;
	o.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_memsz = 9};
	o.segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
				     .p_flags = PF_R | PF_X,
				     .p_vaddr = IP,
				     .p_filesz = 64,
				     .p_memsz = 64};
	assert_true(image_open(&o, sizeof(o), &m));
	assert_int_equal(image_code(&m, code), 1);
	assert_int_equal(code[0].start_ip, IP);
	assert_ptr_equal(code[0].bytes, &o);
	o.header.e_phnum = 3; /* past the end */
	assert_true(image_open(&o, sizeof(o), &m));
	assert_int_equal(image_code(&m, code), 0);
}

static void lies_about_sizes_are_not_believed(void **state)
{
	struct image_code code[IMAGE_MAX_CODE];
	struct object o;
	struct jit_image m;

	(void)state;
	object_init(&o, EM_X86_64, R_X86_64_64, R_X86_64_32);
	for (size_t len = 0; len < offsetof(struct object, sections[NR]); len++)
		if (image_open(&o, len, &m))
			assert_int_equal(image_code(&m, code), 0);
	o.sections[TEXT].sh_size = UINT64_MAX - 5; /* wraps */
	assert_true(image_open(&o, sizeof(o), &m));
	assert_int_equal(image_code(&m, code), 0);
	o.sections[TEXT].sh_size = 1 << 20; /* larger than the file */
	assert_true(image_open(&o, sizeof(o), &m));
	assert_int_equal(image_code(&m, code), 1);
	assert_null(code[0].bytes);
	/* A string table without a terminating NUL. */
	memset(o.names, 'x', sizeof(o.names));
	assert_true(image_open(&o, sizeof(o), &m));
	assert_int_equal(m.names_len, 0);
	link_copy(&o, -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_written_into_debug_sections),
		cmocka_unit_test(relocations_stay_in_their_section),
		cmocka_unit_test(code_and_symbols_are_where_they_run),
		cmocka_unit_test(segments_stand_in_for_sections),
		cmocka_unit_test(lies_about_sizes_are_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
