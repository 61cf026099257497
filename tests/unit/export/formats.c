// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every text format of every case, compared with tests/golden/CASE.export.FORMAT; and
 * the formats that names of files tell.
 */
#include "unit/export/cases.h"

#include <assert.h>
#include <errno.h>

#include "base/io.h"
#include "export/export.h"
#include "lib/golden.h"

struct golden {
	size_t of_case, of_format;
};

static size_t nr_labels_of(const struct export_format *format)
{
	size_t nr = 0;

	while (format->labels && format->labels[nr])
		nr++;
	return nr;
}

static void test_golden(void **state)
{
	static const struct attribution_options options = {0};
	const struct golden *g = *state;
	const struct export_format *format = &export_formats[g->of_format];
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(64 << 20);
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	_cleanup_(io_pending_deinit) struct io_pending pending = {0};
	struct export_input in = {.profile = p,
				  .labels = format->labels,
				  .nr_labels = nr_labels_of(format)};
	struct error err = {0};
	const char *note = NULL;
	char name[128];

	export_cases[g->of_case].build(p);
	assert_int_equal(attribution_new(p, &options, &a), 0);
	in.attribution = a;
	assert_int_equal(io_pending_open(&pending, &err), 0);
	/* A format may refuse a profile: then its sentence is the output. */
	if (format->write(&in, pending.out, &note, &err)) {
		rewind(pending.out);
		fprintf(pending.out, "refused: %s\n", err.text);
	}
	if (note)
		fprintf(pending.out, "note: %s\n", note);
	assert_int_equal(fflush(pending.out), 0);
	assert_int_equal(strlen(pending.data), pending.len);
	golden_check_harmless(pending.data, false);
	snprintf(name, sizeof(name), "%s.export.%s", export_cases[g->of_case].name,
		 format->name);
	golden_compare(name, pending.data);
}

/* 8 KB of a name on a stack of 70,000 frames: both formats would repeat it in each. */
static void no_format_fills_the_memory(void **state)
{
	static const struct attribution_options options = {0};
	static const char *const formats[] = {"folded", "folded-perfanno", "folded-emacs",
					      "perf", "cpuprofile"};
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(64 << 20);
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	static uint32_t stack[70000];
	static char text[8192];
	struct export_input in = {.profile = p};
	struct profile_line line = {.line = 3};

	(void)state;
	memset(text, 'f', sizeof(text) - 1);
	add_mapping(p, "/app");
	line.function = profile_add_function(
		p, &(struct profile_function){.name = text, .filename = "/a.c"});
	for (size_t i = 0; i < ARRAY_SIZE(stack); i++)
		stack[i] = profile_add_location(p, 0, i % 2, MISS_NONE, &line, 1);
	add_named_stack(p, "app", 5, stack, ARRAY_SIZE(stack));
	assert_int_equal(attribution_new(p, &options, &a), 0);
	in.attribution = a;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		_cleanup_(io_pending_deinit) struct io_pending pending = {0};
		const char *note = NULL;
		struct error err = {0};

		assert_int_equal(io_pending_open(&pending, &err), 0);
		assert_int_equal(export_format_find(formats[i])
					 ->write(&in, pending.out, &note, &err),
				 -EFBIG);
		assert_non_null(strstr(err.text, "more than 512 MB"));
	}
}

static void names_tell_formats(void **state)
{
	(void)state;
	assert_string_equal(export_format_of_file("a/x.pb.gz")->name, "pprof");
	assert_string_equal(export_format_of_file("x.folded")->name, "folded");
	assert_string_equal(export_format_of_file("x.callgrind")->name, "callgrind");
	assert_string_equal(export_format_of_file("x.afdo")->name, "autofdo");
	assert_string_equal(export_format_of_file("x.speedscope.json")->name,
			    "speedscope");
	assert_string_equal(export_format_of_file("x.json.gz")->name, "firefox");
	assert_string_equal(export_format_of_file("callgrind.out.1")->name, "callgrind");
	assert_string_equal(export_format_of_file("a/callgrind.out.4711.2")->name,
			    "callgrind");
	assert_string_equal(export_format_of_file("callgrind.out.1.folded")->name,
			    "folded");
	assert_string_equal(export_format_of_file("callgrind.out")->name, "callgrind");
	/* the suffix of a listing, which is no format of this table */
	assert_null(export_format_of_file("callgrind.out.1.json"));
	assert_null(export_format_of_file("my-callgrind.out.1"));
	assert_null(export_format_of_file("callgrind.out.1/x"));
	assert_null(export_format_of_file("x.gz"));
	assert_null(export_format_of_file("x"));
	assert_null(export_format_of_file("-"));
	/* a suffix alone is no name */
	assert_null(export_format_of_file(".folded"));
	for (size_t i = 0; i < nr_export_formats; i++)
		assert_ptr_equal(export_format_find(export_formats[i].name),
				 &export_formats[i]);
	assert_null(export_format_find("yaml"));
}

int main(void)
{
	static struct golden goldens[ARRAY_SIZE(export_cases) * 32];
	static struct CMUnitTest tests[ARRAY_SIZE(goldens) + 2];
	static char names[ARRAY_SIZE(goldens)][64];
	size_t nr = 0;

	assert(nr_export_formats <= 32);
	for (size_t f = 0; f < nr_export_formats; f++)
		for (size_t c = 0; c < ARRAY_SIZE(export_cases); c++) {
			if (export_formats[f].is_binary)
				continue;
			goldens[nr] = (struct golden){c, f};
			snprintf(names[nr], sizeof(names[nr]), "%s %s",
				 export_cases[c].name, export_formats[f].name);
			tests[nr] = (struct CMUnitTest){.name = names[nr],
							.test_func = test_golden,
							.initial_state = &goldens[nr]};
			nr++;
		}
	tests[nr++] = (struct CMUnitTest)cmocka_unit_test(names_tell_formats);
	tests[nr++] = (struct CMUnitTest)cmocka_unit_test(no_format_fills_the_memory);
	return _cmocka_run_group_tests("formats", tests, nr, NULL, NULL);
}
