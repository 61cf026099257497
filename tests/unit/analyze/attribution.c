// SPDX-License-Identifier: GPL-2.0-or-later
/* Each rule of attribution, on profiles built by hand. */
#include "unit/profile/fixture.h"

#include "analyze/attribution.h"
#include "profile/labels.h"

static struct strpool *pool;
static struct profile *p;
static uint32_t app, libc, blas, kernel, ext4, python, jit, python_frames;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(1 << 20);
	p = profile_new(pool);
	app = add_mapping(p, "/home/me/app");
	libc = add_mapping(p, "/usr/lib/libc.so.6");
	blas = add_mapping(p, "/opt/libopenblas.so");
	kernel = add_mapping(p, PROFILE_KERNEL);
	ext4 = add_mapping(p, PROFILE_KERNEL "/ext4");
	python = add_mapping(p, "/usr/bin/python3.11");
	jit = add_mapping(p, PROFILE_JIT);
	python_frames = add_mapping(p, PROFILE_PYTHON);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	profile_free(p);
	strpool_free(pool);
	return 0;
}

/* Sums that must agree in every attribution. */
static void assert_sums_close(const struct attribution *a)
{
	uint64_t lines = 0, files = 0, functions = 0, misses = 0, no_stack = 0;

	for (size_t i = 0; i < a->nr_files; i++) {
		files += a->files[i].self.samples;
		for (size_t k = 0; k < a->files[i].nr_lines; k++) {
			const struct attribution_line *line = &a->files[i].lines[k];

			lines += line->self.samples;
			assert_true(line->self.samples <= line->total.samples);
			assert_true(line->total.samples <= a->files[i].total.samples);
			assert_true(k == 0 || line->line > line[-1].line);
		}
		assert_true(i == 0 ||
			    a->files[i].self.cpu_ns <= a->files[i - 1].self.cpu_ns);
	}
	for (size_t i = 0; i < a->nr_functions; i++) {
		functions += a->functions[i].self.samples;
		assert_true(a->functions[i].self.samples <=
			    a->functions[i].total.samples);
	}
	for (size_t i = 0; i < a->nr_misses; i++) {
		misses += a->misses[i].weight.samples;
		if (a->misses[i].miss == MISS_NO_STACK)
			no_stack += a->misses[i].weight.samples;
	}
	assert_int_equal(lines, a->with_line.samples);
	assert_int_equal(files, a->with_line.samples);
	assert_int_equal(functions + no_stack, a->all.samples);
	assert_int_equal(misses + a->not_mine.samples,
			 a->function_only.samples + a->unknown.samples);
	assert_int_equal(a->with_line.samples + a->function_only.samples +
				 a->unknown.samples,
			 a->all.samples);
	assert_int_equal(a->with_line.cpu_ns + a->function_only.cpu_ns +
				 a->unknown.cpu_ns,
			 a->all.cpu_ns);
}

static struct attribution *attribute(struct attribution_options options)
{
	struct attribution *a = NULL;

	assert_int_equal(attribution_new(p, &options, &a), 0);
	assert_sums_close(a);
	return a;
}

#define ATTRIBUTE(...) attribute((struct attribution_options){__VA_ARGS__})

static const struct attribution_file *file_of(const struct attribution *a,
					      const char *path)
{
	for (size_t i = 0; i < a->nr_files; i++)
		if (!strcmp(a->files[i].path, path))
			return &a->files[i];
	return NULL;
}

static const struct attribution_line *line_of(const struct attribution *a,
					      const char *path, uint32_t line)
{
	const struct attribution_file *file = file_of(a, path);

	for (size_t i = 0; file && i < file->nr_lines; i++)
		if (file->lines[i].line == line)
			return &file->lines[i];
	return NULL;
}

static void assert_line(const struct attribution *a, const char *path, uint32_t line,
			uint64_t self, uint64_t total)
{
	const struct attribution_line *l = line_of(a, path, line);

	if (!l)
		fail_msg("%s:%u is not there", path, line);
	assert_int_equal(l->self.samples, self);
	assert_int_equal(l->total.samples, total);
	assert_int_equal(l->self.cpu_ns, self * PERIOD_NS);
	assert_int_equal(l->total.cpu_ns, total * PERIOD_NS);
}

static void assert_function(const struct attribution *a, const char *name,
			    const char *object, uint64_t self, uint64_t total)
{
	for (size_t i = 0; i < a->nr_functions; i++) {
		const struct attribution_function *f = &a->functions[i];

		if (strcmp(f->name, name) || strcmp(f->object, object))
			continue;
		assert_int_equal(f->self.samples, self);
		assert_int_equal(f->total.samples, total);
		return;
	}
	fail_msg("%s (%s) is not there", name, object);
}

static void assert_no_function(const struct attribution *a, const char *name,
			       const char *object)
{
	for (size_t i = 0; i < a->nr_functions; i++)
		assert_false(!strcmp(a->functions[i].name, name) &&
			     !strcmp(a->functions[i].object, object));
}

static void assert_miss(const struct attribution *a, enum miss miss, uint64_t samples,
			const char *object)
{
	for (size_t i = 0; i < a->nr_misses; i++) {
		if (a->misses[i].miss != miss)
			continue;
		assert_int_equal(a->misses[i].weight.samples, samples);
		if (!object) {
			assert_int_equal(a->misses[i].nr_objects, 0);
			return;
		}
		assert_string_equal(a->misses[i].objects[0], object);
		return;
	}
	fail_msg("no miss %s", miss_name(miss));
}

static uint32_t in_app(uint64_t address, const char *frames)
{
	return add_location(p, app, address, MISS_NONE, frames);
}

/* An inlined call charges its own line (self) and the line that called it (total). */
static void inlined_chain(void **state)
{
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 30, in_app(1, "sq@/sq.h:3|work@/a.c:41"),
		  in_app(2, "main@/a.c:90"));
	add_stack(p, 0, 10, in_app(3, "work@/a.c:41"), in_app(2, "main@/a.c:90"));
	a = ATTRIBUTE();
	assert_line(a, "/sq.h", 3, 30, 30);
	assert_line(a, "/a.c", 41, 10, 40);
	assert_line(a, "/a.c", 90, 0, 40);
	assert_function(a, "sq", "app", 30, 30);
	assert_function(a, "work", "app", 10, 40);
	assert_function(a, "main", "app", 0, 40);
	assert_int_equal(a->with_line.samples, 40);
	assert_int_equal(line_of(a, "/sq.h", 3)->nr_callees, 0);
	assert_int_equal(file_of(a, "/a.c")->total.samples, 40);
	assert_string_equal(line_of(a, "/a.c", 41)->function, "work");
	attribution_free(a);
}

static void recursion_counts_once(void **state)
{
	uint32_t fib = in_app(1, "fib@/a.c:5"), main_ = in_app(2, "main@/a.c:9");
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 7, fib, fib, fib, fib, main_);
	/* two return addresses on one line count as one line */
	add_stack(p, 0, 2, fib, in_app(3, "fib@/a.c:5"), main_);
	a = ATTRIBUTE();
	assert_line(a, "/a.c", 5, 9, 9);
	assert_line(a, "/a.c", 9, 0, 9);
	assert_function(a, "fib", "app", 9, 9);
	assert_int_equal(file_of(a, "/a.c")->total.samples, 9);
	attribution_free(a);
}

static void a_library_without_lines_is_a_callee(void **state)
{
	uint32_t kernel_code =
		add_location(p, blas, 1, MISS_NO_DEBUG_INFO, "dgemm_kernel");
	uint32_t driver = add_location(p, blas, 2, MISS_NO_DEBUG_INFO, "dgemm_driver");
	uint32_t bare = add_location(p, blas, 3, MISS_NO_SYMBOLS, "");
	uint32_t line = in_app(1, "solve@/a.c:17");
	const struct attribution_line *l;
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 60, kernel_code, driver, line);
	add_stack(p, 0, 20, driver, line);
	add_stack(p, 0, 5, bare, line);
	add_stack(p, 0, 15, line);
	a = ATTRIBUTE();
	assert_line(a, "/a.c", 17, 100, 100);
	l = line_of(a, "/a.c", 17);
	assert_int_equal(l->nr_callees, 3);
	assert_string_equal(l->callees[0].function, "dgemm_kernel");
	assert_string_equal(l->callees[0].object, "libopenblas.so");
	assert_int_equal(l->callees[0].self.samples, 60);
	assert_string_equal(l->callees[1].function, "dgemm_driver");
	assert_int_equal(l->callees[1].self.samples, 20);
	assert_string_equal(l->callees[2].function, "");
	assert_string_equal(l->callees[2].object, "libopenblas.so");
	assert_int_equal(l->callees[2].self.samples, 5);
	/*
	 * Functions count without lines, and without names: self is where the samples
	 * are.
	 */
	assert_function(a, "dgemm_kernel", "libopenblas.so", 60, 60);
	assert_function(a, "dgemm_driver", "libopenblas.so", 20, 80);
	assert_function(a, "", "libopenblas.so", 5, 5);
	assert_function(a, "solve", "app", 15, 100);
	assert_int_equal(a->nr_misses, 0);
	attribution_free(a);
}

static void eight_callees_are_kept(void **state)
{
	uint32_t line = in_app(1, "f@/a.c:1");
	struct attribution *a;
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "c%u", i);
		add_stack(p, 0, i + 1, add_location(p, blas, i, MISS_NO_DEBUG_INFO, name),
			  line);
	}
	a = ATTRIBUTE();
	assert_int_equal(line_of(a, "/a.c", 1)->nr_callees, 8);
	assert_string_equal(line_of(a, "/a.c", 1)->callees[0].function, "c19");
	assert_string_equal(line_of(a, "/a.c", 1)->callees[7].function, "c12");
	attribution_free(a);
}

static void the_kernel_never_takes_the_charge(void **state)
{
	uint32_t with_line =
		add_location(p, kernel, 1, MISS_NONE, "vfs_read@/linux/fs.c:450");
	uint32_t without = add_location(p, ext4, 2, MISS_KERNEL, "ext4_read");
	uint32_t read = add_location(p, libc, 3, MISS_NO_DEBUG_INFO, "read");
	uint32_t line = in_app(1, "fill@/a.c:8");
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 40, without, with_line, read, line);
	add_stack(p, 0, 10, line);
	add_stack(p, LB_STACK_NO_USER, 5, with_line);
	a = ATTRIBUTE();
	assert_line(a, "/a.c", 8, 50, 50);
	assert_null(file_of(a, "/linux/fs.c"));
	assert_string_equal(line_of(a, "/a.c", 8)->callees[0].function, "ext4_read");
	assert_string_equal(line_of(a, "/a.c", 8)->callees[0].object, "[ext4]");
	assert_int_equal(a->kernel.samples, 45);
	assert_int_equal(a->function_only.samples, 5);
	assert_int_equal(a->incomplete_stacks.samples, 0);
	assert_miss(a, MISS_KERNEL, 5, "[kernel]");
	assert_function(a, "read", "libc.so.6", 40, 40);
	assert_function(a, "fill", "app", 10, 50);
	assert_function(a, "vfs_read", "[kernel]", 5, 45);
	attribution_free(a);

	a = ATTRIBUTE(.kernel = true);
	assert_line(a, "/linux/fs.c", 450, 45, 45);
	assert_line(a, "/a.c", 8, 10, 50);
	assert_function(a, "ext4_read", "[ext4]", 40, 40);
	assert_int_equal(a->kernel.samples, 45);
	attribution_free(a);
}

static void an_interpreter_never_takes_the_charge(void **state)
{
	uint32_t eval =
		add_location(p, python, 1, MISS_NONE, "_PyEval@/build/ceval.c:99");
	uint32_t stripped = add_location(p, python, 2, MISS_NO_DEBUG_INFO, "_PyEval");
	uint32_t script = add_location(p, python_frames, 0, MISS_NONE, "f@/x.py:3");
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 20, eval, script);
	add_stack(p, 0, 4, eval);
	add_stack(p, 0, 3, stripped);
	a = ATTRIBUTE();
	assert_line(a, "/x.py", 3, 20, 20);
	assert_int_equal(line_of(a, "/x.py", 3)->nr_callees, 0); /* the line itself */
	assert_null(file_of(a, "/build/ceval.c"));
	assert_miss(a, MISS_INTERPRETER, 7, "python3.11");
	assert_int_equal(a->function_only.samples, 7);
	assert_function(a, "f", "[python]", 20, 20);
	attribution_free(a);

	a = ATTRIBUTE(.runtime = true);
	assert_line(a, "/build/ceval.c", 99, 24, 24);
	assert_line(a, "/x.py", 3, 0, 20);
	assert_miss(a, MISS_NO_DEBUG_INFO, 3, "python3.11");
	attribution_free(a);
}

/*
 * Python and C frames alternate: a Python function called an extension, whose C code
 * called back another Python function. Frames of the interpreter lie between them.
 */
static void python_and_c_take_turns(void **state)
{
	uint32_t eval =
		add_location(p, python, 1, MISS_NONE, "_PyEval@/build/ceval.c:99");
	uint32_t stripped = add_location(p, python, 2, MISS_NO_DEBUG_INFO, "_PyEval");
	uint32_t dgemm = add_location(p, blas, 3, MISS_NO_DEBUG_INFO, "dgemm_kernel");
	uint32_t extension = in_app(4, "call_back@/ext.c:40");
	uint32_t inner = add_location(p, python_frames, 5, MISS_NONE, "inner@/app.py:5");
	uint32_t outer = add_location(p, python_frames, 6, MISS_NONE, "outer@/app.py:9");
	uint32_t cleanup =
		add_location(p, python_frames, 7, MISS_NO_LINE, "inner@/app.py:0");
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 8, dgemm, eval, inner, eval, extension, stripped, outer);
	add_stack(p, 0, 4, extension, stripped, outer);
	add_stack(p, 0, 2, stripped, inner, extension, eval, outer);
	add_stack(p, 0, 1, eval, cleanup, eval, outer); /* cleanup has no line */
	a = ATTRIBUTE();
	assert_line(a, "/app.py", 5, 10, 10);
	assert_line(a, "/ext.c", 40, 4, 14);
	assert_line(a, "/app.py", 9, 1, 15);
	assert_null(file_of(a, "/build/ceval.c"));
	assert_string_equal(line_of(a, "/app.py", 5)->callees[0].function,
			    "dgemm_kernel");
	assert_int_equal(line_of(a, "/app.py", 5)->callees[0].self.samples, 8);
	assert_int_equal(line_of(a, "/ext.c", 40)->nr_callees, 0);
	assert_string_equal(file_of(a, "/app.py")->language, "python");
	assert_function(a, "inner", "[python]", 3, 11);
	assert_function(a, "dgemm_kernel", "libopenblas.so", 8, 8);
	attribution_free(a);

	a = ATTRIBUTE(.runtime = true);
	assert_line(a, "/build/ceval.c", 99, 9, 11);
	assert_line(a, "/app.py", 5, 2, 10);
	attribution_free(a);
}

/* An interpreter that starts and has no Python frame yet. */
static void what_begins_a_thread_takes_no_charge(void **state)
{
	uint32_t init = add_location(p, python, 1, MISS_NO_DEBUG_INFO, "Py_Initialize");
	uint32_t start =
		add_location(p, libc, 2, MISS_NONE, "__libc_start_call_main@/libc.h:58");
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 7, init, start);
	add_stack(p, 0, 1, start); /* it is the leaf itself */
	a = ATTRIBUTE();
	assert_line(a, "/libc.h", 58, 1, 1);
	assert_int_equal(a->with_line.samples, 1);
	assert_int_equal(a->function_only.samples, 7);
	assert_int_equal(a->misses[0].miss, MISS_INTERPRETER);
	assert_function(a, "Py_Initialize", "python3.11", 7, 7);
	attribution_free(a);

	a = ATTRIBUTE(.runtime = true);
	assert_line(a, "/libc.h", 58, 8, 8);
	attribution_free(a);
}

/* Python, C without lines, Numba and the kernel in one stack, in the order of calls. */
static void python_between_native_frames(void **state)
{
	uint32_t eval = add_location(p, python, 1, MISS_NO_DEBUG_INFO, "_PyEval");
	uint32_t alloc =
		add_location(p, python, 2, MISS_NO_DEBUG_INFO, "PyObject_Malloc");
	uint32_t outer = add_location(p, python_frames, 1, MISS_NONE, "run@/x.py:30");
	uint32_t inner = add_location(p, python_frames, 2, MISS_NONE, "step@/x.py:12");
	uint32_t dgemm = add_location(p, blas, 3, MISS_NO_DEBUG_INFO, "dgemm_kernel");
	uint32_t cblas = add_location(p, blas, 4, MISS_NO_DEBUG_INFO, "cblas_dgemm");
	uint32_t numba = add_location(p, jit, 5, MISS_NONE, "dither@/x.py:4");
	uint32_t fault = add_location(p, kernel, 6, MISS_KERNEL, "page_fault");
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 30, dgemm, cblas, eval, inner, eval, outer, eval);
	add_stack(p, 0, 20, numba, eval, inner, outer, eval);
	add_stack(p, 0, 10, alloc, eval, inner, eval, outer);
	add_stack(p, 0, 5, fault, alloc, eval, inner, outer);
	add_stack(p, 0, 2, eval, inner, inner, inner, outer); /* recursion */
	a = ATTRIBUTE();
	assert_line(a, "/x.py", 4, 20, 20);
	assert_line(a, "/x.py", 12, 47, 67);
	assert_line(a, "/x.py", 30, 0, 67);
	assert_int_equal(line_of(a, "/x.py", 12)->nr_callees, 2);
	assert_string_equal(line_of(a, "/x.py", 12)->callees[0].function, "dgemm_kernel");
	assert_int_equal(line_of(a, "/x.py", 12)->callees[0].self.samples, 30);
	assert_string_equal(line_of(a, "/x.py", 12)->callees[1].function, "page_fault");
	assert_function(a, "step", "[python]", 17, 67);
	assert_int_equal(line_of(a, "/x.py", 12)->function_line, 11);
	attribution_free(a);

	a = ATTRIBUTE(.runtime = true, .kernel = true); /* neither has lines */
	assert_line(a, "/x.py", 12, 47, 67);
	assert_int_equal(line_of(a, "/x.py", 12)->nr_callees, 4);
	attribution_free(a);
}

static void charge_mine_skips_libraries(void **state)
{
	uint32_t vec =
		in_app(1, "push_back@/usr/include/c++/12/vector:50|grow@/home/a.cc:7");
	uint32_t malloc_ =
		add_location(p, libc, 2, MISS_NONE, "malloc@/build/malloc.c:90");
	uint32_t daemon = add_location(p, libc, 3, MISS_NONE, "poll@/build/poll.c:9");
	uint32_t bare = add_location(p, libc, 4, MISS_NO_SYMBOLS, "");
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 12, malloc_, vec);
	add_stack(p, 0, 5, daemon);
	add_stack(p, 0, 2, bare);
	a = ATTRIBUTE(.charge = CHARGE_MINE);
	assert_line(a, "/home/a.cc", 7, 12, 12);
	assert_line(a, "/usr/include/c++/12/vector", 50, 0, 12);
	assert_null(file_of(a, "/build/malloc.c"));
	assert_string_equal(line_of(a, "/home/a.cc", 7)->callees[0].function, "malloc");
	assert_function(a, "grow", "app", 12, 12);
	assert_int_equal(a->not_mine.samples, 5);
	assert_int_equal(a->function_only.samples, 5);
	assert_int_equal(a->unknown.samples, 2);
	assert_function(a, "", "libc.so.6", 2, 2);
	assert_miss(a, MISS_NO_SYMBOLS, 2, "libc.so.6");
	attribution_free(a);

	a = ATTRIBUTE(.charge = CHARGE_LINE);
	assert_line(a, "/usr/include/c++/12/vector", 50, 12, 12);
	assert_line(a, "/build/poll.c", 9, 5, 5);
	assert_int_equal(a->not_mine.samples, 0);
	attribution_free(a);
}

/* A file is the user's own if any of its code is outside libraries. */
static void files_of_libraries_are_known(void **state)
{
	uint32_t package =
		add_mapping(p, "/home/me/venv/lib/python3.11/site-packages/x/fast.so");
	uint32_t mine = in_app(1, "push@/usr/include/c++/12/vector:50|grow@/home/a.cc:7");
	uint32_t built =
		add_location(p, package, 2, MISS_NONE, "dispatch@/io/x/dispatch.c:9");
	uint32_t shared = add_location(p, package, 3, MISS_NONE, "grow@/home/b.h:3");
	uint32_t shared_mine = in_app(4, "grow@/home/b.h:3");
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 4, mine);
	add_stack(p, 0, 3, built);
	add_stack(p, 0, 2, shared);
	add_stack(p, 0, 1, shared_mine);
	a = ATTRIBUTE(.charge = CHARGE_LINE);
	assert_false(file_of(a, "/home/a.cc")->is_library);
	assert_true(file_of(a, "/usr/include/c++/12/vector")->is_library);
	assert_true(file_of(a, "/io/x/dispatch.c")->is_library);
	assert_false(file_of(a, "/home/b.h")->is_library);
	attribution_free(a);

	a = ATTRIBUTE(.charge = CHARGE_MINE);
	assert_int_equal(a->not_mine.samples, 5);
	attribution_free(a);
}

static void charge_leaf_is_strict(void **state)
{
	uint32_t memcpy_ = add_location(p, libc, 2, MISS_NO_DEBUG_INFO, "memcpy");
	uint32_t line = in_app(1, "f@/a.c:3");
	uint32_t half = in_app(2, "inner|f@/a.c:4");
	uint32_t sys = add_location(p, kernel, 1, MISS_KERNEL, "vfs_read");
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 6, memcpy_, line);
	add_stack(p, 0, 4, line);
	add_stack(p, 0, 3, half);
	add_stack(p, 0, 2, sys, line);
	a = ATTRIBUTE(.charge = CHARGE_LEAF);
	assert_line(a, "/a.c", 3, 4, 12);
	assert_line(a, "/a.c", 4, 0, 3);
	assert_miss(a, MISS_C_RUNTIME, 6, "libc.so.6");
	assert_miss(a, MISS_NO_LINE, 3, "app");
	assert_miss(a, MISS_KERNEL, 2, "[kernel]");
	assert_function(a, "vfs_read", "[kernel]", 2, 2);
	attribution_free(a);
}

/* An inlined frame without a line charges the line that it is inlined into. */
static void an_inlined_frame_without_line_is_a_callee(void **state)
{
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 3, in_app(2, "inner|f@/a.c:4"));
	a = ATTRIBUTE();
	assert_line(a, "/a.c", 4, 3, 3);
	assert_string_equal(line_of(a, "/a.c", 4)->callees[0].function, "inner");
	assert_string_equal(line_of(a, "/a.c", 4)->callees[0].object, "app");
	attribution_free(a);
}

static void misses_blame_the_innermost_user_frame(void **state)
{
	uint32_t sys = add_location(p, kernel, 1, MISS_KERNEL, "vfs_read");
	uint32_t hidden = add_location(p, kernel, 2, MISS_KERNEL_HIDDEN, "");
	uint32_t bare = add_location(p, blas, 3, MISS_FILE_GONE, "");
	uint32_t named = add_location(p, app, 4, MISS_NO_DEBUG_INFO, "f");
	struct attribution *a;

	(void)state;
	add_stack(p, LB_STACK_BAD_FP, 9, sys, bare, named);
	add_stack(p, LB_STACK_NO_USER, 4, hidden);
	profile_add_sample(p, NULL, 0, NULL, 0, LB_STACK_NO_REGS,
			   (int64_t[]){2, 2 * PERIOD_NS});
	add_stack(p, LB_STACK_TRUNCATED, 1, in_app(9, "f@/a.c:1"));
	a = ATTRIBUTE();
	assert_miss(a, MISS_FILE_GONE, 9, "libopenblas.so");
	assert_miss(a, MISS_KERNEL_HIDDEN, 4, "[kernel]");
	assert_miss(a, MISS_NO_STACK, 2, NULL);
	assert_int_equal(a->nr_misses, 3);
	assert_int_equal(a->misses[0].miss, MISS_FILE_GONE); /* most samples first */
	assert_function(a, "", "libopenblas.so", 9, 9);
	assert_function(a, "", "[kernel]", 4, 4);
	assert_int_equal(a->function_only.samples, 9);
	assert_int_equal(a->unknown.samples, 6);
	assert_int_equal(a->incomplete_stacks.samples, 12);
	attribution_free(a);
}

/* Guessed and derived callers are no part of whole stacks, nor of incomplete ones. */
static void each_stack_is_in_one_sum(void **state)
{
	struct attribution *a;

	(void)state;
	for (uint32_t status = 0; status < LB_NR_STACK_STATUS; status++)
		add_stack(p, status,
			  status == LB_STACK_GUESSED   ? 100
			  : status == LB_STACK_DERIVED ? 1000
						       : 1,
			  in_app(1, "f@/a.c:1"));
	a = ATTRIBUTE();
	assert_int_equal(a->guessed_stacks.samples, 100);
	assert_int_equal(a->derived_stacks.samples, 1000);
	assert_int_equal(attribution_unproven_stacks(a).samples, 1100);
	/* All but these two, complete ones, and those of kernel threads. */
	assert_int_equal(a->incomplete_stacks.samples, LB_NR_STACK_STATUS - 4);
	attribution_free(a);
}

/* Code of a JIT with names, but no lines, charges its caller. */
static void named_code_of_a_jit_charges_the_calling_line(void **state)
{
	uint32_t caller = in_app(1, "call@/a.c:5");
	uint32_t named = add_location(p, jit, 1, MISS_JIT_NO_LINES, "dither");
	uint32_t lines = add_location(p, jit, 3, MISS_NONE, "dither@/x.py:17");
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 1, named, caller);
	add_stack(p, 0, 8, lines, named, caller);
	add_stack(p, 0, 32, add_location(p, blas, 1, MISS_NO_SYMBOLS, ""), caller);
	/* In an object that the runtime registered, with no symbol there. */
	add_stack(p, 0, 64, add_location(p, jit, 4, MISS_NO_SYMBOLS, ""), caller);
	a = ATTRIBUTE();
	assert_line(a, "/a.c", 5, 97, 105);
	assert_int_equal(a->jit_without_lines.samples, 1);
	assert_int_equal(a->jit_unknown.samples, 0);
	attribution_free(a);
}

/* Code of a JIT that nothing describes never charges its caller. */
static void undescribed_code_is_a_function_of_its_own(void **state)
{
	uint32_t caller = in_app(1, "call@/a.c:5");
	uint32_t named = add_location(p, jit, 1, MISS_JIT_NO_LINES, "dither");
	uint32_t unknown = add_location(p, jit, 2, MISS_JIT_UNKNOWN, "");
	uint32_t replaced = add_location(p, jit, 6, MISS_AMBIGUOUS_TIME, "");
	uint32_t late = add_location(p, jit, 7, MISS_FILE_LATE, "");
	uint32_t memcpy_ = add_location(p, libc, 3, MISS_NO_DEBUG_INFO, "memcpy");
	uint32_t sys = add_location(p, kernel, 4, MISS_KERNEL, "vfs_read");
	struct profile_label exe = {.key = LABEL_EXE, .str = "/usr/bin/node", .unit = ""};
	uint32_t stack[] = {unknown, caller};
	int64_t values[] = {2, 2 * PERIOD_NS};
	struct attribution *a;

	(void)state;
	profile_add_sample(p, stack, 2, &exe, 1, 0, values);
	add_stack(p, 0, 1, replaced, named, caller);
	add_stack(p, 0, 4, memcpy_, unknown, caller);
	add_stack(p, 0, 8, sys, unknown, caller);
	add_stack(p, 0, 16, late);
	add_stack(p, 0, 32, caller);
	add_stack(p, 0, 64, in_app(5, "back@/a.c:9"), unknown, caller);
	a = ATTRIBUTE();
	assert_line(a, "/a.c", 5, 32, 127 - 16);
	assert_line(a, "/a.c", 9, 64, 64);
	assert_int_equal(a->jit_unknown.samples, 31);
	assert_int_equal(a->unknown.samples, 27);
	assert_int_equal(a->function_only.samples, 4); /* memcpy */
	assert_function(a, "code of a JIT, not described (node)", "[jit]", 2, 2);
	assert_function(a, "code of a JIT, not described", "[jit]", 24, 24);
	assert_function(a, "code of a JIT, replaced meanwhile", "[jit]", 1, 1);
	assert_function(a, "memcpy", "libc.so.6", 4, 4);
	assert_function(a, "call", "app", 32, 127 - 16);
	assert_miss(a, MISS_JIT_UNKNOWN, 14, "[jit]");
	assert_miss(a, MISS_FILE_LATE, 16, "[jit]");
	assert_miss(a, MISS_AMBIGUOUS_TIME, 1, "[jit]");
	assert_no_function(a, "", "[jit]");
	attribution_free(a);

	/* A caller without a name has its total, as one with a name has. */
	add_stack(p, 0, 3, unknown, add_location(p, blas, 9, MISS_NO_SYMBOLS, ""),
		  caller);
	a = ATTRIBUTE();
	assert_function(a, "", "libopenblas.so", 0, 3);
	assert_function(a, "code of a JIT, not described", "[jit]", 27, 27);
	attribution_free(a);

	a = ATTRIBUTE(.charge = CHARGE_LEAF);
	assert_function(a, "code of a JIT, not described", "[jit]", 19, 19);
	assert_function(a, "vfs_read", "[kernel]", 8, 8);
	attribution_free(a);
}

/* With or without debug info, the C runtime charges its caller, if that has a line. */
static void the_c_runtime_is_charged_last(void **state)
{
	uint32_t copy = add_location(p, libc, 1, MISS_NONE, "memcpy@/string/memcpy.S:9");
	uint32_t sort = add_location(p, libc, 2, MISS_NONE, "qsort@/stdlib/qsort.c:7");
	uint32_t line = in_app(1, "f@/a.c:3"), compare = in_app(2, "compare@/a.c:5");
	uint32_t bare = add_location(p, blas, 3, MISS_NO_DEBUG_INFO, "dgemm");
	uint32_t init = add_location(p, python, 1, MISS_NO_DEBUG_INFO, "Py_Initialize");
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 8, copy, init);
	add_stack(p, LB_STACK_NO_TABLE, 16, copy); /* the callers are unknown */
	add_stack(p, 0, 1, copy, line);
	add_stack(p, 0, 2, compare, sort, line);
	add_stack(p, 0, 4, copy, sort, bare); /* no other line */
	a = ATTRIBUTE();
	assert_line(a, "/a.c", 3, 1, 3);
	assert_line(a, "/a.c", 5, 2, 2);
	assert_line(a, "/string/memcpy.S", 9, 4, 4);
	assert_line(a, "/stdlib/qsort.c", 7, 0, 4);
	assert_miss(a, MISS_INTERPRETER, 8, "python3.11");
	assert_miss(a, MISS_C_RUNTIME, 16, "libc.so.6");
	assert_string_equal(line_of(a, "/a.c", 3)->callees[0].function, "memcpy");
	assert_function(a, "memcpy", "libc.so.6", 29, 29);
	attribution_free(a);

	a = ATTRIBUTE(.runtime = true);
	assert_line(a, "/string/memcpy.S", 9, 29, 29);
	assert_line(a, "/stdlib/qsort.c", 7, 0, 6);
	attribution_free(a);

	a = ATTRIBUTE(.charge = CHARGE_LEAF);
	assert_null(file_of(a, "/string/memcpy.S"));
	assert_line(a, "/a.c", 5, 2, 2);
	assert_miss(a, MISS_C_RUNTIME, 29, "libc.so.6");
	attribution_free(a);

	a = ATTRIBUTE(.charge = CHARGE_MINE);
	assert_int_equal(a->not_mine.samples, 4);
	assert_line(a, "/a.c", 3, 1, 3);
	attribution_free(a);
}

static void five_objects_are_named(void **state)
{
	struct attribution *a;
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < 7; i++) {
		snprintf(name, sizeof(name), "/opt/lib%u.so", i);
		add_stack(p, 0, i + 1,
			  add_location(p, add_mapping(p, name), i, MISS_NO_SYMBOLS, ""));
	}
	a = ATTRIBUTE();
	assert_miss(a, MISS_NO_SYMBOLS, 28, "lib6.so");
	assert_int_equal(a->misses[0].nr_objects, 5);
	assert_string_equal(a->misses[0].objects[4], "lib2.so");
	attribution_free(a);
}

/* Files of other tools do not say why a line is missing: the reason is derived. */
static void foreign_misses_are_derived(void **state)
{
	uint32_t unknown = add_mapping(p, PROFILE_NO_OBJECT);
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 6, add_location(p, blas, 1, MISS_NONE, "dgemm"));
	add_stack(p, 0, 5, add_location(p, blas, 2, MISS_NONE, ""));
	add_stack(p, 0, 4, add_location(p, jit, 3, MISS_NONE, "jitted"));
	add_stack(p, 0, 3, add_location(p, jit, 4, MISS_NONE, ""));
	add_stack(p, 0, 2, add_location(p, unknown, 5, MISS_NONE, ""));
	add_stack(p, 0, 1, add_location(p, kernel, 6, MISS_NONE, "schedule"));
	a = ATTRIBUTE();
	assert_miss(a, MISS_OTHER_TOOL, 11, "libopenblas.so");
	assert_miss(a, MISS_JIT_NO_LINES, 4, "[jit]");
	assert_miss(a, MISS_JIT_UNKNOWN, 3, "[jit]");
	assert_miss(a, MISS_NO_MAPPING, 2, "[unknown]");
	assert_miss(a, MISS_KERNEL, 1, "[kernel]");
	attribution_free(a);
	p->extra.present = true;
	a = ATTRIBUTE();
	assert_miss(a, MISS_NO_DEBUG_INFO, 6, "libopenblas.so");
	assert_miss(a, MISS_NO_SYMBOLS, 5, "libopenblas.so");
	attribution_free(a);
}

static void functions_merge_by_name_file_and_object(void **state)
{
	uint32_t f = profile_add_function(
		p, &(struct profile_function){.name = "f", .filename = "/a.c"});
	uint32_t g =
		profile_add_function(p, &(struct profile_function){.name = "f",
								   .system_name = "_Zf",
								   .filename = "/a.c",
								   .start_line = 7});
	struct profile_line lines[] = {{.function = f, .line = 8},
				       {.function = g, .line = 9}};
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 1, profile_add_location(p, app, 1, MISS_NONE, &lines[0], 1));
	add_stack(p, 0, 2, profile_add_location(p, app, 2, MISS_NONE, &lines[1], 1));
	add_stack(p, 0, 4, profile_add_location(p, blas, 3, MISS_NONE, &lines[1], 1));
	a = ATTRIBUTE();
	assert_int_equal(a->nr_functions, 2);
	assert_function(a, "f", "app", 3, 3);
	assert_function(a, "f", "libopenblas.so", 4, 4);
	assert_int_equal(a->functions[0].start_line, 7);
	assert_int_equal(a->functions[1].start_line, 7);
	attribution_free(a);
}

static void a_line_is_called_by_its_heaviest_function(void **state)
{
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 2, in_app(1, "int_version@/t.h:5"));
	add_stack(p, 0, 5, in_app(2, "double_version@/t.h:5"));
	add_stack(p, 0, 1, in_app(3, "x@/t.h:9"), in_app(4, "caller@/t.h:20"));
	a = ATTRIBUTE();
	assert_string_equal(line_of(a, "/t.h", 5)->function, "double_version");
	assert_string_equal(line_of(a, "/t.h", 20)->function, "caller");
	attribution_free(a);
}

static void numba_is_python_in_memory(void **state)
{
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 2, add_location(p, jit, 1, MISS_NONE, "dither@/x.py:17"));
	add_stack(p, 0, 1, add_location(p, python_frames, 1, MISS_NONE, "main@/y.py:1"));
	a = ATTRIBUTE();
	assert_string_equal(file_of(a, "/x.py")->language, "numba");
	assert_string_equal(file_of(a, "/y.py")->language, "python");
	assert_function(a, "dither", "[jit]", 2, 2);
	attribution_free(a);
}

/* A script: a compiled function and the interpreted lines that call it. */
static void add_script(uint64_t compiled, uint64_t interpreted)
{
	uint32_t eval = add_location(p, python, 1, MISS_NO_DEBUG_INFO, "_PyEval");
	uint32_t caller =
		add_location(p, python_frames, 2, MISS_NONE, "<module>@/x.py:30");

	add_stack(p, 0, compiled, add_location(p, jit, 1, MISS_NONE, "dither@/x.py:17"),
		  eval, caller);
	add_stack(p, 0, interpreted, eval, caller);
}

static void most_of_a_file_says_whether_it_is_numba(void **state)
{
	struct attribution *a;

	(void)state;
	add_script(5, 5);
	a = ATTRIBUTE();
	assert_int_equal(a->nr_files, 1);
	assert_string_equal(a->files[0].language, "numba");
	assert_line(a, "/x.py", 17, 5, 5);
	assert_line(a, "/x.py", 30, 5, 10);
	attribution_free(a);
	add_script(0, 1);
	a = ATTRIBUTE();
	assert_string_equal(a->files[0].language, "python");
	attribution_free(a);
}

/* Replaces the profile's value types by @types; then one sample per pair. */
static void use_values(const struct profile_value_type *types, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		p->value_types[i] = types[i];
	p->nr_value_types = nr;
	p->count_value = p->cpu_value = PROFILE_NONE;
	p->default_sample_type = "";
}

static void only_counts(void **state)
{
	uint32_t l = in_app(1, "f@/a.c:1");
	struct attribution *a;

	(void)state;
	use_values((struct profile_value_type[]){{"samples", "count"}}, 1);
	p->count_value = 0;
	p->period = PERIOD_NS;
	profile_add_sample(p, &l, 1, NULL, 0, 0, (int64_t[]){6});
	a = ATTRIBUTE();
	assert_line(a, "/a.c", 1, 6, 6); /* CPU time is computed from the period */
	attribution_free(a);
	p->period = 0;
	a = ATTRIBUTE();
	assert_int_equal(a->all.samples, 6);
	assert_int_equal(a->all.cpu_ns, 0);
	attribution_free(a);
}

static void only_cpu_time(void **state)
{
	uint32_t l = in_app(1, "f@/a.c:1");
	struct attribution *a;

	(void)state;
	use_values((struct profile_value_type[]){{"cpu", "nanoseconds"}}, 1);
	p->cpu_value = 0;
	p->period = PERIOD_NS;
	profile_add_sample(p, &l, 1, NULL, 0, 0, (int64_t[]){6 * PERIOD_NS});
	a = ATTRIBUTE();
	assert_line(a, "/a.c", 1, 6, 6);
	assert_string_equal(a->counted.type, "samples");
	attribution_free(a);
	p->period = 0;
	a = ATTRIBUTE();
	assert_int_equal(a->all.samples, 6 * PERIOD_NS);
	assert_string_equal(a->counted.type, "cpu");
	assert_string_equal(a->counted.unit, "nanoseconds");
	attribution_free(a);
}

/* A profile of page faults, where one sample stands for ten. */
static void other_events(void **state)
{
	uint32_t l = in_app(1, "f@/a.c:1"), m = in_app(2, "g@/a.c:2");
	struct attribution *a;

	(void)state;
	profile_set_measure(p, "page-faults", "count");
	p->period = 10;
	profile_add_sample(p, &l, 1, NULL, 0, 0, (int64_t[]){6, 60});
	profile_add_sample(p, &m, 1, NULL, 0, 0, (int64_t[]){2, 20});
	a = ATTRIBUTE();
	assert_string_equal(a->counted.type, "page-faults");
	assert_string_equal(a->counted.unit, "count");
	assert_int_equal(a->all.samples, 80);
	assert_int_equal(a->all.cpu_ns, 0);
	assert_int_equal(line_of(a, "/a.c", 1)->self.samples, 60);
	attribution_free(a);
}

static void other_types_and_differences(void **state)
{
	uint32_t l = in_app(1, "f@/a.c:1"), m = in_app(2, "g@/a.c:2");
	struct attribution *a;

	(void)state;
	use_values((struct profile_value_type[]){{"alloc_objects", "count"},
						 {"alloc_space", "bytes"}},
		   2);
	profile_add_sample(p, &l, 1, NULL, 0, 0, (int64_t[]){0, 0});
	profile_add_sample(p, &m, 1, NULL, 0, 0, (int64_t[]){0, 0});
	p->values[1] = 4096;
	p->values[3] = -100;
	a = ATTRIBUTE();
	assert_string_equal(a->counted.type, "alloc_space"); /* the last, as in pprof */
	assert_int_equal(a->all.samples, 4096);
	assert_int_equal(a->nr_negative, 1);
	assert_true(line_of(a, "/a.c", 1)->ci95_high == 1);
	assert_null(line_of(a, "/a.c", 2)); /* its samples have no value */
	attribution_free(a);
	p->values[0] = 3;
	p->default_sample_type = "alloc_objects";
	a = ATTRIBUTE();
	assert_int_equal(a->all.samples, 3);
	attribution_free(a);
}

static void an_empty_profile_has_empty_tables(void **state)
{
	struct attribution *a = ATTRIBUTE();

	(void)state;
	assert_int_equal(a->all.samples + a->nr_files + a->nr_functions + a->nr_misses,
			 0);
	attribution_free(a);
}

static void intervals_hold_the_share(void **state)
{
	struct attribution *a;
	const struct attribution_line *line;

	(void)state;
	add_stack(p, 0, 30, in_app(1, "f@/a.c:1"));
	add_stack(p, 0, 70, in_app(2, "g@/a.c:2"));
	a = ATTRIBUTE();
	line = line_of(a, "/a.c", 1);
	/* 30 of 100: 0.2189 to 0.3958 (Wilson, from tables) */
	assert_true(line->ci95_low > 0.2188 && line->ci95_low < 0.2190);
	assert_true(line->ci95_high > 0.3957 && line->ci95_high < 0.3959);
	attribution_free(a);
}

/* ---- lines without code ---- */

/* @rows: frames as in add_location(), one for four bytes; "": a row without frames. */
static void add_code(uint32_t mapping, uint64_t address, const char *const *frames)
{
	struct profile_code_row rows[16];
	struct profile_code code = {.mapping = mapping, .address = address, .rows = rows};

	for (; frames[code.nr_rows]; code.nr_rows++) {
		char copy[64];
		struct profile_line line;

		snprintf(copy, sizeof(copy), "%s", frames[code.nr_rows]);
		line = parse_frame(p, copy);
		rows[code.nr_rows] =
			(struct profile_code_row){address + 4 * code.nr_rows, line};
	}
	code.size_bytes = 4 * code.nr_rows;
	assert_int_equal(profile_add_code(p, &code), 0);
}

#define ADD_CODE(mapping, address, ...) \
	add_code(mapping, address, (const char *const[]){__VA_ARGS__, NULL})

/* The lines of @path that are marked as without code, as "13 15". */
static const char *bare_lines(const struct attribution *attribution, const char *path)
{
	const struct attribution_file *file = file_of(attribution, path);
	static char text[4096];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; file && i < file->nr_lines; i++) {
		const struct attribution_line *line = &file->lines[i];

		if (!line->no_code)
			continue;
		assert_int_equal(line->self.samples + line->total.samples, 0);
		assert_int_equal(line->self.cpu_ns + line->total.cpu_ns, 0);
		assert_true(line->ci95_low == 0 && line->ci95_high == 0);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u",
					len ? " " : "", line->line);
	}
	return text;
}

static void lines_between_rows_have_no_code(void **state)
{
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 10, in_app(0x10, "f@/a.c:13"));
	/*
	 * Marks range from the declaration, line 11, to the last row. Line 16 is a
	 * call, 14 is inlined.
	 */
	ADD_CODE(app, 0x1000, "f@/a.c:13", "f@/a.c:16", "g@/a.c:14", "", "f@/a.c:18");
	a = ATTRIBUTE();
	assert_string_equal(bare_lines(a, "/a.c"), "11 12 15 17");
	assert_line(a, "/a.c", 13, 10, 10);
	assert_string_equal(line_of(a, "/a.c", 15)->function, "f");
	/* g has no samples, so it is not listed. */
	assert_null(line_of(a, "/a.c", 14));
	attribution_free(a);
}

static void a_line_with_samples_has_code(void **state)
{
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 10, in_app(0x10, "f@/a.c:12"));
	add_stack(p, 0, 5, in_app(0x20, "f@/a.c:14"));
	ADD_CODE(app, 0x1000, "f@/a.c:12", "f@/a.c:16");
	a = ATTRIBUTE();
	assert_string_equal(bare_lines(a, "/a.c"), "11 13 15");
	assert_line(a, "/a.c", 14, 5, 5);
	attribution_free(a);
}

static void a_row_of_any_function_is_code(void **state)
{
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 10, in_app(0x10, "f@/a.c:12"));
	ADD_CODE(app, 0x1000, "f@/a.c:12", "f@/a.c:16");
	ADD_CODE(app, 0x2000, "other@/a.c:14");
	ADD_CODE(jit, 0x2000, "f@/b.c:13"); /* another file */
	a = ATTRIBUTE();
	assert_string_equal(bare_lines(a, "/a.c"), "11 13 15");
	attribution_free(a);
}

static void functions_that_are_not_listed_have_no_marks(void **state)
{
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 10, in_app(0x10, "f@/a.c:12"));
	add_stack(p, 0, 10, add_location(p, kernel, 0x10, MISS_NONE, "k@/k.c:12"));
	ADD_CODE(app, 0x1000, "h@/a.c:42", "h@/a.c:44");
	ADD_CODE(app, 0x3000, "f@/b.c:42", "f@/b.c:44");
	ADD_CODE(kernel, 0x1000, "k@/k.c:12", "k@/k.c:14");
	a = ATTRIBUTE();
	assert_string_equal(bare_lines(a, "/a.c"), "");
	assert_null(file_of(a, "/b.c"));
	assert_null(file_of(a, "/k.c"));
	attribution_free(a);
}

static void the_innermost_function_has_the_line(void **state)
{
	struct attribution *a;

	(void)state;
	add_stack(p, 0, 10, in_app(0x10, "outer@/a.c:12"));
	add_stack(p, 0, 10, in_app(0x20, "inner@/a.c:14"));
	ADD_CODE(app, 0x1000, "outer@/a.c:12", "outer@/a.c:19");
	ADD_CODE(app, 0x2000, "inner@/a.c:14", "inner@/a.c:17");
	a = ATTRIBUTE();
	assert_string_equal(bare_lines(a, "/a.c"), "11 13 15 16 18");
	assert_string_equal(line_of(a, "/a.c", 15)->function, "inner");
	assert_string_equal(line_of(a, "/a.c", 18)->function, "outer");
	attribution_free(a);
}

/* Adds code and a sample of a function on two lines. */
static void add_two_lines(uint32_t start_line, uint32_t first, uint32_t last)
{
	struct profile_function f = {
		.name = "f", .filename = "/a.c", .start_line = start_line};
	struct profile_line line = {profile_add_function(p, &f), first};
	struct profile_code_row rows[] = {{0x1000, line},
					  {0x1004, {line.function, last}}};
	struct profile_code code = {app, 0x1000, 8, rows, 2, NULL};
	uint32_t location = profile_add_location(p, app, 0x10, MISS_NONE, &line, 1);

	add_stack(p, 0, 10, location);
	assert_int_equal(profile_add_code(p, &code), 0);
}

/* 16384 lines, and 16 for each of the two rows. */
static void spans_are_bounded(void **state)
{
	struct attribution *a;

	(void)state;
	add_two_lines(11, 12, 11 + 16384 + 32 - 1);
	a = ATTRIBUTE();
	assert_int_equal(file_of(a, "/a.c")->nr_lines, 16384 + 32 - 1);
	attribution_free(a);
}

/* Rows that are far apart take no lines from other functions. */
static void a_span_over_the_bound_has_no_lines(void **state)
{
	struct attribution *a;

	(void)state;
	add_two_lines(11, 12, 11 + 16384 + 64);
	add_stack(p, 0, 10, in_app(0x20, "g@/b.c:12"));
	ADD_CODE(app, 0x2000, "g@/b.c:12", "g@/b.c:14");
	a = ATTRIBUTE();
	assert_int_equal(file_of(a, "/a.c")->nr_lines, 1);
	assert_string_equal(bare_lines(a, "/b.c"), "11 13");
	attribution_free(a);
}

static void a_declaration_far_away_is_of_another_file(void **state)
{
	struct attribution *a;

	(void)state;
	add_two_lines(11, 500, 502);
	a = ATTRIBUTE();
	assert_string_equal(bare_lines(a, "/a.c"), "501");
	attribution_free(a);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(inlined_chain),
		TEST(recursion_counts_once),
		TEST(a_library_without_lines_is_a_callee),
		TEST(eight_callees_are_kept),
		TEST(the_kernel_never_takes_the_charge),
		TEST(an_interpreter_never_takes_the_charge),
		TEST(python_and_c_take_turns),
		TEST(what_begins_a_thread_takes_no_charge),
		TEST(python_between_native_frames),
		TEST(charge_mine_skips_libraries),
		TEST(files_of_libraries_are_known),
		TEST(charge_leaf_is_strict),
		TEST(an_inlined_frame_without_line_is_a_callee),
		TEST(misses_blame_the_innermost_user_frame),
		TEST(each_stack_is_in_one_sum),
		TEST(named_code_of_a_jit_charges_the_calling_line),
		TEST(undescribed_code_is_a_function_of_its_own),
		TEST(the_c_runtime_is_charged_last),
		TEST(five_objects_are_named),
		TEST(foreign_misses_are_derived),
		TEST(functions_merge_by_name_file_and_object),
		TEST(a_line_is_called_by_its_heaviest_function),
		TEST(numba_is_python_in_memory),
		TEST(most_of_a_file_says_whether_it_is_numba),
		TEST(only_counts),
		TEST(only_cpu_time),
		TEST(other_events),
		TEST(other_types_and_differences),
		TEST(an_empty_profile_has_empty_tables),
		TEST(intervals_hold_the_share),
		TEST(lines_between_rows_have_no_code),
		TEST(a_line_with_samples_has_code),
		TEST(a_row_of_any_function_is_code),
		TEST(functions_that_are_not_listed_have_no_marks),
		TEST(the_innermost_function_has_the_line),
		TEST(spans_are_bounded),
		TEST(a_span_over_the_bound_has_no_lines),
		TEST(a_declaration_far_away_is_of_another_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
