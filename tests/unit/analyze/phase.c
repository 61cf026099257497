// SPDX-License-Identifier: GPL-2.0-or-later
/* Import, compilation and the rest, on stacks of CPython 3.9 to 3.13 and of Numba. */
#include "unit/profile/fixture.h"

#include "analyze/phase.h"

static struct strpool *pool;
static struct profile *p;
static uint32_t python, frames, libc, llvmlite, jit;
static uint32_t eval, module, load, exec_module, compile, lock, pass, llvm, malloc_at;

#define BOOTSTRAP "<frozen importlib._bootstrap>"
#define EXTERNAL  "<frozen importlib._bootstrap_external>"
#define SITE      "/venv/lib/python3.11/site-packages/"

static uint32_t python_at(const char *frame)
{
	static uint64_t address = 0x100;

	return add_location(p, frames, address++, MISS_NONE, frame);
}

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(1 << 20);
	p = profile_new(pool);
	python = add_mapping(p, "/usr/bin/python3.11");
	frames = add_mapping(p, PROFILE_PYTHON);
	libc = add_mapping(p, "/usr/lib/libc.so.6");
	llvmlite = add_mapping(p, SITE "llvmlite/binding/libllvmlite.so");
	jit = add_mapping(p, PROFILE_JIT);
	eval = add_location(p, python, 1, MISS_NO_DEBUG_INFO, "_PyEval_EvalFrameDefault");
	malloc_at = add_location(p, libc, 2, MISS_NO_DEBUG_INFO, "malloc");
	llvm = add_location(p, llvmlite, 3, MISS_NO_DEBUG_INFO, "llvm::PassManager::run");
	module = python_at("<module>@/app/train.py:3");
	load = python_at("_find_and_load@" BOOTSTRAP ":1176");
	exec_module = python_at("_LoaderBasics.exec_module@" EXTERNAL ":940");
	compile = python_at("_DispatcherBase._compile_for_args@" SITE
			    "numba/core/dispatcher.py:367");
	lock = python_at("_CompilerLock.__call__.<locals>._acquire_compile_lock@" SITE
			 "numba/core/compiler_lock.py:35");
	pass = python_at("PassManager.run@" SITE "numba/core/compiler_machinery.py:356");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	profile_free(p);
	strpool_free(pool);
	return 0;
}

static void check(uint64_t import, uint64_t compile_samples, uint64_t rest)
{
	struct phases phases;

	assert_int_equal(phases_of(p, false, &phases), 0);
	assert_int_equal(phases.of[PHASE_IMPORT].samples, import);
	assert_int_equal(phases.of[PHASE_IMPORT].cpu_ns, import * PERIOD_NS);
	assert_int_equal(phases.of[PHASE_NUMBA_COMPILE].samples, compile_samples);
	assert_int_equal(phases.of[PHASE_NUMBA_COMPILE].cpu_ns,
			 compile_samples * PERIOD_NS);
	assert_int_equal(phases.of[PHASE_REST].samples, rest);
	assert_int_equal(phases_are_split(&phases), import || compile_samples);
	assert_false(phases.left_out);
}

static void test_rest(void **state)
{
	uint32_t dispatch = python_at("<module>@" SITE "numba/core/dispatcher.py:1");
	uint32_t own = python_at("compile@/app/compiler.py:9");
	uint32_t other = python_at("compile@/app/numba_tools/compile.py:9");

	(void)state;
	check(0, 0, 0);
	add_stack(p, 0, 5, eval, module, eval);
	add_stack(p, 0, 1, eval, own, module);
	add_stack(p, 0, 1, eval, other, module);
	add_stack(p, 0, 1, eval, dispatch, module); /* without a compilation inside */
	check(0, 0, 8);
}

static void test_import(void **state)
{
	uint32_t loaded = python_at("<module>@" SITE "numpy/__init__.py:4");
	uint32_t old =
		python_at("exec_module@/usr/lib/python3.9/importlib/_bootstrap.py:1");

	(void)state;
	add_stack(p, 0, 3, malloc_at, eval, exec_module, load, eval, module, eval);
	add_stack(p, 0, 4, eval, loaded, exec_module, load, module);
	add_stack(p, 0, 2, eval, old, module);
	check(9, 0, 0);
}

static void test_compile(void **state)
{
	uint32_t build = python_at("_build_element_wise_ufunc_wrapper@" SITE
				   "numba/np/ufunc/ufuncbuilder.py:200");
	/* Names without classes, as in CPython before 3.11. */
	uint32_t old = python_at("_compile_for_args@/opt/numba/core/dispatcher.py:388");

	(void)state;
	add_stack(p, 0, 6, llvm, pass, lock, compile, eval, module);
	add_stack(p, 0, 1, malloc_at, pass, lock, module);
	add_stack(p, 0, 1, eval, build, module);
	add_stack(p, 0, 1, eval, old, module);
	check(0, 9, 0);
}

/* The innermost of the two phases decides. */
static void test_both(void **state)
{
	(void)state;
	add_stack(p, 0, 2, llvm, compile, exec_module, load, module);
	add_stack(p, 0, 3, eval, exec_module, load, pass, lock, compile, module);
	check(3, 2, 0);
}

static void test_stack_that_ends_early(void **state)
{
	(void)state;
	add_stack(p, LB_STACK_NO_TABLE, 4, llvm);
	add_stack(p, LB_STACK_NO_TABLE, 1, eval);
	add_stack(p, LB_STACK_COMPLETE, 2, llvm, eval,
		  module); /* llvmlite without Numba */
	add_stack(p, LB_STACK_NO_TABLE, 8, llvm, exec_module);
	check(8, 4, 3);
}

/* Functions of Numba's library that Numba compiled belong to neither phase. */
static void test_generated_code(void **state)
{
	uint32_t generated = add_location(p, jit, 9, MISS_NONE,
					  "build_scan@" SITE "numba/np/arraymath.py:99");

	(void)state;
	add_stack(p, 0, 7, generated, module);
	check(0, 0, 7);
}

static void test_leave_out(void **state)
{
	struct phases phases;

	(void)state;
	add_stack(p, 0, 2, llvm, compile, module);
	add_stack(p, 0, 5, eval, module);
	add_stack(p, 0, 3, eval, load, module);
	add_stack(p, 0, 1, malloc_at, module);
	assert_int_equal(phases_of(p, true, &phases), 0);
	assert_true(phases.left_out);
	assert_int_equal(phases.of[PHASE_NUMBA_COMPILE].samples, 2);
	assert_int_equal(phases.of[PHASE_IMPORT].samples, 3);
	assert_int_equal(phases.of[PHASE_REST].samples, 6);
	assert_int_equal(p->nr_samples, 2);
	check(0, 0, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_import, setup, teardown),
		cmocka_unit_test_setup_teardown(test_compile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_both, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stack_that_ends_early, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_generated_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leave_out, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
