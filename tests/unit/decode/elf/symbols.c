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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_order_does_not_matter),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
