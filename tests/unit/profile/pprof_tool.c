// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Google's pprof reads our files, and we read files that Go writes. Needs "go" (only
 * its standard library); skips without it.
 */
#include <errno.h>
#include <unistd.h>

#include "fixture.h"

#include "analyze/attribution.h"
#include "base/io.h"
#include "profile/pprof.h"
#include "lib/scratch.h"

static char dir[64];
static char path[96];

static bool go_is_here(void)
{
	static int status = -1;

	if (status < 0)
		status =
			system("command -v go >/dev/null 2>&1 && go tool pprof -h 2>&1 | "
			       "grep -q 'symbolize='");
	return !status;
}

#define NEED_GO()                                                  \
	do {                                                       \
		if (!go_is_here()) {                               \
			print_message("no working go: skipped\n"); \
			skip();                                    \
		}                                                  \
	} while (0)

static int setup(void **state)
{
	(void)state;
	scratch_make(dir, 0700);
	snprintf(path, sizeof(path), "%s/p.pb.gz", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove(dir);
	return 0;
}

static char *output_of(const char *command)
{
	FILE *f = popen(command, "r");
	char *text = NULL;
	size_t len;

	assert_non_null(f);
	assert_int_equal(io_read_all(fileno(f), 16 << 20, &text, &len), 0);
	if (pclose(f))
		fail_msg("%s: failed:\n%s", command, text);
	return text;
}

/*
 * Removes differences between versions of Go: since 1.23 a line has a column, here 0,
 * and mappings are numbered differently.
 */
static void level_versions(char *text)
{
	for (char *at = strstr(text, ":0 s="); at; at = strstr(at, ":0 s="))
		memmove(at, at + 2, strlen(at + 2) + 1);
	for (char *at = strstr(text, " M="); at; at = strstr(at + 3, " M="))
		at[3] = 'N';
}

/* The output of go tool pprof for the file. */
static char *pprof_says(const char *options)
{
	char command[256];
	char *text;

	snprintf(command, sizeof(command), "go tool pprof %s %s 2>&1", options, path);
	text = output_of(command);
	level_versions(text);
	return text;
}

static void assert_says(const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("\"%s\" is not in:\n%s", wanted, text);
}

static void write_profile(struct strpool *pool, bool with_extra)
{
	struct profile *p = profile_new(pool);
	uint32_t jit = add_mapping(p, PROFILE_JIT), app = add_mapping(p, "/opt/app");
	uint32_t kernel = add_mapping(p, PROFILE_KERNEL);
	uint32_t inlined = add_location(p, app, 0x2010, MISS_NONE,
					"sq@/src/sq.h:7|work@/src/app.c:41");
	uint32_t outer = add_location(p, app, 0x2020, MISS_NONE, "main@/src/app.c:90");
	/* Names that pprof would shorten if it took them as mangled. */
	uint32_t numba = add_location(p, jit, 0x1010, MISS_NONE,
				      "kern[abi:v1](Array<double,1>, int64)@/x.py:17");
	uint32_t sys = add_location(p, kernel, 0x3010, MISS_KERNEL, "vfs_read");
	struct profile_label label = {.key = "comm", .str = "w\xc3\xb6rker"};
	char *argv[] = {"./app", NULL};
	void *data = NULL;
	size_t len;

	add_stack(p, LB_STACK_COMPLETE, 42, inlined, outer);
	add_stack(p, LB_STACK_BAD_FP, 30, numba);
	profile_add_sample(p, &sys, 1, &label, 1, LB_STACK_NO_USER,
			   (int64_t[]){28, 28 * PERIOD_NS});
	p->period = PERIOD_NS;
	p->time_nanos = 1700000000000000000;
	p->duration_nanos = 2000000000;
	p->extra.present = true;
	p->extra.version = strpool_add(pool, "9.9.9");
	assert_int_equal(profile_set_command(p, argv), 0);
	assert_int_equal(profile_add_summary(p), 0);
	assert_int_equal(pprof_write(p, with_extra, &data, &len), 0);
	assert_int_equal(io_write_file_atomic(path, data, len, false, NULL), 0);
	free(data);
	profile_free(p);
}

static void googles_pprof_reads_ours(void **state)
{
	struct strpool *pool = strpool_new(1 << 20);
	char *plain, *text;

	(void)state;
	NEED_GO();
	write_profile(pool, false);
	plain = pprof_says("-raw");
	write_profile(pool, true);
	text = pprof_says("-raw");
	assert_string_equal(text, plain); /* pprof ignores Extra */
	free(plain);
	assert_says(text, "PeriodType: cpu nanoseconds\nPeriod: 10000000");
	assert_says(text, "Duration: 2");
	assert_says(text, "samples/count cpu/nanoseconds[dflt]");
	assert_says(text, "         42  420000000: 1 2");
	assert_says(text, "comm:[w\xc3\xb6rker]");
	assert_says(text, "1: 0x2010 M=N sq /src/sq.h:7 s=1");
	assert_says(text, "             work /src/app.c:41 s=41");
	assert_says(text, "kern[abi:v1](Array<double,1>, int64) /x.py:17");
	assert_says(text, ": 0x2000/0x3000/0x0 /opt/app c0ffee [FN][FL][LN][IN]");
	assert_says(text, "lineburn 9.9.9: 100 samples");
	free(text);
	strpool_free(pool);
}

static void inlines_survive_its_reports(void **state)
{
	struct strpool *pool = strpool_new(1 << 20);
	char *text;

	(void)state;
	NEED_GO();
	write_profile(pool, true);
	text = pprof_says("-lines -top");
	assert_says(text, "File: app");
	assert_says(text, "Type: cpu");
	assert_says(text, "work /src/app.c:41");
	/* The text output shortens a long name, as pprof does with any name. */
	assert_says(text, "kern[abi:v1]");
	free(text);
	text = pprof_says("-traces");
	assert_says(text, "420ms   sq (inline)\n             work\n             main\n");
	free(text);
	strpool_free(pool);
}

static const char go_program[] =
	"package main\n"
	"import (\"os\"; \"runtime/pprof\"; \"syscall\")\n"
	"//go:noinline\n"
	"func burn(until_ns int64) (n int) {\n"
	"	for cpu() < until_ns {\n"
	"		for i := 0; i < 1000000; i++ { n += i*i } // line 6\n"
	"	}\n"
	"	return\n"
	"}\n"
	"func main() {\n"
	"	f, _ := os.Create(os.Args[1])\n"
	"	pprof.StartCPUProfile(f)\n"
	"	burn(cpu() + 400e6)\n"
	"	pprof.StopCPUProfile()\n"
	"	f.Close()\n"
	"}\n"
	"func cpu() int64 {\n"
	"	var r syscall.Rusage\n"
	"	syscall.Getrusage(0, &r)\n"
	"	return r.Utime.Nano() + r.Stime.Nano()\n"
	"}\n";

static void gos_own_profile_is_read(void **state)
{
	struct strpool *pool = strpool_new(8 << 20);
	const struct attribution_options options = {0};
	const struct attribution_file *burn = NULL;
	uint64_t in_loop = 0, in_function = 0;
	struct attribution *a = NULL;
	struct profile *p = NULL;
	struct error err = {0};
	char command[512], source[96];
	char *data = NULL;
	size_t len;

	(void)state;
	NEED_GO();
	snprintf(source, sizeof(source), "%s/burn.go", dir);
	assert_int_equal(io_write_file_atomic(source, go_program, sizeof(go_program) - 1,
					      false, NULL),
			 0);
	snprintf(command, sizeof(command),
		 "cd %s && GO111MODULE=off GOTOOLCHAIN=local go run %s %s", dir, source,
		 path);
	free(output_of(command));
	assert_int_equal(io_read_file(path, 16 << 20, &data, &len), 0);
	if (pprof_read(data, len, path, pool, &p, &err))
		fail_msg("%s", err.text);
	free(data);
	assert_false(p->extra.present);
	assert_int_equal(attribution_new(p, &options, &a), 0);
	assert_true(a->all.samples > 10);
	assert_int_equal(a->with_line.samples + a->function_only.samples +
				 a->unknown.samples,
			 a->all.samples);
	/* Total, not self: Go 1.24 may sample its own preemption as the leaf. */
	for (size_t i = 0; i < a->nr_files; i++)
		if (!strcmp(a->files[i].path, source))
			burn = &a->files[i];
	assert_non_null(burn);
	assert_string_equal(burn->language, "go");
	for (size_t i = 0; i < burn->nr_lines; i++)
		if (burn->lines[i].line == 6)
			in_loop = burn->lines[i].total.samples;
	assert_true(in_loop * 2 > a->all.samples);
	for (size_t i = 0; i < a->nr_functions; i++)
		if (!strcmp(a->functions[i].name, "main.burn"))
			in_function = a->functions[i].total.samples;
	assert_true(in_function * 2 > a->all.samples);
	attribution_free(a);
	profile_free(p);
	strpool_free(pool);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(googles_pprof_reads_ours),
		TEST(inlines_survive_its_reports),
		TEST(gos_own_profile_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
