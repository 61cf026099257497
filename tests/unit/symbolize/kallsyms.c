// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbolize/kallsyms.h"

static void write_text(char *path, const char *text)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static const char modules[] = "nf_tables 4096 2 nft_ct,nft_log, Live "
			      "0xffffffffc0a4e000 (E)\n"
			      "garbage\n"
			      "huge 18446744073709551615 0 - Live 0xffffffffc0b00000\n"
			      "no_address 1 0 - Live\n"
			      "two 65536 0 - Live 0xffffffffc0d00000\n"
			      "\n"
			      "last 8192 0 - Live 0xffffffffc0c00000";

static int load(const char *symbols, const char *modules_path, struct strpool *pool,
		struct kallsyms **ret)
{
	struct kallsyms_files files;
	int err;

	kallsyms_files_open(&files, symbols, modules_path);
	err = kallsyms_load(&files, pool, ret);
	kallsyms_files_close(&files);
	return err;
}

static int load_text(const char *text, struct strpool *pool, struct kallsyms **ret)
{
	char path[] = "/tmp/lb-kallsyms-XXXXXX",
	     modules_path[] = "/tmp/lb-modules-XXXXXX";
	int err;

	write_text(path, text);
	write_text(modules_path, modules);
	err = load(path, modules_path, pool, ret);
	unlink(path);
	unlink(modules_path);
	return err;
}

static const char fixture[] = "0000000000000000 A fixed_percpu_data\n"
			      "ffffffff81000400 t do_one_initcall\n"
			      "ffffffff81000000 T _stext\n"
			      "ffffffff81000000 T startup_64\n"
			      "ffffffff81000100 W weak_name\n"
			      "ffffffff81000100 t local_name\n"
			      "ffffffff81000100 T __global_name\n"
			      "ffffffff81000100 T global_name\n"
			      "ffffffff81000300 D some_data\n"
			      "ffffffff81001000 T _etext\n"
			      "ffffffffc0a4e000 t nf_hook_slow\t[nf_tables]\n"
			      "ffffffffc0a4f000 d nf_data\t[nf_tables]\n"
			      "ffffffffc03f1a40 t bpf_prog_6deef7357e7b4530_x\t[bpf]\n"
			      "ffffffffc0100000 t kprobe_insn_page\t"
			      "[__builtin__kprobes]\n"
			      "ffffffffc0b00000 t in_huge\t[huge]\n"
			      "ffffffffc0b80000 t unloaded\t[gone]\n"
			      "ffffffffc0c00010 t in_last\t[last]\n"
			      "ffffffffc0d00000 t in_two\t[two]\n"
			      "ffffffffc0d02000 t in_two_more\t[two]\n"
			      "garbage\n"
			      "ffffffffc0\n"
			      "\n"
			      "zzzz T no_address\n"
			      "ffffffffc0a50000 t last_line_without_newline";

static const struct {
	uint64_t ip;
	const char *name, *module; /* NULL: not found */
	uint64_t start;
} lookups[] = {
	{0xffffffff80ffffff, NULL, NULL, 0},
	{0xffffffff81000000, "startup_64", "", 0xffffffff81000000},
	{0xffffffff810000ff, "startup_64", "", 0xffffffff81000000},
	{0xffffffff81000100, "global_name", "", 0xffffffff81000100},
	{0xffffffff81000350, "global_name", "", 0xffffffff81000100}, /* data is no end */
	{0xffffffff81000400, "do_one_initcall", "", 0xffffffff81000400},
	{0xffffffff81001000, NULL, NULL, 0},
	{0xffffffff81001234, NULL, NULL, 0},
	{0xffffffffc03f1a3f, NULL, NULL, 0},
	/* How long a BPF program is, symbols do not say. */
	{0xffffffffc03f1a41, NULL, NULL, 0},
	{0xffffffffc0100010, NULL, NULL, 0},
	{0xffffffffc0a4e010, "nf_hook_slow", "nf_tables", 0xffffffffc0a4e000},
	{0xffffffffc0a4efff, "nf_hook_slow", "nf_tables", 0xffffffffc0a4e000},
	{0xffffffffc0a4f000, NULL, NULL, 0}, /* behind the module */
	{0xffffffffc0b00010, NULL, NULL, 0},
	{0xffffffffc0b80010, NULL, NULL, 0},
	{0xffffffffc0c00fff, "in_last", "last", 0xffffffffc0c00010},
	{0xffffffffc0c01000, NULL, NULL, 0}, /* maybe behind the pages of its code */
	{0xffffffffc0d00fff, "in_two", "two", 0xffffffffc0d00000},
	{0xffffffffc0d01fff, "in_two", "two", 0xffffffffc0d00000},
	{0xffffffffc0d02fff, "in_two_more", "two", 0xffffffffc0d02000},
	{0xffffffffc0d03000, NULL, NULL, 0},
	{0xffffffffc0a50000, "last_line_without_newline", "", 0xffffffffc0a50000},
	{0xffffffffc0afffff, "last_line_without_newline", "", 0xffffffffc0a50000},
	{0, NULL, NULL, 0},
	{UINT64_MAX, NULL, NULL, 0},
};

static void test_lookups(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	_cleanup_(kallsyms_freep) struct kallsyms *k = NULL;

	(void)state;
	assert_int_equal(load_text(fixture, pool, &k), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lookups); i++) {
		struct kernel_symbol sym;

		assert_int_equal(kallsyms_find(k, lookups[i].ip, &sym),
				 !!lookups[i].name);
		if (!lookups[i].name)
			continue;
		assert_string_equal(sym.name, lookups[i].name);
		assert_string_equal(sym.module, lookups[i].module);
		assert_int_equal(sym.start, lookups[i].start);
	}
	assert_string_equal(kallsyms_at(k, 0xffffffffc03f1a40),
			    "bpf_prog_6deef7357e7b4530_x");
	assert_null(kallsyms_at(k, 0xffffffffc03f1a41));
	assert_null(kallsyms_at(k, UINT64_MAX));
}

/* A kernel without modules does not have the file. */
static void test_no_modules(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	_cleanup_(kallsyms_freep) struct kallsyms *k = NULL;
	char path[] = "/tmp/lb-kallsyms-XXXXXX";
	struct kernel_symbol sym;

	(void)state;
	write_text(path, fixture);
	assert_int_equal(load(path, "/nonexistent", pool, &k), 0);
	unlink(path);
	assert_true(kallsyms_find(k, 0xffffffff81000000, &sym));
	assert_false(kallsyms_find(k, 0xffffffffc0a4e010, &sym));
}

static void test_hidden_and_empty(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	struct kallsyms *k = NULL;

	(void)state;
	assert_int_equal(
		load_text("0000000000000000 T a\n0000000000000000 t b\n", pool, &k),
		-EACCES);
	assert_int_equal(load_text("", pool, &k), -ENODATA);
	assert_int_equal(load_text("ffffffff81000000 D data\n", pool, &k), -ENODATA);
	assert_int_equal(load("/nonexistent", "/nonexistent", pool, &k), -ENOENT);
	assert_null(k);
}

/* The running kernel: the address of each global text symbol gives that symbol. */
static void test_real_kallsyms(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(64 << 20);
	_cleanup_(kallsyms_freep) struct kallsyms *k = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	struct timespec a, b;
	size_t nr_found = 0, nr = 0;
	char line[1024];
	int err;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &a);
	err = load("/proc/kallsyms", "/proc/modules", pool, &k);
	clock_gettime(CLOCK_MONOTONIC, &b);
	if (err == -EACCES) {
		print_message("skipped: /proc/kallsyms is hidden or not there (root)\n");
		skip();
	}
	assert_int_equal(err, 0);
	print_message("loaded in %.1f ms\n",
		      (double)(b.tv_sec - a.tv_sec) * 1e3 +
			      (double)(b.tv_nsec - a.tv_nsec) / 1e6);
	f = fopen("/proc/kallsyms", "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct kernel_symbol sym;
		unsigned long long ip;
		char type, name[600];

		if (sscanf(line, "%llx %c %599s", &ip, &type, name) != 3 || type != 'T')
			continue;
		if (!strcmp(name, "_etext") || !strcmp(name, "_einittext"))
			continue;
		nr++;
		if (!kallsyms_find(k, ip, &sym))
			continue;
		assert_int_equal(sym.start, ip);
		nr_found += !strcmp(sym.name, name);
	}
	assert_true(nr > 1000);
	assert_true(nr_found > nr * 9 / 10); /* the rest are aliases */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookups),
		cmocka_unit_test(test_no_modules),
		cmocka_unit_test(test_hidden_and_empty),
		cmocka_unit_test(test_real_kallsyms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
