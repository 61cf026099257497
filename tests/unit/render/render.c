// SPDX-License-Identifier: GPL-2.0-or-later
/* From a profile to the listing; also outputs that fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <jansson.h>
#include <unistd.h>

#include "analyze/source.h"
#include "base/cleanup.h"
#include "cases.h"
#include "render/render.h"

#define PERIOD_NS 10000000

/*
 * 60 samples on line 3 of hot(), inlined into line 8 of main(); 30 in a library without
 * lines, called by line 9 of main(); 10 in the kernel, called by line 8.
 */
struct machine {
	struct strpool *pool;
	struct profile *profile;
	char path[64];
};

static const char source_text[] = "static int hot(int x)\n"
				  "{\n"
				  "\treturn x * 3;\n"
				  "}\n"
				  "\n"
				  "int main(void)\n"
				  "{\n"
				  "\tint y = hot(4);\n"
				  "\tcall_library(y);\n"
				  "}\n";

static uint32_t add_mapping(struct profile *p, const char *filename)
{
	return profile_add_mapping(
		p, &(struct profile_mapping){.filename = filename, .build_id = ""});
}

static uint32_t add_function(struct profile *p, const char *name, const char *file)
{
	return profile_add_function(p, &(struct profile_function){.name = name,
								  .system_name = "",
								  .filename = file});
}

static void machine_init(struct machine *m, bool with_file)
{
	struct profile *p;
	uint32_t program, library, kernel, hot, main_fn, blas, copy;
	uint32_t in_hot, in_main8, in_main9, in_blas, in_kernel;
	int fd;

	strcpy(m->path, "/tmp/lb-render-XXXXXX");
	fd = mkstemp(m->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, source_text, strlen(source_text)),
			 strlen(source_text));
	close(fd);
	if (!with_file)
		unlink(m->path);

	m->pool = strpool_new(1 << 20);
	m->profile = p = profile_new(m->pool);
	assert_non_null(p);
	p->period_type = (struct profile_value_type){"cpu", "nanoseconds"};
	p->period = PERIOD_NS;
	p->extra.present = true;
	p->extra.freq_hz = 100;
	p->extra.wall_ns = 2000000000;
	p->extra.nr_cpus = 4;
	p->extra.target = "-p 12";
	p->extra.losses = (struct profile_losses){
		.due = 101, .sampled = 100, .counted = 100, .missed = 1};

	program = add_mapping(p, "/usr/local/bin/program");
	library = add_mapping(p, "/usr/lib/libblas.so.3");
	kernel = add_mapping(p, PROFILE_KERNEL);
	hot = add_function(p, "hot", m->path);
	main_fn = add_function(p, "main", m->path);
	blas = add_function(p, "sgemm_kernel", "");
	copy = add_function(p, "copy_page", "");
	in_hot = profile_add_location(p, program, 0x1000, MISS_NONE,
				      (struct profile_line[]){{hot, 3}, {main_fn, 8}}, 2);
	in_main8 = profile_add_location(p, program, 0x1010, MISS_NONE,
					(struct profile_line[]){{main_fn, 8}}, 1);
	in_main9 = profile_add_location(p, program, 0x1020, MISS_NONE,
					(struct profile_line[]){{main_fn, 9}}, 1);
	in_blas = profile_add_location(p, library, 0x2000, MISS_NO_DEBUG_INFO,
				       (struct profile_line[]){{blas, 0}}, 1);
	in_kernel = profile_add_location(p, kernel, 0xffffffff81000000, MISS_KERNEL,
					 (struct profile_line[]){{copy, 0}}, 1);
	profile_add_sample(p, (uint32_t[]){in_hot}, 1, NULL, 0, 0,
			   (int64_t[]){60, 60 * PERIOD_NS});
	profile_add_sample(p, (uint32_t[]){in_blas, in_main9}, 2, NULL, 0, 0,
			   (int64_t[]){30, 30 * PERIOD_NS});
	profile_add_sample(p, (uint32_t[]){in_kernel, in_main8}, 2, NULL, 0, 0,
			   (int64_t[]){10, 10 * PERIOD_NS});
}

static void machine_deinit(struct machine *m)
{
	unlink(m->path);
	profile_free(m->profile);
	strpool_free(m->pool);
}

static char *render(const struct machine *m, enum charge charge, render_fn format)
{
	const struct attribution_options how = {.charge = charge};
	const struct render_options opts = {.width = 80, .context = 1};
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	struct render_input in = {.profile = m->profile};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(attribution_new(m->profile, &how, &a), 0);
	assert_int_equal(source_attach(a, m->profile, &(struct source_search){0}), 0);
	in.attribution = a;
	assert_int_equal(format(&in, &opts, out), 0);
	fclose(out);
	return text;
}

static void check_has(const char *text, const char *row)
{
	if (!strstr(text, row))
		fail_msg("no \"%s\" in\n%s", row, text);
}

static void test_annotate(void **state)
{
	struct machine m;
	_cleanup_free_ char *text = NULL;

	(void)state;
	machine_init(&m, true);
	text = render(&m, CHARGE_LINE, render_annotate);
	check_has(text, "lineburn: 100 samples at 100 Hz: CPU 1.00 s of 2.00 s wall on 4 "
			"CPUs\n");
	check_has(text, "\n  CPU 1.00 s of 2.00 s wall on 4 CPUs; the rest is waiting\n");
	check_has(text, "100.0 % have a source line");
	check_has(text, "  1 tick of 101 due (1.0 %) never ran");
	check_has(text, "   60.0     60.0     3      return x * 3;\n");
	check_has(text, "   10.0     70.0     8      int y = hot(4);\n");
	check_has(text, "   30.0     30.0     9      call_library(y);\n"
			"                          \\_ 30.0 of it in sgemm_kernel "
			"(libblas.so.3)\n");
	check_has(text, "\\_ 10.0 of it in copy_page ([kernel])\n");
	machine_deinit(&m);
}

static void test_leaf(void **state)
{
	struct machine m;
	_cleanup_free_ char *text = NULL;

	(void)state;
	machine_init(&m, true);
	text = render(&m, CHARGE_LEAF, render_annotate);
	check_has(text, "60.0 % have a source line, 40.0 % a function only");
	check_has(text, "            70.0     8      int y = hot(4);\n");
	check_has(text,
		  "   30.0 %  a symbol was found, but no line table: libblas.so.3.");
	check_has(text, "   10.0 %  kernel code: functions only: [kernel].");
	machine_deinit(&m);
}

static void test_source_is_gone(void **state)
{
	struct machine m;
	_cleanup_free_ char *text = NULL;

	(void)state;
	machine_init(&m, false);
	text = render(&m, CHARGE_LINE, render_annotate);
	check_has(text, ":3  hot\n");
	check_has(text, ":8  main, mostly in copy_page");
	check_has(text, "1 source is neither in the profile nor at its path;");
	check_has(text, "--source-path OLD=NEW\n  tells where it is.");
	machine_deinit(&m);
}

static void test_report(void **state)
{
	struct machine m;
	_cleanup_free_ char *text = NULL;

	(void)state;
	machine_init(&m, true);
	text = render(&m, CHARGE_LINE, render_report);
	check_has(text, "   60.0     60.0       60  hot ");
	check_has(text, "   30.0     30.0       30  sgemm_kernel ");
	machine_deinit(&m);
}

/* The sums agree: self of all lines + samples without a line = count. */
static void test_json_sums_close(void **state)
{
	struct machine m;

	(void)state;
	machine_init(&m, true);
	for (int charge = CHARGE_LINE; charge <= CHARGE_LEAF; charge++) {
		_cleanup_free_ char *text =
			render(&m, (enum charge)charge, render_annotate_json);
		json_t *root = json_loads(text, 0, NULL), *file, *line;
		json_int_t self = 0, count, function_only, unknown;
		size_t i, j;

		assert_non_null(root);
		json_array_foreach(json_object_get(root, "files"), i, file)
			json_array_foreach(json_object_get(file, "lines"), j, line)
				self += json_integer_value(json_object_get(line, "self"));
		assert_int_equal(json_unpack(root, "{s:{s:I,s:I,s:I}}", "samples",
					     "count", &count, "function_only",
					     &function_only, "unknown", &unknown),
				 0);
		assert_int_equal(count, 100);
		assert_int_equal(self + function_only + unknown, count);
		json_decref(root);
	}
	machine_deinit(&m);
}

static int render_to(FILE *out)
{
	const struct render_options opts = {.width = 100, .context = 2};
	struct render_case c;
	struct render_input in;

	assert_true(render_case_get("typical", &c));
	in = render_case_input(&c);
	return render_annotate(&in, &opts, out);
}

static void test_full_disk(void **state)
{
	_cleanup_fclose_ FILE *out = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(out);
	assert_int_equal(render_to(out), -ENOSPC);
}

/* "lineburn annotate | head" must end without a message. */
static void test_reader_left(void **state)
{
	int fds[2];
	_cleanup_fclose_ FILE *out = NULL;
	char buf[64];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	out = fdopen(fds[1], "w");
	assert_non_null(out);
	/* A small buffer: a write fails in the middle, the last flush may succeed. */
	setvbuf(out, buf, _IOFBF, sizeof(buf));
	assert_int_equal(render_to(out), -EPIPE);
}

static void test_earlier_failure_is_remembered(void **state)
{
	_cleanup_fclose_ FILE *out = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(out);
	fputs("lost", out);
	assert_int_not_equal(fflush(out), 0);
	assert_true(render_finish(out) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_annotate),
		cmocka_unit_test(test_leaf),
		cmocka_unit_test(test_source_is_gone),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_json_sums_close),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_reader_left),
		cmocka_unit_test(test_earlier_failure_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
