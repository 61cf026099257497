// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "decode/elf/names.h"

static const struct {
	const char *symbol; /* NULL: no symbol */
	bool plt;
	const char *dwarf_function, *dwarf_system; /* NULL function: no frame */
	const char *function, *system_name; /* NULL function: no frame */
} cases[] = {
	/* symbols only */
	{"main", false, NULL, NULL, "main", ""},
	{"_ZN2ns4workEv", false, NULL, NULL, "ns::work", "_ZN2ns4workEv"},
	{"memcpy@@GLIBC_2.14", false, NULL, NULL, "memcpy", ""},
	{"puts", true, NULL, NULL, "puts@plt", ""},
	{"_ZN2ns4workEv", true, NULL, NULL, "ns::work@plt", "_ZN2ns4workEv"},
	{NULL, false, NULL, NULL, NULL, NULL},
	/* DWARF only */
	{NULL, false, "work", "", "work", ""},
	{NULL, false, "work", "_ZN2ns4workEv", "ns::work", "_ZN2ns4workEv"},
	{NULL, false, "work", "pkg.work", "work", "pkg.work"},
	{NULL, false, "", "plain", "plain", ""},
	{NULL, false, "", "", "", ""},
	/* both: the symbol fills in what DWARF lacks, unless it contradicts DWARF */
	{"_ZN2ns4workEv", false, "work", "", "ns::work", "_ZN2ns4workEv"},
	{"_ZN2ns4workEv", false, "", "", "ns::work", "_ZN2ns4workEv"},
	{"_ZN2ns5otherEv", false, "work", "", "work", ""},
	{"work.isra.0", false, "work", "", "work", ""},
	{"puts", true, "", "", "", ""},
	{"_ZN2ns5otherEv", false, "work", "_ZN2ns4workEv", "ns::work", "_ZN2ns4workEv"},
};

static void test_cases(void **state)
{
	_cleanup_(elf_names_freep) struct elf_names *n = elf_names_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct frame in = {.function = cases[i].dwarf_function,
				   .system_name = cases[i].dwarf_system,
				   .file = "/src/a.c",
				   .line = 7,
				   .start_line = 3};
		size_t nr = in.function ? 1 : 0;
		const struct frame *out;

		elf_names_symbol(n, cases[i].symbol, cases[i].plt);
		out = elf_names_chain(n, &in, &nr);
		assert_int_equal(nr, cases[i].function ? 1 : 0);
		if (!nr)
			continue;
		assert_string_equal(out->function, cases[i].function);
		assert_string_equal(out->system_name, cases[i].system_name);
		assert_int_equal(out->line, in.function ? 7 : 0);
		assert_int_equal(out->start_line, in.function ? 3 : 0);
		assert_string_equal(out->file, in.function ? "/src/a.c" : "");
	}
}

/* The symbol names only the outermost function of a chain. */
static void test_chain(void **state)
{
	_cleanup_(elf_names_freep) struct elf_names *n = elf_names_new();
	const struct frame in[] = {{.function = "", .line = 1, .inlined = true},
				   {.function = "", .line = 2}};
	const struct frame *out;
	size_t nr = 2;

	(void)state;
	elf_names_symbol(n, "outer", false);
	out = elf_names_chain(n, in, &nr);
	assert_int_equal(nr, 2);
	assert_string_equal(out[0].function, "");
	assert_true(out[0].inlined);
	assert_string_equal(out[1].function, "outer");
	assert_int_equal(out[1].line, 2);
}

static void test_deep_chain_loses_its_middle(void **state)
{
	_cleanup_(elf_names_freep) struct elf_names *n = elf_names_new();
	struct frame in[100] = {{0}};
	const struct frame *out;
	size_t nr = 100;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		in[i] = (struct frame){.function = "f", .line = i + 1};
	out = elf_names_chain(n, in, &nr);
	assert_int_equal(nr, FRAMES_MAX_INLINE);
	assert_int_equal(out[0].line, 1);
	assert_int_equal(out[31].line, 32);
	assert_int_equal(out[32].line, 69);
	assert_int_equal(out[63].line, 100);
}

static void test_long_names(void **state)
{
	_cleanup_(elf_names_freep) struct elf_names *n = elf_names_new();
	char name[6000];
	const struct frame *out;
	size_t nr = 0;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	elf_names_symbol(n, name, true);
	out = elf_names_chain(n, NULL, &nr);
	assert_int_equal(nr, 1);
	assert_true(strlen(out->function) < ELF_NAMES_MAX_FUNCTION);
	assert_string_equal(out->function + strlen(out->function) - 4, "@plt");
	assert_true(strlen(out->system_name) < ELF_NAMES_MAX_SYSTEM);
	/* truncated at a whole character; each has two bytes */
	for (size_t i = 0; i < sizeof(name) - 1; i++)
		name[i] = i & 1 ? '\xa9' : '\xc3';
	elf_names_symbol(n, name, false);
	nr = 0;
	out = elf_names_chain(n, NULL, &nr);
	assert_int_equal(strlen(out->function) % 2, 1); /* pairs, then "..." */
	assert_string_equal(out->function + strlen(out->function) - 3, "...");
}

/* A text of any length that ends where no memory is: of 1 MB, say. */
static const char *endless(size_t nr_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED && nr_bytes <= 2 * page);
	memset(pages, 'x', 2 * page);
	assert_int_equal(mprotect(pages + 2 * page, page, PROT_NONE), 0);
	return pages + 2 * page - nr_bytes;
}

/* Many addresses can have a name of any length: of each, so much is read as is shown. */
static void test_endless_names(void **state)
{
	_cleanup_(elf_names_freep) struct elf_names *n = elf_names_new();
	struct frame in = {.function = endless(ELF_NAMES_MAX_FUNCTION),
			   .system_name = "",
			   .file = ""};
	const struct frame *out;
	size_t nr = 0;

	(void)state;
	elf_names_symbol(n, endless(ELF_NAMES_MAX_SYSTEM - 1), false);
	out = elf_names_chain(n, NULL, &nr);
	assert_int_equal(strlen(out->function), ELF_NAMES_MAX_FUNCTION - 1);
	assert_int_equal(strlen(out->system_name), ELF_NAMES_MAX_SYSTEM - 1);
	elf_names_symbol(n, "_ZN2ns4workEv", false);
	nr = 1;
	out = elf_names_chain(n, &in, &nr);
	assert_int_equal(strlen(out->function), ELF_NAMES_MAX_FUNCTION - 1);
	in.system_name = endless(ELF_NAMES_MAX_SYSTEM);
	out = elf_names_chain(n, &in, &nr);
	assert_int_equal(strlen(out->function), ELF_NAMES_MAX_FUNCTION - 1);
	assert_string_equal(out->system_name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_deep_chain_loses_its_middle),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_endless_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
