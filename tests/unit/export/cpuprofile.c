// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a .cpuprofile says of places and times: URLs that an editor may open, code
 * without a line at no line, times that add up. tests/golden has whole files.
 */
#include "unit/export/cases.h"

#include <jansson.h>

#include "base/io.h"
#include "export/export.h"

static struct strpool *pool;
static struct profile *p;
static json_t *file;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(64 << 20);
	p = profile_new(pool);
	file = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	json_decref(file);
	profile_free(p);
	strpool_free(pool);
	return 0;
}

static void export(void)
{
	static const struct attribution_options options = {0};
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	_cleanup_(io_pending_deinit) struct io_pending out = {0};
	struct export_input in = {.profile = p};
	struct error err = {0};
	const char *note = NULL;

	assert_int_equal(attribution_new(p, &options, &a), 0);
	in.attribution = a;
	assert_int_equal(io_pending_open(&out, &err), 0);
	assert_int_equal(export_cpuprofile(&in, out.out, &note, &err), 0);
	assert_int_equal(fflush(out.out), 0);
	file = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(file);
}

static json_t *call_frame_of(const char *function)
{
	json_t *node;
	size_t i;

	json_array_foreach(json_object_get(file, "nodes"), i, node)
	{
		json_t *frame = json_object_get(node, "callFrame");

		if (!strcmp(json_string_value(json_object_get(frame, "functionName")),
			    function))
			return frame;
	}
	fail_msg("there is no %s", function);
	return NULL;
}

static void check_place(const char *function, const char *url, int line)
{
	json_t *frame = call_frame_of(function);

	assert_string_equal(json_string_value(json_object_get(frame, "url")), url);
	assert_int_equal(json_integer_value(json_object_get(frame, "lineNumber")), line);
}

static void only_paths_are_urls(void **state)
{
	uint32_t app = add_mapping(p, "/home/me/app"),
		 libc = add_mapping(p, "/usr/lib/libc.so.6");
	uint32_t compare =
		add_location(p, app, 0x10, MISS_NONE, "compare@/a b/%41#?.c:7");
	uint32_t msort = add_location(p, libc, 0x14, MISS_NONE, "msort@/src/msort.c:22");

	(void)state;
	/* A C library's line does not count below another line. */
	add_named(p, "app", 1, compare, msort);
	add_named(p, "app", 1,
		  add_location(p, app, 0x18, MISS_NONE, "go@runtime/proc.go:3"));
	add_named(p, "app", 1,
		  add_location(p, app, 0x1c, MISS_NONE, "evil@command:quit:9"));
	add_named(p, "app", 1,
		  add_location(p, add_mapping(p, "/lib/command:x"), 0x20,
			       MISS_NO_DEBUG_INFO, "bare"));
	export();
	check_place("compare", "file:///a%20b/%2541%23%3F.c", 6);
	check_place("msort", "libc.so.6", -1);
	check_place("go", "runtime/proc.go", 2);
	check_place("evil", "command_quit", 8);
	check_place("bare", "command_x", -1);
}

static void times_add_up(void **state)
{
	uint32_t app = add_mapping(p, "/home/me/app");
	json_t *times, *samples;
	int64_t sum = 0;

	(void)state;
	/* 1.4 us each: all of them rounded down, or none, would be far off. */
	for (uint32_t i = 0; i < 100; i++) {
		char frame[64];
		uint32_t leaf;

		snprintf(frame, sizeof(frame), "f@/a.c:%u", i + 1);
		leaf = add_location(p, app, 0x10 + i, MISS_NONE, frame);
		profile_add_sample(p, &leaf, 1, NULL, 0, LB_STACK_COMPLETE,
				   (int64_t[]){1, 1400});
	}
	export();
	times = json_object_get(file, "timeDeltas");
	samples = json_object_get(file, "samples");
	assert_int_equal(json_array_size(samples), 101);
	assert_int_equal(json_array_size(times), 101);
	assert_int_equal(json_integer_value(json_array_get(times, 0)), 0);
	for (size_t i = 1; i < 101; i++) {
		int64_t us = json_integer_value(json_array_get(times, i));

		assert_in_range(us, 1, 2);
		sum += us;
	}
	assert_int_equal(sum, 140);
	assert_int_equal(json_integer_value(json_object_get(file, "endTime")), 140);
	/* The last sample, which some readers give no time, is the root. */
	assert_int_equal(json_integer_value(json_array_get(samples, 100)), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_paths_are_urls, setup, teardown),
		cmocka_unit_test_setup_teardown(times_add_up, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
