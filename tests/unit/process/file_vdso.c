// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "decode/elf/binary.h"
#include "decode/elf/symbols.h"
#include "process/file.h"

/* Compares the file with this process's vdso byte by byte, and reads its symbols. */
static void test_own_vdso(void **state)
{
	uint64_t size = 0;
	_cleanup_close_ int fd = vdso_open(&size);
	_cleanup_(binary_freep) struct binary *b = NULL;
	struct elf_symbols symbols;
	const void *mapped = (const void *)getauxval(AT_SYSINFO_EHDR);
	void *copy;
	uint64_t vaddr;
	struct stat st;
	bool found = false;

	(void)state;
	if (fd == -ENOENT) {
		print_message("skipped: this kernel maps no vdso\n");
		skip();
	}
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, size);
	copy = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(copy != MAP_FAILED);
	assert_memory_equal(copy, mapped, size);
	munmap(copy, size);

	assert_int_equal(binary_open(fd, &b), 0);
	assert_true(b->nr_loads > 0);
	for (uint64_t off = 0; off < size && !found; off += 16) {
		const struct elf_symbol *sym;

		if (!binary_file_off_to_vaddr(b, off, &vaddr))
			continue;
		assert_int_equal(elf_symbols_init(&symbols, &vaddr, 1), 0);
		assert_int_equal(elf_symbols_read(&symbols, b, SHT_DYNSYM), 0);
		elf_symbols_finish(&symbols);
		sym = elf_symbols_at(&symbols, 0);
		found = sym && strstr(sym->name, "clock_gettime");
		elf_symbols_deinit(&symbols);
	}
	assert_true(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_own_vdso)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
