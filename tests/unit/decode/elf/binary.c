// SPDX-License-Identifier: GPL-2.0-or-later
/* Hand-made program headers that linkers do not write. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "decode/elf/binary.h"
#include "lib/sanitizer.h"

#define MAX_PHDRS 300

struct image {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdrs[MAX_PHDRS];
	struct {
		Elf64_Nhdr nhdr;
		char name[4];
		uint8_t id[BINARY_MAX_BUILD_ID + 4];
	} note;
};

static struct image *new_image(void)
{
	struct image *image = calloc(1, sizeof(*image));

	assert_non_null(image);
	memcpy(image->ehdr.e_ident, ELFMAG, SELFMAG);
	image->ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	image->ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	image->ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	image->ehdr.e_type = ET_DYN;
	image->ehdr.e_machine = EM_X86_64;
	image->ehdr.e_version = EV_CURRENT;
	image->ehdr.e_phoff = offsetof(struct image, phdrs);
	image->ehdr.e_phentsize = sizeof(Elf64_Phdr);
	image->ehdr.e_ehsize = sizeof(Elf64_Ehdr);
	return image;
}

static void add_load(struct image *image, uint64_t vaddr, uint64_t file_off,
		     uint64_t bytes, uint32_t flags)
{
	image->phdrs[image->ehdr.e_phnum++] = (Elf64_Phdr){.p_type = PT_LOAD,
							   .p_flags = flags,
							   .p_offset = file_off,
							   .p_vaddr = vaddr,
							   .p_filesz = bytes,
							   .p_memsz = bytes};
}

static void test_offsets_and_addresses(void **state)
{
	_cleanup_free_ struct image *image = new_image();
	_cleanup_(binary_freep) struct binary *b = NULL;
	uint64_t vaddr = 1;

	(void)state;
	add_load(image, 0x10000, 0, 0x1500, PF_R);
	add_load(image, 0x21000, 0x1000, 0x1000, PF_R | PF_X); /* shares 1000..1500 */
	add_load(image, 0xfffffffffffff000, 0x5000, 0x2000, PF_R | PF_X); /* wraps */
	add_load(image, 0x50000, 0xfffffffffffff000, 0x2000, PF_R | PF_X);
	add_load(image, 0x60000, 0x9000, 0x10, PF_R | PF_X);
	image->phdrs[4].p_memsz = 0x1000; /* zeroes past the bytes in the file */
	assert_int_equal(binary_open_memory(image, sizeof(*image), &b), 0);
	assert_int_equal(b->nr_loads, 3);
	assert_true(binary_file_off_to_vaddr(b, 0x800, &vaddr));
	assert_int_equal(vaddr, 0x10800);
	assert_true(binary_file_off_to_vaddr(b, 0x1400, &vaddr));
	assert_int_equal(vaddr, 0x21400);
	assert_true(binary_file_off_to_vaddr(b, 0x900f, &vaddr));
	assert_int_equal(vaddr, 0x6000f);
	assert_false(binary_file_off_to_vaddr(b, 0x9010, &vaddr));
	assert_false(binary_file_off_to_vaddr(b, 0x5000, &vaddr));
	assert_false(binary_file_off_to_vaddr(b, UINT64_MAX, &vaddr));
	assert_int_equal(vaddr, 0x6000f);
	assert_int_equal(binary_load_of(b, 0x60fff)->file_off, 0x9000);
	assert_null(binary_load_of(b, 0x61000));
	assert_true(binary_load_of(b, 0x21000)->flags & PF_X);
}

static void test_too_many_segments(void **state)
{
	_cleanup_free_ struct image *image = new_image();
	_cleanup_(binary_freep) struct binary *b = NULL;
	uint64_t vaddr;

	(void)state;
	for (uint64_t i = 0; i < MAX_PHDRS; i++)
		add_load(image, 0x1000000 + i * 0x1000, i * 0x1000, 0x1000, PF_X);
	assert_int_equal(binary_open_memory(image, sizeof(*image), &b), 0);
	assert_int_equal(b->nr_loads, BINARY_MAX_LOADS);
	assert_true(binary_file_off_to_vaddr(b, 0x1000 * (BINARY_MAX_LOADS - 1), &vaddr));
	assert_false(binary_file_off_to_vaddr(b, 0x1000 * BINARY_MAX_LOADS, &vaddr));
}

static size_t build_id_len_of(uint32_t type, const char *name, uint32_t len)
{
	_cleanup_free_ struct image *image = new_image();
	_cleanup_(binary_freep) struct binary *b = NULL;

	image->phdrs[0] = (Elf64_Phdr){.p_type = PT_NOTE,
				       .p_offset = offsetof(struct image, note),
				       .p_filesz = sizeof(image->note),
				       .p_align = 4};
	image->ehdr.e_phnum = 1;
	image->note.nhdr = (Elf64_Nhdr){.n_namesz = 4, .n_descsz = len, .n_type = type};
	memcpy(image->note.name, name, 4);
	assert_int_equal(binary_open_memory(image, sizeof(*image), &b), 0);
	return b->build_id_len;
}

static void test_build_id_notes(void **state)
{
	(void)state;
	assert_int_equal(build_id_len_of(NT_GNU_BUILD_ID, "GNU", 20), 20);
	assert_int_equal(build_id_len_of(NT_GNU_BUILD_ID, "GNU", 64), 64);
	assert_int_equal(build_id_len_of(NT_GNU_BUILD_ID, "GNU", 68), 0);
	assert_int_equal(build_id_len_of(NT_GNU_BUILD_ID, "GNU", 0), 0);
	assert_int_equal(build_id_len_of(NT_GNU_BUILD_ID, "GNU", 4000), 0);
	assert_int_equal(build_id_len_of(NT_GNU_BUILD_ID, "XEN", 20), 0);
	assert_int_equal(build_id_len_of(NT_GNU_ABI_TAG, "GNU", 20), 0);
}

/* Segments that list the same bytes over and over are not read as often. */
static void test_notes_longer_than_the_file(void **state)
{
	(void)state;
	for (int is_too_long = 0; is_too_long < 2; is_too_long++) {
		_cleanup_free_ struct image *image = new_image();
		_cleanup_(binary_freep) struct binary *b = NULL;
		size_t others = sizeof(*image) - sizeof(image->note) + is_too_long;

		image->note.nhdr = (Elf64_Nhdr){
			.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID};
		memcpy(image->note.name, "GNU", 4);
		image->phdrs[0] =
			(Elf64_Phdr){.p_type = PT_NOTE, .p_filesz = others, .p_align = 4};
		image->phdrs[1] = (Elf64_Phdr){.p_type = PT_NOTE,
					       .p_offset = offsetof(struct image, note),
					       .p_filesz = sizeof(image->note),
					       .p_align = 4};
		image->ehdr.e_phnum = 2;
		assert_int_equal(binary_open_memory(image, sizeof(*image), &b), 0);
		assert_int_equal(b->build_id_len, is_too_long ? 0 : 20);
	}
}

static void test_not_elf(void **state)
{
	char text[] = "#!/bin/sh\necho this is no program that anything can map\n";
	struct binary *b = NULL;

	(void)state;
	assert_int_equal(binary_open_memory(text, sizeof(text), &b), -EBADMSG);
	assert_int_equal(binary_open_memory(text, 0, &b), -EBADMSG);
	assert_int_equal(binary_open(-1, &b), -EBADMSG);
	assert_null(b);
}

/* A file of a few pages says how many sections it has: that is not a malformed file. */
static void test_more_sections_than_memory(void **state)
{
	const struct rlimit limit = {64 << 20, 64 << 20};
	const Elf64_Shdr first = {.sh_size = 1 << 20};
	_cleanup_free_ struct image *image = NULL;
	_cleanup_close_ int fd = -1;
	struct binary *b;
	int status;
	pid_t pid;

	(void)state;
#ifdef HAS_ADDRESS_SANITIZER
	print_message("skipped: AddressSanitizer does not allow RLIMIT_DATA\n");
	skip();
#endif
	image = new_image();
	fd = memfd_create("many sections", MFD_CLOEXEC);
	image->ehdr.e_shoff = sizeof(image->ehdr);
	image->ehdr.e_shentsize = sizeof(first);
	assert_int_equal(pwrite(fd, &image->ehdr, sizeof(image->ehdr), 0),
			 sizeof(image->ehdr));
	assert_int_equal(pwrite(fd, &first, sizeof(first), sizeof(image->ehdr)),
			 sizeof(first));
	assert_int_equal(ftruncate(fd, 128 << 20), 0);
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_DATA, &limit);
		_exit(binary_open(fd, &b) == -ENOMEM ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offsets_and_addresses),
		cmocka_unit_test(test_too_many_segments),
		cmocka_unit_test(test_build_id_notes),
		cmocka_unit_test(test_notes_longer_than_the_file),
		cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_more_sections_than_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
