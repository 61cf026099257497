// SPDX-License-Identifier: GPL-2.0-or-later
/* The form of a profile that servers take. */
#include "unit/profile/fixture.h"

#include <errno.h>
#include <stdlib.h>

#include "base/io.h"
#include "export/export.h"
#include "lib/pprof_rules.h"
#include "profile/gzip.h"
#include "profile/labels.h"
#include "profile/pprof.h"

static struct strpool *pool;
static struct profile *p, *exported;
static uint32_t app;
static struct io_pending out;
static const char *note;
static struct error err;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(64 << 20);
	p = profile_new(pool);
	app = add_mapping(p, "/home/me/app");
	p->extra.present = true;
	exported = NULL;
	assert_int_equal(io_pending_open(&out, &err), 0);
	note = NULL;
	err = (struct error){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	io_pending_deinit(&out);
	profile_free(exported);
	profile_free(p);
	strpool_free(pool);
	return 0;
}

static int export_by(export_fn write)
{
	static const char *const labels[] = {LABEL_COMM, LABEL_CONTAINER_NAME, LABEL_UNIT,
					     LABEL_PHASE};
	static const struct attribution_options options = {0};
	struct export_input in = {.profile = p,
				  .labels = labels,
				  .nr_labels = ARRAY_SIZE(labels),
				  .stable_labels = true};
	struct attribution *a = NULL;
	int rc;

	assert_int_equal(attribution_new(p, &options, &a), 0);
	in.attribution = a;
	rc = write(&in, out.out, &note, &err);
	attribution_free(a);
	assert_int_equal(fflush(out.out), 0);
	return rc;
}

static int export(void)
{
	return export_by(export_pprof);
}

static void export_and_read(void)
{
	char broken[256];

	assert_int_equal(export(), 0);
	if (!pprof_push_rules_hold(out.data, out.len, broken, sizeof(broken)))
		fail_msg("%s", broken);
	assert_int_equal(pprof_read(out.data, out.len, "export", pool, &exported, &err),
			 0);
}

static int64_t sum(const struct profile *of, uint32_t value)
{
	int64_t all = 0;

	for (size_t i = 0; i < of->nr_samples; i++)
		all += profile_value(of, &of->samples[i], value);
	return all;
}

static bool has_comment(const char *text)
{
	for (size_t i = 0; i < exported->nr_comments; i++)
		if (!strcmp(exported->comments[i], text))
			return true;
	return false;
}

static void a_small_profile_is_whole(void **state)
{
	uint32_t stack[] = {add_location(p, app, 1, MISS_NONE, "f@/a.c:4"),
			    add_location(p, app, 2, MISS_NO_SYMBOLS, "")};
	const struct profile_label pid = {
		.key = LABEL_PID, .str = "", .num = 7, .unit = ""};

	(void)state;
	profile_add_sample(p, stack, 2, &pid, 1, 0, (int64_t[]){1, 10});
	export_and_read();
	assert_null(note);
	assert_int_equal(sum(exported, 0), 1);
	assert_int_equal(sum(exported, 1), 10);
	assert_int_equal(exported->samples[0].nr_labels, 0);
	assert_string_equal(exported->functions[exported->nr_functions - 1].name,
			    "[app]");
}

/* Labels with a value that is new at each start: left out, unless named. */
static void labels_have_few_values(void **state)
{
	uint32_t leaf = add_location(p, app, 1, MISS_NONE, "f@/a.c:4");
	struct profile_label labels[] = {{.key = LABEL_COMM, .unit = ""},
					 {.key = LABEL_UNIT, .unit = ""}};
	static const char *const comms[] = {"kworker/3:1-events", "iou-wrk-77",
					    "jbd2/sda1-8", "iou-wrk-78", "kworker/u4:2"};

	(void)state;
	labels[1].str = "session-4.scope";
	for (size_t i = 0; i < 5; i++) {
		labels[0].str = comms[i];
		profile_add_sample(p, &leaf, 1, labels, 2, LB_STACK_NO_USER,
				   (int64_t[]){1, 1});
	}
	labels[0].str = "pool/1";
	labels[1].str = "web.service";
	profile_add_sample(p, &leaf, 1, labels, 2, LB_STACK_COMPLETE, (int64_t[]){1, 1});
	export_and_read();
	assert_int_equal(exported->nr_samples, 4);
	for (size_t i = 0; i < 4; i++) {
		static const char *const expected[] = {"kworker", "iou-wrk", "jbd2",
						       "pool/1"};
		const struct profile_sample *s = &exported->samples[i];

		assert_int_equal(s->nr_labels, i == 3 ? 2 : 1);
		assert_string_equal(exported->labels[s->first_label].str, expected[i]);
	}
}

static void a_profile_without_samples(void **state)
{
	(void)state;
	export_and_read();
	assert_int_equal(exported->nr_samples, 0);
}

#define NR_VARIANTS 20 /* lines of each function in the stacks of add_many() */

/*
 * Adds random stacks, the first one heavy.
 * @depth  frames of each; @nr_leaves: different lines at their ends
 */
static void add_many(uint32_t nr, uint32_t depth, uint32_t nr_leaves)
{
	uint32_t *known = calloc((size_t)depth * NR_VARIANTS, sizeof(*known));
	uint32_t *stack = calloc(depth, sizeof(*stack));
	char frame[64];

	assert_non_null(known);
	assert_non_null(stack);
	for (uint32_t i = 0; i < depth * NR_VARIANTS; i++) {
		snprintf(frame, sizeof(frame), "f%u@/a.c:%u", i / NR_VARIANTS, 1 + i);
		known[i] = add_location(p, app, i, MISS_NONE, frame);
	}
	srandom(1);
	for (uint32_t i = 0; i < nr; i++) {
		for (uint32_t k = 1; k < depth; k++)
			stack[k] = known[k * NR_VARIANTS + random() % NR_VARIANTS];
		snprintf(frame, sizeof(frame), "leaf@/b.c:%u", 1 + i % nr_leaves);
		stack[0] = add_location(p, app, 0, MISS_NONE, frame);
		profile_add_sample(p, stack, depth, NULL, 0, 0,
				   (int64_t[]){i ? 1 : 1000, i ? 10 : 10000});
	}
	free(known);
	free(stack);
}

static void assert_cut(void)
{
	size_t nr_whole = 0;

	assert_non_null(note);
	assert_true(has_comment(note));
	assert_int_equal(sum(exported, 0), sum(p, 0));
	assert_int_equal(sum(exported, 1), sum(p, 1));
	for (size_t i = 0; i < exported->nr_samples; i++) {
		uint32_t leaf = profile_stack(exported, &exported->samples[i])[0];

		assert_true(exported->lines[exported->locations[leaf].first_line].line);
		nr_whole += exported->samples[i].nr_locations > 2;
		if (profile_value(exported, &exported->samples[i], 0) == 1000)
			assert_true(exported->samples[i].nr_locations > 2);
	}
	/* No more callers are left out than the limit asks for. */
	assert_true(nr_whole > 1000);
}

static void too_many_bytes_lose_callers(void **state)
{
	(void)state;
	add_many(15000, 180, 10);
	export_and_read();
	assert_in_range(gzip_unpacked_bytes(out.data, out.len), 2 << 20, 4 << 20);
	assert_cut();
}

static void too_many_stacks_lose_callers(void **state)
{
	(void)state;
	add_many(20000, 9, 10);
	export_and_read();
	assert_in_range(exported->nr_samples, 10000, 16000);
	assert_cut();
}

static void what_does_not_fit_is_refused(void **state)
{
	(void)state;
	add_many(17000, 2, 17000);
	assert_int_equal(export(), -EFBIG);
	assert_non_null(strstr(err.text, "even without callers"));
	assert_int_equal(out.len, 0);
	/* The form without a limit has every stack. */
	note = NULL;
	assert_int_equal(export_by(export_pprof_full), 0);
	assert_null(note);
	assert_int_equal(pprof_read(out.data, out.len, "export", pool, &exported, &err),
			 0);
	assert_int_equal(exported->nr_samples, p->nr_samples);
	assert_int_equal(sum(exported, 1), sum(p, 1));
}

static void a_whole_profile_without_extra(void **state)
{
	uint32_t kernel = add_mapping(p, PROFILE_KERNEL);
	uint32_t stack[] = {add_location(p, kernel, 0x20, MISS_NONE, "vfs_read"),
			    add_location(p, app, 0x10, MISS_NONE, "f@/a.c:4")};
	const struct profile_label pid = {
		.key = LABEL_PID, .str = "", .num = 7, .unit = ""};

	(void)state;
	profile_add_sample(p, stack, 2, &pid, 1, 0, (int64_t[]){1, 10});
	assert_int_equal(export_by(export_pprof_full), 0);
	assert_int_equal(pprof_read(out.data, out.len, "export", pool, &exported, &err),
			 0);
	assert_false(exported->extra.present);
	assert_int_equal(exported->samples[0].nr_locations, 2);
	assert_int_equal(
		exported->locations[profile_stack(exported, exported->samples)[1]]
			.address,
		0x10);
	assert_int_equal(exported->labels[exported->samples[0].first_label].num, 7);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_small_profile_is_whole),      TEST(labels_have_few_values),
		TEST(a_profile_without_samples),     TEST(too_many_bytes_lose_callers),
		TEST(too_many_stacks_lose_callers),  TEST(what_does_not_fit_is_refused),
		TEST(a_whole_profile_without_extra),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
