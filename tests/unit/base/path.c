// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void paths_are_cleaned(void **state)
{
	static const struct {
		const char *path, *clean;
	} rows[] = {
		{"", ""},
		{".", "."},
		{"/", "/"},
		{"//", "/"},
		{"/..", "/"},
		{"/../../a", "/a"},
		{"a.c", "a.c"},
		{"/a/.b/c..d/...", "/a/.b/c..d/..."},
		{"./a.c", "a.c"},
		{"/a/./b//c.c", "/a/b/c.c"},
		{"/a/b/../c.c", "/a/c.c"},
		{"/a/b/../../../c.c", "/c.c"},
		{"../a/../../c.c", "../../c.c"},
		{"a/..", "a/.."}, /* nothing would be left */
		{"a/../b/c.c", "b/c.c"},
		{"./elf/../sysdeps/x86_64/tls_get_addr.S",
		 "sysdeps/x86_64/tls_get_addr.S"},
		{"/a/b/", "/a/b/"},
		{"/a/./b/", "/a/b"},
		{"<string>", "<string>"},
		{"<a/../b>", "<a/../b>"},
		{"file:///a/../b.js", "file:///a/../b.js"},
		{"node:internal/a", "node:internal/a"},
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(path_clean(rows[i].path, buf, sizeof(buf)),
				    rows[i].clean);
}

static void a_path_that_does_not_fit_stays(void **state)
{
	const char *path = "/a/./b";
	char buf[7];

	(void)state;
	assert_ptr_equal(path_clean(path, buf, 6), path);
	assert_string_equal(path_clean(path, buf, 7), "/a/b");
}

static void basenames(void **state)
{
	(void)state;
	assert_string_equal(path_basename("/a/b.c"), "b.c");
	assert_string_equal(path_basename("b.c"), "b.c");
	assert_string_equal(path_basename("/a/"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_cleaned),
		cmocka_unit_test(a_path_that_does_not_fit_stays),
		cmocka_unit_test(basenames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
