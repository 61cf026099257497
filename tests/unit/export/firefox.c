// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of the Firefox Profiler's format: columns of equal length, indices that
 * exist, sums that are those of annotate by the reader's own rules, and texts.
 */
#include "unit/export/cases.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/io.h"
#include "export/export.h"
#include "profile/gzip.h"

static struct strpool *pool;
static struct profile *p;
static struct attribution *a;
static json_t *file;
static struct error err;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(64 << 20);
	p = profile_new(pool);
	a = NULL;
	file = NULL;
	err = (struct error){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	json_decref(file);
	attribution_free(a);
	profile_free(p);
	strpool_free(pool);
	return 0;
}

/* Exports p into `file`. */
static int export(void)
{
	static const char *const labels[] = {LABEL_COMM};
	static const struct attribution_options options = {0};
	_cleanup_(io_pending_deinit) struct io_pending out = {0};
	_cleanup_free_ uint8_t *text = NULL;
	struct export_input in = {
		.profile = p, .labels = labels, .nr_labels = ARRAY_SIZE(labels)};
	const char *note = NULL;
	size_t len;
	int rc;

	assert_int_equal(attribution_new(p, &options, &a), 0);
	in.attribution = a;
	assert_int_equal(io_pending_open(&out, &err), 0);
	rc = export_firefox(&in, out.out, &note, &err);
	assert_null(note);
	assert_int_equal(fflush(out.out), 0);
	if (rc) {
		assert_int_equal(out.len, 0);
		return rc;
	}
	assert_int_equal(gzip_inflate(out.data, out.len, 1 << 24, &text, &len), 0);
	file = json_loadb((const char *)text, len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(file);
	return 0;
}

/* ---- tables ---- */

/* Returns what is at a path such as "shared.frameTable". */
static json_t *at(const char *path)
{
	char copy[128], *save = NULL;
	json_t *found = file;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *part = strtok_r(copy, ".", &save); part;
	     part = strtok_r(NULL, ".", &save))
		found = json_object_get(found, part);
	assert_non_null(found);
	return found;
}

static size_t rows_of(const json_t *table)
{
	return (size_t)json_integer_value(json_object_get(table, "length"));
}

static json_t *cell(const json_t *table, const char *column, size_t row)
{
	json_t *found = json_array_get(json_object_get(table, column), row);

	assert_non_null(found);
	return found;
}

static void check_columns(json_t *table, size_t nr)
{
	const char *name;
	json_t *column;
	size_t nr_columns = 0;

	json_object_foreach(table, name, column)
	{
		if (!json_is_array(column))
			continue;
		if (json_array_size(column) != rows_of(table))
			fail_msg("%s has %zu rows of %zu", name, json_array_size(column),
				 rows_of(table));
		nr_columns++;
	}
	assert_int_equal(nr_columns, nr);
}

/* Checks that the cells of a column are rows of another table, or @missing. */
static void check_indices(json_t *table, const char *column, size_t limit,
			  const char *missing)
{
	for (size_t i = 0; i < rows_of(table); i++) {
		json_t *value = cell(table, column, i);
		_cleanup_free_ char *text = json_dumps(value, JSON_ENCODE_ANY);

		if (missing && !strcmp(text, missing))
			continue;
		assert_true(json_is_integer(value));
		if ((size_t)json_integer_value(value) >= limit)
			fail_msg("row %zu of %s is %s of %zu", i, column, text, limit);
	}
}

/* @end_ms  when the stacks end, which run without a pause */
static void check_thread(json_t *thread, double all, double end_ms)
{
	json_t *samples = json_object_get(thread, "samples");
	size_t nr = rows_of(samples);
	double sum = 0;

	check_columns(samples, json_object_get(samples, "threadCPUDelta") ? 4 : 3);
	check_columns(json_object_get(thread, "markers"), 6);
	check_indices(samples, "stack", rows_of(at("shared.stackTable")), "null");
	assert_true(nr >= 2);
	for (size_t i = 0; i < nr; i++) {
		double weight = json_number_value(cell(samples, "weight", i));

		assert_true(json_number_value(cell(samples, "time", i)) ==
			    sum * end_ms / all);
		assert_true((weight == 0) == (i == nr - 1));
		assert_true(json_is_null(cell(samples, "stack", i)) == (i == nr - 1));
		sum += weight;
	}
	assert_true(sum == all);
}

static void check_tables(void)
{
	json_t *stacks = at("shared.stackTable"), *frames = at("shared.frameTable");
	json_t *functions = at("shared.funcTable"), *objects = at("shared.resourceTable");
	json_t *sources = at("shared.sources");
	size_t nr_strings = json_array_size(at("shared.stringArray"));

	check_columns(stacks, 2);
	check_columns(frames, 10);
	check_columns(functions, 8);
	check_columns(objects, 4);
	check_columns(sources, 6);
	check_columns(at("shared.nativeSymbols"), 4);
	check_columns(at("shared.sourceLocationTable"), 3);
	check_indices(stacks, "frame", rows_of(frames), NULL);
	for (size_t i = 0; i < rows_of(stacks); i++)
		assert_in_range(json_integer_value(cell(stacks, "prefixOffset", i)), 0,
				i);
	check_indices(frames, "func", rows_of(functions), NULL);
	check_indices(frames, "category", json_array_size(at("meta.categories")), NULL);
	check_indices(functions, "name", nr_strings, NULL);
	check_indices(functions, "resource", rows_of(objects), "-1");
	check_indices(functions, "source", rows_of(sources), "null");
	check_indices(objects, "name", nr_strings, NULL);
	check_indices(sources, "filename", nr_strings, NULL);
	assert_int_equal(json_integer_value(at("meta.preprocessedProfileVersion")), 66);
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(at("meta.categories"), 0), "color")),
			    "grey");
}

/* ---- figures of lines ---- */

static const char *string_at(const json_t *number)
{
	return json_string_value(json_array_get(at("shared.stringArray"),
						(size_t)json_integer_value(number)));
}

/* Is the frame of a stack at the line? A frame without one is at its function's. */
static bool is_at(size_t stack, const char *path, uint32_t line)
{
	json_t *frames = at("shared.frameTable"), *functions = at("shared.funcTable");
	size_t frame =
		(size_t)json_integer_value(cell(at("shared.stackTable"), "frame", stack));
	size_t function = (size_t)json_integer_value(cell(frames, "func", frame));
	json_t *source = cell(functions, "source", function);
	json_t *of_frame = cell(frames, "line", frame);

	if (json_is_null(source) ||
	    strcmp(string_at(cell(at("shared.sources"), "filename",
				  (size_t)json_integer_value(source))),
		   path) != 0)
		return false;
	if (json_is_null(of_frame))
		of_frame = cell(functions, "lineNumber", function);
	return json_integer_value(of_frame) == line;
}

static void add_sample(struct weight *self, struct weight *total, json_t *samples,
		       size_t i, const char *path, uint32_t line)
{
	json_t *leaf = cell(samples, "stack", i);
	uint64_t ns =
		(uint64_t)(json_number_value(cell(samples, "weight", i)) * 1e6 + 0.5);
	size_t stack = (size_t)json_integer_value(leaf), offset;

	if (json_is_null(leaf))
		return;
	if (is_at(stack, path, line))
		self->cpu_ns += ns;
	for (;; stack -= offset) {
		offset = (size_t)json_integer_value(
			cell(at("shared.stackTable"), "prefixOffset", stack));
		if (is_at(stack, path, line)) {
			total->cpu_ns += ns;
			return;
		}
		if (!offset)
			return;
	}
}

/* Checks each line that annotate lists; their self is all that is charged to lines. */
static void check_lines(void)
{
	for (size_t f = 0; f < a->nr_files; f++)
		for (size_t l = 0; l < a->files[f].nr_lines; l++) {
			const struct attribution_line *line = &a->files[f].lines[l];
			struct weight self = {0}, total = {0};
			json_t *thread;
			size_t t, i;

			json_array_foreach(at("threads"), t, thread)
			{
				json_t *samples = json_object_get(thread, "samples");

				for (i = 0; i < rows_of(samples); i++)
					add_sample(&self, &total, samples, i,
						   a->files[f].path, line->line);
			}
			assert_int_equal(self.cpu_ns, line->self.cpu_ns);
			assert_int_equal(total.cpu_ns, line->total.cpu_ns);
		}
}

/* A C library's function: its line counts only if it is the only one. */
static void add_runtime(void)
{
	uint32_t app = add_mapping(p, "/home/me/sort"),
		 libc = add_mapping(p, "/usr/lib/libc.so.6");
	uint32_t compare =
		add_location(p, app, 0x70, MISS_NONE, "compare@/home/me/sort.c:51");
	uint32_t msort = add_location(p, libc, 0x74, MISS_NONE, "msort@/src/msort.c:22");

	add_named(p, "sort", 6, compare, msort);
	add_named(p, "sort", 4, msort);
}

static void lines_are_those_of_annotate(void **state)
{
	json_t *functions;

	(void)state;
	build_mixed_export(p);
	add_runtime();
	assert_int_equal(export(), 0);
	check_tables();
	assert_int_equal(json_array_size(at("threads")), 3);
	check_thread(json_array_get(at("threads"), 0), 820, 820);
	check_thread(json_array_get(at("threads"), 1), 380, 380);
	check_thread(json_array_get(at("threads"), 2), 100, 100);
	check_lines();
	/* A function has no line if one of its frames has none. */
	functions = at("shared.funcTable");
	for (size_t i = 0; i < rows_of(functions); i++) {
		const char *name = string_at(cell(functions, "name", i));

		if (!strcmp(name, "msort"))
			assert_true(json_is_null(cell(functions, "lineNumber", i)));
		if (!strcmp(name, "work"))
			assert_int_equal(
				json_integer_value(cell(functions, "lineNumber", i)), 11);
	}
}

static const char *category_of(const char *function)
{
	json_t *frames = at("shared.frameTable"), *functions = at("shared.funcTable");

	for (size_t i = 0; i < rows_of(frames); i++) {
		size_t of = (size_t)json_integer_value(cell(frames, "func", i));
		size_t category = (size_t)json_integer_value(cell(frames, "category", i));

		if (!strcmp(string_at(cell(functions, "name", of)), function))
			return json_string_value(json_object_get(
				json_array_get(at("meta.categories"), category), "name"));
	}
	return "";
}

static void categories_are_kinds(void **state)
{
	uint32_t kernel = add_mapping(p, PROFILE_KERNEL);

	(void)state;
	p->extra.present = true;
	build_mixed_export(p);
	add_runtime();
	add_named(p, "app", 1,
		  add_location(p, add_mapping(p, "/home/me/vmlinux"), 0x90,
			       MISS_NO_DEBUG_INFO, "not_the_kernel"));
	add_named(p, "kworker", 1,
		  add_location(p, kernel, 0x80, MISS_NO_DEBUG_INFO, "worker_thread"));
	/* The user's own, and a program of the system. */
	add_named(p, "app", 1,
		  add_location(p, add_mapping(p, "/home/me/plugin.so"), 0x88,
			       MISS_NO_DEBUG_INFO, "plugin"),
		  add_location(p, add_mapping(p, "/usr/bin/gzip"), 0x8c,
			       MISS_NO_DEBUG_INFO, "gzip_main"));
	add_named(p, "lost", 1, add_location(p, PROFILE_NONE, 0x84, MISS_NONE, "lost"));
	assert_int_equal(export(), 0);
	assert_string_equal(category_of("work"), "Native");
	assert_string_equal(category_of("[libz.so.1]"), "Library");
	assert_string_equal(category_of("plugin"), "Native");
	assert_string_equal(category_of("not_the_kernel"), "Native");
	assert_string_equal(category_of("gzip_main"), "Library");
	assert_string_equal(category_of("msort"), "Library");
	assert_string_equal(category_of("<module>"), "Python");
	assert_string_equal(category_of("dither"), "JIT");
	assert_string_equal(category_of("worker_thread"), "Kernel");
	assert_string_equal(category_of("lost"), "Other");
}

/* ---- texts ---- */

static void add_source(const char *path, uint32_t first_line, const char *text)
{
	uint32_t nr_lines = 1;
	struct profile_source source = {
		.path = path,
		.nr_lines = 100,
		.runs = calloc(2, sizeof(*source.runs)),
		.nr_runs = 2,
	};

	for (const char *c = text; *c; c++)
		nr_lines += *c == '\n';
	source.runs[0] = (struct profile_source_run){1, 1, strdup("first")};
	source.runs[1] = (struct profile_source_run){first_line, nr_lines, strdup(text)};
	assert_int_equal(profile_add_source(p, &source), 0);
}

/* Returns the text of the source of that path; NULL: it has none. */
static const char *text_of(const char *path)
{
	json_t *sources = at("shared.sources");

	for (size_t i = 0; i < rows_of(sources); i++)
		if (!strcmp(string_at(cell(sources, "filename", i)), path))
			return json_string_value(cell(sources, "content", i));
	fail_msg("there is no source %s", path);
	return NULL;
}

static void texts_are_at_their_lines(void **state)
{
	const char *app = strpool_add(pool, "/home/me/app.c"), *other;

	(void)state;
	build_mixed_export(p);
	add_source(app, 4, "a \"b\"\n\tc\xff");
	add_source(strpool_add(pool, "/home/me/unused.c"), 2, "not hot");
	/* Damaged: a run that goes back, and one too far for a text. */
	add_source(strpool_add(pool, "/home/me/math.h"), 1, "again");
	add_source(strpool_add(pool, "/home/me/fast.py"), 4000000000u, "far");
	assert_int_equal(export(), 0);
	assert_string_equal(text_of(app), "first\n\n\na \"b\"\n\tc\xef\xbf\xbd\n");
	assert_string_equal(text_of("/home/me/math.h"), "first\n");
	assert_string_equal(text_of("/home/me/fast.py"), "first\n");
	assert_int_equal(rows_of(at("shared.sources")), 3);

	/* Two files with this path: their lines are merged, so no text fits. */
	json_decref(file);
	attribution_free(a);
	other = profile_add_namesake(p, app);
	assert_ptr_not_equal(other, app);
	assert_int_equal(export(), 0);
	assert_null(text_of(app));
	assert_non_null(text_of("/home/me/math.h"));
}

/* 500,000 empty lines, and 64 for each of the 24 bytes of text, are for all sources. */
static void empty_lines_are_bounded(void **state)
{
	const char *app = strpool_add(pool, "/home/me/app.c");
	const char *math = strpool_add(pool, "/home/me/math.h");
	const char *fast = strpool_add(pool, "/home/me/fast.py");
	uint32_t all = 500000 + 64 * 24;

	(void)state;
	build_mixed_export(p);
	add_source(app, all - 8, "far"); /* after "first" and all but 10 of them */
	add_source(math, 12, "far"); /* each has 10 before */
	add_source(fast, 12, "far");
	assert_int_equal(export(), 0);
	assert_int_equal(strlen(text_of(app)), strlen("first\nfar\n") + all - 10);
	/* The second one in the order of the file has no room. */
	assert_int_equal(strlen(text_of(math)) + strlen(text_of(fast)),
			 2 * strlen("first\n") + strlen("far\n") + 10);
}

/* ---- times ---- */

static void add_times(size_t sample, const uint64_t *ms, const uint64_t *counts,
		      size_t nr)
{
	const struct series_lists all = {&p->samples->times, p->nr_samples,
					 sizeof(*p->samples)};

	for (size_t i = 0; i < nr; i++)
		assert_int_equal(series_add(&p->times, &p->samples[sample].times,
					    ms[i] * 1000000, counts[i], &all),
				 0);
}

static void check_sample(size_t i, double time_ms, double weight_ms, double cpu_ns)
{
	json_t *thread = json_array_get(at("threads"), 0);
	json_t *samples = json_object_get(thread, "samples");

	assert_true(json_number_value(cell(samples, "time", i)) == time_ms);
	assert_true(json_number_value(cell(samples, "weight", i)) == weight_ms);
	assert_true(json_number_value(cell(samples, "threadCPUDelta", i)) == cpu_ns);
	assert_int_equal(json_is_null(cell(samples, "stack", i)), weight_ms == 0);
}

/* One sample is 10 ms. A bucket is 100 ms. */
static void stacks_run_when_they_ran(void **state)
{
	uint32_t app = add_mapping(p, "/home/me/app");
	uint32_t first = add_location(p, app, 0x10, MISS_NONE, "first@/a.c:1");
	uint32_t second = add_location(p, app, 0x14, MISS_NONE, "second@/a.c:2");

	(void)state;
	add_named(p, "app", 4, first);
	add_named(p, "app", 30, second);
	/* Two threads are busy in the second bucket, which a stack follows at once. */
	add_times(0, (uint64_t[]){50, 150, 350}, (uint64_t[]){2, 1, 1}, 3);
	add_times(1, (uint64_t[]){50, 150, 250}, (uint64_t[]){2, 19, 9}, 3);
	assert_int_equal(export(), 0);
	check_tables();
	check_lines();
	assert_int_equal(
		rows_of(json_object_get(json_array_get(at("threads"), 0), "samples")), 9);
	check_sample(0, 0, 20, 0);
	check_sample(1, 20, 20, 20e6);
	check_sample(2, 40, 0, 20e6);
	check_sample(3, 100, 10, 0);
	check_sample(4, 105, 190, 10e6);
	check_sample(5, 200, 90, 190e6);
	check_sample(6, 290, 0, 90e6);
	check_sample(7, 300, 10, 0);
	check_sample(8, 310, 0, 10e6);
	assert_true(json_number_value(at("meta.profilingEndTime")) == 400);
}

/* ---- other profiles ---- */

static void hostile_names_are_text(void **state)
{
	(void)state;
	build_hostile_export(p);
	assert_int_equal(export(), 0);
	check_tables();
	assert_int_equal(json_array_size(at("threads")), 2);
	check_thread(json_array_get(at("threads"), 0), 50, 50);
}

static void bytes_are_no_time(void **state)
{
	json_t *samples;

	(void)state;
	build_heap_export(p);
	assert_int_equal(export(), 0);
	check_tables();
	check_thread(json_array_get(at("threads"), 0), 4096, 1000);
	samples = json_object_get(json_array_get(at("threads"), 0), "samples");
	assert_string_equal(json_string_value(json_object_get(samples, "weightType")),
			    "bytes");
	assert_null(json_object_get(samples, "threadCPUDelta"));
}

static void nothing_is_refused(void **state)
{
	(void)state;
	assert_int_equal(export(), -EINVAL);
	assert_non_null(strstr(err.text, "no samples"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_are_those_of_annotate, setup,
						teardown),
		cmocka_unit_test_setup_teardown(categories_are_kinds, setup, teardown),
		cmocka_unit_test_setup_teardown(empty_lines_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(texts_are_at_their_lines, setup,
						teardown),
		cmocka_unit_test_setup_teardown(stacks_run_when_they_ran, setup,
						teardown),
		cmocka_unit_test_setup_teardown(hostile_names_are_text, setup, teardown),
		cmocka_unit_test_setup_teardown(bytes_are_no_time, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
