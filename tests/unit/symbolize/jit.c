// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files of Python that are searched: definitions of functions whose compiled code has names
 * only, and sources of frozen modules. Fake processes with a perf map and code objects, real
 * source files, a real worker (this program again) that may be slow.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/time_share.h"
#include "decode/requests.h"
#include "lineburn_unwind.h"
#include "process/interp_code.h"
#include "process/maps.h"
#include "symbolize/symbolizer_internal.h"

#include "unit/decode/elf/fixture.h"

#define JIT_CODE UINT64_C(0x7f0000000000)
#define SLOW_NS  UINT64_C(100000000)

/* How long it takes for a file that begins so. */
static const struct {
	const char *start;
	uint64_t ns;
} times[] = {
	{"# slow", SLOW_NS}, {"# late", UINT64_C(600000000)}, {"# stuck", UINT64_MAX}};

static int defs_serve_slowly(struct worker_call *call, struct wire_reader *request,
			     const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	uint64_t begin_ns = clock_now_ns();
	char text[16] = "";

	if (nr_fds != 1 || pread(fds[0], text, sizeof(text) - 1, 0) < 0)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		while (!strncmp(text, times[i].start, strlen(times[i].start)) &&
		       clock_now_ns() - begin_ns < times[i].ns)
			;
	return python_defs_serve(call, request, fds, nr_fds, reply);
}

static int jitdump_serve_never(struct worker_call *call, struct wire_reader *request,
			       const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	(void)call;
	(void)request;
	(void)fds;
	(void)nr_fds;
	(void)reply;
	while (clock_now_ns())
		;
	return 0;
}

static const worker_op slow_ops[NR_OPERATIONS] = {
	[DECODER_JITDUMP] = jitdump_serve_never,
	[DECODER_PERF_MAP] = perfmap_serve,
	[DECODER_PYTHON_DEFS] = defs_serve_slowly,
	[DECODER_PYTHON_CODE] = python_code_serve,
};

static struct strpool *pool;
static struct worker *worker;
static struct symbolizer *sym;
static struct time_share share;

static int build(void **state)
{
	if (fixture_setup(state))
		return -1;
	fixture_write("perf.map", "7f0000000000 10 slow.f\n7f0000000100 10 quick.g\n"
				  "7f0000000200 10 pkg.stuck.h\n"
				  "7f0000000300 10 pkg.late.h\n");
	fixture_run("mkdir -p src/pkg/late lib64/python3.11/pkg");
	fixture_write("lib64/python3.11/pkg/__init__.py", "");
	fixture_write("src/slow.py", "# slow\n\n\ndef f(): pass\n");
	fixture_write("src/quick.py", "# quick\n\ndef g(): pass\n");
	fixture_write("src/pkg/stuck.py", "# stuck\ndef h(): pass\n");
	fixture_write("src/pkg/late.py", "# late\n");
	fixture_write("src/pkg/late/__init__.py", "# late\n");
	fixture_write("src/pkg.py", "class late:\n\tdef h(): pass\n"
				    "class stuck:\n\tdef h(): pass\n");
	return 0;
}

static int start(void **state)
{
	struct symbolizer_config config = {.share = &share};

	(void)state;
	share = (struct time_share){.is_shared = true, .burst_ns = UINT64_C(20000000000)};
	pool = strpool_new(16 << 20);
	if (!pool || worker_new(&(struct worker_config){0}, &worker, NULL))
		return -1;
	return symbolizer_new(&config, pool, worker, NULL, &sym, NULL);
}

static int stop(void **state)
{
	(void)state;
	symbolizer_free(sym);
	worker_free(worker);
	strpool_free(pool);
	return 0;
}

/* A process of that user that runs /src/app.py. */
static struct process new_python(uint32_t id, uid_t user)
{
	struct mapping m = {.start = JIT_CODE,
			    .end = JIT_CODE + 0x1000,
			    .kind = MAPPING_ANON,
			    .path = "",
			    .until_ns = UINT64_MAX};
	struct process proc = {
		.tgid = 100 + id,
		.id = id,
		.uid = geteuid(),
		.gid = getegid(),
		.tenant.uid = user,
		.command = "python3\napp.py\n",
		.cwd = "/src",
		.root_fd = open(fixture_dir, O_PATH | O_DIRECTORY | O_CLOEXEC),
		.perf_map = {.fd = open("perf.map", O_RDONLY | O_CLOEXEC), .path = ""},
		.jitdump = {.fd = -1, .open_errno = ENOENT},
		.jit_code.nr_descriptors = 1,
		.until_ns = UINT64_MAX};

	assert_true(proc.root_fd >= 0 && proc.perf_map.fd >= 0);
	assert_int_equal(maps_add(&proc.maps, &m), 0);
	return proc;
}

static void end_python(struct process *proc)
{
	close(proc->root_fd);
	close(proc->perf_map.fd);
	maps_deinit(&proc->maps);
}

/* Ids of slow.f and quick.g. */
static void want_both(const struct process *proc, uint32_t ret[2])
{
	ret[0] = symbolizer_want(sym, proc, JIT_CODE, FRAME_LEAF, 1, 2);
	ret[1] = symbolizer_want(sym, proc, JIT_CODE + 0x100, FRAME_LEAF, 1, 2);
}

static void resolve_all(void)
{
	assert_int_equal(symbolizer_resolve(sym, NULL), 0);
}

static void assert_def(uint32_t id, const char *function, const char *file, uint32_t line)
{
	const struct resolved *r = symbolizer_get(sym, id);

	assert_int_equal(r->nr_frames, 1);
	assert_string_equal(r->frames[0].function, function);
	assert_string_equal(r->frames[0].file, file);
	assert_int_equal(r->frames[0].start_line, line);
	assert_string_equal(miss_name(r->miss), miss_name(MISS_JIT_NO_LINES));
}

static void assert_both(const uint32_t ids[2])
{
	assert_def(ids[0], "slow.f", "/src/slow.py", 4);
	assert_def(ids[1], "quick.g", "/src/quick.py", 3);
}

static void assert_names_only(const uint32_t ids[2])
{
	assert_def(ids[0], "slow.f", "", 0);
	assert_def(ids[1], "quick.g", "", 0);
}

static bool has_def(uint32_t id)
{
	return symbolizer_get(sym, id)->frames[0].start_line;
}

/* Names the code, until the first definition is searched. */
static void step_to_defs(void)
{
	while (!sym->work.defs) {
		assert_int_equal(symbolizer_resolve_step(sym, NULL), 1);
		if (!sym->work.defs)
			worker_wait(worker);
	}
}

/* No step waits for a slow file. The user whose file it is pays for the time. */
static void test_defs_are_not_waited_for(void **state)
{
	struct process proc = new_python(0, 1000);
	bool was_sent = false;
	struct worker_wait wait;
	uint64_t paid_ns;
	uint32_t ids[2];

	(void)state;
	want_both(&proc, ids);
	step_to_defs();
	paid_ns = share.accounts[0].paid_ns;
	while (symbolizer_resolve_step(sym, NULL) > 0) {
		was_sent |= sym->work.defs && worker_waits(worker, &wait);
		worker_wait(worker);
	}
	assert_true(was_sent);
	assert_both(ids);
	assert_int_equal(share.nr_accounts, 1);
	assert_true(share.accounts[0].paid_ns >= paid_ns + 4 * SLOW_NS);
	assert_int_equal(share.nr_put_off, 0);
	end_python(&proc);
}

/* Who had its share gets no more definitions, which is counted; others get theirs. */
static void test_defs_need_a_share(void **state)
{
	struct process greedy = new_python(0, 1000), other = new_python(1, 1001);
	uint32_t ids[2], others[2];
	uint64_t now_ns;

	(void)state;
	want_both(&greedy, ids);
	step_to_defs();
	now_ns = clock_now_ns();
	time_share_took(&share, greedy.tenant, now_ns - UINT64_C(3600000000000), now_ns);
	resolve_all();
	/* The first one was under way. */
	assert_int_equal(has_def(ids[0]) + has_def(ids[1]), 1);
	assert_int_equal(share.nr_put_off, 1);
	want_both(&other, others);
	resolve_all();
	assert_both(others);
	assert_int_equal(share.nr_put_off, 1);
	end_python(&greedy);
	end_python(&other);
}

/* A user has a time for all of its processes, also where nobody shares the decoder. */
static void test_defs_of_others_have_their_own_time(void **state)
{
	struct process greedy = new_python(0, 1000), second = new_python(1, 1000);
	struct process other = new_python(2, 1001);
	uint32_t ids[2], seconds[2], others[2];
	struct source *source;

	(void)state;
	share.is_shared = false;
	want_both(&greedy, ids);
	resolve_all();
	assert_both(ids);
	source = &sym->table.sources[sym->table.nr_sources - 1];
	assert_true(source->search_ns >= SLOW_NS);
	source->search_ns = UINT64_C(10000000000);
	want_both(&second, seconds);
	want_both(&other, others);
	resolve_all();
	assert_names_only(seconds);
	assert_both(others);
	assert_int_equal(share.nr_put_off, 1);
	end_python(&greedy);
	end_python(&second);
	end_python(&other);
}

/* A build runs thousands of Pythons, which all have frozen modules. */
static void test_frozen_modules_leave_definitions_their_time(void **state)
{
	struct process proc = new_python(0, 1000);
	struct source *frozen;
	uint32_t ids[2];

	(void)state;
	share.is_shared = false;
	frozen = &sym->table.sources[table_source(&sym->table, SOURCE_INTERP, &proc, 0,
						  (struct tenant){0})];
	frozen->tenant = proc.tenant;
	frozen->search_ns = UINT64_C(10000000000);
	want_both(&proc, ids);
	resolve_all();
	assert_both(ids);
	end_python(&proc);
}

/* The decoder is killed for one file: no other file is searched for that definition. */
static void test_stuck_definition(void **state)
{
	struct process proc = new_python(0, 1000);
	struct worker_stats stats;
	uint32_t ids[2], stuck;

	(void)state;
	want_both(&proc, ids);
	stuck = symbolizer_want(sym, &proc, JIT_CODE + 0x200, FRAME_LEAF, 1, 2);
	resolve_all();
	assert_both(ids);
	assert_def(stuck, "pkg.stuck.h", "", 0);
	assert_int_equal(share.nr_put_off, 0);
	worker_stats(worker, &stats);
	assert_int_equal(stats.nr_deadline, 1);
	end_python(&proc);
}

/* Two files take more than a second: no third one is opened, which is counted. */
static void test_late_definition(void **state)
{
	struct process proc = new_python(0, 1000);
	uint32_t ids[2], late;

	(void)state;
	want_both(&proc, ids);
	late = symbolizer_want(sym, &proc, JIT_CODE + 0x300, FRAME_LEAF, 1, 2);
	resolve_all();
	assert_both(ids);
	assert_def(late, "pkg.late.h", "", 0);
	assert_int_equal(share.nr_put_off, 1);
	end_python(&proc);
}

/* ---- providers that are late ---- */

/* A process of that user, whose jitdump takes as long as it may. */
static struct process new_late(uint32_t id, uid_t user)
{
	struct process proc = new_python(id, user);

	sym->config.deadline_ms = 300;
	proc.command = "node\napp.js\n";
	proc.jit_code.nr_descriptors = 0;
	proc.jitdump.fd = open("perf.map", O_RDONLY | O_CLOEXEC);
	assert_true(proc.jitdump.fd >= 0);
	return proc;
}

static void end_late(struct process *proc)
{
	close(proc->jitdump.fd);
	end_python(proc);
}

static uint32_t want_during(const struct process *proc, uint64_t ns)
{
	return symbolizer_want(sym, proc, JIT_CODE, FRAME_LEAF, ns, ns + 1);
}

static uint64_t nr_deadline(void)
{
	struct worker_stats stats;

	worker_stats(worker, &stats);
	return stats.nr_deadline;
}

/* What is late is asked again after a pause only. The others are asked meanwhile. */
static void test_a_late_provider_has_a_pause(void **state)
{
	struct process proc = new_late(0, 1000);
	struct source *source;

	(void)state;
	for (uint64_t ns = 1; ns < 4; ns++) {
		uint32_t id = want_during(&proc, ns);

		resolve_all();
		assert_def(id, "slow.f", "", 0);
		assert_int_equal(nr_deadline(), 1);
	}
	source = &sym->table.sources[sym->table.nr_sources - 1];
	source->providers[1].until_ns = 0;
	want_during(&proc, 10);
	resolve_all();
	assert_int_equal(nr_deadline(), 2);
	end_late(&proc);
}

/* Who had its share with one provider waits with the next one; others do not wait. */
static void test_providers_need_a_share(void **state)
{
	struct process greedy = new_late(0, 1000), other = new_python(1, 1001);
	uint32_t id = want_during(&greedy, 1), others;

	(void)state;
	share.burst_ns = UINT64_C(200000000);
	others = symbolizer_want(sym, &other, JIT_CODE + 0x100, FRAME_LEAF, 1, 2);
	resolve_all();
	assert_int_equal(symbolizer_get(sym, id)->nr_frames, 0);
	assert_int_equal(symbolizer_get(sym, id)->miss, MISS_DECODER_GAVE_UP);
	assert_int_equal(share.nr_put_off, 1);
	assert_def(others, "quick.g", "/src/quick.py", 3);
	/* It has its names later, as those who had no turn. */
	share.nr_accounts = 0;
	assert_int_equal(want_during(&greedy, 1), id);
	resolve_all();
	assert_def(id, "slow.f", "", 0);
	assert_int_equal(nr_deadline(), 1);
	end_late(&greedy);
	end_python(&other);
}

/* ---- sources of frozen modules ---- */

/* A process of that user with /bin/python3.11, which ran a function of such a module. */
static struct process new_frozen(uint32_t id, uid_t user, struct interp_store *store)
{
	struct mapping m = {.start = 0x1000,
			    .end = 0x2000,
			    .kind = MAPPING_FILE,
			    .path = "/bin/python3.11",
			    .until_ns = UINT64_MAX};
	struct process proc = new_python(id, user);
	struct lb_interp_code record = {.code_id = 1,
					.code_addr = 0x1000,
					.version = 0x030b,
					.first_line = 7,
					.file_chars = strlen("<frozen pkg>"),
					.name_chars = 1,
					.file_width = 1,
					.name_width = 1,
					.file = "<frozen pkg>",
					.name = "f"};

	proc.interp_codes.tenant = proc.tenant;
	assert_int_equal(maps_add(&proc.maps, &m), 0);
	assert_int_equal(interp_codes_add(&proc.interp_codes, store, &record,
					  offsetof(struct lb_interp_code, table)),
			 0);
	return proc;
}

static void end_frozen(struct process *proc)
{
	interp_codes_deinit(&proc->interp_codes);
	end_python(proc);
}

static const char *file_of_frozen(const struct process *proc)
{
	uint32_t id = symbolizer_want(
		sym, proc, LB_FRAME_OF(RUNTIME_PYTHON, 1, LB_FRAME_INDEX_UNKNOWN),
		FRAME_LEAF, 1, 2);
	const struct resolved *r;

	resolve_all();
	r = symbolizer_get(sym, id);
	assert_int_equal(r->nr_frames, 1);
	assert_string_equal(r->frames[0].function, "f");
	return r->frames[0].file;
}

/* As for definitions. Whoever has no time left keeps the names, which is counted. */
static void test_sources_of_frozen_modules_take_time(void **state)
{
	struct interp_store *store = NULL;
	struct process greedy, second, other;
	struct source *source;

	(void)state;
	assert_int_equal(interp_store_new(1 << 20, &store), 0);
	greedy = new_frozen(0, 1000, store);
	second = new_frozen(1, 1000, store);
	other = new_frozen(2, 1001, store);
	share.is_shared = false;
	assert_string_equal(file_of_frozen(&greedy), "/lib64/python3.11/pkg/__init__.py");
	source = &sym->table.sources[sym->table.nr_sources - 1];
	assert_true(source->search_ns > 0);
	assert_int_equal(share.nr_put_off, 0);
	source->search_ns = UINT64_C(10000000000);
	assert_string_equal(file_of_frozen(&second), "<frozen pkg>");
	assert_int_equal(share.nr_put_off, 1);
	assert_string_equal(file_of_frozen(&other), "/lib64/python3.11/pkg/__init__.py");
	assert_int_equal(share.nr_put_off, 1);
	end_frozen(&greedy);
	end_frozen(&second);
	end_frozen(&other);
	interp_store_free(store);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_defs_are_not_waited_for),
		TEST(test_defs_need_a_share),
		TEST(test_defs_of_others_have_their_own_time),
		TEST(test_frozen_modules_leave_definitions_their_time),
		TEST(test_stuck_definition),
		TEST(test_late_definition),
		TEST(test_a_late_provider_has_a_pause),
		TEST(test_providers_need_a_share),
		TEST(test_sources_of_frozen_modules_take_time),
	};

	if (argc && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(slow_ops, NR_OPERATIONS);
	return cmocka_run_group_tests(tests, build, fixture_teardown);
}
