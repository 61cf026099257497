// SPDX-License-Identifier: GPL-2.0-or-later
/* What names say: kinds of code, objects, libraries, languages, statuses. */
#include "fixture.h"

#include "profile/mapping_kind.h"
#include "profile/profile.h"

static void kinds_of_code(void **state)
{
	static const struct {
		const char *filename;
		enum code_kind kind;
		const char *object;
	} rows[] = {
		{"/usr/bin/app", CODE_NATIVE, "app"},
		{"/home/me/app (deleted)", CODE_NATIVE, "app"},
		{"[vdso]", CODE_C_RUNTIME, "[vdso]"},
		{"/usr/lib/x86_64-linux-gnu/libc.so.6", CODE_C_RUNTIME, "libc.so.6"},
		{"/lib/libc-2.31.so (deleted)", CODE_C_RUNTIME, "libc-2.31.so"},
		{"/lib64/ld-linux-x86-64.so.2", CODE_C_RUNTIME, "ld-linux-x86-64.so.2"},
		{"/lib/ld-2.31.so", CODE_C_RUNTIME, "ld-2.31.so"},
		{"/lib/ld-musl-x86_64.so.1", CODE_C_RUNTIME, "ld-musl-x86_64.so.1"},
		{"/lib/libc.musl-x86_64.so.1", CODE_C_RUNTIME, "libc.musl-x86_64.so.1"},
		{"/lib/libm.so.6", CODE_C_RUNTIME, "libm.so.6"},
		{"/lib/libpthread-2.31.so", CODE_C_RUNTIME, "libpthread-2.31.so"},
		{"/lib/libgcc_s.so.1", CODE_C_RUNTIME, "libgcc_s.so.1"},
		{"/usr/lib/libstdc++.so.6.0.30", CODE_C_RUNTIME, "libstdc++.so.6.0.30"},
		{"/usr/lib/libc++abi.so.1", CODE_C_RUNTIME, "libc++abi.so.1"},
		{"/usr/lib/libcurl.so.4", CODE_NATIVE, "libcurl.so.4"},
		{"/usr/lib/libc-client.so.2007", CODE_NATIVE, "libc-client.so.2007"},
		{"/usr/lib/libm-2.31", CODE_NATIVE, "libm-2.31"},
		{"/usr/bin/ld", CODE_NATIVE, "ld"},
		{"/usr/bin/ld-2.40", CODE_NATIVE, "ld-2.40"},
		{"[kernel.kallsyms]", CODE_KERNEL, "[kernel]"},
		{"[kernel.kallsyms]_text", CODE_KERNEL, "[kernel]"},
		{"[kernel.kallsyms]/ext4", CODE_KERNEL, "[ext4]"},
		{"[guest.kernel.kallsyms]", CODE_KERNEL, "[kernel]"},
		{"/usr/lib/debug/boot/vmlinux-6.1.0", CODE_KERNEL, "vmlinux-6.1.0"},
		{"/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.zst", CODE_KERNEL,
		 "ext4.ko.zst"},
		{"/usr/bin/python", CODE_INTERPRETER, "python"},
		{"/usr/bin/python3", CODE_INTERPRETER, "python3"},
		{"/opt/py/bin/python3.13t", CODE_INTERPRETER, "python3.13t"},
		{"/usr/bin/python2.7", CODE_INTERPRETER, "python2.7"},
		{"C:/Python/python.exe", CODE_INTERPRETER, "python.exe"},
		{"/usr/bin/python3.11 (deleted)", CODE_INTERPRETER, "python3.11"},
		{"/usr/lib/libpython3.11.so.1.0", CODE_INTERPRETER,
		 "libpython3.11.so.1.0"},
		{"/usr/lib/libpython3.so", CODE_INTERPRETER, "libpython3.so"},
		{"/usr/bin/python3-config", CODE_NATIVE, "python3-config"},
		{"/usr/bin/pythonic", CODE_NATIVE, "pythonic"},
		{"/opt/libpython_extra.so", CODE_NATIVE, "libpython_extra.so"},
		{"[jit]", CODE_JIT, "[jit]"},
		{"//anon", CODE_JIT, "[jit]"},
		{"/tmp/perf-12.map", CODE_JIT, "[jit]"},
		{"/tmp/jitted-12-3.so", CODE_JIT, "[jit]"},
		{"[python]", CODE_PYTHON, "[python]"},
		{"[unknown]", CODE_UNKNOWN, "[unknown]"},
		{"", CODE_UNKNOWN, ""},
	};
	struct strpool *pool = strpool_new(1 << 16);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (code_kind_of(rows[i].filename) != rows[i].kind)
			fail_msg("%s: kind %d", rows[i].filename,
				 code_kind_of(rows[i].filename));
		assert_string_equal(object_name(rows[i].filename, pool), rows[i].object);
	}
	strpool_free(pool);
}

/* A program may have the name of a kernel or of a module. */
static void a_recording_has_no_files_of_the_kernel(void **state)
{
	struct profile_mapping mappings[] = {
		{.filename = "/home/alice/vmlinux"},
		{.filename = "/lib/modules/6.1/ext4.ko.xz"},
		{.filename = "[kernel.kallsyms]/ext4"},
		{.filename = "/usr/bin/python3.11"},
	};
	struct profile p = {.mappings = mappings, .nr_mappings = ARRAY_SIZE(mappings)};

	(void)state;
	assert_int_equal(mapping_kind(&p, 0), CODE_KERNEL); /* another tool's */
	assert_int_equal(mapping_kind(&p, 1), CODE_KERNEL);
	assert_int_equal(mapping_kind(&p, 4), CODE_UNKNOWN);
	p.extra.present = true;
	assert_int_equal(mapping_kind(&p, 0), CODE_NATIVE);
	assert_int_equal(mapping_kind(&p, 1), CODE_NATIVE);
	assert_int_equal(mapping_kind(&p, 2), CODE_KERNEL);
	assert_int_equal(mapping_kind(&p, 3), CODE_INTERPRETER);
}

static void libraries(void **state)
{
	static const char *const theirs[] = {
		"/usr/include/c++/12/vector",
		"/home/me/venv/lib/python3.11/site-packages/numpy/core/x.py",
		"/home/me/.pyenv/versions/3.11.4/lib/python3.11/json/decoder.py",
		"/rustc/2c8cc343/library/core/src/iter/range.rs",
		"/home/me/.cargo/registry/src/x/lib.rs",
		"/home/me/go/pkg/mod/golang.org/x/text@v0.3/a.go",
		"/srv/app/node_modules/left-pad/index.js",
		"node:internal/fs",
		"<frozen importlib._bootstrap>",
		"/nix/store/abc-glibc/include/x.h",
		"/usr/share/lineburn/python/lineburn_hook/numba_lines.py",
		"/home/me/lineburn/python/lineburn_hook/__init__.py",
	};
	static const char *const mine[] = {
		"",
		"/home/me/src/app.c",
		"/home/me/lib/pythonic/x.py",
		"/srv/usr/app.py",
		"x.c",
		"<ipython-input-7-0123456789ab>",
		"<stdin>",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(theirs); i++)
		if (!source_is_library(theirs[i]))
			fail_msg("%s is a library", theirs[i]);
	for (size_t i = 0; i < ARRAY_SIZE(mine); i++)
		if (source_is_library(mine[i]))
			fail_msg("%s is no library", mine[i]);
	assert_true(object_is_library("/usr/lib/libc.so.6"));
	assert_true(object_is_library("[vdso]"));
	assert_false(object_is_library("/home/me/app"));
}

static void languages(void **state)
{
	(void)state;
	assert_string_equal(language_of("/a/x.c", false), "c");
	assert_string_equal(language_of("/a/x.cpp", false), "c++");
	assert_string_equal(language_of("/usr/include/c++/12/vector", false), "c++");
	assert_string_equal(language_of("x.rs", false), "rust");
	assert_string_equal(language_of("/a.d/x.py", false), "python");
	assert_string_equal(language_of("/a/x.py", true), "numba");
	assert_string_equal(language_of("/a/x.js", true), "javascript");
	assert_string_equal(language_of("/a.py/x", true), "");
	assert_string_equal(language_of("", false), "");
}

static void statuses(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LB_NR_STACK_STATUS; i++)
		assert_int_equal(stack_status_from_name(stack_status_name(i)), i);
	assert_int_equal(stack_status_from_name("nonsense"), LB_NR_STACK_STATUS);
	assert_string_equal(stack_status_name(999), "complete");
	assert_false(stack_status_is_incomplete(LB_STACK_COMPLETE));
	assert_false(stack_status_is_incomplete(LB_STACK_NO_USER));
	assert_false(stack_status_is_incomplete(999));
	assert_true(stack_status_is_incomplete(LB_STACK_TRUNCATED));
	assert_true(stack_status_is_incomplete(LB_STACK_NO_BODY));
	assert_true(stack_status_is_incomplete(LB_STACK_32_BIT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_of_code),
		cmocka_unit_test(a_recording_has_no_files_of_the_kernel),
		cmocka_unit_test(libraries),
		cmocka_unit_test(languages),
		cmocka_unit_test(statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
