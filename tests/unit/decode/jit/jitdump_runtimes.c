// SPDX-License-Identifier: GPL-2.0-or-later
/* Files written by installed runtimes: Node, CPython. Skips missing ones. */
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/io.h"
#include "decode/jit/jitdump.h"
#include "decode/jit/name.h"
#include "decode/jit/perfmap.h"
#include "serve.h"

static const char hot_js[] = "function helper(x) {\n" /* 1 */
			     "  return x * 3 % 7;\n"
			     "}\n"
			     "function hot(n) {\n" /* 4 */
			     "  let s = 0;\n"
			     "  for (let i = 0; i < n; i++) {\n"
			     "    s += helper(i);\n"
			     "    s ^= i & 15;\n"
			     "    s = Math.imul(s, 31) | 0;\n"
			     "  }\n"
			     "  return s;\n" /* 11 */
			     "}\n"
			     "const end = Date.now() + 400;\n"
			     "let r = 0;\n"
			     "while (Date.now() < end) r += hot(100000);\n"
			     "process.stderr.write(String(r));\n";

static const char hot_py[] = "def hot(n):\n"
			     "    s = 0\n"
			     "    for i in range(n):\n"
			     "        s += i\n"
			     "    return s\n"
			     "hot(1000)\n";

/* Runs @argv in @dir without output. Return: its pid; -1: its exit status was not 0. */
static pid_t run_in(const char *dir, char *const argv[])
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		if (!chdir(dir))
			execvp(argv[0], argv);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? pid : -1;
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void remove_dir(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

/* Finds the last load of code with @name. Return: false if there is none. */
static bool find_load(const struct jitdump *jd, const char *name, struct record_load *ret)
{
	uint64_t off = jd->first_off;
	bool found = false;
	struct record rec;

	while (jitdump_next(jd, &off, &rec) == RECORD_OK) {
		struct record_load load;

		if (rec.id != RECORD_LOAD || !record_load(jd, &rec, &load) ||
		    load.name_len != strlen(name) ||
		    memcmp(load.name, name, load.name_len) != 0)
			continue;
		*ret = load;
		found = true;
	}
	return found;
}

/* Looks up each address of @load at a time after all loads. */
static void ask_all(worker_op op, int fd, const struct look *looks,
		    const struct record_load *load, struct served *ret)
{
	_cleanup_free_ struct ask *asks = calloc(load->size_bytes, sizeof(*asks));

	for (size_t i = 0; i < load->size_bytes; i++)
		asks[i] = (struct ask){load->start_ip + i, INT64_MAX, INT64_MAX};
	serve(op, fd, looks, 0, asks, load->size_bytes, ret);
}

/* @known  whether enough of the name is left to be certain of all lines */
static void check_hot(const struct served *s, const char *file, bool known)
{
	size_t nr = s->answers.nr, nr_line[12] = {0}, nr_named = 0;

	assert_int_equal(s->object_miss, MISS_NONE);
	for (size_t i = 0; i < nr; i++) {
		const struct answer *a = &s->answers.items[i];
		const struct frame *f = &a->frames[0];

		assert_int_equal(a->nr_frames, 1);
		assert_string_equal(f->function, "hot");
		assert_string_equal(f->file, file);
		assert_int_equal(f->start_line, 4);
		if (!f->line) {
			assert_int_equal(a->miss, MISS_JIT_NO_LINES);
			continue;
		}
		/* Its own lines, and line 2 of the inlined helper(). */
		assert_true(f->line == 2 || (f->line >= 4 && f->line <= 11));
		nr_line[f->line]++;
		nr_named++;
	}
	/* Without the column in the name (Node 18) fewer positions are certain. */
	if (nr_named * 10 < nr * (known ? 10 : 8))
		fail_msg("%zu of %zu addresses have a line", nr_named, nr);
	/* Code begins with the start line; helper, loop and body all have code. */
	if (known)
		assert_int_equal(s->answers.items[0].frames[0].line, 4);
	assert_true(nr_line[2] && nr_line[6] && nr_line[7] && nr_line[8]);
}

/* Node 18 writes LazyCompile, and may omit the column. */
static bool find_hot(const struct jitdump *jd, char tier, const char *file,
		     struct record_load *ret)
{
	static const char *const forms[] = {"JS:%chot %s:4:13",
					    "LazyCompile:%chot %s:4:13",
					    "LazyCompile:%chot %s:4"};
	char name[300];

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		snprintf(name, sizeof(name), forms[i], tier, file);
		if (find_load(jd, name, ret))
			return true;
	}
	return false;
}

/* @template  directory to make; its length determines how much of a name is damaged */
static void check_node(char *template, bool known)
{
	static char *const argv[] = {"node", "--perf-prof", "--perf-basic-prof", "x.js",
				     NULL};
	static const struct look no_looks[1];
	_cleanup_(served_deinit) struct served s = {0};
	_cleanup_close_ int dump_fd = -1, map_fd = -1;
	_cleanup_free_ char *bytes = NULL;
	char path[256], file[256];
	struct record_load load;
	struct jitdump jd;
	size_t len;
	pid_t pid;

	assert_non_null(mkdtemp(template));
	write_file(template, "x.js", hot_js);
	pid = run_in(template, argv);
	snprintf(path, sizeof(path), "%s/jit-%d.dump", template, (int)pid);
	dump_fd = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	map_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (pid > 0)
		unlink(path);
	remove_dir(template);
	if (pid < 0 || dump_fd < 0 || map_fd < 0) {
		print_message(
			"skipped: no node with --perf-prof and --perf-basic-prof\n");
		skip();
	}
	assert_int_equal(io_read_all(dump_fd, 1 << 28, &bytes, &len), 0);
	assert_true(jitdump_open(bytes, len, &jd));
	assert_true(jd.is_v8);

	snprintf(file, sizeof(file), "%s/x.js", template);
	assert_true(find_hot(&jd, '*', file, &load));
	ask_all(jitdump_serve, dump_fd, NULL, &load, &s);
	check_hot(&s, file, known);

	ask_all(perfmap_serve, map_fd, no_looks, &load, &s);
	assert_int_equal(s.nr_bad, 0);
	for (size_t i = 0; i < s.answers.nr; i++) {
		assert_int_equal(s.answers.items[i].miss, MISS_JIT_NO_LINES);
		assert_string_equal(s.answers.items[i].frames[0].function, "hot");
		assert_string_equal(s.answers.items[i].frames[0].file, file);
	}

	if (find_hot(&jd, '^', file, &load)) {
		ask_all(jitdump_serve, dump_fd, NULL, &load, &s);
		for (size_t i = 0; i < s.answers.nr; i++) {
			assert_int_equal(s.answers.items[i].miss, MISS_JIT_NO_LINES);
			assert_int_equal(s.answers.items[i].frames[0].start_line, 4);
		}
	}
}

static void node_with_a_long_path(void **state)
{
	char template[] = "/tmp/lineburn-node-XXXXXX";

	(void)state;
	check_node(template, true);
}

static void node_with_a_path_that_is_lost(void **state)
{
	char template[] = "/tmp/lXXXXXX"; /* with "/x.js" 17 bytes */

	(void)state;
	check_node(template, false);
}

/* Finds a CPython with perf support, or skips. */
static void find_python(const char *version, char *ret, size_t size)
{
	glob_t found = {0};

	snprintf(ret, size, "%s/.pyenv/versions/%s*/bin/python3", getenv("HOME"),
		 version);
	if (glob(ret, 0, NULL, &found) || !found.gl_pathc) {
		globfree(&found);
		print_message("skipped: no python %s in ~/.pyenv\n", version);
		skip();
	}
	snprintf(ret, size, "%s", found.gl_pathv[0]);
	globfree(&found);
}

/* Runs hot.py. Return: a descriptor of "/tmp/<prefix>-PID.<suffix>"; else skips. */
static int run_python(const char *version, char *option, const char *prefix,
		      const char *suffix, char *file, size_t size)
{
	char template[] = "/tmp/lineburn-python-XXXXXX", python[512], path[128];
	char *const argv[] = {python, "-X", option, file, NULL};
	pid_t pid;
	int fd;

	find_python(version, python, sizeof(python));
	assert_non_null(mkdtemp(template));
	snprintf(file, size, "%s/hot.py", template);
	write_file(template, "hot.py", hot_py);
	pid = run_in(template, argv);
	remove_dir(template);
	snprintf(path, sizeof(path), "/tmp/%s-%d.%s", prefix, (int)pid, suffix);
	fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (pid > 0)
		unlink(path);
	if (fd < 0) {
		print_message("skipped: %s -X %s writes nothing\n", python, option);
		skip();
	}
	return fd;
}

static void check_python(worker_op op, int fd, const struct look *looks, const char *file,
			 const struct record_load *load)
{
	_cleanup_(served_deinit) struct served s = {0};

	ask_all(op, fd, looks, load, &s);
	assert_int_equal(s.object_miss, MISS_NONE);
	assert_int_equal(s.nr_bad, 0);
	for (size_t i = 0; i < s.answers.nr; i++) {
		assert_int_equal(s.answers.items[i].miss, MISS_JIT_NO_LINES);
		assert_string_equal(s.answers.items[i].frames[0].function, "hot");
		assert_string_equal(s.answers.items[i].frames[0].file, file);
	}
}

static void python_perf_map(void **state)
{
	static const struct look no_looks[1];
	_cleanup_free_ char *map = NULL;
	char file[128], name[200], *line, *next;
	_cleanup_close_ int fd =
		run_python("3.12", "perf", "perf", "map", file, sizeof(file));
	bool found = false;
	size_t len;

	(void)state;
	assert_int_equal(io_read_all(fd, 1 << 28, &map, &len), 0);
	snprintf(name, sizeof(name), "py::hot:%s", file);
	for (line = map; (next = strchr(line, '\n')); line = next + 1) {
		struct perfmap_line p;
		struct record_load load;

		assert_true(perfmap_parse_line(line, (size_t)(next - line), &p));
		if (p.name_len != strlen(name) || memcmp(p.name, name, p.name_len) != 0)
			continue;
		load = (struct record_load){.start_ip = p.start_ip,
					    .size_bytes = p.size_bytes};
		assert_true(p.size_bytes > 0);
		check_python(perfmap_serve, fd, no_looks, file, &load);
		found = true;
	}
	assert_true(found);
}

static void python_jitdump(void **state)
{
	_cleanup_free_ char *bytes = NULL;
	char file[128], name[200];
	_cleanup_close_ int fd =
		run_python("3.13", "perf_jit", "jit", "dump", file, sizeof(file));
	struct record_load load;
	struct jitdump jd;
	size_t len;

	(void)state;
	assert_int_equal(io_read_all(fd, 1 << 28, &bytes, &len), 0);
	assert_true(jitdump_open(bytes, len, &jd));
	assert_false(jd.is_v8);
	snprintf(name, sizeof(name), "py::hot:%s", file);
	assert_true(find_load(&jd, name, &load));
	check_python(jitdump_serve, fd, NULL, file, &load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_with_a_long_path),
		cmocka_unit_test(node_with_a_path_that_is_lost),
		cmocka_unit_test(python_perf_map),
		cmocka_unit_test(python_jitdump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
