// SPDX-License-Identifier: GPL-2.0-or-later
/* LLVM's sample profile: what is counted, where; and that clang takes it. */
#include "unit/export/cases.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "export/export.h"
#include "lib/scratch.h"

struct text {
	struct io_pending pending;
	const char *note;
	struct error err;
	int rc;
};

static void text_deinit(struct text *t)
{
	io_pending_deinit(&t->pending);
}

static void write_text(struct profile *p, struct text *ret)
{
	const struct export_input in = {.profile = p};

	assert_int_equal(io_pending_open(&ret->pending, &ret->err), 0);
	ret->rc = export_autofdo(&in, ret->pending.out, &ret->note, &ret->err);
	assert_int_equal(fflush(ret->pending.out), 0);
}

static void lines_have_their_hottest_instruction(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_(text_deinit) struct text t = {0};
	uint32_t app = add_mapping(p, "/home/me/app"),
		 kernel = add_mapping(p, PROFILE_KERNEL);
	uint32_t jit = add_mapping(p, PROFILE_JIT),
		 python = add_mapping(p, "/usr/bin/python3");
	uint32_t at_13 = add_location(p, app, 1, MISS_NONE, "work@a.c:13");
	uint32_t also_13 = add_location(p, app, 2, MISS_NONE, "work@a.c:13");
	uint32_t entry = add_location(p, app, 3, MISS_NONE, "work@a.c:12");
	uint32_t inlined =
		add_location(p, app, 4, MISS_NONE, "sq@b.h:4|cube@b.h:15|work@a.c:14");
	uint32_t again =
		add_location(p, app, 5, MISS_NONE, "sq@b.h:5|cube@b.h:15|work@a.c:14");
	uint32_t elsewhere = add_location(p, app, 6, MISS_NONE, "sq@b.h:4|main@a.c:24");
	uint32_t main_23 = add_location(p, app, 7, MISS_NONE, "main@a.c:23");
	uint32_t c_of_python = add_location(p, python, 8, MISS_NONE, "eval@c.c:9");
	uint32_t in_kernel = add_location(p, kernel, 9, MISS_NONE, "read@fs.c:3");
	uint32_t in_jit = add_location(p, jit, 10, MISS_NONE, "fast@f.py:3");

	(void)state;
	add_stack(p, 0, 10, at_13, main_23);
	add_stack(p, 0, 20, at_13);
	add_stack(p, 0, 25, also_13, main_23);
	add_stack(p, 0, 7, entry, main_23);
	add_stack(p, 0, 40, inlined, main_23);
	add_stack(p, 0, 2, again, main_23);
	add_stack(p, 0, 5, elsewhere);
	add_stack(p, 0, 3, c_of_python, main_23);
	add_stack(p, 0, 100, in_kernel, at_13);
	add_stack(p, 0, 100, in_jit, main_23);
	write_text(p, &t);
	assert_int_equal(t.rc, 0);
	assert_null(t.note);
	assert_string_equal(t.pending.data, "work:79:7\n"
					    " 1: 7\n"
					    " 2: 30\n"
					    " 3: cube:42\n"
					    "  4: sq:42\n"
					    "   3: 40\n"
					    "   4: 2\n"
					    "main:5:5\n"
					    " 3: sq:5\n"
					    "  3: 5\n"
					    "eval:3:3\n"
					    " 8: 3\n");
}

/* Adds samples of a line of a function in @mapping. */
static void add_function(struct profile *p, uint32_t mapping, const char *name,
			 const char *system_name, uint32_t start_line, uint32_t line)
{
	const struct profile_function f = {.name = name,
					   .system_name = system_name,
					   .filename = "/src/a.cpp",
					   .start_line = start_line};
	const struct profile_line at = {profile_add_function(p, &f), line};
	uint32_t leaf =
		profile_add_location(p, mapping, p->nr_locations, MISS_NONE, &at, 1);

	add_stack(p, 0, 10, leaf);
}

static void what_has_no_place_is_told(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_(text_deinit) struct text t = {0};
	uint32_t app = add_mapping(p, "/home/me/app");

	(void)state;
	add_function(p, app, "work(int)", "_Z4worki", 10, 12);
	/* a macro that was defined above */
	add_function(p, app, "up", "", 10, 8);
	add_function(p, app, "no_start", "", 0, 12);
	add_function(p, app, "no_line", "", 10, 0);
	add_function(p, app, "operator new", "", 10, 12);
	add_function(p, app, "a:1", "", 10, 12);
	add_function(p, app, "x\n y", "", 10, 12);
	add_function(p, app, "[a @ b]", "", 10, 12);
	add_function(p, app, "#", "", 10, 12);
	add_function(p, app, "9", "", 10, 12);
	write_text(p, &t);
	assert_int_equal(t.rc, 0);
	assert_string_equal(t.pending.data,
			    "_Z4worki:10:10\n 2: 10\nup:10:10\n 65534: 10\n");
	assert_non_null(t.note);
	assert_non_null(strstr(t.note, "80.0 %"));
}

static void nothing_is_refused(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_(text_deinit) struct text none = {0}, no_lines = {0};

	(void)state;
	add_function(p, add_mapping(p, PROFILE_JIT), "fast", "", 10, 12);
	write_text(p, &none);
	assert_int_equal(none.rc, -EINVAL);
	assert_non_null(strstr(none.err.text, "no sample is in native code"));
	add_function(p, add_mapping(p, "/home/me/app"), "work", "", 0, 12);
	write_text(p, &no_lines);
	assert_int_equal(no_lines.rc, -EINVAL);
	assert_non_null(strstr(no_lines.err.text, "-fdebug-info-for-profiling"));
}

static const char source[] = "static int mix(int x)\n"
			     "{\n"
			     "	for (int i = 0; i < 9; i++)\n"
			     "		x = x * 31 + (x >> 3);\n"
			     "	return x;\n"
			     "}\n"
			     "int sink;\n\n\n\n"
			     "int work(int n)\n" /* line 11 */
			     "{\n"
			     "	int sum = 0;\n"
			     "	for (int i = 0; i < n; i++) {\n"
			     "		if (i % 1000 == 77)\n"
			     "			sink += i;\n"
			     "		else\n"
			     "			sum += mix(i);\n"
			     "	}\n"
			     "	return sum; }\n";

static void put_file(const char *dir, const char *name, const char *text)
{
	char path[64];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void clang_uses_it(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_(text_deinit) struct text t = {0};
	uint32_t app = add_mapping(p, "/home/me/app");
	uint32_t entry = add_location(p, app, 1, MISS_NONE, "work@/src/a.c:12");
	uint32_t branch = add_location(p, app, 2, MISS_NONE, "work@/src/a.c:15");
	uint32_t rare = add_location(p, app, 3, MISS_NONE, "work@/src/a.c:16");
	uint32_t inlined =
		add_location(p, app, 4, MISS_NONE, "mix@/src/a.c:4|work@/src/a.c:18");
	char dir[SCRATCH_BYTES], command[1024];

	(void)state;
	add_stack(p, 0, 5, entry);
	add_stack(p, 0, 80, branch);
	add_stack(p, 0, 1, rare);
	add_stack(p, 0, 300, inlined);
	write_text(p, &t);
	scratch_make(dir, 0700);
	put_file(dir, "a.c", source);
	put_file(dir, "a.afdo", t.pending.data);
	snprintf(command, sizeof(command),
		 "cd %s && " TEST_CLANG " -O2 -gmlt -fdebug-info-for-profiling -Werror "
		 "-fprofile-sample-use=a.afdo -Rpass=sample-profile -S -emit-llvm a.c "
		 "2>said || "
		 "{ cat said; false; }",
		 dir);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command),
		 "cd %s && grep -q \"'mix' inlined into 'work' to match profiling "
		 "context\" said && "
		 "grep -q 'function_entry_count\", i64 6}' a.ll && "
		 "grep -q 'branch_weights\", i32 2, i32 8[0-9]}' a.ll",
		 dir);
	assert_int_equal(system(command), 0);
	scratch_remove(dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_have_their_hottest_instruction),
		cmocka_unit_test(what_has_no_place_is_told),
		cmocka_unit_test(nothing_is_refused),
		cmocka_unit_test(clang_uses_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
