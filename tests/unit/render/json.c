// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The JSON members that scripts rely on. */
#include <jansson.h>

#include "base/cleanup.h"
#include "cases.h"

static json_t *load(const char *name, const char *command)
{
	const struct render_options opts = {.width = 100, .context = 2};
	struct render_case c;
	struct render_input in;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	json_t *root;

	assert_non_null(out);
	assert_true(render_case_get(name, &c));
	in = render_case_input(&c);
	assert_int_equal((strcmp(command, "report")
				  ? render_annotate_json
				  : render_report_json)(&in, &opts, out),
			 0);
	fclose(out);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	assert_non_null(root);
	return root;
}

/* The value at "files.0.lines.2.self". */
static json_t *at(json_t *root, const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	char *save = NULL;
	json_t *value = root;

	for (char *key = strtok_r(copy, ".", &save); key;
	     key = strtok_r(NULL, ".", &save)) {
		value = json_is_array(value)
				? json_array_get(value, strtoul(key, NULL, 10))
				: json_object_get(value, key);
		if (!value)
			fail_msg("no member %s", path);
	}
	return value;
}

static void check_integer(json_t *root, const char *path, int64_t expected)
{
	assert_true(json_is_integer(at(root, path)));
	assert_int_equal(json_integer_value(at(root, path)), expected);
}

static void check_string(json_t *root, const char *path, const char *expected)
{
	assert_true(json_is_string(at(root, path)));
	assert_string_equal(json_string_value(at(root, path)), expected);
}

static void check_real(json_t *root, const char *path, double expected)
{
	double got = json_real_value(at(root, path));

	assert_true(json_is_real(at(root, path)));
	assert_true(got > expected - 1e-4 && got < expected + 1e-4);
}

static void check_common(json_t *root)
{
	check_integer(root, "lineburn", 1);
	check_string(root, "command.0", "./dither");
	check_string(root, "command.2", "my image.png");
	assert_int_equal(json_array_size(at(root, "command")), 3);
	check_integer(root, "duration_ns", 5100 * (int64_t)MS_NS);
	check_integer(root, "period_ns", TICK_NS);
	check_string(root, "charge", "line");
	check_integer(root, "samples.count", 5012);
	check_integer(root, "samples.cpu_ns", 5012 * TICK_NS);
	check_integer(root, "samples.with_line", 4716);
	check_integer(root, "samples.function_only", 286);
	check_integer(root, "samples.unknown", 10);
	check_integer(root, "samples.lost", 0);
	check_integer(root, "samples.missed", 45);
	check_integer(root, "samples.incomplete_stacks", 0);
	check_integer(root, "samples.kernel", 250);
	check_string(root, "misses.1.reason", "no-debug-info");
	check_integer(root, "misses.1.samples", 36);
	check_string(root, "misses.1.objects.0", "libopenblas.so.0");
	check_string(root, "misses.1.objects.1", "libm.so.6");
	check_string(root, "misses.1.remedy", miss_remedy(MISS_NO_DEBUG_INFO));
	check_string(root, "functions.0.name", "dither_row");
	check_string(root, "functions.0.object", "dither");
	check_string(root, "functions.0.file", "/home/me/dither/dither.c");
	check_integer(root, "functions.0.self", 1406);
	check_integer(root, "functions.0.total", 2708);
	check_integer(root, "cost.bpf_ns_per_sample", 8120000 / 5012);
	check_real(root, "cost.bpf_cpu_percent", 0.159216);
	check_integer(root, "cost.collector_cpu_ns", 212 * (int64_t)MS_NS);
	check_integer(root, "cost.collector_peak_rss_bytes", 34 << 20);
	check_integer(root, "cost.map_bytes", 18 << 20);
	check_integer(root, "processes.1.pid", 4712);
	check_string(root, "processes.1.comm", "convert");
	check_string(root, "processes.1.container", "3f2a9c");
	check_string(root, "processes.1.unit", "");
	check_integer(root, "processes.1.ns_pid", 7);
	check_string(root, "processes.1.container_name", "web");
	check_string(root, "processes.1.container_runtime", "docker");
	check_string(root, "processes.1.user", "www-data");
	assert_null(json_object_get(at(root, "processes.1"), "pod"));
	assert_null(json_object_get(at(root, "processes.0"), "ns_pid"));
	check_string(root, "processes.0.unit", "session-2.scope");
	check_integer(root, "processes.1.samples", 12);
	check_integer(root, "losses.due", 5057);
}

static void test_annotate(void **state)
{
	json_t *root = load("typical", "annotate");

	(void)state;
	check_string(root, "kind", "annotate");
	check_common(root);
	check_string(root, "files.0.path", "/home/me/dither/dither.c");
	check_string(root, "files.0.language", "c");
	check_integer(root, "files.0.self", 4459);
	check_integer(root, "files.0.total", 4459);
	check_integer(root, "files.0.lines.5.line", 18);
	check_string(root, "files.0.lines.5.function", "dither_row");
	check_integer(root, "files.0.lines.5.self", 204);
	check_integer(root, "files.0.lines.5.total", 1004);
	check_real(root, "files.0.lines.5.self_ci95.0", 0.0356);
	check_real(root, "files.0.lines.5.self_ci95.1", 0.0465);
	assert_true(json_is_false(at(root, "files.0.lines.5.no_code")));
	check_string(root, "files.0.lines.2.text",
		     "\tfor (int x = 0; x < im->width; x++) {");
	/* a line without code is included, with zeros */
	check_integer(root, "files.0.lines.1.line", 11);
	check_integer(root, "files.0.lines.1.self", 0);
	check_integer(root, "files.0.lines.1.total", 0);
	assert_true(json_is_true(at(root, "files.0.lines.1.no_code")));
	check_string(root, "files.0.lines.7.callees.0.function", "sgemm_kernel_HASWELL");
	check_string(root, "files.0.lines.7.callees.0.object", "libopenblas.so.0");
	check_integer(root, "files.0.lines.7.callees.0.samples", 1410);
	/* includes files that the text output leaves out as too small */
	check_string(root, "files.2.path", "/build/glibc/malloc/malloc.c");
	assert_int_equal(json_array_size(at(root, "files.2.lines")), 0);
	json_decref(root);
}

static void test_report(void **state)
{
	json_t *root = load("typical", "report");

	(void)state;
	check_string(root, "kind", "report");
	check_common(root);
	assert_null(json_object_get(root, "files"));
	json_decref(root);
}

static void test_what_is_not_known_is_null(void **state)
{
	json_t *root = load("foreign", "annotate");

	(void)state;
	assert_true(json_is_null(at(root, "command")));
	assert_true(json_is_null(at(root, "period_ns")));
	assert_true(json_is_null(at(root, "losses")));
	assert_true(json_is_null(at(root, "nr_cpus")));
	check_integer(root, "samples.lost", 0);
	json_decref(root);
}

static void test_hostile_names_survive_as_data(void **state)
{
	json_t *root = load("hostile", "annotate");
	const char *path;

	(void)state;
	path = json_string_value(at(root, "files.0.path"));
	assert_non_null(strstr(path, "\033[2J"));
	assert_non_null(strstr(path, "</script>"));
	/* three invalid bytes give three replacement characters */
	assert_non_null(strstr(path, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xe2\x80\xae"));
	check_integer(root, "files.0.lines.2.line", UINT32_MAX);
	assert_true(json_is_null(at(root, "files.0.lines.2.text")));
	json_decref(root);
}

/* The sums agree: with_line + function_only + unknown = count. */
static void test_lost_is_the_sum_of_its_parts(void **state)
{
	json_t *root = load("losses", "annotate");
	int64_t parts = json_integer_value(at(root, "losses.lost_counts_full")) +
			json_integer_value(at(root, "losses.lost_internal")) +
			json_integer_value(at(root, "losses.lost_drain")) +
			json_integer_value(at(root, "losses.rows_dropped"));

	(void)state;
	assert_true(parts > 0);
	check_integer(root, "samples.lost", parts);
	check_integer(root, "losses.lost", parts);
	json_decref(root);
}

static void test_file_filter(void **state)
{
	const struct render_options opts = {.file_filter = "main.c"};
	struct render_case c;
	struct render_input in;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	json_t *root;

	(void)state;
	assert_non_null(out);
	assert_true(render_case_get("typical", &c));
	in = render_case_input(&c);
	assert_int_equal(render_annotate_json(&in, &opts, out), 0);
	fclose(out);
	root = json_loads(text, 0, NULL);
	free(text);
	assert_int_equal(json_array_size(at(root, "files")), 1);
	check_string(root, "files.0.path", "/home/me/dither/main.c");
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_annotate),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_what_is_not_known_is_null),
		cmocka_unit_test(test_hostile_names_survive_as_data),
		cmocka_unit_test(test_lost_is_the_sum_of_its_parts),
		cmocka_unit_test(test_file_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
