// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each CPython of this machine runs tests/workloads/python/parked.py. The test walks
 * its stacks as the kernel side does, using only what lineburn found, and compares them
 * with Python's own report.
 * LB_TEST_PYTHONS: a directory with more CPythons, as python3.N.
 */
#include "runtime/runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "decode/python/build.h"
#include "decode/python/state.h"
#include "decode/requests.h"
#include "process/file.h"
#include "lib/scratch.h"

#define SCRIPT     "tests/workloads/python/parked.py"
#define MAX_FRAMES 128
#define START_MS   20000

struct fixture {
	struct worker *decoder, *reader;
	pid_t pid; /* of the Python; 0: none */
	int stdin_fd; /* our end of its standard input; -1: none */
	char dir[64]; /* where Python writes its report */
};

static int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- a target's memory ---- */

static ssize_t read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const pid_t *pid = ctx;
	struct iovec local = {buf, len}, remote = {(void *)(uintptr_t)addr, len};
	ssize_t n = process_vm_readv(*pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : n;
}

static void read_all(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	assert_int_equal(read_memory(&pid, addr, buf, len), len);
}

static uint64_t read_word(pid_t pid, uint64_t addr)
{
	uint64_t word;

	read_all(pid, addr, &word, sizeof(word));
	return word;
}

/* ---- a stack: Python's report, or walked ---- */

struct frame {
	uint64_t code;
	long first_line, index; /* index -1: not begun, or not compared */
	char name[128]; /* UTF-8 */
};

struct stack {
	uint64_t ident; /* pthread_self() */
	char kind[32];
	struct frame frames[MAX_FRAMES];
	size_t nr;
	size_t nr_runs; /* with their own place in the C stack */
};

static void put_char(char *text, size_t *len, uint32_t c)
{
	if (c < 0x80) {
		text[(*len)++] = (char)c;
	} else if (c < 0x800) {
		text[(*len)++] = (char)(0xc0 | c >> 6);
		text[(*len)++] = (char)(0x80 | (c & 0x3f));
	} else {
		text[(*len)++] = (char)(0xe0 | c >> 12);
		text[(*len)++] = (char)(0x80 | (c >> 6 & 0x3f));
		text[(*len)++] = (char)(0x80 | (c & 0x3f));
	}
}

/* Reads a str. Its state: bits 2 to 4 bytes a character, 5 compact, 6 ASCII. */
static void read_str(pid_t pid, const struct lb_interp *l, uint64_t str, char *ret,
		     size_t size)
{
	uint64_t length = read_word(pid, str + l->str_length);
	uint8_t state, chars[512];
	size_t width, len = 0;

	read_all(pid, str + l->str_state, &state, 1);
	width = state >> 2 & 7;
	assert_true(width == 1 || width == 2 || width == 4);
	assert_true(state & 0x20);
	assert_true(length * width <= sizeof(chars));
	read_all(pid, str + (state & 0x40 ? l->str_ascii : l->str_wide), chars,
		 length * width);
	for (size_t i = 0; i < length && len + 4 < size; i++) {
		uint32_t c = 0;

		memcpy(&c, chars + i * width, width);
		put_char(ret, &len, c);
	}
	ret[len] = '\0';
}

static void add_frame(pid_t pid, const struct lb_interp *l, const uint8_t *bytes,
		      struct stack *ret)
{
	struct frame *f = &ret->frames[ret->nr++];
	uint64_t code, ip = 0;
	uint32_t first_line;
	uint8_t object[LB_INTERP_CODE_BYTES];

	assert_true(ret->nr < MAX_FRAMES);
	memcpy(&code, bytes + l->frame_code, sizeof(code));
	memcpy(&ip, bytes + l->frame_ip, l->ip_is_index ? 4 : 8);
	f->code = code & ~(uint64_t)l->code_tag_mask;
	if (!l->ip_is_index)
		ip -= f->code + l->code_bytecode;
	f->index = l->ip_is_index == 1 ? (int32_t)ip : (long)((int64_t)ip / 2);
	read_all(pid, f->code, object, l->code_bytes);
	memcpy(&first_line, object + l->code_firstlineno, sizeof(first_line));
	f->first_line = first_line;
	memcpy(&code, object + l->code_qualname, sizeof(code));
	read_str(pid, l, code, f->name, sizeof(f->name));
}

static uint64_t previous_of(const struct lb_interp *l, const uint8_t *bytes)
{
	uint64_t previous;

	memcpy(&previous, bytes + l->frame_previous, sizeof(previous));
	return previous;
}

/* LB_LINK_EVAL and _OBJECT: each call of the interpreter has a frame. */
static void walk_objects(pid_t pid, const struct lb_interp *l, uint64_t state,
			 struct stack *ret)
{
	uint64_t frame = read_word(pid, state + l->ts_frame);
	uint64_t cframe = l->link == LB_LINK_OBJECT ? read_word(pid, state + l->ts_cframe)
						    : 0;

	while (frame) {
		uint8_t bytes[LB_INTERP_FRAME_BYTES];

		read_all(pid, frame, bytes, l->frame_bytes);
		add_frame(pid, l, bytes, ret);
		frame = previous_of(l, bytes);
		if (l->link != LB_LINK_OBJECT)
			continue;
		ret->nr_runs++;
		assert_int_not_equal(cframe, 0);
		cframe = read_word(pid, cframe + l->cframe_previous);
	}
	/* The last C frame is in the thread state; its predecessor is not set. */
	if (l->link == LB_LINK_OBJECT)
		assert_true(cframe > state && cframe - state < 1024);
}

static void walk_cframes(pid_t pid, const struct lb_interp *l, uint64_t state,
			 struct stack *ret)
{
	uint64_t cframe = read_word(pid, state + l->ts_frame), frame;

	while ((frame = read_word(pid, cframe + l->cframe_frame))) {
		uint8_t bytes[LB_INTERP_FRAME_BYTES];
		bool is_entry;

		do {
			read_all(pid, frame, bytes, l->frame_bytes);
			is_entry = bytes[l->frame_owner] == l->owner_entry;
			if (!is_entry || l->entry_has_code)
				add_frame(pid, l, bytes, ret);
			frame = previous_of(l, bytes);
		} while (!is_entry);
		ret->nr_runs++;
		cframe = read_word(pid, cframe + l->cframe_previous);
	}
}

static void walk_shims(pid_t pid, const struct lb_interp *l, uint64_t state,
		       struct stack *ret)
{
	uint64_t frame = read_word(pid, state + l->ts_frame);

	while (frame) {
		uint8_t bytes[LB_INTERP_FRAME_BYTES];

		read_all(pid, frame, bytes, l->frame_bytes);
		if (bytes[l->frame_owner] >= l->owner_shim)
			ret->nr_runs++;
		else
			add_frame(pid, l, bytes, ret);
		frame = previous_of(l, bytes);
	}
}

static void walk(pid_t pid, const struct lb_interp *l, uint64_t state, struct stack *ret)
{
	ret->nr = ret->nr_runs = 0;
	switch (l->link) {
	case LB_LINK_CFRAME:
		walk_cframes(pid, l, state, ret);
		break;
	case LB_LINK_SHIM:
		walk_shims(pid, l, state, ret);
		break;
	default:
		walk_objects(pid, l, state, ret);
		break;
	}
}

/* ---- Python's report ---- */

struct stacks {
	struct stack items[16];
	size_t nr;
};

static void read_stacks(const char *path, struct stacks *ret)
{
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	char line[512];

	assert_non_null(f);
	ret->nr = 0;
	while (fgets(line, sizeof(line), f)) {
		struct stack *s = ret->nr ? &ret->items[ret->nr - 1] : NULL;

		if (!strncmp(line, "thread ", 7)) {
			assert_true(ret->nr < ARRAY_SIZE(ret->items));
			s = &ret->items[ret->nr++];
			*s = (struct stack){.nr = 0};
			assert_int_equal(
				sscanf(line, "thread %lu %31s", &s->ident, s->kind), 2);
		} else if (!strncmp(line, "frame ", 6)) {
			struct frame *frame;

			assert_true(s && s->nr < MAX_FRAMES);
			frame = &s->frames[s->nr++];
			assert_int_equal(sscanf(line, "frame %ld %ld %127[^\n]",
						&frame->first_line, &frame->index,
						frame->name),
					 3);
		}
	}
}

/* Return: whether the file ends in "end". */
static bool has_written(const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	char line[512] = "";

	while (f && fgets(line, sizeof(line), f))
		if (!strcmp(line, "end\n"))
			return true;
	return false;
}

/* ---- starting a Python ---- */

static void stop(struct fixture *f)
{
	if (f->pid) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
	}
	if (f->stdin_fd >= 0)
		close(f->stdin_fd);
	f->pid = 0;
	f->stdin_fd = -1;
}

static void spawn(struct fixture *f, const char *python, const char *out, bool alone)
{
	int in[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	f->pid = fork();
	if (!f->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (dup2(in[0], STDIN_FILENO) == STDIN_FILENO)
			execl(python, python, SCRIPT, out, alone ? "alone" : NULL, NULL);
		_exit(127);
	}
	close(in[0]);
	f->stdin_fd = in[1];
}

static void start(struct fixture *f, const char *python, bool alone, char *out,
		  size_t size)
{
	int64_t end_ns = clock_ns() + START_MS * INT64_C(1000000);

	snprintf(out, size, "%s/stacks", f->dir);
	unlink(out);
	spawn(f, python, out, alone);
	while (!has_written(out)) {
		assert_true(clock_ns() < end_ns);
		assert_int_equal(waitpid(f->pid, NULL, WNOHANG), 0);
		usleep(20000);
	}
	usleep(50000); /* until all threads are in their calls */
}

/* Finds the mapping of an interpreter's text. Return: whether there is one. */
static bool find_build(struct fixture *f, struct python_build *ret, uint64_t *ret_bias)
{
	_cleanup_fclose_ FILE *maps = NULL;
	char path[PATH_MAX], line[PATH_MAX + 128];

	snprintf(path, sizeof(path), "/proc/%d/maps", f->pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		_cleanup_close_ int fd = -1;
		struct python_build *build;
		struct file_facts facts;
		uint64_t begin, off;

		if (sscanf(line, "%lx-%*x r-xp %lx %*s %*s %4095[^\n]", &begin, &off,
			   path) != 3 ||
		    !python_recognise(path))
			continue;
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || file_facts_read(f->decoder, (struct tenant){0}, fd, &facts))
			continue;
		if (!file_facts_of(&facts, RUNTIME_PYTHON))
			continue;
		build = (struct python_build *)facts.runtimes[RUNTIME_PYTHON].words;
		python_runtime.name_facts(build, path);
		if (python_runtime.facts_are_sane(build)) {
			*ret = *build;
			*ret_bias = begin - off;
			return true;
		}
	}
	return false;
}

/* ---- comparing ---- */

static void print_stack(const char *title, const struct stack *s)
{
	print_message("%s (%s):\n", title, s->kind);
	for (size_t i = 0; i < s->nr; i++)
		print_message("  %ld %ld %s\n", s->frames[i].first_line,
			      s->frames[i].index, s->frames[i].name);
}

static bool is_same(const struct stack *said, const struct stack *seen)
{
	if (said->nr != seen->nr)
		return false;
	for (size_t i = 0; i < said->nr; i++) {
		const struct frame *a = &said->frames[i], *b = &seen->frames[i];

		if (strcmp(a->name, b->name) != 0 || a->first_line != b->first_line ||
		    (a->index != -1 && a->index != b->index))
			return false;
	}
	return true;
}

static void compare(struct fixture *f, const struct stacks *said,
		    const struct lb_interp *l, int32_t tls_off)
{
	for (size_t i = 0; i < said->nr; i++) {
		struct stack seen = {.ident = said->items[i].ident};
		uint64_t state = read_word(f->pid, seen.ident + (uint64_t)tls_off);

		if (!said->items[i].nr) /* before 3.12: see parked.py */
			continue;
		snprintf(seen.kind, sizeof(seen.kind), "%s", said->items[i].kind);
		walk(f->pid, l, state, &seen);
		if (!is_same(&said->items[i], &seen)) {
			print_stack("said", &said->items[i]);
			print_stack("seen", &seen);
			fail();
		}
		if (l->link != LB_LINK_EVAL)
			assert_true(seen.nr_runs >= 1 && seen.nr_runs <= seen.nr);
	}
}

/* Return: offset of the thread state pointer. */
static int32_t check_process(struct fixture *f, const struct stacks *said,
			     const char *python, unsigned int minor)
{
	struct python_search search = {.read = read_memory, .ctx = &f->pid};
	struct python_state_found found;
	struct python_build build;
	struct runtime_place place;
	uint64_t bias = 0;
	int64_t start_ns;

	assert_true(find_build(f, &build, &bias));
	assert_int_equal(build.version, 0x0300 + minor);
	search.version = build.version;
	search.runtime_addr = bias + build.runtime_off;
	start_ns = clock_ns();
	assert_int_equal(python_state_search(&search, &found), LOCATE_FOUND);
	print_message("%s: thread state at thread pointer %+d, %u threads, %u "
		      "candidates, %ld us\n",
		      python, found.tls_off, found.nr_threads, found.nr_candidates,
		      (long)(clock_ns() - start_ns) / 1000);
	assert_int_equal(found.nr_threads, said->nr);
	assert_int_equal(python_runtime.locate(f->reader, f->pid, &build, bias, &place),
			 LOCATE_FOUND);
	assert_int_equal(place.tls_off, found.tls_off);
	compare(f, said, &place.layout, place.tls_off);
	return place.tls_off;
}

static void check_python(struct fixture *f, const char *python, unsigned int minor)
{
	struct stacks said;
	int32_t tls_off;
	char out[128];

	start(f, python, false, out, sizeof(out));
	read_stacks(out, &said);
	assert_true(said.nr >= 8);
	tls_off = check_process(f, &said, python, minor);
	stop(f);
	/* One thread that always holds the GIL: more words look right. */
	start(f, python, true, out, sizeof(out));
	read_stacks(out, &said);
	assert_int_equal(said.nr, 1);
	assert_int_equal(check_process(f, &said, python, minor), tls_off);
	stop(f);
}

/* ---- tests ---- */

static int set_up(void **state)
{
	const struct worker_config decoder = {.kind = WORKER_DECODER};
	const struct worker_config reader = {.kind = WORKER_READER};
	static struct fixture f;

	f = (struct fixture){.stdin_fd = -1};
	*state = &f;
	scratch_make(f.dir, 0700);
	return worker_new(&decoder, &f.decoder, NULL) ||
	       worker_new(&reader, &f.reader, NULL);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char path[128];

	stop(f);
	worker_free(f->decoder);
	worker_free(f->reader);
	snprintf(path, sizeof(path), "%s/stacks", f->dir);
	unlink(path);
	return rmdir(f->dir);
}

static void find_pythons(unsigned int minor, glob_t *ret)
{
	const char *home = getenv("HOME"), *more = getenv("LB_TEST_PYTHONS");
	char pattern[PATH_MAX];
	int flags = 0;

	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < 4; i++) {
		if (i == 0)
			snprintf(pattern, sizeof(pattern), "/usr/bin/python3.%u", minor);
		else if (i == 1)
			snprintf(pattern, sizeof(pattern), "/usr/local/bin/python3.%u",
				 minor);
		else if (i == 2)
			snprintf(pattern, sizeof(pattern),
				 "%s/.pyenv/versions/3.%u.*/bin/python3.%u",
				 home ? home : "", minor, minor);
		else
			snprintf(pattern, sizeof(pattern), "%s/python3.%u",
				 more ? more : "", minor);
		if (!glob(pattern, flags, NULL, ret))
			flags = GLOB_APPEND;
	}
}

static void check_version(void **state, unsigned int minor)
{
	glob_t pythons;

	if (geteuid()) {
		print_message("skipped: needs root\n");
		skip();
	}
	find_pythons(minor, &pythons);
	if (!pythons.gl_pathc) {
		print_message("skipped: no python3.%u here\n", minor);
		skip();
	}
	for (size_t i = 0; i < pythons.gl_pathc; i++)
		check_python(*state, pythons.gl_pathv[i], minor);
	globfree(&pythons);
}

#define DEFINE_VERSION_TEST(minor)                           \
	static void stacks_of_python_3_##minor(void **state) \
	{                                                    \
		check_version(state, minor);                 \
	}

DEFINE_VERSION_TEST(9)
DEFINE_VERSION_TEST(10)
DEFINE_VERSION_TEST(11)
DEFINE_VERSION_TEST(12)
DEFINE_VERSION_TEST(13)
DEFINE_VERSION_TEST(14)
DEFINE_VERSION_TEST(15)

static void names_of_interpreters(void **state)
{
	static const char *const yes[] = {
		"python",
		"/usr/bin/python3",
		"/usr/bin/python3.11",
		"/opt/python3.13t",
		"/usr/bin/python3.14-nopie",
		"/usr/bin/python3.11 (deleted)",
		"/x/libpython3.11.so.1.0",
		"libpython3.so",
		"/site-packages/bpy.libs/libpython3.11-d2b95e61.so.1.0",
		"/root/.local/share/uv/python/cpython-3.12.4/bin/python3.12",
	};
	static const char *const no[] = {
		"",          "/usr/bin/perl",          "/python3/bin/node",
		"libpython", "/usr/lib/libpythonista", "pythonista",
		"ipython3",  "/x/_pythonic.so",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		assert_true(python_recognise(yes[i]));
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_false(python_recognise(no[i]));
}

static void a_process_that_is_gone(void **state)
{
	const struct python_build build = {.version = 0x030b, .runtime_off = 0x1000};
	struct fixture *f = *state;
	struct runtime_place place;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	assert_int_equal(python_runtime.locate(f->reader, pid, &build, 0x400000, &place),
			 LOCATE_UNKNOWN);
}

#define KILLS UINT32_MAX /* no process: the reader that is asked about it dies */

static int serve_or_die(struct worker_call *call, struct wire_reader *request,
			const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	struct wire_reader peek = *request;

	if (wire_get_u32(&peek) == KILLS)
		_exit(1);
	return operations[READER_PYTHON_STATE](call, request, fds, nr_fds, reply);
}

static int be_worker(void)
{
	static worker_op ops[NR_OPERATIONS];

	memcpy(ops, operations, sizeof(ops));
	ops[READER_PYTHON_STATE] = serve_or_die;
	return worker_main(ops, NR_OPERATIONS);
}

/* Who kills a reader is not the process that it reads. */
static void a_reader_that_dies_has_read_nothing(void **state)
{
	const struct python_build build = {.version = 0x030b, .runtime_off = 0x1000};
	struct fixture *f = *state;
	struct runtime_place place;
	struct worker_stats stats;

	assert_int_equal(
		python_runtime.locate(f->reader, (pid_t)KILLS, &build, 0x400000, &place),
		LOCATE_READER_DIED);
	worker_stats(f->reader, &stats);
	assert_int_equal(stats.nr_died, 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_interpreters),
		cmocka_unit_test_setup_teardown(a_reader_that_dies_has_read_nothing,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_process_that_is_gone, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(stacks_of_python_3_9, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stacks_of_python_3_10, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stacks_of_python_3_11, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stacks_of_python_3_12, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stacks_of_python_3_13, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stacks_of_python_3_14, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stacks_of_python_3_15, set_up, tear_down),
	};

	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return be_worker();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
