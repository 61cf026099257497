// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/profile/owners.h"

#include <stdlib.h>

#include "profile/mirror.h"

static struct strpool *pool, *copy_pool;
static struct profile *p, *copy;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(1 << 20);
	copy_pool = strpool_new(1 << 20);
	p = profile_new(pool);
	copy = profile_new(copy_pool);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	profile_free(p);
	profile_free(copy);
	strpool_free(pool);
	strpool_free(copy_pool);
	return 0;
}

/* The line of a sample's leaf, as "function@file:line". */
static const char *leaf(const struct profile *of, size_t sample)
{
	static char text[256];
	const struct profile_sample *s = &of->samples[sample];
	const struct profile_location *l = &of->locations[profile_stack(of, s)[0]];
	const struct profile_line *line = &of->lines[l->first_line];
	const struct profile_function *f = &of->functions[line->function];

	snprintf(text, sizeof(text), "%s@%s:%u in %s", f->name, f->filename, line->line,
		 of->mappings[l->mapping].filename);
	return text;
}

static void take_window(void)
{
	assert_int_equal(profile_copy_tables(copy, p), 0);
	assert_int_equal(profile_copy_samples(copy, p), 0);
}

/* The tables of the second window extend those of the first. */
static void test_windows(void **state)
{
	const struct owner nginx = {.pid = 7, .comm = "nginx"};
	const struct owner sshd = {.pid = 8, .comm = "sshd"};
	uint32_t app, lib, f;

	(void)state;
	app = add_mapping(p, "/bin/app");
	f = add_location(p, app, 1, MISS_NONE, "f@/src/a.c:1");
	add_owned(p, f, 3, &nginx);
	take_window();
	profile_clear_samples(p);
	assert_int_equal(p->nr_samples, 0);
	assert_int_equal(add_location(p, app, 1, MISS_NONE, "f@/src/a.c:1"), f);
	lib = add_mapping(p, "/lib/b.so");
	add_owned(p, add_location(p, lib, 2, MISS_NONE, "g@/src/b.c:9"), 5, &sshd);
	add_owned(p, f, 4, &sshd);
	take_window();

	assert_int_equal(copy->nr_mappings, 2);
	assert_int_equal(copy->nr_locations, 2);
	assert_int_equal(copy->nr_samples, 3);
	assert_string_equal(leaf(copy, 0), "f@/src/a.c:1 in /bin/app");
	assert_string_equal(leaf(copy, 1), "g@/src/b.c:9 in /lib/b.so");
	assert_string_equal(leaf(copy, 2), "f@/src/a.c:1 in /bin/app");
	for (size_t i = 0; i < 3; i++) {
		const struct profile_sample *s = &copy->samples[i];
		const struct profile_label *labels = &copy->labels[s->first_label];

		assert_int_equal(profile_value(copy, s, copy->count_value),
				 3 + (2 * i) % 3);
		assert_int_equal(s->nr_labels, 2);
		assert_int_equal(labels[0].num, i ? 8 : 7);
		assert_string_equal(labels[1].str, i ? "sshd" : "nginx");
	}
}

/* Nothing of the copy is in the pool of the original. */
static void test_texts_are_copied(void **state)
{
	const struct owner nginx = {.pid = 7, .comm = "nginx"};

	(void)state;
	add_owned(p,
		  add_location(p, add_mapping(p, "/bin/app"), 1, MISS_NONE, "f@/a.c:1"),
		  3, &nginx);
	take_window();
	profile_free(p);
	strpool_free(pool);
	pool = strpool_new(1 << 20);
	p = profile_new(pool);
	assert_string_equal(leaf(copy, 0), "f@/a.c:1 in /bin/app");
	assert_string_equal(copy->labels[1].key, "comm");
	assert_string_equal(copy->labels[1].str, "nginx");
	assert_ptr_equal(copy->labels[1].str, strpool_add(copy_pool, "nginx"));
	assert_ptr_equal(copy->functions[0].filename, strpool_add(copy_pool, "/a.c"));
}

static void add_source(const char *path, const char *text)
{
	struct profile_source source = {.path = path, .size_bytes = 1, .nr_lines = 1};

	source.runs = calloc(1, sizeof(*source.runs));
	source.runs[0].first_line = source.runs[0].nr_lines = 1;
	source.runs[0].text = strdup(text);
	source.nr_runs = 1;
	assert_int_equal(profile_add_source(p, &source), 0);
}

/* Two files of one path stay two files, in each window the same ones. */
static void test_namesakes(void **state)
{
	const char *mine = strpool_add(pool, "/app/x.py"), *other;
	struct profile_function f = {.name = "f", .system_name = "", .filename = mine};
	struct profile_function g;

	(void)state;
	assert_int_equal(profile_add_function(p, &f), 0);
	take_window();
	other = profile_add_namesake(p, mine);
	assert_ptr_not_equal(other, mine);
	g = f;
	g.filename = other;
	assert_int_equal(profile_add_function(p, &g), 1);
	add_source(mine, "mine");
	add_source(other, "other");
	take_window();
	assert_int_equal(profile_copy_sources(copy, p), 0);
	assert_ptr_equal(copy->functions[0].filename, copy->extra.sources[0].path);
	assert_ptr_equal(copy->functions[1].filename, copy->extra.sources[1].path);
	assert_ptr_not_equal(copy->functions[0].filename, copy->functions[1].filename);
	assert_string_equal(copy->functions[1].filename, "/app/x.py");
	assert_string_equal(copy->extra.sources[1].runs[0].text, "other");
}

static void test_a_newer_text_replaces_the_older(void **state)
{
	const char *path = strpool_add(pool, "/a.c");

	(void)state;
	add_source(path, "old");
	assert_int_equal(profile_copy_sources(copy, p), 0);
	profile_clear_extra(p);
	add_source(path, "new");
	assert_int_equal(profile_copy_sources(copy, p), 0);
	assert_int_equal(copy->extra.nr_sources, 1);
	assert_string_equal(copy->extra.sources[0].runs[0].text, "new");
}

static void test_nothing(void **state)
{
	(void)state;
	take_window();
	assert_int_equal(profile_copy_sources(copy, p), 0);
	assert_int_equal(copy->nr_samples + copy->nr_locations + copy->nr_labels, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_windows),   TEST(test_texts_are_copied),
		TEST(test_namesakes), TEST(test_a_newer_text_replaces_the_older),
		TEST(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
