// SPDX-License-Identifier: GPL-2.0-or-later
/* Hand-made files: stripped ones and damaged ones. */
#include "decode/python/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "decode/jit/image.h"
#include "decode/requests.h"
#include "process/file.h"
#include "runtime/runtime.h"

/* ---- an ELF file ---- */

#define TEXT_VADDR    0x420000
#define TEXT_OFF      0x20000 /* so that run-time addresses are 0x400000 + off */
#define DATA_VADDR    0x830000
#define RUNTIME_VADDR 0x830100
#define EVAL_VADDR    0x421000

enum {
	SECTION_NONE,
	SECTION_RUNTIME,
	SECTION_SYMBOLS,
	SECTION_STRINGS,
	SECTION_NAMES,
	NR_SECTIONS,
};

static const char section_names[] = "\0.PyRuntime\0.dynsym\0.dynstr\0.shstrtab";
static const char symbol_names[] =
	"\0_PyRuntime\0Py_Version\0_PyEval_EvalFrameDefault\0PyFrame_GetBack\0"
	"PyIter_Send\0PyFrame_GetLasti";

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[NR_SECTIONS];
	Elf64_Sym symbols[8];
	char symbol_names[sizeof(symbol_names)];
	char section_names[sizeof(section_names)];
	uint64_t version __attribute__((aligned(8)));
};

static uint32_t name_off(const char *names, size_t size, const char *name)
{
	const char *at = memmem(names, size, name, strlen(name) + 1);

	assert_non_null(at);
	return (uint32_t)(at - names);
}

static void set_segments(struct image *f)
{
	f->header = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = offsetof(struct image, segments),
		.e_shoff = offsetof(struct image, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = ARRAY_SIZE(f->segments),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = SECTION_NAMES,
	};
	f->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R | PF_X,
				      .p_offset = TEXT_OFF,
				      .p_vaddr = TEXT_VADDR,
				      .p_filesz = 0x10000,
				      .p_memsz = 0x10000};
	f->segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R | PF_W,
				      .p_offset = offsetof(struct image, version),
				      .p_vaddr = DATA_VADDR,
				      .p_filesz = 8,
				      .p_memsz = 0x1000};
}

static void set_section(struct image *f, size_t i, const char *name, Elf64_Shdr header)
{
	header.sh_name = name_off(section_names, sizeof(section_names), name);
	f->sections[i] = header;
}

static void add_symbol(struct image *f, const char *name, uint64_t vaddr, uint64_t size)
{
	Elf64_Sym *s = f->symbols + 1;

	while (s->st_value)
		s++;
	*s = (Elf64_Sym){.st_name = name_off(symbol_names, sizeof(symbol_names), name),
			 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE),
			 .st_shndx = SECTION_RUNTIME,
			 .st_value = vaddr,
			 .st_size = size};
}

/* A file without symbols. */
static void make_stripped(struct image *f)
{
	memset(f, 0, sizeof(*f));
	set_segments(f);
	memcpy(f->symbol_names, symbol_names, sizeof(symbol_names));
	memcpy(f->section_names, section_names, sizeof(section_names));
	set_section(f, SECTION_RUNTIME, ".PyRuntime",
		    (Elf64_Shdr){.sh_type = SHT_NOBITS,
				 .sh_addr = RUNTIME_VADDR,
				 .sh_size = 0x100});
	set_section(f, SECTION_SYMBOLS, ".dynsym",
		    (Elf64_Shdr){.sh_type = SHT_DYNSYM,
				 .sh_offset = offsetof(struct image, symbols),
				 .sh_size = sizeof(f->symbols),
				 .sh_link = SECTION_STRINGS,
				 .sh_entsize = sizeof(Elf64_Sym)});
	set_section(f, SECTION_STRINGS, ".dynstr",
		    (Elf64_Shdr){.sh_type = SHT_STRTAB,
				 .sh_offset = offsetof(struct image, symbol_names),
				 .sh_size = sizeof(symbol_names)});
	set_section(f, SECTION_NAMES, ".shstrtab",
		    (Elf64_Shdr){.sh_type = SHT_STRTAB,
				 .sh_offset = offsetof(struct image, section_names),
				 .sh_size = sizeof(section_names)});
}

static void make_3_11(struct image *f)
{
	make_stripped(f);
	f->version = 0x030b07f0;
	add_symbol(f, "_PyRuntime", RUNTIME_VADDR, 0x100);
	add_symbol(f, "Py_Version", DATA_VADDR, 8);
	add_symbol(f, "_PyEval_EvalFrameDefault", EVAL_VADDR, 0x800);
	add_symbol(f, "PyFrame_GetBack", EVAL_VADDR, 16);
	add_symbol(f, "PyIter_Send", EVAL_VADDR, 16);
	add_symbol(f, "PyFrame_GetLasti", EVAL_VADDR, 16);
}

static int open_image(const void *bytes, size_t len)
{
	int fd = memfd_create("python", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	return fd;
}

/* ---- in a worker ---- */

static int set_up(void **state)
{
	const struct worker_config config = {.kind = WORKER_DECODER};

	return worker_new(&config, (struct worker **)state, NULL);
}

static int tear_down(void **state)
{
	worker_free(*state);
	return 0;
}

static bool find_in_fd(struct worker *decoder, int fd, const char *path,
		       struct python_build *ret)
{
	struct file_facts facts;

	assert_int_equal(file_facts_read(decoder, (struct tenant){0}, fd, &facts), 0);
	if (!file_facts_of(&facts, RUNTIME_PYTHON))
		return false;
	memcpy(ret, facts.runtimes[RUNTIME_PYTHON].words, sizeof(*ret));
	python_runtime.name_facts(ret, path);
	return python_runtime.facts_are_sane(ret);
}

static bool find(struct worker *decoder, const struct image *f, const char *path,
		 struct python_build *ret)
{
	_cleanup_close_ int fd = open_image(f, sizeof(*f));

	memset(ret, 0, sizeof(*ret));
	return find_in_fd(decoder, fd, path, ret);
}

static void assert_is_ours(const struct python_build *build, uint32_t version)
{
	assert_int_equal(build->version, version);
	assert_int_equal(build->runtime_off, RUNTIME_VADDR - 0x400000);
}

static void a_version_that_says_itself(void **state)
{
	struct python_build build;
	struct image f;

	make_3_11(&f);
	assert_true(find(*state, &f, "/usr/bin/python3", &build));
	assert_is_ours(&build, 0x030b);
	assert_int_equal(build.eval_off, EVAL_VADDR - 0x400000);
	assert_int_equal(build.eval_bytes, 0x800);
	f.version = 0x030807f0;
	assert_false(find(*state, &f, "python3.11", &build));
	f.version = 0x031007f0;
	assert_false(find(*state, &f, "python3.11", &build));
	f.version = UINT64_MAX;
	assert_false(find(*state, &f, "python3.11", &build));
}

static void versions_told_by_what_they_export(void **state)
{
	struct python_build build;
	struct image f;

	make_stripped(&f);
	add_symbol(&f, "_PyRuntime", RUNTIME_VADDR, 0x100);
	add_symbol(&f, "_PyEval_EvalFrameDefault", EVAL_VADDR, 0x800);
	assert_false(find(*state, &f, "python3.9", &build)); /* 3.8 or older */
	add_symbol(&f, "PyFrame_GetBack", EVAL_VADDR, 16);
	assert_true(find(*state, &f, "python3.10", &build));
	assert_is_ours(&build, 0x0309);
	add_symbol(&f, "PyIter_Send", EVAL_VADDR, 16);
	assert_true(find(*state, &f, "python", &build));
	assert_is_ours(&build, 0x030a);
	add_symbol(&f, "PyFrame_GetLasti", EVAL_VADDR, 16);
	assert_false(find(*state, &f, "python", &build));
}

static void a_file_without_symbols(void **state)
{
	struct python_build build;
	struct image f;

	make_stripped(&f);
	assert_true(find(*state, &f, "/x/python3.9/libpython3.10.so.1.0", &build));
	assert_is_ours(&build, 0x030a);
	assert_int_equal(build.eval_off, 0);
	assert_true(find(*state, &f, "python3.12", &build));
	assert_is_ours(&build, 0x030c);
	assert_false(find(*state, &f, "/python3.9/bin/python3", &build));
	assert_false(find(*state, &f, "python3.", &build));
	assert_false(find(*state, &f, "python3.8", &build));
	f.sections[SECTION_RUNTIME].sh_addr = TEXT_VADDR; /* not writable */
	assert_false(find(*state, &f, "python3.12", &build));
	f.sections[SECTION_RUNTIME].sh_addr = 0;
	assert_false(find(*state, &f, "python3.12", &build));
}

static void this_program_is_none(void **state)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int empty = memfd_create("empty", MFD_CLOEXEC);
	struct python_build build;

	assert_false(find_in_fd(*state, fd, "python3.11", &build));
	assert_false(find_in_fd(*state, empty, "python3.11", &build));
}

/* ---- damaged files, in this process for the sanitizers ---- */

static void inspect(const void *bytes, size_t len)
{
	_cleanup_free_ void *copy = malloc(len ? len : 1); /* exact size */
	struct inspected_file file = {.fd = -1};
	struct python_build build;
	struct jit_image image;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	if (!image_open(copy, len, &image))
		return;
	file.image = &image;
	python_inspect(&file, &build);
}

static void damaged_files(void **state)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	struct image f;

	(void)state;
	make_3_11(&f);
	for (size_t len = 0; len < sizeof(f); len += 3)
		inspect(&f, len);
	for (size_t i = 0; i < sizeof(f); i++)
		for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
			make_3_11(&f);
			((uint8_t *)&f)[i] = values[v];
			inspect(&f, sizeof(f));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_version_that_says_itself, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(versions_told_by_what_they_export, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_without_symbols, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(this_program_is_none, set_up, tear_down),
		cmocka_unit_test(damaged_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
