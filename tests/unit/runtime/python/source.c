// SPDX-License-Identifier: GPL-2.0-or-later
/* Modules of a fake process, read by a real worker (this program again). */
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

#include "runtime/python/source.h"
#include "lib/scratch.h"

static void assert_main(const char *command, const char *expected, bool module)
{
	const char *name;
	bool is_module = false;
	size_t len = python_source_main(command, &name, &is_module);

	assert_int_equal(len, expected ? strlen(expected) : 0);
	if (!expected)
		return;
	assert_memory_equal(name, expected, len);
	assert_int_equal(is_module, module);
}

static void test_main_of_command(void **state)
{
	(void)state;
	assert_main("python3\napp.py\n", "app.py", false);
	assert_main("python3\n-u\n-X\ndev\n-Wignore\n/srv/app.py\n-m\nx\n", "/srv/app.py",
		    false);
	assert_main("python3\n-uW\nignore\napp.py\n", "app.py", false);
	assert_main("python3\n--check-hash-based-pycs\nalways\napp.py\n", "app.py",
		    false);
	assert_main("python3\n-m\npkg.tool\narg\n", "pkg.tool", true);
	assert_main("python3\n-mpkg\n", "pkg", true);
	assert_main("python3\n-c\nprint(1)\n", NULL, false);
	assert_main("python3\n-\n", NULL, false);
	assert_main("python3\n", NULL, false);
	assert_main("python3\n-X\n", NULL, false);
	assert_main("python3\nno newline", NULL, false);
	assert_main("", NULL, false);
}

static char dir[SCRATCH_BYTES];

static void put(const char *name, const char *text)
{
	char path[256], command[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(command, sizeof(command), "mkdir -p $(dirname %s)", path);
	assert_int_equal(system(command), 0);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void find_all(const struct process *proc, struct worker *decoder,
		     struct strpool *pool, struct python_function *functions, size_t nr,
		     int64_t *budget_ns)
{
	size_t more;

	for (size_t done = 0; done < nr; done += more) {
		more = python_source_find(proc, decoder, pool, functions + done,
					  nr - done, budget_ns);
		assert_in_range(more, 1, nr - done);
	}
}

static void test_find(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	_cleanup_(worker_freep) struct worker *worker = NULL;
	struct worker_config config = {0};
	struct error err;
	struct mapping mapping = {.path = "/venv/lib/site-packages/dep/core.so"};
	struct process p = {.command = "python3\napp.py\n",
			    .cwd = "/srv",
			    .uid = getuid(),
			    .gid = getgid(),
			    .maps = {.items = &mapping, .nr = 1}};
	int64_t budget_ns = INT64_C(20000000000), left_ns = 0;
	struct python_function f[] = {
		{.name = "__main__.dither"},
		{.name = "__main__.outer.<locals>.inner"},
		{.name = "helper.Class.method"},
		{.name = "pkg.sub.f"},
		{.name = "pkg.g"},
		{.name = "dep.deep.h"},
		{.name = "dep.deep.absent"},
		{.name = "nowhere.f"},
		{.name = "..etc.passwd.f"},
		{.name = "nodots"},
	};
	static const struct {
		const char *file;
		uint32_t line;
	} expected[] = {
		{"/srv/app.py", 2},          {"/srv/app.py", 5},
		{"/srv/helper.py", 2},       {"/srv/pkg/sub.py", 1},
		{"/srv/pkg/__init__.py", 1}, {"/venv/lib/site-packages/dep/deep.py", 1},
	};

	(void)state;
	scratch_make(dir, 0755);
	put("srv/app.py", "import numba\ndef dither():\n    pass\ndef outer():\n"
			  "    def inner(): pass\n");
	put("srv/helper.py", "class Class:\n    def method(self): pass\n");
	put("srv/pkg/__init__.py", "def g(): pass\n");
	put("srv/pkg/sub.py", "def f(): pass\n");
	put("venv/lib/site-packages/dep/deep.py", "def h(): pass\n");
	p.root_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(p.root_fd >= 0);
	assert_int_equal(worker_new(&config, &worker, &err), 0);
	find_all(&p, worker, pool, f, ARRAY_SIZE(f), &budget_ns);
	for (size_t i = 0; i < ARRAY_SIZE(f); i++) {
		if (i >= ARRAY_SIZE(expected)) {
			assert_null(f[i].file);
			assert_int_equal(f[i].line, 0);
			continue;
		}
		assert_non_null(f[i].file);
		assert_string_equal(f[i].file, expected[i].file);
		assert_int_equal(f[i].line, expected[i].line);
	}
	assert_in_range(budget_ns, 1, INT64_C(20000000000) - 1);
	/* Without time left nothing is searched. */
	python_source_find(&p, worker, pool, f, 1, &left_ns);
	assert_null(f[0].file);
	assert_true(left_ns <= 0);
	close(p.root_fd);
}

/* Names that a target made up must not cause searches for many modules. */
static void test_made_up_names(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	char name[2 * 2000 + 2];
	struct process p = {.command = "python3\napp.py\n", .cwd = "/srv", .root_fd = -1};
	struct python_function f[1000];
	int64_t budget_ns = INT64_C(20000000000);

	(void)state;
	for (size_t i = 0; i < sizeof(name) - 1; i++)
		name[i] = i % 2 ? '.' : 'a';
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(f); i++)
		f[i].name = name;
	find_all(&p, NULL, pool, f, ARRAY_SIZE(f), &budget_ns);
	/* Searching 4 million paths would take longer. */
	assert_true(budget_ns > INT64_C(19500000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_main_of_command),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_made_up_names),
	};
	int rc;

	rc = cmocka_run_group_tests(tests, NULL, NULL);
	scratch_remove(dir);
	return rc;
}
