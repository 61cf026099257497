// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/profile/fixture.h"

#include <errno.h>

#include "analyze/frame_filter.h"

static struct strpool *pool;
static struct profile *p;
static struct filtered *n;
static struct error err;

/*
 * 10 samples: main > work > copy (inlined into work), of them 4 with crc32 of a library
 * innermost; 5 samples: main > idle.
 */
static int setup(void **state)
{
	uint32_t app, lib, root, work, crc, idle;

	(void)state;
	pool = strpool_new(64 << 20);
	p = profile_new(pool);
	app = add_mapping(p, "/home/me/app");
	lib = add_mapping(p, "/usr/lib/libz.so.1");
	root = add_location(p, app, 1, MISS_NONE, "main@/src/main.c:3");
	work = add_location(p, app, 2, MISS_NONE,
			    "copy@/src/copy.h:9|work@/src/work.c:4");
	idle = add_location(p, app, 3, MISS_NONE, "idle@/src/main.c:8");
	crc = add_location(p, lib, 4, MISS_NO_SYMBOLS, "");
	add_stack(p, LB_STACK_COMPLETE, 6, work, root);
	add_stack(p, LB_STACK_COMPLETE, 4, crc, work, root);
	add_stack(p, LB_STACK_COMPLETE, 5, idle, root);
	n = NULL;
	err = (struct error){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	filtered_free(n);
	profile_free(p);
	strpool_free(pool);
	return 0;
}

static int apply(const struct frame_filter *filters, size_t nr)
{
	return frame_filter_profile(p, filters, nr, &n, &err);
}

#define APPLY(...)                                        \
	apply((const struct frame_filter[]){__VA_ARGS__}, \
	      ARRAY_SIZE(((const struct frame_filter[]){__VA_ARGS__})))

/* The self of the function with this name; 0: there is none. */
static uint64_t self_of(const char *name)
{
	static const struct attribution_options options = {0};
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	uint64_t self = 0;

	assert_int_equal(attribution_new(p, &options, &a), 0);
	for (size_t i = 0; i < a->nr_functions; i++)
		if (!strcmp(a->functions[i].name, name))
			self += a->functions[i].self.samples;
	return self;
}

static void focus_keeps_stacks(void **state)
{
	(void)state;
	assert_int_equal(APPLY({FRAME_FOCUS, "^cop"}), 0);
	assert_int_equal(n->all.samples, 15);
	assert_int_equal(n->left.samples, 10);
	assert_int_equal(self_of("idle"), 0);
}

static void focus_finds_files_and_objects(void **state)
{
	(void)state;
	assert_int_equal(APPLY({FRAME_FOCUS, "work\\.c$"}, {FRAME_FOCUS, "nothing"}), 0);
	assert_int_equal(n->left.samples, 10);
	filtered_free(n);
	n = NULL;
	assert_int_equal(APPLY({FRAME_FOCUS, "libz"}), 0);
	assert_int_equal(n->left.samples, 4);
}

static void ignore_wins_over_focus(void **state)
{
	(void)state;
	assert_int_equal(APPLY({FRAME_FOCUS, "main"}, {FRAME_IGNORE, "libz|idle"}), 0);
	assert_int_equal(n->left.samples, 6);
}

/* The self of a hidden frame is its caller's, whether inlined or not. */
static void hide_gives_self_to_the_caller(void **state)
{
	(void)state;
	assert_int_equal(self_of("copy"), 6);
	assert_int_equal(APPLY({FRAME_HIDE, "copy"}, {FRAME_HIDE, "libz"}), 0);
	assert_int_equal(n->left.samples, 15);
	assert_int_equal(self_of("copy"), 0);
	assert_int_equal(self_of("work"), 10);
	assert_int_equal(self_of("idle"), 5);
}

static void hide_drops_empty_stacks(void **state)
{
	(void)state;
	assert_int_equal(APPLY({FRAME_HIDE, "main|idle"}), 0);
	assert_int_equal(n->left.samples, 10);
	for (size_t i = 0; i < p->nr_samples; i++)
		assert_true(p->samples[i].nr_locations > 0);
}

/* In a hostile file two samples may have one list of frames. */
static void shared_frames_are_hidden_once(void **state)
{
	(void)state;
	p->samples[2].first_location = p->samples[1].first_location;
	p->samples[2].nr_locations = p->samples[1].nr_locations;
	assert_int_equal(APPLY({FRAME_HIDE, "libz"}), 0);
	assert_int_equal(p->nr_samples, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(p->samples[i].nr_locations, 2);
}

static void nothing_left_is_explained(void **state)
{
	(void)state;
	assert_int_equal(APPLY({FRAME_FOCUS, "no such thing"}), -ENODATA);
	assert_int_equal(err.exit_code, EXIT_NO_SAMPLES);
	assert_non_null(strstr(err.text, "--focus \"no such thing\""));
}

static void bad_expressions_are_refused(void **state)
{
	(void)state;
	assert_int_equal(frame_filter_check("(", "hide", &err), -EINVAL);
	assert_non_null(strstr(err.text, "--hide takes a regular expression, not \"(\""));
	assert_int_equal(frame_filter_check("a|b", "hide", &err), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(focus_keeps_stacks),        TEST(focus_finds_files_and_objects),
		TEST(ignore_wins_over_focus),    TEST(hide_gives_self_to_the_caller),
		TEST(hide_drops_empty_stacks),   TEST(shared_frames_are_hidden_once),
		TEST(nothing_left_is_explained), TEST(bad_expressions_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
