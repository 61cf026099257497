// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts of /proc/PID/maps: real ones, odd names, broken lines. */
#include "process/maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"

#define FIXTURES "tests/fixtures/process/"

struct seen {
	struct mapping items[64];
	size_t nr;
};

static int collect(void *ctx, const struct mapping *m)
{
	struct seen *seen = ctx;

	assert_true(seen->nr < ARRAY_SIZE(seen->items));
	seen->items[seen->nr++] = *m;
	return 0;
}

static struct strpool *pool;

static size_t parse(const char *text, size_t len, struct seen *seen)
{
	seen->nr = 0;
	return maps_parse(text, len, 77, pool, collect, seen);
}

static void parse_fixture(const char *path, struct seen *seen)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;

	assert_int_equal(io_read_file(path, 1 << 20, &text, &len), 0);
	assert_int_equal(parse(text, len, seen), 0);
}

static void node(void **state)
{
	struct seen seen;
	const struct mapping *m = seen.items;

	(void)state;
	parse_fixture(FIXTURES "node.maps", &seen);
	assert_int_equal(seen.nr, 14);
	assert_int_equal(m[1].start, 0xb72000);
	assert_int_equal(m[1].end, 0x25fe000);
	assert_int_equal(m[1].file_off, 0x772000);
	assert_int_equal(m[1].major, 0xfe);
	assert_int_equal(m[1].minor, 0);
	assert_int_equal(m[1].inode, 247580);
	assert_int_equal(m[1].from_ns, 77);
	assert_true(m[1].until_ns == UINT64_MAX);
	assert_string_equal(m[1].path, "/usr/bin/node");
	assert_int_equal(m[1].kind, MAPPING_FILE);
	assert_ptr_equal(m[1].path, m[0].path); /* interned */
	assert_int_equal(m[3].kind, MAPPING_ANON); /* code of V8 */
	assert_string_equal(m[3].path, "");
	assert_true(mapping_may_be_jit(&m[3]));
	assert_false(mapping_may_be_jit(&m[1]));
	assert_int_equal(m[11].kind, MAPPING_VDSO);
	assert_string_equal(m[12].path, "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
}

static void python(void **state)
{
	struct seen seen;
	size_t nr_files = 0, nr_vdso = 0;

	(void)state;
	parse_fixture(FIXTURES "python.maps", &seen);
	for (size_t i = 0; i < seen.nr; i++) {
		nr_files += seen.items[i].kind == MAPPING_FILE;
		nr_vdso += seen.items[i].kind == MAPPING_VDSO;
		assert_false(seen.items[i].deleted);
		assert_false(mapping_may_be_jit(&seen.items[i]));
	}
	assert_int_equal(nr_vdso, 1);
	assert_int_equal(seen.nr, 15);
	assert_int_equal(nr_files, 13); /* all except [vdso] and [vsyscall] */
}

static void chrome(void **state)
{
	struct seen seen;
	static const struct {
		uint64_t start;
		enum mapping_kind kind;
		bool deleted;
		const char *path;
	} want[] = {
		{0x3ac440000000, MAPPING_ANON, false, ""},
		{0x3ac440010000, MAPPING_ANON, false, ""},
		{0x5581f1a33000, MAPPING_FILE, false, "/opt/google/chrome/chrome"},
		{0x7f31c2e28000, MAPPING_FILE, false,
		 "/usr/lib/x86_64-linux-gnu/libc.so.6"},
		{0x7f31c4021000, MAPPING_FILE, true,
		 "/dev/shm/.org.chromium.Chromium.x1"},
		{0x7ffe9c9f4000, MAPPING_VDSO, false, "[vdso]"},
	};

	(void)state;
	parse_fixture(FIXTURES "chrome.maps", &seen);
	assert_int_equal(seen.nr, ARRAY_SIZE(want));
	for (size_t i = 0; i < seen.nr; i++) {
		assert_int_equal(seen.items[i].start, want[i].start);
		assert_int_equal(seen.items[i].kind, want[i].kind);
		assert_int_equal(seen.items[i].deleted, want[i].deleted);
		assert_string_equal(seen.items[i].path, want[i].path);
	}
}

static void odd_names(void **state)
{
	struct seen seen;
	static const struct {
		enum mapping_kind kind;
		bool deleted;
		const char *path;
	} want[] = {
		{MAPPING_FILE, false, "/usr/bin/a b  c"},
		{MAPPING_HEAP, false, "[heap]"},
		{MAPPING_FILE, false, "/opt/new\nline"},
		{MAPPING_FILE, false, "/opt/back\\slash\n3"},
		{MAPPING_FILE, true, "/opt/gone"},
		{MAPPING_FILE, true, "/opt/named (deleted)"},
		{MAPPING_FILE, false, "/opt/ leading and trailing "},
		{MAPPING_ANON, false, "[anon:v8]"},
		{MAPPING_MEMFD, true, "/memfd:doublemapper"},
		{MAPPING_MEMFD, true, "/dev/zero"},
		{MAPPING_ANON, false, "/dev/zero"},
		{MAPPING_MEMFD, true, "/SYSV0000002a"},
		{MAPPING_ANON, true, "/anon_hugepage"},
		{MAPPING_JITDUMP, false, "/tmp/jit-4711.dump"},
		{MAPPING_JITDUMP, true, "/tmp/.debug/jit-1.dump"},
		{MAPPING_FILE, false, "/tmp/jit-x.dump"},
		{MAPPING_FILE, false, "/tmp/jit-.dump"},
		{MAPPING_FILE, false, "/tmp/jit-1.dump.so"},
		{MAPPING_ANON, false, ""},
		{MAPPING_STACK, false, "[stack]"},
		{MAPPING_VDSO, false, "[vdso]"},
		{MAPPING_VSYSCALL, false, "[uprobes]"},
		{MAPPING_VSYSCALL, false, "[vsyscall]"},
	};

	(void)state;
	parse_fixture(FIXTURES "odd.maps", &seen);
	assert_int_equal(seen.nr, ARRAY_SIZE(want));
	for (size_t i = 0; i < seen.nr; i++) {
		assert_string_equal(seen.items[i].path, want[i].path);
		assert_int_equal(seen.items[i].kind, want[i].kind);
		assert_int_equal(seen.items[i].deleted, want[i].deleted);
	}
	assert_true(seen.items[22].end == 0xffffffffff601000);
}

static void event_names(void **state)
{
	static const struct {
		const char *name, *path;
		enum mapping_kind kind;
		bool deleted;
	} cases[] = {
		{"//anon", "", MAPPING_ANON, false},
		{"", "", MAPPING_ANON, false},
		{"//toolong", "//toolong", MAPPING_FILE, false},
		{"/memfd:x (deleted)", "/memfd:x", MAPPING_MEMFD, true},
		{"/a\nb (deleted)", "/a\nb", MAPPING_FILE, true},
		{"[vdso]", "[vdso]", MAPPING_VDSO, false},
		{"[heap]", "[heap]", MAPPING_HEAP, false},
		{"[anon_shmem:x (deleted)", "[anon_shmem:x (deleted)", MAPPING_ANON,
		 false},
		{"/SYSVhost", "/SYSVhost", MAPPING_FILE, false},
	};
	char huge[5000];
	struct mapping m;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		mapping_set_path(&m, pool, cases[i].name);
		assert_string_equal(m.path, cases[i].path);
		assert_int_equal(m.kind, cases[i].kind);
		assert_int_equal(m.deleted, cases[i].deleted);
	}
	memset(huge, 'x', sizeof(huge));
	huge[0] = '/';
	huge[sizeof(huge) - 1] = '\0';
	mapping_set_path(&m, pool, huge);
	assert_string_equal(m.path, "//toolong");
	huge[4095] = '\0';
	mapping_set_path(&m, pool, huge);
	assert_int_equal(strlen(m.path), 4095);
}

static void malformed_lines(void **state)
{
	static const char *const bad[] = {
		"",
		"1000-2000",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0",
		"1000-2000 r-xp 0 8:1",
		"1000-2000 r-xp 0 8:1 ",
		"1000-2000 r-xz 0 8:1 5 /a",
		"1000-2000 rwyp 0 8:1 5 /a",
		"1000 2000 r-xp 0 8:1 5 /a",
		"2000-1000 r-xp 0 8:1 5 /a",
		"1000-1000 r-xp 0 8:1 5 /a",
		"-2000 r-xp 0 8:1 5 /a",
		"10000000000000000-2 r-xp 0 8:1 5 /a",
		"1000-2000 r-xp 0 100000000:1 5 /a",
		"1000-2000 r-xp 0 8:1 99999999999999999999999 /a",
		"1000-2000 r-xp 0 8:1 5x /a",
		"\377\377",
	};
	struct seen seen;
	char text[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text),
			 "%s\n1000-2000 r-xp 00000000 08:01 5 /good\n", bad[i]);
		assert_int_equal(parse(text, strlen(text), &seen), 1);
		assert_int_equal(seen.nr, 1);
		assert_string_equal(seen.items[0].path, "/good");
	}
	/* The last line may lack its newline; a line truncated anywhere is harmless. */
	snprintf(text, sizeof(text), "1000-2000 r-xp 00000000 08:01 5 /good");
	assert_int_equal(parse(text, strlen(text), &seen), 0);
	assert_int_equal(seen.nr, 1);
	for (size_t len = 0; len < 31; len++) {
		_cleanup_free_ char *exact = malloc(len ? len : 1);

		memcpy(exact, text, len);
		parse(exact, len, &seen);
		assert_true(len > 29 || seen.nr == 0);
	}
}

static int stop_at_second(void *ctx, const struct mapping *m)
{
	(void)m;
	return ++*(int *)ctx == 2;
}

static void huge_and_stopped(void **state)
{
	const size_t size = 4u << 20;
	_cleanup_free_ char *text = malloc(size);
	struct seen seen;
	int nr = 0, len;

	(void)state;
	len = sprintf(text, "1000-2000 r-xp 00000000 08:01 5 /");
	memset(text + len, '\\', size - (size_t)len);
	assert_int_equal(parse(text, size, &seen), 0);
	assert_string_equal(seen.items[0].path, "//toolong");

	strcpy(text, "1-2 --xp 0 0:0 0\n2-3 --xp 0 0:0 0\n3-4 --xp 0 0:0 0\n");
	maps_parse(text, strlen(text), 0, pool, stop_at_second, &nr);
	assert_int_equal(nr, 2);
}

/* A mapping that grew while the text was read overlaps the one before; others are lies. */
static void mappings_ascend(void **state)
{
	static const char text[] = "1000-3000 r-xp 00007000 08:01 5 /a\n"
				   "1000-5000 r-xp 00007000 08:01 5 /a\n"
				   "4000-5000 r-xp 00000000 08:01 6 /again\n"
				   "0-2000 r-xp 00000000 08:01 6 /back\n"
				   "4000-4800 rw-p 00000000 08:01 6 /data\n"
				   "5000-6000 r-xp 00000000 08:01 7 /b\n"
				   "0-ffffffffffffffff r-xp 00000000 00:00 0\n"
				   "5000-6000 r-xp 00000000 08:01 7 /b\n";
	struct seen seen;

	(void)state;
	assert_int_equal(parse(text, strlen(text), &seen), 3);
	assert_int_equal(seen.nr, 4);
	assert_int_equal(seen.items[1].start, 0x3000);
	assert_int_equal(seen.items[1].end, 0x5000);
	assert_int_equal(seen.items[1].file_off, 0x9000);
	assert_string_equal(seen.items[2].path, "/b");
	for (size_t i = 1; i < seen.nr; i++)
		assert_true(seen.items[i].start >= seen.items[i - 1].end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node),
		cmocka_unit_test(python),
		cmocka_unit_test(chrome),
		cmocka_unit_test(odd_names),
		cmocka_unit_test(event_names),
		cmocka_unit_test(malformed_lines),
		cmocka_unit_test(huge_and_stopped),
		cmocka_unit_test(mappings_ascend),
	};
	int failed;

	pool = strpool_new(1 << 20);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	strpool_free(pool);
	return failed;
}
