// SPDX-License-Identifier: GPL-2.0-or-later
/* Modules of a fake process, read by a real worker (this program again). */
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "decode/requests.h"
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

/* Returns the line of @name in the file @fd, by the decoder. */
static uint32_t ask(struct worker *decoder, int fd, const char *name)
{
	struct wire_writer w = {.max = WORKER_MAX_REQUEST_BYTES};
	struct wire_reader r;

	wire_put_u32(&w, 1);
	wire_put_str(&w, name);
	assert_int_equal(worker_call(decoder, DECODER_PYTHON_DEFS, w.data, w.len, &fd, 1,
				     NULL, NULL, 10000, &r, NULL),
			 WORKER_OK);
	wire_writer_deinit(&w);
	return wire_get_u32(&r);
}

/* @took_ns  of each request */
static struct def_search *find_all(const struct process *proc, struct worker *decoder,
				   struct strpool *pool, const char *const *names,
				   size_t nr, uint64_t took_ns)
{
	struct python_function *functions = calloc(nr, sizeof(*functions));
	struct def_search *search;
	const char *name;
	int fd;

	assert_non_null(functions);
	for (size_t i = 0; i < nr; i++)
		functions[i].name = names[i];
	search = def_search_new(proc, pool, functions, nr);
	assert_non_null(search);
	while ((fd = def_search_open(search, &name)) != -ENODATA) {
		assert_false(def_search_is_over(search));
		if (fd == -EAGAIN)
			continue;
		assert_true(fd >= 0);
		def_search_answer(search, ask(decoder, fd, name), took_ns);
		close(fd);
	}
	assert_true(def_search_is_over(search));
	return search;
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
	static const char *const names[] = {
		"__main__.dither",
		"__main__.outer.<locals>.inner",
		"helper.Class.method",
		"pkg.sub.f",
		"pkg.g",
		"dep.deep.h",
		"dep.deep.absent",
		"nowhere.f",
		"..etc.passwd.f",
		"nodots",
	};
	const struct python_function *f;
	struct def_search *search;
	size_t nr;
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
	search = find_all(&p, worker, pool, names, ARRAY_SIZE(names), 0);
	f = def_search_functions(search, &nr);
	assert_int_equal(nr, ARRAY_SIZE(names));
	for (size_t i = 0; i < nr; i++) {
		if (i >= ARRAY_SIZE(expected)) {
			assert_null(f[i].file);
			assert_int_equal(f[i].line, 0);
			continue;
		}
		assert_non_null(f[i].file);
		assert_string_equal(f[i].file, expected[i].file);
		assert_int_equal(f[i].line, expected[i].line);
	}
	assert_int_equal(def_search_nr_cut(search), 0);
	def_search_free(search);
	/* A function has a second: after a slow file no other one is opened for it. */
	search = find_all(&p, worker, pool, names, ARRAY_SIZE(names), 1000000000);
	f = def_search_functions(search, &nr);
	assert_int_equal(f[0].line, 2);
	assert_int_equal(f[5].line, 1);
	assert_int_equal(def_search_nr_cut(search), 1); /* dep.deep.absent */
	def_search_free(search);
	close(p.root_fd);
}

/* Names that a target made up must not cause searches for many modules. */
static void test_made_up_names(void **state)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	char name[2 * 2000 + 2];
	struct process p = {.command = "python3\napp.py\n", .cwd = "/srv", .root_fd = -1};
	const char *names[1000];
	struct timespec begin, end;

	(void)state;
	for (size_t i = 0; i < sizeof(name) - 1; i++)
		name[i] = i % 2 ? '.' : 'a';
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		names[i] = name;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	def_search_free(find_all(&p, NULL, pool, names, ARRAY_SIZE(names), 0));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	/* Searching 4 million paths would take longer. */
	assert_true(end.tv_sec - begin.tv_sec < 3);
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
