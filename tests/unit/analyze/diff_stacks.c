// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree of two sides: its figures are those of the tables; what is no node; limits. */
#include "unit/profile/fixture.h"

#include <errno.h>
#include <math.h>

#include "analyze/profile_diff.h"

static struct strpool *pool;
static struct profile_diff *d;
static struct error err;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(64 << 20);
	d = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	diff_free(d);
	strpool_free(pool);
	return 0;
}

/* A stack, the innermost frame first, each of one mapping. */
struct made_stack {
	int64_t count;
	const char *frames[5];
	const char *mapping; /* of the innermost; NULL: the program */
};

static struct profile *make(const struct made_stack *stacks)
{
	static char *argv[] = {"program", NULL};
	struct profile *p = profile_new(pool);
	uint32_t app = add_mapping(p, "/home/me/app");

	for (const struct made_stack *s = stacks; s->count; s++) {
		uint32_t locations[5], nr = 0;

		for (; nr < 5 && s->frames[nr]; nr++) {
			uint32_t mapping = s->mapping && !nr ? add_mapping(p, s->mapping)
							     : app;

			locations[nr] = add_location(p, mapping,
						     0x1000 + 16 * p->nr_locations,
						     MISS_NONE, s->frames[nr]);
		}
		profile_add_sample(p, locations, nr, NULL, 0, LB_STACK_COMPLETE,
				   (int64_t[]){s->count, s->count * PERIOD_NS});
	}
	p->extra.present = true;
	p->extra.wall_ns = 2000000000;
	assert_int_equal(profile_set_command(p, argv), 0);
	return p;
}

static void start(struct diff_options options, uint32_t nr_before, uint32_t nr_after)
{
	options.keeps_stacks = true;
	options.sides[DIFF_BEFORE].nr_recordings = nr_before;
	options.sides[DIFF_AFTER].nr_recordings = nr_after;
	assert_int_equal(diff_new(&options, pool, &d), 0);
}

static void add(enum diff_side side, const struct made_stack *stacks)
{
	static const struct attribution_options options = {0};
	struct profile *p = make(stacks);
	struct attribution *a = NULL;

	assert_int_equal(attribution_new(p, &options, &a), 0);
	assert_int_equal(diff_add(d, side, p, a, "x", &err), 0);
	attribution_free(a);
	profile_free(p);
}

static const char *name_of(const struct diff_stack_node *n)
{
	return d->stacks->functions[n->function].name;
}

/* "main>f>g": the node of this path; fails if there is none, or several. */
static const struct diff_stack_node *node(const char *path)
{
	const struct diff_stack_node *found = NULL;

	for (size_t i = 0; i < d->stacks->nr_nodes; i++) {
		char text[256] = "", rest[256];

		for (uint32_t at = (uint32_t)i; at != PROFILE_NONE;
		     at = d->stacks->nodes[at].parent) {
			snprintf(rest, sizeof(rest), "%s", text);
			snprintf(text, sizeof(text), "%.100s%s%.100s",
				 name_of(&d->stacks->nodes[at]), *rest ? ">" : "", rest);
		}
		if (strcmp(text, path) != 0)
			continue;
		assert_null(found);
		found = &d->stacks->nodes[i];
	}
	if (!found)
		fail_msg("no node %s", path);
	return found;
}

static void expect(const char *path, double before, double after)
{
	const struct diff_stack_node *n = node(path);

	if (fabs(n->value[DIFF_BEFORE] - before) > 1e-6 * fmax(1, before) ||
	    fabs(n->value[DIFF_AFTER] - after) > 1e-6 * fmax(1, after))
		fail_msg("%s: %g %g, not %g %g", path, n->value[DIFF_BEFORE],
			 n->value[DIFF_AFTER], before, after);
}

#define NS ((double)PERIOD_NS)

static const struct made_stack one[] = {
	{100, {"g@a.c:13", "f@a.c:3", "main@a.c:25"}, NULL},
	{40, {"f@a.c:4", "main@a.c:25"}, NULL},
	{10, {"g@a.c:13", "main@a.c:26"}, NULL},
	{0}};
static const struct made_stack other[] = {
	{60, {"g@a.c:14", "f@a.c:3", "main@a.c:27"}, NULL},
	{30, {"h@b.c:3", "main@a.c:25"}, NULL},
	{0}};

static void one_tree(void **state)
{
	(void)state;
	start((struct diff_options){0}, 1, 1);
	add(DIFF_BEFORE, one);
	add(DIFF_AFTER, other);
	assert_int_equal(diff_compare(d, &err), 0);
	assert_int_equal(d->stacks->nr_nodes, 5);
	expect("main", 150 * NS, 90 * NS);
	expect("main>f", 140 * NS, 60 * NS);
	expect("main>f>g", 100 * NS, 60 * NS);
	expect("main>g", 10 * NS, 0);
	expect("main>h", 0, 30 * NS);
	assert_float_equal(d->stacks->cut[DIFF_BEFORE], 0, 0);
	/* It is the whole, and the total of the table. */
	assert_float_equal(node("main")->value[DIFF_BEFORE],
			   d->whole.of[DIFF_BEFORE].value, 1);
	for (size_t i = 0; i < d->nr_functions; i++)
		if (!strcmp(d->functions[i].name, "f"))
			assert_float_equal(node("main>f")->value[DIFF_AFTER],
					   d->functions[i].total.of[DIFF_AFTER].value, 1);
}

/* Figures are divided as those of the tables, and are the mean of a side's recordings. */
static void divided(void **state)
{
	static const double works[] = {4, 8};

	(void)state;
	start((struct diff_options){.per = DIFF_PER_WORK,
				    .sides = {{.work = works, .nr_works = 1},
					      {.work = works, .nr_works = 2}}},
	      1, 2);
	add(DIFF_BEFORE, one);
	add(DIFF_AFTER, one);
	add(DIFF_AFTER, other);
	assert_int_equal(diff_compare(d, &err), 0);
	expect("main", 150 / 4. * NS, (150 / 4. + 90 / 8.) / 2 * NS);
	expect("main>h", 0, 30 / 8. / 2 * NS);
	diff_free(d);

	start((struct diff_options){.per = DIFF_PER_SAMPLE}, 1, 1);
	add(DIFF_BEFORE, one);
	add(DIFF_AFTER, other);
	assert_int_equal(diff_compare(d, &err), 0);
	expect("main", 1, 1);
	expect("main>f>g", 100 / 150., 60 / 90.);
}

/* An interpreter and start code are nodes only if there is nothing else. */
static void hidden_frames(void **state)
{
	static const struct made_stack stacks[] = {
		{50,
		 {"_PyEval_EvalFrameDefault", "f@a.py:3", "__libc_start_main"},
		 "/usr/bin/python3.11"},
		{20, {"gc_collect_main"}, "/usr/bin/python3.11"},
		{7, {NULL}, NULL},
		{0}};

	(void)state;
	start((struct diff_options){0}, 1, 1);
	add(DIFF_BEFORE, stacks);
	add(DIFF_AFTER, stacks);
	assert_int_equal(diff_compare(d, &err), 0);
	assert_int_equal(d->stacks->nr_nodes, 3);
	expect("f", 50 * NS, 50 * NS);
	expect("gc_collect_main", 20 * NS, 20 * NS);
	expect("", 7 * NS, 7 * NS);
}

static void moved_files(void **state)
{
	static const struct made_stack before[] = {{10, {"f@/old/a.c:3"}, NULL}, {0}};
	static const struct made_stack after[] = {{20, {"f@/new/a.c:3"}, NULL}, {0}};
	static const struct source_path_rule moved[] = {{"/old", "/new"}};

	(void)state;
	start((struct diff_options){.moved = moved, .nr_moved = 1}, 1, 1);
	add(DIFF_BEFORE, before);
	add(DIFF_AFTER, after);
	assert_int_equal(diff_compare(d, &err), 0);
	expect("f", 10 * NS, 20 * NS);
	diff_free(d);

	start((struct diff_options){0}, 1, 1);
	add(DIFF_BEFORE, before);
	add(DIFF_AFTER, after);
	assert_int_equal(diff_compare(d, &err), 0);
	assert_int_equal(d->stacks->nr_nodes, 2);
}

/* A function of the file x.py, and one without a file in the object x.py. */
static void a_file_is_no_object(void **state)
{
	static const struct made_stack stacks[] = {
		{10, {"f"}, "/app/x.py"}, {20, {"f@x.py:3", "main@a.c:2"}, NULL}, {0}};

	(void)state;
	start((struct diff_options){0}, 1, 1);
	add(DIFF_BEFORE, stacks);
	add(DIFF_AFTER, stacks);
	assert_int_equal(diff_compare(d, &err), 0);
	for (size_t i = 0; i < d->stacks->nr_nodes; i++) {
		const struct diff_stack_function *f =
			&d->stacks->functions[d->stacks->nodes[i].function];

		if (!strcmp(f->name, "f"))
			assert_string_equal(
				f->file,
				d->stacks->nodes[i].parent == PROFILE_NONE ? "" : "x.py");
	}
}

/* The heaviest stacks have their nodes; of others the outer ones count all the same. */
static void too_many_nodes(void **state)
{
	(void)state;
	start((struct diff_options){0}, 1, 1);
	d->stacks->max_nodes = 3;
	add(DIFF_BEFORE, one);
	add(DIFF_AFTER, other);
	assert_int_equal(diff_compare(d, &err), 0);
	assert_int_equal(d->stacks->nr_nodes, 4);
	expect("main", 150 * NS, 90 * NS);
	expect("main>f>g", 100 * NS, 60 * NS);
	expect("main>h", 0, 30 * NS);
	assert_float_equal(d->stacks->cut[DIFF_BEFORE], 10 * NS, 1);
	assert_float_equal(d->stacks->cut[DIFF_AFTER], 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_tree, setup, teardown),
		cmocka_unit_test_setup_teardown(divided, setup, teardown),
		cmocka_unit_test_setup_teardown(hidden_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(moved_files, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_is_no_object, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_nodes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
