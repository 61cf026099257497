// SPDX-License-Identifier: GPL-2.0-or-later
/* Trees of stacks built by hand, printed and compared as a whole. */
#include "unit/profile/fixture.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "analyze/call_tree.h"
#include "base/cleanup.h"

static struct strpool *pool;
static struct profile *p;
static uint32_t app, libc, blas, kernel, python, jit, frames;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(64 << 20);
	p = profile_new(pool);
	app = add_mapping(p, "/home/me/app");
	libc = add_mapping(p, "/usr/lib/libc.so.6");
	blas = add_mapping(p, "/opt/libopenblas.so");
	kernel = add_mapping(p, PROFILE_KERNEL);
	python = add_mapping(p, "/usr/bin/python3.11");
	jit = add_mapping(p, PROFILE_JIT);
	frames = add_mapping(p, PROFILE_PYTHON);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	profile_free(p);
	strpool_free(pool);
	return 0;
}

static uint32_t at(uint32_t mapping, const char *location_frames)
{
	static uint64_t address = 0x100;

	return add_location(p, mapping, address++, MISS_NONE, location_frames);
}

static void print_rest(FILE *out, const char *what, uint32_t depth, uint64_t nr,
		       struct weight w)
{
	if (w.samples)
		fprintf(out, "%*s%s %d:%d\n", (int)depth, "", what, (int)nr,
			(int)w.samples);
}

/* "  60 dither@train.py:12 (+)": total, name, call; + for recursion; "/" ends it. */
static char *print_tree(const struct call_tree *t)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; i < t->nr_nodes; i++) {
		const struct call_node *n = &t->nodes[i];
		const struct call_function *f = &t->functions[n->function];

		fprintf(out, "%*s%d", (int)n->depth, "", (int)n->total.samples);
		if (n->ends.samples)
			fprintf(out, "/%d", (int)n->ends.samples);
		fprintf(out, " %s", *f->name ? f->name : f->object);
		if (n->call_line)
			fprintf(out, "@%s:%u", n->call_file, n->call_line);
		fprintf(out, "%s\n", n->is_recursive ? " +" : "");
		assert_int_equal(n->total.cpu_ns, n->total.samples * PERIOD_NS);
		assert_true(n->parent == PROFILE_NONE ? !n->depth : n->parent < i);
		print_rest(out, "cut", n->depth + 1, n->cut.nr, n->cut.weight);
		print_rest(out, "deeper", n->depth + 1, 0, n->deeper);
	}
	print_rest(out, "cut", 0, t->cut.nr, t->cut.weight);
	fclose(out);
	return text;
}

/* The marks of last siblings and the numbers of children are those of the nodes. */
static void check_siblings(const struct call_tree *t)
{
	for (size_t i = 0; i < t->nr_nodes; i++) {
		const struct call_node *n = &t->nodes[i];
		uint32_t nr_children = 0;
		bool is_last = true;

		for (size_t j = 0; j < t->nr_nodes; j++) {
			nr_children += t->nodes[j].parent == i;
			is_last &= j <= i || t->nodes[j].parent != n->parent;
		}
		assert_int_equal(n->nr_children, nr_children);
		assert_int_equal(n->is_last, is_last);
	}
}

static void check(const struct call_tree_options *options, const char *expected)
{
	_cleanup_(call_tree_freep) struct call_tree *tree = NULL;
	_cleanup_free_ char *text = NULL;
	struct call_tree_options o = *options;
	struct error err = {0};

	if (!o.max_depth)
		o.max_depth = CALL_TREE_MAX_DEPTH;
	assert_int_equal(call_tree_new(p, &o, &tree, &err), 0);
	text = print_tree(tree);
	assert_string_equal(text, expected);
	check_siblings(tree);
}

#define CALLERS(...) \
	(&(struct call_tree_options){.direction = CALL_CALLERS, .what = __VA_ARGS__})
#define CALLEES(...) \
	(&(struct call_tree_options){.direction = CALL_CALLEES, .what = __VA_ARGS__})

/* A Python program with merged stacks: train.py calls numpy and Numba. */
static void add_python_program(void)
{
	uint32_t start = at(python, "_start"), main_c = at(python, "Py_BytesMain");
	uint32_t libc_main = at(libc, "__libc_start_call_main");
	uint32_t eval = at(python, "_PyEval_EvalFrameDefault");
	uint32_t module = at(frames, "<module>@train.py:41");
	uint32_t step12 = at(frames, "step@train.py:12");
	uint32_t step13 = at(frames, "step@train.py:13");
	uint32_t step14 = at(frames, "step@train.py:14");
	uint32_t umath = at(blas, "cblas_dgemm"), dgemm = at(blas, "dgemm_kernel");
	uint32_t dither = at(jit, "diffuse@train.py:4|dither@train.py:9");
	uint32_t copy = at(kernel, "copy_page"), fault = at(kernel, "do_page_fault");

	add_stack(p, 0, 30, dgemm, umath, eval, step12, eval, module, eval, main_c,
		  libc_main, start);
	add_stack(p, 0, 50, dither, eval, step13, eval, module, eval, main_c, libc_main,
		  start);
	add_stack(p, 0, 10, eval, step14, eval, module, eval, main_c, libc_main, start);
	add_stack(p, 0, 6, copy, fault, eval, step14, module, eval, libc_main);
	add_stack(p, 0, 3, copy, fault, dither, step13, module, eval);
	add_stack(p, 0, 1, eval, main_c, libc_main, start);
}

static void test_callees_of_python(void **state)
{
	(void)state;
	add_python_program();
	check(CALLEES(NULL), "99 <module>\n"
			     " 99/10 step@train.py:41\n"
			     "  53 dither@train.py:13\n"
			     "   53/50 diffuse@train.py:9\n"
			     "    3/3 [kernel]@train.py:4\n"
			     "  30 cblas_dgemm@train.py:12\n"
			     "   30/30 dgemm_kernel\n"
			     "  6/6 [kernel]@train.py:14\n"
			     "1/1 [python3.11]\n");
}

static void test_callers_of_python(void **state)
{
	(void)state;
	add_python_program();
	check(CALLERS(NULL), "53 diffuse\n"
			     " 53 dither@train.py:9\n"
			     "  53 step@train.py:13\n"
			     "   53/53 <module>@train.py:41\n"
			     "30 dgemm_kernel\n"
			     " 30 cblas_dgemm\n"
			     "  30 step@train.py:12\n"
			     "   30/30 <module>@train.py:41\n"
			     "16 step\n"
			     " 16/16 <module>@train.py:41\n"
			     "1/1 [python3.11]\n");
	check(CALLERS(NULL, .min_share = 0.2, .max_roots = 1), "53 diffuse\n"
							       " 53 dither@train.py:9\n"
							       "  53 step@train.py:13\n"
							       "   53/53 "
							       "<module>@train.py:41\n"
							       "cut 3:47\n");
}

static void test_what(void **state)
{
	(void)state;
	add_python_program();
	check(CALLERS("step"), "99 step\n"
			       " 99/99 <module>@train.py:41\n");
	check(CALLERS("[kernel]"), "9 [kernel]\n"
				   " 6 step@train.py:14\n"
				   "  6/6 <module>@train.py:41\n"
				   " 3 diffuse@train.py:4\n"
				   "  3 dither@train.py:9\n"
				   "   3 step@train.py:13\n"
				   "    3/3 <module>@train.py:41\n");
	check(CALLERS("train.py:13"), "53 step@train.py:13\n"
				      " 53/53 <module>@train.py:41\n");
	check(CALLEES("train.py:14"), "16/10 step@train.py:14\n"
				      " 6/6 [kernel]@train.py:14\n");
	/* Both names contain "dgemm": the outermost frame is the root. */
	check(CALLEES("dgemm"), "30 cblas_dgemm\n"
				" 30/30 dgemm_kernel\n");
	check(CALLEES("[kernel]"), "9/9 [kernel]\n");
}

static void test_kernel_and_runtime(void **state)
{
	uint32_t eval = at(python, "eval@ceval.c:7"), f = at(frames, "f@a.py:2");
	uint32_t start = at(python, "_start"), sys = at(kernel, "sys_read");

	(void)state;
	add_stack(p, 0, 4, sys, eval, f, eval, start);
	check(CALLEES(NULL, .kernel = true), "4 f\n 4/4 sys_read@a.py:2\n");
	check(CALLEES(NULL, .runtime = true), "4 _start\n"
					      " 4 eval\n"
					      "  4 f@ceval.c:7\n"
					      "   4 eval@a.py:2\n"
					      "    4/4 [kernel]@ceval.c:7\n");
	check(CALLERS(NULL, .kernel = true, .runtime = true), "4 sys_read\n"
							      " 4 eval@ceval.c:7\n"
							      "  4 f@a.py:2\n"
							      "   4 eval@ceval.c:7\n"
							      "    4/4 _start\n");
}

static void test_recursion(void **state)
{
	uint32_t f5 = at(app, "f@r.c:5"), f6 = at(app, "f@r.c:6"), g = at(app, "g@r.c:9");
	uint32_t m = at(app, "main@r.c:20");

	(void)state;
	add_stack(p, 0, 3, f6, f5, f5, f5, m);
	add_stack(p, 0, 2, g, f6, f5, m);
	add_stack(p, 0, 1, f6, g, f5, m); /* through another function */
	check(CALLEES(NULL), "6 main\n"
			     " 6/3 f@r.c:20 +\n"
			     "  2/2 g@r.c:6\n"
			     "  1 g@r.c:5\n"
			     "   1/1 f@r.c:9\n");
	check(CALLEES("f"), "6/3 f +\n"
			    " 2/2 g@r.c:6\n"
			    " 1 g@r.c:5\n"
			    "  1/1 f@r.c:9\n");
	check(CALLERS("f"), "6 f +\n"
			    " 5/5 main@r.c:20\n"
			    " 1 g@r.c:9\n"
			    "  1 f@r.c:5\n"
			    "   1/1 main@r.c:20\n");
	/* Frames of the requested line are merged into one. */
	check(CALLEES("r.c:5"), "6 f@r.c:5\n"
				" 5/3 f@r.c:5 +\n"
				"  2/2 g@r.c:6\n"
				" 1 g@r.c:5\n"
				"  1/1 f@r.c:9\n");
}

static void test_incomplete(void **state)
{
	uint32_t leaf = at(libc, "memcpy"), f = at(app, "f@a.c:3");

	(void)state;
	add_stack(p, LB_STACK_COMPLETE, 5, leaf, f);
	add_stack(p, LB_STACK_NO_TABLE, 2, leaf);
	check(CALLERS(NULL), "7 memcpy\n"
			     " 5/5 f@a.c:3\n"
			     " 2/2 [callers not known]\n");
	check(CALLEES(NULL), "5 f\n"
			     " 5/5 memcpy@a.c:3\n"
			     "2 [callers not known]\n"
			     " 2/2 memcpy\n");
	check(CALLEES("memcpy"), "7/7 memcpy\n");
}

static void test_odd_stacks(void **state)
{
	uint32_t nameless = at(blas, ""), k = at(kernel, "idle");

	(void)state;
	add_stack(p, LB_STACK_NO_USER, 4, k);
	add_stack(p, 0, 3, nameless, nameless);
	assert_int_not_equal(
		profile_add_sample(p, NULL, 0, NULL, 0, 0, (int64_t[]){2, 2 * PERIOD_NS}),
		PROFILE_NONE);
	check(CALLERS(NULL), "4/4 [kernel]\n"
			     "3/3 libopenblas.so +\n"
			     "2/2 \n");
	check(CALLEES(NULL), "4/4 [kernel]\n"
			     "3/3 libopenblas.so +\n"
			     "2/2 \n");
}

static void test_cuts(void **state)
{
	uint32_t m = at(app, "main@c.c:1"), a = at(app, "a@c.c:2"),
		 b = at(app, "b@c.c:3");
	uint32_t c = at(app, "c@c.c:4");

	(void)state;
	add_stack(p, 0, 90, a, b, c, m);
	add_stack(p, 0, 6, b, m);
	add_stack(p, 0, 4, a, m);
	check(CALLEES(NULL, .min_share = 0.07, .max_depth = 3), "100 main\n"
								" cut 2:10\n"
								" 90 c@c.c:1\n"
								"  90 b@c.c:4\n"
								"   deeper 0:90\n");
	/* The share is of the requested function, not of all samples. */
	check(CALLERS("b", .min_share = 0.07), "96 b\n"
					       " cut 1:6\n"
					       " 90 c@c.c:4\n"
					       "  90/90 main@c.c:1\n");
}

/* What is cut off is counted once, at the nearest node that is kept. */
static void test_max_nodes(void **state)
{
	uint32_t m = at(app, "main@c.c:1"), a = at(app, "a@c.c:2"),
		 b = at(app, "b@c.c:3"), c = at(app, "c@c.c:4"), d = at(app, "d@d.c:5");

	(void)state;
	add_stack(p, 0, 30, a, b, m);
	add_stack(p, 0, 25, a, c, m);
	add_stack(p, 0, 20, b, c, m);
	add_stack(p, 0, 10, b, m);
	add_stack(p, 0, 5, a, d);
	check(CALLEES(NULL, .max_nodes = 5), "85 main\n"
					     " 45 c@c.c:1\n"
					     "  cut 1:20\n"
					     "  25/25 a@c.c:4\n"
					     " 40/10 b@c.c:1\n"
					     "  30/30 a@c.c:3\n"
					     "cut 1:5\n");
	check(CALLEES(NULL, .max_nodes = 2), "85 main\n"
					     " cut 1:40\n"
					     " 45 c@c.c:1\n"
					     "  cut 2:45\n"
					     "cut 1:5\n");
	check(CALLEES(NULL, .max_nodes = 1), "85 main\n"
					     " cut 2:85\n"
					     "cut 1:5\n");
	/* Of equal ones a parent is before its child. */
	check(CALLERS("a", .max_nodes = 3), "60 a\n"
					    " cut 2:30\n"
					    " 30 b@c.c:3\n"
					    "  30/30 main@c.c:1\n");
	check(CALLERS("a", .max_nodes = 2), "60 a\n"
					    " cut 2:30\n"
					    " 30 b@c.c:3\n"
					    "  cut 1:30\n");
}

static void test_not_there(void **state)
{
	_cleanup_(call_tree_freep) struct call_tree *tree = NULL;
	struct call_tree_options o = {.direction = CALL_CALLERS, .max_depth = 9};
	struct error err = {0};

	(void)state;
	add_python_program();
	o.what = "nobody";
	assert_int_equal(call_tree_new(p, &o, &tree, &err), -ENOENT);
	assert_non_null(strstr(err.text, "\"nobody\""));
	o.what = "train.py:99";
	assert_int_equal(call_tree_new(p, &o, &tree, &err), -ENOENT);
	assert_non_null(strstr(err.text, "line 99 of a file that ends in \"train.py\""));
	o.what = "_PyEval_EvalFrameDefault"; /* hidden */
	assert_int_equal(call_tree_new(p, &o, &tree, &err), -ENOENT);
	assert_null(tree);
}

/* 10,000 stacks of 127 frames: all different, or with a common call chain. */
static void measure(const char *what, uint32_t nr_functions, uint32_t nr_common)
{
	struct call_tree_options o = {.max_depth = 200, .min_share = 0.005};
	uint32_t *locations = calloc(nr_functions, sizeof(*locations)), seed = 1;

	for (uint32_t i = 0; i < nr_functions; i++) {
		char name[64];

		snprintf(name, sizeof(name), "function_%u@big.c:%u", i, i + 1);
		locations[i] = at(app, name);
	}
	for (uint32_t i = 0; i < 10000; i++) {
		uint32_t stack[127];

		for (uint32_t k = 0; k < ARRAY_SIZE(stack); k++) {
			seed = seed * 1664525 + 1013904223;
			stack[k] = locations[k + nr_common >= 127
						     ? k % nr_functions
						     : (seed >> 8) % nr_functions];
		}
		profile_add_sample(p, stack, ARRAY_SIZE(stack), NULL, 0, 0,
				   (int64_t[]){1, PERIOD_NS});
	}
	for (o.direction = CALL_CALLERS; o.direction <= CALL_CALLEES; o.direction++) {
		_cleanup_(call_tree_freep) struct call_tree *tree = NULL;
		struct timespec before, after;
		struct error err = {0};
		double seconds;

		clock_gettime(CLOCK_MONOTONIC, &before);
		assert_int_equal(call_tree_new(p, &o, &tree, &err), 0);
		clock_gettime(CLOCK_MONOTONIC, &after);
		seconds = (double)(after.tv_sec - before.tv_sec) +
			  (double)(after.tv_nsec - before.tv_nsec) / 1e9;
		print_message("%s, %s: %.3f s, %zu nodes\n", what,
			      o.direction == CALL_CALLERS ? "callers" : "callees",
			      seconds, tree->nr_nodes);
		assert_int_equal(tree->covered.samples, 10000);
		/* A generous limit: the test machine may be busy. */
		assert_true(seconds < 60);
	}
	free(locations);
}

static void test_time_of_unlike_stacks(void **state)
{
	(void)state;
	measure("all different", 50, 0);
}

static void test_time_of_like_stacks(void **state)
{
	(void)state;
	measure("100 outer frames in common", 1000, 100);
}

static void test_limit_of_nodes(void **state)
{
	struct call_tree_options o = {.direction = CALL_CALLEES, .max_depth = 200};
	_cleanup_(call_tree_freep) struct call_tree *tree = NULL;
	struct error err = {0};
	uint32_t locations[100], seed = 7;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(locations); i++) {
		char name[32];

		snprintf(name, sizeof(name), "f%u@l.c:%u", i, i + 1);
		locations[i] = at(app, name);
	}
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t stack[100];

		for (uint32_t k = 0; k < ARRAY_SIZE(stack); k++) {
			seed = seed * 1664525 + 1013904223;
			stack[k] = locations[(seed >> 8) % ARRAY_SIZE(locations)];
		}
		profile_add_sample(p, stack, ARRAY_SIZE(stack), NULL, 0, 0,
				   (int64_t[]){1, PERIOD_NS});
	}
	assert_int_equal(call_tree_new(p, &o, &tree, &err), 0);
	assert_int_equal(tree->nr_nodes, CALL_TREE_MAX_NODES);
	assert_true(tree->nr_over_limit > 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_callees_of_python),
		TEST(test_callers_of_python),
		TEST(test_what),
		TEST(test_kernel_and_runtime),
		TEST(test_recursion),
		TEST(test_incomplete),
		TEST(test_odd_stacks),
		TEST(test_cuts),
		TEST(test_max_nodes),
		TEST(test_not_there),
		TEST(test_time_of_unlike_stacks),
		TEST(test_time_of_like_stacks),
		TEST(test_limit_of_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
