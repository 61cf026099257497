// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct row {
	const char *raw, *function, *file;
	uint32_t start_line, start_column;
	bool bytecode_positions;
} rows[] = {
	/* Written by Node 20.20.2, --perf-basic-prof and --perf-prof. */
	{"JS:*hot /tmp/d/hot.js:4:13", "hot", "/tmp/d/hot.js", 4, 13, false},
	{"JS:+hot /tmp/d/hot.js:4:13", "hot", "/tmp/d/hot.js", 4, 13, false},
	{"JS:^hot /tmp/d/hot.js:4:13", "hot", "/tmp/d/hot.js", 4, 13, true},
	{"JS:~hot /tmp/d/hot.js:4:13", "hot", "/tmp/d/hot.js", 4, 13, true},
	{"JS:* /tmp/d/hot.js:1:1", "(anonymous)", "/tmp/d/hot.js", 1, 1, false},
	{"Eval:~ /tmp/d/hot.js:1:1", "(anonymous)", "/tmp/d/hot.js", 1, 1, true},
	{"JS:^next node:internal/per_context/primordials:330:9", "next",
	 "node:internal/per_context/primordials", 330, 9, true},
	{"LazyCompile:*foo /app/file.js:12:5", "foo", "/app/file.js", 12, 5, false},
	{"Function:~bar /app/file.js:12", "bar", "/app/file.js", 12, 0, true},
	{"JS:*get size /app/x.js:3:7", "get size", "/app/x.js", 3, 7, false},
	{"JS:*f /My Files/x.js:3:7", "f", "/My Files/x.js", 3, 7, false},
	{"JS:*f file:///app/x.mjs:3:7", "f", "file:///app/x.mjs", 3, 7, false},
	{"JS:*f webpack://x/./a.js:3:7", "f", "webpack://x/./a.js", 3, 7, false},
	{"JS:*f C.js:3:7", "f", "C.js", 3, 7, false},
	/* The file could start at two places or at none: the name is not split. */
	{"JS:*a /b /c.js:1:2", "JS:*a /b /c.js:1:2", "", 0, 0, false},
	{"JS:*get a b.js:1:2", "JS:*get a b.js:1:2", "", 0, 0, false},
	{"JS:*hot", "JS:*hot", "", 0, 0, false},
	{"JS:", "JS:", "", 0, 0, false},
	{"JS:*", "JS:*", "", 0, 0, false},
	{"JS:* :1:1", "JS:* :1:1", "", 0, 0, false},
	{"JS:*f /x.js:0:0", "JS:*f /x.js:0:0", "", 0, 0, false},
	{"JS:*f /x.js:99999999999:1", "f", "/x.js:99999999999", 1, 0, false},
	{"Builtin:ArrayMap", "Builtin:ArrayMap", "", 0, 0, false},
	{"RegExp:^a b:1:2", "RegExp:^a b:1:2", "", 0, 0, false},
	{"Stub:CEntryStub", "Stub:CEntryStub", "", 0, 0, false},
	/* CPython 3.12 and 3.13, -X perf. */
	{"py::hot:/tmp/d/p.py", "hot", "/tmp/d/p.py", 0, 0, false},
	{"py::A.f.<locals>.<lambda>:/a:b.py", "A.f.<locals>.<lambda>", "/a:b.py", 0, 0,
	 false},
	{"py::_find_and_load:<frozen importlib._bootstrap>", "_find_and_load",
	 "<frozen importlib._bootstrap>", 0, 0, false},
	{"py::", "py::", "", 0, 0, false},
	{"py::f:", "py::f:", "", 0, 0, false},
	{"py:::f", "py:::f", "", 0, 0, false},
	{"TRACE_7::/app/app.lua:3", "TRACE_7", "/app/app.lua", 3, 0, false},
	{"TRACE_::app.lua:3", "TRACE_::app.lua:3", "", 0, 0, false},
	{"TRACE_7::3", "TRACE_7::3", "", 0, 0, false},
	{"TRACE-1$inner$4", "inner", "", 4, 0, false},
	{"TRACE-1$A::b$12", "A::b", "", 12, 0, false},
	{"TRACE-1$4", "TRACE-1$4", "", 0, 0, false},
	{"TRACE-1$$4", "TRACE-1$$4", "", 0, 0, false},
	{"$lists:map/2", "lists:map/2", "", 0, 0, false},
	{"$lists:/2", "$lists:/2", "", 0, 0, false},
	{"$:map/2", "$:map/2", "", 0, 0, false},
	{"$global::apply_fun_shared", "$global::apply_fun_shared", "", 0, 0, false},
	{"$", "$", "", 0, 0, false},
	{"void java.util.HashMap.resize(int, long)",
	 "void java.util.HashMap.resize(int, long)", "", 0, 0, false},
	{"void [App] App.Program::Main(string[])[OptimizedTier1]",
	 "void [App] App.Program::Main(string[])[OptimizedTier1]", "", 0, 0, false},
	{"", "", "", 0, 0, false},
};

static void assert_text(const char *got, size_t len, const char *want)
{
	assert_int_equal(len, strlen(want));
	assert_memory_equal(got ? got : "", want, len);
}

static void names_are_taken_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		/* Without a NUL, so that AddressSanitizer sees reads past the end. */
		size_t len = strlen(rows[i].raw);
		_cleanup_free_ char *raw = malloc(len ? len : 1);
		struct jit_name name;

		memcpy(raw, rows[i].raw, len);
		jit_name_split(raw, len, &name);
		assert_text(name.function, name.function_len, rows[i].function);
		assert_text(name.file, name.file_len, rows[i].file);
		assert_int_equal(name.start_line, rows[i].start_line);
		assert_int_equal(name.start_column, rows[i].start_column);
		assert_int_equal(name.bytecode_positions, rows[i].bytecode_positions);
	}
}

static void urls_become_paths(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	static const char *const pairs[][2] = {
		{"file:///app/x.mjs", "/app/x.mjs"},
		{"file:///My%20Files/%c3%84.mjs", "/My Files/\xc3\x84.mjs"},
		{"file:///a%2", "/a%2"},
		{"file:///a%", "/a%"},
		{"file:///a%zz", "/a%zz"},
		{"file:///a%00b", "/a%00b"},
		{"file://host/x", "file://host/x"},
		{"node:fs", "node:fs"},
		{"/a%20b", "/a%20b"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		assert_string_equal(jit_path(pool, pairs[i][0], strlen(pairs[i][0])),
				    pairs[i][1]);
}

static void frames_keep_the_raw_name(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	struct frame f = jit_name_frame("JS:*hot file:///d/h.mjs:4:13", pool);

	(void)state;
	assert_string_equal(f.function, "hot");
	assert_string_equal(f.system_name, "JS:*hot file:///d/h.mjs:4:13");
	assert_string_equal(f.file, "/d/h.mjs");
	assert_int_equal(f.start_line, 4);
	assert_int_equal(f.line, 0);
	f = jit_name_frame("Builtin:ArrayMap", pool);
	assert_string_equal(f.function, "Builtin:ArrayMap");
	assert_string_equal(f.system_name, "");
	assert_string_equal(f.file, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_taken_apart),
		cmocka_unit_test(urls_become_paths),
		cmocka_unit_test(frames_keep_the_raw_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
