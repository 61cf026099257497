// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/process.h"
#include "runtime/python/frozen.h"
#include "lib/scratch.h"
#include "lib/slow_opener.h"

static void test_modules(void **state)
{
	static const struct {
		const char *file, *module; /* NULL: none */
	} cases[] = {
		{"<frozen posixpath>", "posixpath"},
		{"<frozen importlib._bootstrap>", "importlib/_bootstrap"},
		{"<frozen a.b.c3>", "a/b/c3"},
		{"<frozen >", NULL},
		{"<frozen ..>", NULL},
		{"<frozen .a>", NULL},
		{"<frozen a.>", NULL},
		{"<frozen a..b>", NULL},
		{"<frozen a/b>", NULL},
		{"<frozen a", NULL},
		{"<string>", NULL},
		{"/a/b.py", NULL},
		{"", NULL},
		{"<frozen "
		 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa>",
		 NULL},
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = python_frozen_module(cases[i].file, buf, sizeof(buf));

		assert_int_equal(n, cases[i].module ? strlen(cases[i].module) : 0);
		if (n)
			assert_string_equal(buf, cases[i].module);
	}
}

static void test_dirs(void **state)
{
	static const struct {
		const char *mapped, *dir; /* NULL: none */
	} cases[] = {
		{"/usr/bin/python3.11", "/usr/lib/python3.11"},
		{"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", "/usr/lib/python3.11"},
		{"/opt/lib/x/lib/libpython3.13t.so.1.0", "/opt/lib/x/lib/python3.13t"},
		{"/home/u/bin/py/bin/python3.14-nopie", "/home/u/bin/py/lib/python3.14"},
		{"/bin/python3.9", "/lib/python3.9"},
		{"/usr/bin/python3", NULL},
		{"/usr/bin/python3.", NULL},
		{"/srv/python3.11", NULL},
		{"/usr/lib/libc.so.6", NULL},
		{"python3.11", NULL},
		{"", NULL},
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = python_frozen_dir(cases[i].mapped, "lib", buf, sizeof(buf));

		assert_int_equal(n, cases[i].dir ? strlen(cases[i].dir) : 0);
		if (n)
			assert_string_equal(buf, cases[i].dir);
		assert_int_equal(python_frozen_dir(cases[i].mapped, "lib", buf, 5), 0);
	}
}

static void make(const char *root, const char *path)
{
	char at[512];

	snprintf(at, sizeof(at), "%s%s", root, path);
	for (char *slash = strchr(at + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(at, 0755);
		*slash = '/';
	}
	close(open(at, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

/* Finds files in the target's root, not in ours. */
static void test_find(void **state)
{
	char root[SCRATCH_BYTES], path[256];
	struct python_frozen where = {.places_left = 100, .until_ns = UINT64_MAX};
	struct mapping mappings[] = {
		{.kind = MAPPING_FILE, .path = "/usr/lib/libc.so.6"},
		{.kind = MAPPING_FILE, .path = "/of-the-target/bin/python3.11"},
	};
	struct process proc = {
		.uid = getuid(), .maps = {.items = mappings, .nr = 2}, .root_fd = -1};

	(void)state;
	scratch_make(root, 0700);
	make(root, "/of-the-target/lib/python3.11/importlib/_bootstrap.py");
	make(root, "/of-the-target/lib/python3.11/pkg/__init__.py");
	proc.root_fd = open(root, O_PATH | O_CLOEXEC);
	assert_true(python_frozen_find(&proc, &where, "<frozen importlib._bootstrap>",
				       path, sizeof(path)));
	assert_string_equal(path,
			    "/of-the-target/lib/python3.11/importlib/_bootstrap.py");
	assert_true(
		python_frozen_find(&proc, &where, "<frozen pkg>", path, sizeof(path)));
	assert_string_equal(path, "/of-the-target/lib/python3.11/pkg/__init__.py");
	assert_int_equal(python_frozen_find(&proc, &where, "<frozen getpath>", path, 256),
			 0);
	/* Of both "lib" and "lib64", two places each for the last one. */
	assert_int_equal(where.places_left, 100 - 7);
	where.places_left = 0;
	assert_int_equal(python_frozen_find(&proc, &where, "<frozen pkg>", path, 256), 0);
	where = (struct python_frozen){.places_left = 1, .until_ns = UINT64_MAX};
	/* Python was upgraded meanwhile. */
	mappings[1].deleted = true;
	assert_int_equal(python_frozen_find(&proc, &where, "<frozen pkg>", path, 256), 0);
	close(proc.root_fd);
	scratch_remove(root);
}

/* A target may map many files, and name many modules. */
static void test_mappings_are_walked_once(void **state)
{
	enum {
		NR = 4 * PYTHON_FROZEN_INTERPRETERS
	};
	struct python_frozen where = {.places_left = 100, .until_ns = UINT64_MAX};
	char root[SCRATCH_BYTES], path[256], other[NR][32];
	struct mapping mappings[NR];
	struct process proc = {
		.uid = getuid(), .maps = {.items = mappings, .nr = NR}, .root_fd = -1};

	(void)state;
	scratch_make(root, 0700);
	make(root, "/a/lib/python3.11/pkg.py");
	proc.root_fd = open(root, O_PATH | O_CLOEXEC);
	for (size_t i = 0; i < NR; i++)
		mappings[i] = (struct mapping){.kind = MAPPING_FILE,
					       .path = i % 2 ? "/a/bin/python3.11"
							     : "/a/lib/libc.so.6"};
	mappings[0].path = mappings[2].path = "/no-folder/python3.11";
	assert_true(python_frozen_find(&proc, &where, "<frozen pkg>", path, 256));
	/* What has no folder is listed, too: whole paths are looked at later, and counted. */
	assert_int_equal(where.nr, 2);
	assert_int_equal(where.places_left, 100 - 5);
	proc.maps.nr = 0;
	assert_true(python_frozen_find(&proc, &where, "<frozen pkg>", path, 256));
	assert_string_equal(path, "/a/lib/python3.11/pkg.py");

	proc.maps.nr = NR;
	where = (struct python_frozen){.places_left = 100, .until_ns = UINT64_MAX};
	for (size_t i = 0; i < NR; i++) {
		snprintf(other[i], sizeof(other[i]), "/%zu/bin/python3.11", i);
		mappings[i].path = other[i];
	}
	assert_false(python_frozen_find(&proc, &where, "<frozen pkg>", path, 256));
	assert_int_equal(where.nr, PYTHON_FROZEN_INTERPRETERS);
	assert_int_equal(where.places_left, 100 - 4 * PYTHON_FROZEN_INTERPRETERS);
	close(proc.root_fd);
	scratch_remove(root);
}

static struct process new_target(const char *root, struct mapping *mapping)
{
	*mapping = (struct mapping){.kind = MAPPING_FILE, .path = "/a/bin/python3.11"};
	make(root, "/a/lib/python3.11/pkg/__init__.py");
	return (struct process){.uid = getuid(),
				.tenant.uid = 1000,
				.maps = {.items = mapping, .nr = 1},
				.root_fd = open(root, O_PATH | O_CLOEXEC)};
}

/* Each place may be in a slow file system: the rest is searched in the next step. */
static void test_time_is_over(void **state)
{
	struct python_frozen where = {.places_left = 100};
	char root[SCRATCH_BYTES], path[256];
	struct mapping mapping;
	struct process proc;

	(void)state;
	scratch_make(root, 0700);
	proc = new_target(root, &mapping);
	assert_int_equal(python_frozen_find(&proc, &where, "<frozen pkg>", path, 256),
			 -EAGAIN);
	assert_int_equal(where.places_left, 100);
	/* pkg.py was not there. */
	where.next = 1;
	assert_int_equal(python_frozen_find(&proc, &where, "<frozen pkg>", path, 256),
			 -EAGAIN);
	where.until_ns = UINT64_MAX;
	assert_true(python_frozen_find(&proc, &where, "<frozen pkg>", path, 256) > 0);
	assert_string_equal(path, "/a/lib/python3.11/pkg/__init__.py");
	assert_int_equal(where.places_left, 99);
	assert_int_equal(where.next, 0);
	assert_false(where.was_cut);
	close(proc.root_fd);
	scratch_remove(root);
}

/* Where a tenant's files were slow, none is looked for, which is told. */
static void test_slow_files(void **state)
{
	struct look itself = {.where = LOOK_ITSELF, .what = LOOK_FACTS};
	struct python_frozen where = {.places_left = 100, .until_ns = UINT64_MAX};
	char root[SCRATCH_BYTES], path[256];
	struct mapping mapping;
	struct process proc;

	(void)state;
	scratch_make(root, 0700);
	proc = new_target(root, &mapping);
	assert_int_equal(opener_begin(NULL), 0);
	opener_share();
	/* The first request starts the opener. */
	assert_true(python_frozen_find(&proc, &where, "<frozen pkg>", path, 256) > 0);
	while (opener_has_time(proc.tenant))
		assert_int_equal(slow_opener_look(proc.root_fd, proc.tenant, &itself), 0);
	/* So that its debt does not pass at once. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(slow_opener_look(proc.root_fd, proc.tenant, &itself), 0);
	assert_int_equal(python_frozen_find(&proc, &where, "<frozen pkg>", path, 256), 0);
	assert_true(where.was_cut);
	where = (struct python_frozen){.places_left = 100, .until_ns = UINT64_MAX};
	proc.tenant.uid = 1001;
	assert_true(python_frozen_find(&proc, &where, "<frozen pkg>", path, 256) > 0);
	assert_false(where.was_cut);
	opener_end();
	close(proc.root_fd);
	scratch_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_dirs),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_mappings_are_walked_once),
		cmocka_unit_test(test_time_is_over),
		cmocka_unit_test(test_slow_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
