// SPDX-License-Identifier: GPL-2.0-or-later
/* Files with and without the JIT interface, compared with nm and readelf. */
#include "decode/jit/interface.h"
#include "process/file.h"
#include "worker/worker.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/io.h"
#include "decode/jit/image.h"
#include "decode/requests.h"
#include "unit/decode/elf/fixture.h"

#define REGISTER   "__jit_debug_register_code"
#define DESCRIPTOR "__jit_debug_descriptor"

/* The interface of GDB's manual; similar names must not be taken. */
static const char interface[] =
	"struct { unsigned version, action; void *relevant, *first; }\n"
	"	__jit_debug_descriptor = {1}, my__jit_debug_descriptor = {2};\n"
	"__attribute__((noinline)) void my__jit_debug_register_code(void)\n"
	"{ __asm__ volatile(\"nop\" ::: \"memory\"); }\n"
	"__attribute__((noinline)) void __jit_debug_register_code_as(void)\n"
	"{ __asm__ volatile(\"nop; nop\" ::: \"memory\"); }\n"
	"__attribute__((noinline)) void __jit_debug_register_code(void)\n"
	"{ __asm__ volatile(\"\" ::: \"memory\"); }\n"
	"int use(void)\n"
	"{ __jit_debug_register_code(); return __jit_debug_descriptor.version; }\n";

static int set_up(void **state)
{
	if (fixture_setup(state))
		return -1;
	fixture_write("jit.c", interface);
	fixture_write("main.c", "int use(void); int main(void) { return use(); }\n");
	fixture_write("local.map", "V1 { global: use; local: *; };\n");
	fixture_write("version.map", "LLVM_14 { global: *; };\n");
	return 0;
}

/* ---- requests ---- */

static bool find_in_fd(int fd, struct jit_interface *ret)
{
	struct inspected_file file = {.fd = fd};
	struct jit_image image;
	void *bytes = NULL;
	uint64_t len = 0;
	bool is_found;

	if (io_map_file(fd, UINT64_MAX, &bytes, &len) || !bytes)
		return false;
	if (image_open(bytes, len, &image))
		file.image = &image;
	is_found = jit_inspect(&file, ret);
	munmap(bytes, len);
	return is_found;
}

static bool find_in(const char *path, struct jit_interface *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return find_in_fd(fd, ret);
}

static bool find_in_bytes(const void *bytes, size_t len)
{
	_cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
	struct jit_interface point;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	return find_in_fd(fd, &point);
}

/* @symbols  a file with the layout of @file whose symbols nm can read */
static void assert_found(const char *file, const char *symbols)
{
	struct jit_interface p;

	assert_true(find_in(file, &p));
	assert_int_equal(p.register_vaddr, fixture_vaddr(symbols, REGISTER));
	assert_int_equal(p.register_off, fixture_file_off(file, p.register_vaddr));
	assert_int_equal(p.descriptor_vaddr, fixture_vaddr(symbols, DESCRIPTOR));
}

static void assert_none(const char *file)
{
	struct jit_interface p;

	assert_false(find_in(file, &p));
}

/* ---- files ---- */

static void programs_and_libraries_have_it(void **state)
{
	static const char *const flags[] = {
		"-fPIE -pie main.c", "-fno-pie -no-pie main.c", "-static main.c",
		"-fPIC -shared", "-fPIC -shared -O2 -Wl,--gc-sections,-O2"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		fixture_run("gcc -o has jit.c %s", flags[i]);
		assert_found("has", "has");
	}
}

/* PyPI's llvmlite: LLVM is linked statically and exports nothing. */
static void local_symbols_are_found(void **state)
{
	(void)state;
	fixture_run("gcc -fPIC -shared -Wl,--version-script=local.map -o local.so jit.c");
	fixture_run("! nm -D local.so | grep -q jit_debug");
	assert_found("local.so", "local.so");
	fixture_run("strip -o stripped.so local.so");
	assert_none("stripped.so");
}

/* Debian's libLLVM: exported, with a version. */
static void versioned_symbols_are_found(void **state)
{
	(void)state;
	fixture_run(
		"gcc -fPIC -shared -Wl,--version-script=version.map -o full.so jit.c");
	fixture_run("readelf -sW full.so | grep -q 'jit_debug_register_code@@LLVM_14'");
	fixture_run("strip -o versioned.so full.so");
	fixture_run(
		"gcc -fPIC -shared -o plain.so jit.c && strip -o dynamic.so plain.so");
	assert_found("dynamic.so", "plain.so");
	for (int i = 0; i < 2; i++) {
		const char *const files[] = {"full.so", "versioned.so"};
		char want[64], line[64];
		struct jit_interface p;

		assert_true(find_in(files[i], &p));
		snprintf(want, sizeof(want), "%016llx",
			 (unsigned long long)p.register_vaddr);
		fixture_line(line, sizeof(line),
			     "nm -D full.so | awk '/ __jit_debug_register_code@/ "
			     "{print $1}'");
		assert_string_equal(line, want);
		assert_int_equal(p.register_off,
				 fixture_file_off(files[i], p.register_vaddr));
	}
}

static void users_of_it_do_not_have_it(void **state)
{
	(void)state;
	fixture_run("gcc -fPIC -shared -o lib.so jit.c");
	fixture_write("user.c",
		      "void __jit_debug_register_code(void);\n"
		      "int main(void) { __jit_debug_register_code(); return 0; }\n");
	fixture_run("gcc -o user user.c ./lib.so");
	assert_none("user");
	fixture_run("gcc -no-pie -fno-pie -o user user.c ./lib.so");
	assert_none("user");
	fixture_run("gcc -c -o jit.o jit.c");
	assert_none("jit.o");
}

static void half_of_it_is_none(void **state)
{
	(void)state;
	fixture_write("half.c", "void __jit_debug_register_code(void) {}\n");
	fixture_run("gcc -fPIC -shared -o half.so half.c");
	assert_none("half.so");
	/* Both names exist, but with the wrong kind of symbol. */
	fixture_write("swap.c", "int __jit_debug_register_code[6] = {1};\n"
				"void __jit_debug_descriptor(void) {}\n");
	fixture_run("gcc -fPIC -shared -o swap.so swap.c");
	assert_none("swap.so");
	fixture_write("const.c", "const int __jit_debug_descriptor[6] = {1};\n"
				 "void __jit_debug_register_code(void) {}\n");
	fixture_run("gcc -fPIC -shared -o const.so const.c");
	assert_none("const.so");
}

/* ---- malformed files ---- */

struct elf_copy {
	uint8_t *bytes;
	size_t len;
};

static struct elf_copy load(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t len = lseek(fd, 0, SEEK_END);
	struct elf_copy image = {malloc((size_t)len), (size_t)len};

	assert_non_null(image.bytes);
	assert_int_equal(pread(fd, image.bytes, image.len, 0), len);
	return image;
}

static void other_machines_are_refused(void **state)
{
	static const struct {
		size_t off;
		uint8_t value;
	} rows[] = {
		{0, 0},
		{EI_CLASS, ELFCLASS32},
		{EI_DATA, ELFDATA2MSB},
		{offsetof(Elf64_Ehdr, e_machine), EM_386},
		{offsetof(Elf64_Ehdr, e_type), ET_REL},
		{offsetof(Elf64_Ehdr, e_type), ET_CORE},
		{offsetof(Elf64_Ehdr, e_phentsize), 8},
		{offsetof(Elf64_Ehdr, e_shentsize), 8},
		{offsetof(Elf64_Ehdr, e_phnum), 1},
	};
	struct elf_copy image;

	(void)state;
	fixture_run("gcc -fPIC -shared -o has.so jit.c");
	image = load("has.so");
	assert_true(find_in_bytes(image.bytes, image.len));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t before = image.bytes[rows[i].off];

		image.bytes[rows[i].off] = rows[i].value;
		assert_false(find_in_bytes(image.bytes, image.len));
		image.bytes[rows[i].off] = before;
	}
	assert_true(find_in_bytes(image.bytes, image.len));
	free(image.bytes);
}

static void code_must_be_executable_and_in_the_file(void **state)
{
	struct elf_copy image;
	Elf64_Ehdr *header;

	(void)state;
	fixture_run("gcc -fPIC -shared -o has.so jit.c");
	image = load("has.so");
	header = (Elf64_Ehdr *)image.bytes;
	for (int i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr *ph = (Elf64_Phdr *)(image.bytes + header->e_phoff) + i;
		const Elf64_Phdr before = *ph;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & (PF_X | PF_W)))
			continue;
		ph->p_flags = PF_R;
		assert_false(find_in_bytes(image.bytes, image.len));
		*ph = before;
		ph->p_memsz = 1;
		assert_false(find_in_bytes(image.bytes, image.len));
		*ph = before;
		if (!(ph->p_flags & PF_X))
			continue;
		ph->p_offset = image.len - 1;
		assert_false(find_in_bytes(image.bytes, image.len));
		ph->p_offset = UINT64_MAX - 5;
		assert_false(find_in_bytes(image.bytes, image.len));
		*ph = before;
		ph->p_filesz = 1;
		assert_false(find_in_bytes(image.bytes, image.len));
		*ph = before;
	}
	assert_true(find_in_bytes(image.bytes, image.len));
	free(image.bytes);
}

static void a_file_may_end_anywhere(void **state)
{
	struct elf_copy image;
	size_t shoff;

	(void)state;
	fixture_run("gcc -fPIC -shared -o has.so jit.c");
	image = load("has.so");
	/* The section headers are at the end: without them there are no symbols. */
	shoff = ((const Elf64_Ehdr *)image.bytes)->e_shoff;
	for (size_t len = 0; len < image.len; len += 61)
		assert_false(find_in_bytes(image.bytes, len) && len < shoff);
	free(image.bytes);
}

static void it_is_asked_of_a_worker(void **state)
{
	_cleanup_close_ int has = -1, none = -1, no_elf = -1;
	const struct jit_interface *p;
	struct file_facts facts;
	struct worker *w;

	(void)state;
	fixture_run("gcc -fPIC -shared -o has.so jit.c");
	has = open("has.so", O_RDONLY | O_CLOEXEC);
	none = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	no_elf = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(worker_new(NULL, &w, NULL), 0);
	assert_int_equal(file_facts_read(w, (struct tenant){0}, none, &facts), 0);
	assert_true(facts.is_elf);
	assert_null(file_facts_of(&facts, RUNTIME_JIT));
	assert_int_equal(file_facts_read(w, (struct tenant){0}, no_elf, &facts), 0);
	assert_false(facts.is_elf);
	assert_null(file_facts_of(&facts, RUNTIME_JIT));
	assert_int_equal(file_facts_read(w, (struct tenant){0}, has, &facts), 0);
	p = file_facts_of(&facts, RUNTIME_JIT);
	assert_non_null(p);
	assert_int_equal(p->register_vaddr, fixture_vaddr("has.so", REGISTER));
	worker_free(w);
}

/* Facts about a file are cached and freed with the file. */
static void a_file_is_asked_once(void **state)
{
	_cleanup_close_ int fd = -1;
	struct target_file file = {.fd = -1, .path = "has.so"};
	const struct file_facts *facts;
	struct worker_stats stats;
	struct worker *w;

	(void)state;
	fixture_run("gcc -fPIC -shared -o has.so jit.c");
	fd = open("has.so", O_RDONLY | O_CLOEXEC);
	assert_int_equal(worker_new(NULL, &w, NULL), 0);
	assert_null(
		file_facts_get(&file, w, (struct tenant){0})); /* the file is not open */
	file.fd = fd;
	facts = file_facts_get(&file, w, (struct tenant){0});
	assert_non_null(file_facts_of(facts, RUNTIME_JIT));
	assert_null(file_facts_of(facts, RUNTIME_PYTHON));
	assert_ptr_equal(file_facts_get(&file, w, (struct tenant){0}), facts);
	worker_stats(w, &stats);
	assert_int_equal(stats.nr_calls, 1);
	free(file.facts);
	worker_free(w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(programs_and_libraries_have_it),
		TEST(local_symbols_are_found),
		TEST(versioned_symbols_are_found),
		TEST(users_of_it_do_not_have_it),
		TEST(half_of_it_is_none),
		TEST(other_machines_are_refused),
		TEST(code_must_be_executable_and_in_the_file),
		TEST(a_file_may_end_anywhere),
		TEST(it_is_asked_of_a_worker),
		TEST(a_file_is_asked_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
