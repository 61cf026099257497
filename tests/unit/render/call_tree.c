// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whole stacks of a Python program, from the profile to the listing: Python, Numba, C
 * without lines, the interpreter and the kernel in one stack; also imports and
 * compilation. Compared with tests/golden/stacks.<variant>.
 */
#include "unit/profile/fixture.h"
#include "lib/golden.h"

#include "analyze/source.h"
#include "render/render.h"

static const char train_py[] = "import json\n"
			       "\n"
			       "import numpy as np\n"
			       "from numba import njit\n"
			       "\n"
			       "\n"
			       "@njit\n"
			       "def dither(image):\n"
			       "    out = np.empty_like(image)\n"
			       "    for y in range(image.shape[0]):\n"
			       "        for x in range(image.shape[1]):\n"
			       "            out[y, x] = quantise(image[y, x])\n"
			       "    return out\n"
			       "\n"
			       "\n"
			       "class Trainer:\n"
			       "    def __init__(self, path):\n"
			       "        self.weights = load(path)\n"
			       "        self.losses = []\n"
			       "        self.images = []\n"
			       "        self.path = path\n"
			       "\n"
			       "    def step(self, batch):\n"
			       "        \"\"\"One batch.\n"
			       "\n"
			       "        What it costs is to be seen.\n"
			       "        \"\"\"\n"
			       "        images = [dither(b) for b in batch]\n"
			       "        scores = np.dot(images, self.weights)\n"
			       "        self.losses.append(json.dumps(scores.tolist()))\n"
			       "\n"
			       "\n"
			       "def main():\n"
			       "    trainer = Trainer(\"weights.npy\")\n"
			       "    for batch in batches():\n"
			       "        trainer.step(batch)\n"
			       "\n"
			       "\n"
			       "main()";

#define APP       "/app/train.py"
#define SITE      "/app/venv/lib/python3.11/site-packages/"
#define ENCODER   "/nowhere/lib/python3.11/json/encoder.py"
#define BOOTSTRAP "<frozen importlib._bootstrap>"

struct scene {
	struct strpool *pool;
	struct profile *p;
};

static uint32_t python_line(struct profile *p, uint32_t frames, const char *name,
			    const char *file, uint32_t start_line, uint32_t line)
{
	struct profile_line l = {
		.function = profile_add_function(
			p, &(struct profile_function){.name = name,
						      .system_name = "",
						      .filename = file,
						      .start_line = start_line}),
		.line = line,
	};

	return profile_add_location(p, frames, 0x10000 * start_line + line, MISS_NONE, &l,
				    1);
}

/* Line 12 of dither(), with quantise() inlined into it. */
static uint32_t compiled_line(struct profile *p, uint32_t jit)
{
	const struct profile_function quantise = {.name = "quantise",
						  .system_name = "",
						  .filename = "/app/util.py",
						  .start_line = 3};
	const struct profile_function dither = {
		.name = "dither", .system_name = "", .filename = APP, .start_line = 7};
	const struct profile_line lines[] = {{profile_add_function(p, &quantise), 4},
					     {profile_add_function(p, &dither), 12}};

	return profile_add_location(p, jit, 0x52, MISS_NONE, lines, ARRAY_SIZE(lines));
}

static void add_source(struct profile *p)
{
	struct profile_source *s = calloc(1, sizeof(*s));

	s->path = strpool_add(p->pool, APP);
	s->nr_lines = 39;
	s->runs = calloc(1, sizeof(*s->runs));
	s->nr_runs = 1;
	s->runs[0].first_line = 1;
	s->runs[0].nr_lines = 39;
	s->runs[0].text = strdup(train_py);
	p->extra.sources = s;
	p->extra.nr_sources = p->extra.cap_sources = 1;
}

/* C and Python frames at the outer end of every stack of the program. */
struct base {
	uint32_t start, libc_main, main_c, eval, module;
};

#define FROM_STEP(b, line)                                                         \
	(b)->eval, line, main36, module39, (b)->eval, (b)->main_c, (b)->libc_main, \
		(b)->start
#define FROM_MODULE(b, line) \
	(b)->eval, line, (b)->eval, (b)->main_c, (b)->libc_main, (b)->start

static void add_work(struct profile *p, const struct base *b, uint32_t frames)
{
	uint32_t jit = add_mapping(p, PROFILE_JIT);
	uint32_t blas = add_mapping(p, SITE "numpy.libs/libopenblas.so.0");
	uint32_t umath = add_mapping(p, SITE "numpy/core/_multiarray_umath.so");
	uint32_t dispatcher = add_mapping(p, SITE "numba/_dispatcher.so");
	uint32_t kernel = add_mapping(p, PROFILE_KERNEL);
	uint32_t module39 = python_line(p, frames, "<module>", APP, 1, 39);
	uint32_t main36 = python_line(p, frames, "main", APP, 33, 36);
	uint32_t step29 = python_line(p, frames, "Trainer.step", APP, 23, 29);
	uint32_t step30 = python_line(p, frames, "Trainer.step", APP, 23, 30);
	uint32_t step28 = python_line(p, frames, "Trainer.step", APP, 23, 28);
	uint32_t list28 =
		python_line(p, frames, "Trainer.step.<locals>.<listcomp>", APP, 28, 28);
	uint32_t dumps =
		python_line(p, frames, "JSONEncoder.iterencode", ENCODER, 204, 257);
	uint32_t call =
		add_location(p, dispatcher, 0x51, MISS_NO_DEBUG_INFO, "Dispatcher_call");
	uint32_t dither = compiled_line(p, jit);
	uint32_t dgemm =
		add_location(p, blas, 0x53, MISS_NO_DEBUG_INFO, "dgemm_kernel_HASWELL");
	uint32_t cblas = add_location(p, blas, 0x54, MISS_NO_DEBUG_INFO, "cblas_dgemm");
	uint32_t dot =
		add_location(p, umath, 0x55, MISS_NO_DEBUG_INFO, "cblas_matrixproduct");
	uint32_t fault = add_location(p, kernel, 0x56, MISS_KERNEL, "clear_page_erms");

	add_stack(p, 0, 210, dither, call, b->eval, list28, FROM_STEP(b, step28));
	add_stack(p, 0, 11, fault, dither, call, b->eval, list28, FROM_STEP(b, step28));
	add_stack(p, 0, 160, dgemm, cblas, dot, FROM_STEP(b, step29));
	add_stack(p, 0, 40, fault, dot, FROM_STEP(b, step29));
	add_stack(p, 0, 20, FROM_STEP(b, step29));
	add_stack(p, 0, 55, b->eval, dumps, FROM_STEP(b, step30));
	add_stack(p, 0, 4, FROM_STEP(b, step30));
	add_stack(p, LB_STACK_NO_TABLE, 9, dgemm);
}

static void add_start(struct profile *p, const struct base *b, uint32_t frames)
{
	uint32_t llvmlite = add_mapping(p, SITE "llvmlite/binding/libllvmlite.so");
	uint32_t libc = add_mapping(p, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	uint32_t module4 = python_line(p, frames, "<module>", APP, 1, 4);
	uint32_t module3 = python_line(p, frames, "<module>", APP, 1, 3);
	uint32_t module39 = python_line(p, frames, "<module>", APP, 1, 39);
	uint32_t main36 = python_line(p, frames, "main", APP, 33, 36);
	uint32_t step28 = python_line(p, frames, "Trainer.step", APP, 23, 28);
	uint32_t load = python_line(p, frames, "_find_and_load", BOOTSTRAP, 1165, 1176);
	uint32_t numba =
		python_line(p, frames, "<module>", SITE "numba/__init__.py", 1, 92);
	uint32_t compile = python_line(p, frames, "_DispatcherBase._compile_for_args",
				       SITE "numba/core/dispatcher.py", 367, 395);
	uint32_t run = python_line(p, frames, "PassManager.run",
				   SITE "numba/core/compiler_machinery.py", 350, 356);
	uint32_t optimise = add_location(p, llvmlite, 0x61, MISS_NO_DEBUG_INFO,
					 "llvm::FPPassManager::runOnFunction");
	uint32_t unmarshal = add_location(p, libc, 0x62, MISS_NO_DEBUG_INFO, "memcpy");

	add_stack(p, 0, 180, b->eval, numba, b->eval, load, FROM_MODULE(b, module4));
	add_stack(p, 0, 70, unmarshal, b->eval, load, FROM_MODULE(b, module3));
	add_stack(p, 0, 240, optimise, b->eval, run, compile, FROM_STEP(b, step28));
}

static void scene_init(struct scene *s)
{
	struct profile *p;
	struct base b;
	uint32_t python, frames, libc;

	s->pool = strpool_new(1 << 20);
	s->p = p = profile_new(s->pool);
	python = add_mapping(p, "/usr/bin/python3.11");
	libc = add_mapping(p, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	frames = add_mapping(p, PROFILE_PYTHON);
	b.start = add_location(p, python, 0x71, MISS_NO_DEBUG_INFO, "_start");
	b.main_c = add_location(p, python, 0x72, MISS_NO_DEBUG_INFO, "Py_RunMain");
	b.eval = add_location(p, python, 0x73, MISS_NO_DEBUG_INFO,
			      "_PyEval_EvalFrameDefault");
	b.libc_main =
		add_location(p, libc, 0x74, MISS_NO_DEBUG_INFO, "__libc_start_call_main");
	add_work(p, &b, frames);
	add_start(p, &b, frames);
	add_source(p);
	p->period_type = (struct profile_value_type){"cpu", "nanoseconds"};
	p->period = PERIOD_NS;
	p->extra.present = true;
	p->extra.freq_hz = 100;
	p->extra.wall_ns = 11ull * 1000000000;
	p->extra.nr_cpus = 2;
	p->extra.target = "";
	p->extra.losses = (struct profile_losses){
		.due = 999, .ran = 998, .due_error = 4, .sampled = 998, .counted = 998};
}

struct variant {
	const char *name;
	render_fn write;
	struct render_options opts;
	struct call_tree_options tree;
	struct attribution_options attribution;
	bool skip_compile;
};

#define SHOW(columns, share, ...)                                               \
	{                                                                       \
		.width = columns, .context = 2, .min_share = share, __VA_ARGS__ \
	}
#define TREE(where, of, ...)                                \
	{                                                   \
		.direction = where, .what = of, __VA_ARGS__ \
	}

static const struct variant variants[] = {
	{.name = "annotate.80.txt", .write = render_annotate, .opts = SHOW(80, 0.005)},
	{.name = "annotate.skip-compile.txt",
	 .write = render_annotate,
	 .opts = SHOW(80, 0.005),
	 .skip_compile = true},
	{.name = "annotate.context0.txt",
	 .write = render_annotate,
	 .opts = {.width = 80, .min_share = 0.005, .file_filter = "train.py"}},
	{.name = "annotate.runtime.txt",
	 .write = render_annotate,
	 .opts = SHOW(80, 0.005, .file_filter = "train.py"),
	 .attribution = {.runtime = true, .kernel = true}},
	{.name = "annotate.json", .write = render_annotate_json, .opts = SHOW(80, 0.005)},
	{.name = "report.txt", .write = render_report, .opts = SHOW(80, 0.005)},
	{.name = "callers.80.txt",
	 .write = render_report,
	 .opts = SHOW(80, 0.005),
	 .tree = TREE(CALL_CALLERS, NULL, .max_roots = 10)},
	{.name = "callers.function.txt",
	 .write = render_report,
	 .opts = SHOW(80, 0.005, .utf8 = true),
	 .tree = TREE(CALL_CALLERS, "[kernel]")},
	{.name = "callers.json",
	 .write = render_report_json,
	 .opts = SHOW(80, 0.005),
	 .tree = TREE(CALL_CALLERS, "step")},
	{.name = "callees.limit.txt",
	 .write = render_report,
	 .opts = SHOW(80, 0.005, .limit = 6),
	 .tree = TREE(CALL_CALLEES, NULL, .max_nodes = 6)},
	{.name = "callees.80.txt",
	 .write = render_report,
	 .opts = SHOW(80, 0.005),
	 .tree = TREE(CALL_CALLEES, NULL)},
	{.name = "callees.no-limit.txt",
	 .write = render_report,
	 .opts = SHOW(0, 0.005, .utf8 = true),
	 .tree = TREE(CALL_CALLEES, NULL)},
	{.name = "callees.narrow.txt",
	 .write = render_report,
	 .opts = SHOW(40, 0.005),
	 .tree = TREE(CALL_CALLEES, NULL)},
	{.name = "callees.colour.txt",
	 .write = render_report,
	 .opts = SHOW(100, 0.005, .utf8 = true, .colour = true),
	 .tree = TREE(CALL_CALLEES, NULL, .max_depth = 4)},
	{.name = "callees.line.txt",
	 .write = render_report,
	 .opts = SHOW(80, 0.1),
	 .tree = TREE(CALL_CALLEES, "train.py:29")},
	{.name = "callees.skip-compile.txt",
	 .write = render_report,
	 .opts = SHOW(80, 0.005),
	 .tree = TREE(CALL_CALLEES, "Trainer.step"),
	 .skip_compile = true},
	{.name = "callees.runtime.txt",
	 .write = render_report,
	 .opts = SHOW(80, 0.005),
	 .tree = TREE(CALL_CALLEES, NULL, .runtime = true, .kernel = true),
	 .skip_compile = true},
};

static char *render(struct scene *s, const struct variant *v)
{
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	_cleanup_(call_tree_freep) struct call_tree *tree = NULL;
	struct call_tree_options how = v->tree;
	struct error err = {0};
	struct phases phases;
	struct render_input in = {.profile = s->p, .phases = &phases};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	how.min_share = v->opts.min_share;
	if (!how.max_depth)
		how.max_depth = 100;
	assert_int_equal(phases_of(s->p, v->skip_compile, &phases), 0);
	assert_int_equal(attribution_new(s->p, &v->attribution, &a), 0);
	assert_int_equal(source_attach(a, s->p, &(struct source_search){0}), 0);
	if (how.direction)
		assert_int_equal(call_tree_new(s->p, &how, &tree, &err), 0);
	in.attribution = a;
	in.call_tree = tree;
	assert_int_equal(v->write(&in, &v->opts, out), 0);
	fclose(out);
	return text;
}

static void test_variant(void **state)
{
	const struct variant *v = *state;
	struct scene s;
	_cleanup_free_ char *text = NULL;
	char name[96];

	scene_init(&s);
	text = render(&s, v);
	golden_check_harmless(text, v->opts.colour);
	if (v->write == render_report || v->write == render_annotate)
		golden_check_head(text, v->opts.width);
	snprintf(name, sizeof(name), "stacks.%s", v->name);
	golden_compare(name, text);
	profile_free(s.p);
	strpool_free(s.pool);
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(variants)];

	for (size_t i = 0; i < ARRAY_SIZE(variants); i++)
		tests[i] = (struct CMUnitTest){.name = variants[i].name,
					       .test_func = test_variant,
					       .initial_state = (void *)&variants[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
