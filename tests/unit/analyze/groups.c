// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/profile/owners.h"

#include <errno.h>
#include <stdio.h>

#include "analyze/groups.h"

static struct strpool *pool;
static struct profile *p;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(64 << 20);
	p = profile_new(pool);
	p->extra.present = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	profile_free(p);
	strpool_free(pool);
	return 0;
}

static int group(enum group_by by, struct groups **ret, struct error *err)
{
	_cleanup_(attribution_freep) struct attribution *a = NULL;

	assert_int_equal(attribution_new(p, &(struct attribution_options){0}, &a), 0);
	return groups_new(p, a, by, NULL, ret, err);
}

struct expected {
	const char *text; /* the group's key; NULL: unknown */
	uint32_t pid;
	uint64_t samples, with_line;
};

static void check(enum group_by by, enum owner_text text, const struct expected *expected,
		  size_t nr)
{
	_cleanup_(groups_freep) struct groups *g = NULL;
	uint64_t sum = 0;

	assert_int_equal(group(by, &g, NULL), 0);
	assert_int_equal(g->by, by);
	assert_int_equal(g->nr, nr);
	for (size_t i = 0; i < nr; i++) {
		const struct group *item = &g->items[i];

		assert_int_equal(item->is_told, expected[i].text != NULL);
		assert_string_equal(item->text[text],
				    expected[i].text ? expected[i].text : "");
		assert_int_equal(item->pid, expected[i].pid);
		assert_int_equal(item->self.samples, expected[i].samples);
		assert_int_equal(item->self.cpu_ns, expected[i].samples * PERIOD_NS);
		assert_int_equal(item->with_line.samples, expected[i].with_line);
		sum += item->self.samples;
	}
	assert_int_equal(sum, 1000);
}

#define CHECK(by, text, ...)                                    \
	check(by, text, (const struct expected[]){__VA_ARGS__}, \
	      ARRAY_SIZE(((const struct expected[]){__VA_ARGS__})))

static void test_texts(void **state)
{
	(void)state;
	add_machine(p);
	CHECK(GROUP_BY_CONTAINER, OWNER_CONTAINER, {WEB_ID, 0, 400, 290},
	      {DB_ID, 0, 300, 300}, {NULL, 0, 200, 100}, {CACHE_ID, 0, 50, 50},
	      {"debian", 0, 30, 30}, {"77bb8c9d0e1f445566778899001122aa", 0, 20, 0});
	CHECK(GROUP_BY_CONTAINER, OWNER_CONTAINER_NAME, {"web", 0, 400, 290},
	      {"db", 0, 300, 300}, {NULL, 0, 200, 100}, {"", 0, 50, 50},
	      {"debian", 0, 30, 30}, {"sidecar", 0, 20, 0});
	CHECK(GROUP_BY_UNIT, OWNER_UNIT, {"docker-" WEB_ID ".scope", 0, 400, 290},
	      {"libpod-" DB_ID ".scope", 0, 300, 300}, {NULL, 0, 170, 50},
	      {"ssh.service", 0, 100, 100}, {"ssh.service", 0, 30, 30});
	CHECK(GROUP_BY_POD, OWNER_POD, {NULL, 0, 980, 770}, {POD_UID, 0, 20, 0});
	CHECK(GROUP_BY_USER, OWNER_USER, {"www-data", 0, 470, 340}, {"999", 0, 300, 300},
	      {"root", 0, 130, 130}, {NULL, 0, 100, 0});
}

/* Equal weights are ordered by name. A reused pid is another process. */
static void test_processes(void **state)
{
	(void)state;
	add_machine(p);
	CHECK(GROUP_BY_PROCESS, OWNER_COMM, {"nginx", 100, 400, 290},
	      {"postgres", 200, 300, 300}, {"kworker/0:1", 20, 100, 0},
	      {"sshd", 300, 100, 100}, {"redis-server", 100, 50, 50},
	      {"sshd", 600, 30, 30}, {"redis-server", 500, 20, 0});
	CHECK(GROUP_BY_THREAD, OWNER_COMM, {"postgres", 200, 300, 300},
	      {"nginx", 100, 290, 290}, {"nginx-log", 100, 110, 0},
	      {"kworker/0:1", 20, 100, 0}, {"sshd", 300, 100, 100},
	      {"redis-server", 100, 50, 50}, {"sshd", 600, 30, 30},
	      {"redis-server", 500, 20, 0});
	CHECK(GROUP_BY_COMM, OWNER_COMM, {"postgres", 0, 300, 300},
	      {"nginx", 0, 290, 290}, {"sshd", 0, 130, 130}, {"nginx-log", 0, 110, 0},
	      {"kworker/0:1", 0, 100, 0}, {"redis-server", 0, 70, 50});
}

/* A phase is computed from the stack; the label of an exported file counts more. */
static void test_phases(void **state)
{
	struct profile_label label = {
		.key = "phase", .str = strpool_add(pool, "import"), .unit = ""};
	uint32_t frames = add_mapping(p, PROFILE_PYTHON);
	uint32_t own = add_location(p, frames, 1, MISS_NONE, "f@/app/a.py:3");
	uint32_t load = add_location(p, frames, 2, MISS_NONE,
				     "_find_and_load@<frozen importlib._bootstrap>:9");

	(void)state;
	label.key = strpool_add(pool, label.key);
	add_stack(p, 0, 600, own);
	add_stack(p, 0, 300, own, load);
	profile_add_sample(p, &own, 1, &label, 1, 0,
			   (int64_t[]){100, 100 * (int64_t)PERIOD_NS});
	CHECK(GROUP_BY_PHASE, OWNER_LABEL, {"rest", 0, 600, 600},
	      {"import", 0, 400, 400});
}

static void test_owners(void **state)
{
	struct profile_label labels[] = {{.key = "pid", .num = 12},
					 {.key = "comm", .str = "app"},
					 {.key = "container", .str = "abc"},
					 {.key = "unit", .str = "app.service"},
					 {.key = "ns_pid", .num = 3},
					 {.key = "container_name", .str = "web"},
					 {.key = "container_runtime", .str = "podman"},
					 {.key = "pod", .str = "0-1"},
					 {.key = "cgroup", .str = "/app"},
					 {.key = "user", .str = "www"}};
	uint32_t l = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/a.c:1");
	_cleanup_(groups_freep) struct groups *g = NULL;
	const struct group *first, *second;

	(void)state;
	profile_add_sample(p, &l, 1, labels, 10, 0, (int64_t[]){3, 3 * PERIOD_NS});
	labels[1].str = "worker"; /* another thread of the process */
	profile_add_sample(p, &l, 1, labels, 10, 0, (int64_t[]){5, 5 * PERIOD_NS});
	labels[0].num = 13;
	profile_add_sample(p, &l, 1, labels, 2, 0, (int64_t[]){4, 4 * PERIOD_NS});
	add_stack(p, 0, 1, l);
	assert_int_equal(group(GROUP_BY_OWNER, &g, NULL), 0);
	assert_int_equal(g->nr, 2); /* a sample without labels is in no group */
	first = &g->items[0];
	second = &g->items[1];
	assert_int_equal(first->pid, 12);
	assert_string_equal(first->text[OWNER_COMM], "worker");
	assert_string_equal(first->text[OWNER_CONTAINER], "abc");
	assert_string_equal(first->text[OWNER_UNIT], "app.service");
	assert_int_equal(first->self.samples, 8);
	assert_int_equal(second->pid, 13);
	assert_int_equal(first->ns_pid, 3);
	assert_string_equal(first->text[OWNER_CONTAINER_NAME], "web");
	assert_string_equal(first->text[OWNER_RUNTIME], "podman");
	assert_string_equal(first->text[OWNER_POD], "0-1");
	assert_string_equal(first->text[OWNER_CGROUP], "/app");
	assert_string_equal(first->text[OWNER_USER], "www");
	assert_string_equal(second->text[OWNER_CONTAINER], "");
	assert_int_equal(second->ns_pid, 0);
	assert_string_equal(second->text[OWNER_USER], "");
}

/* Other tools give samples a command, and no pid. */
static void test_owners_without_pid(void **state)
{
	uint32_t l = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/a.c:1");
	_cleanup_(groups_freep) struct groups *g = NULL;

	(void)state;
	add_owned(p, l, 3, &(struct owner){.comm = "alpha"});
	add_owned(p, l, 2, &(struct owner){.comm = "beta"});
	add_owned(p, l, 3, &(struct owner){.comm = "alpha", .unit = "a.service"});
	add_owned(p, l, 1, &(struct owner){.comm = "alpha", .exe = "/usr/bin/alpha"});
	add_owned(p, l, 1, &(struct owner){.container = "abc"});
	assert_int_equal(group(GROUP_BY_OWNER, &g, NULL), 0);
	assert_int_equal(g->nr, 4);
	assert_string_equal(g->items[0].text[OWNER_COMM], "alpha");
	assert_int_equal(g->items[0].self.samples, 4);
	assert_string_equal(g->items[1].text[OWNER_COMM], "alpha");
	assert_string_equal(g->items[1].text[OWNER_UNIT], "a.service");
	assert_string_equal(g->items[2].text[OWNER_COMM], "beta");
	assert_int_equal(g->items[2].self.samples, 2);
	assert_string_equal(g->items[3].text[OWNER_CONTAINER], "abc");
	groups_free(g);
	g = NULL;
	/* A thread has one number whatever it is called. */
	add_owned(p, l, 3, &(struct owner){.tid = 7, .comm = "old"});
	add_owned(p, l, 4, &(struct owner){.tid = 7, .comm = "new"});
	assert_int_equal(group(GROUP_BY_THREAD, &g, NULL), 0);
	assert_int_equal(g->nr, 2);
	assert_string_equal(g->items[1].text[OWNER_COMM], "new");
	assert_int_equal(g->items[1].self.samples, 7);
}

/* The name of a container is that of all its samples, also as a label. */
static void test_by_container_name(void **state)
{
	uint32_t l = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/a.c:1");
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	_cleanup_(groups_freep) struct groups *g = NULL;

	(void)state;
	add_owned(p, l, 3, &(struct owner){.container = WEB_ID});
	add_owned(p, l, 2, &(struct owner){.container = WEB_ID, .name = "web"});
	add_owned(p, l, 1, &(struct owner){.name = "other"});
	assert_int_equal(attribution_new(p, &(struct attribution_options){0}, &a), 0);
	assert_int_equal(groups_new(p, a, GROUP_BY_LABEL, LABEL_CONTAINER_NAME, &g, NULL),
			 0);
	assert_int_equal(g->nr, 2);
	assert_string_equal(g->items[0].text[OWNER_LABEL], "web");
	assert_int_equal(g->items[0].self.samples, 5);
	assert_string_equal(g->items[1].text[OWNER_LABEL], "other");
}

/* They had the number one after the other: no row has one's name and another's user. */
static void test_users_of_a_pid(void **state)
{
	static const enum group_by kinds[] = {GROUP_BY_OWNER, GROUP_BY_PROCESS,
					      GROUP_BY_THREAD};
	struct profile_label labels[] = {{.key = "pid", .num = 12},
					 {.key = "tid", .num = 12},
					 {.key = "comm", .str = "first"},
					 {.key = "user", .str = "alice"}};
	uint32_t l = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/a.c:1");

	(void)state;
	profile_add_sample(p, &l, 1, labels, 4, 0, (int64_t[]){3, 3 * PERIOD_NS});
	labels[2].str = "second";
	labels[3].str = "bob";
	profile_add_sample(p, &l, 1, labels, 4, 0, (int64_t[]){2, 2 * PERIOD_NS});
	labels[2].str = "thread";
	profile_add_sample(p, &l, 1, labels, 4, 0, (int64_t[]){2, 2 * PERIOD_NS});
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		_cleanup_(groups_freep) struct groups *g = NULL;

		assert_int_equal(group(kinds[i], &g, NULL), 0);
		assert_int_equal(g->nr, 2);
		assert_string_equal(g->items[0].text[OWNER_USER], "bob");
		assert_int_equal(g->items[0].self.samples, 4);
		assert_string_equal(g->items[1].text[OWNER_USER], "alice");
		assert_string_equal(g->items[1].text[OWNER_COMM], "first");
		assert_int_equal(g->items[1].self.samples, 3);
	}
}

/* If the cgroup's path could not be read, the id is used. */
static void test_cgroup_without_path(void **state)
{
	_cleanup_(groups_freep) struct groups *g = NULL;

	(void)state;
	add_machine(p);
	assert_int_equal(group(GROUP_BY_CGROUP, &g, NULL), 0);
	assert_int_equal(g->nr, 7);
	assert_int_equal(g->items[4].cgroup_id, 4242);
	assert_string_equal(g->items[4].text[OWNER_CGROUP], "");
	assert_true(g->items[4].is_told);
	assert_string_equal(g->items[1].text[OWNER_CONTAINER_NAME], "db");
}

static void test_no_label(void **state)
{
	uint32_t line = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/f.c:1");
	_cleanup_(groups_freep) struct groups *g = NULL;
	struct error err = {0};

	(void)state;
	add_stack(p, 0, 5, line);
	/* In lineburn's own profiles: nothing ran in a container. */
	assert_int_equal(group(GROUP_BY_CONTAINER, &g, &err), 0);
	assert_int_equal(g->nr, 1);
	assert_false(g->items[0].is_told);
	assert_int_equal(g->items[0].self.samples, 5);
	groups_free(g);
	g = NULL;
	assert_int_equal(group(GROUP_BY_THREAD, &g, &err), -ENODATA);
	assert_non_null(strstr(err.text, "--tid"));
	p->extra.present = false;
	assert_int_equal(group(GROUP_BY_PROCESS, &g, &err), -ENODATA);
	assert_non_null(strstr(err.text, "no label \"pid\""));
	assert_int_equal(group(GROUP_BY_UNIT, &g, &err), -ENODATA);
	assert_non_null(strstr(err.text, "no label \"unit\""));
	assert_null(g);
}

static void test_no_samples(void **state)
{
	_cleanup_(groups_freep) struct groups *g = NULL;

	(void)state;
	assert_int_equal(group(GROUP_BY_CONTAINER, &g, NULL), 0);
	assert_int_equal(g->nr, 0);
}

static void test_ten_thousand(void **state)
{
	_cleanup_(groups_freep) struct groups *g = NULL;
	uint32_t line = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/f.c:1");
	uint64_t sum = 0;

	(void)state;
	for (int i = 1; i <= 10000; i++) {
		char cgroup[32];

		snprintf(cgroup, sizeof(cgroup), "/c/%05d", i);
		add_owned(p, line, 1 + i % 3,
			  &(struct owner){.pid = i, .comm = "w", .cgroup = cgroup});
	}
	assert_int_equal(group(GROUP_BY_CGROUP, &g, NULL), 0);
	assert_int_equal(g->nr, 10000);
	assert_string_equal(g->items[0].text[OWNER_CGROUP], "/c/00002");
	assert_string_equal(g->items[9999].text[OWNER_CGROUP], "/c/09999");
	for (size_t i = 0; i < g->nr; i++)
		sum += g->items[i].self.samples;
	assert_int_equal(sum, 10000 + 3333 + 2 * 3333 + 1);
	groups_free(g);
	assert_int_equal(group(GROUP_BY_PROCESS, &g, NULL), 0);
	assert_int_equal(g->nr, 10000);
}

/* Pids out of range, a string where a number belongs, and sums above 2^64. */
static void test_hostile_labels(void **state)
{
	_cleanup_(groups_freep) struct groups *g = NULL;
	uint32_t line = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/f.c:1");
	struct profile_label label = {.key = strpool_add(pool, LABEL_PID),
				      .str = strpool_add(pool, "12"),
				      .unit = strpool_add(pool, "")};

	(void)state;
	add_owned(p, line, 1, &(struct owner){.pid = -5});
	add_owned(p, line, 1, &(struct owner){.pid = INT64_MAX});
	profile_add_sample(p, &line, 1, &label, 1, 0, (int64_t[]){INT64_MAX, INT64_MAX});
	profile_add_sample(p, &line, 1, NULL, 0, 0, (int64_t[]){INT64_MAX, INT64_MAX});
	profile_add_sample(p, &line, 1, NULL, 0, 1, (int64_t[]){INT64_MAX, INT64_MAX});
	assert_int_equal(group(GROUP_BY_PROCESS, &g, NULL), 0);
	assert_int_equal(g->nr, 1);
	assert_false(g->items[0].is_told);
	assert_true(g->items[0].self.samples == UINT64_MAX);
}

/* Adds a sample with one label, and returns whether its group has a value. */
static bool is_told(const char *key, const char *text, const char *unit,
		    const char *value)
{
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	_cleanup_(groups_freep) struct groups *g = NULL;
	uint32_t line = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/f.c:1");
	struct profile_label label = {.key = strpool_add(pool, key),
				      .str = strpool_add(pool, text),
				      .unit = strpool_add(pool, unit)};
	bool ret = false;

	profile_add_sample(p, &line, 1, &label, 1, 0, (int64_t[]){1, 1});
	assert_int_equal(attribution_new(p, &(struct attribution_options){0}, &a), 0);
	if (groups_new(p, a, GROUP_BY_LABEL, key, &g, NULL))
		return false;
	for (size_t i = 0; i < g->nr; i++)
		ret |= g->items[i].is_told &&
		       !strcmp(g->items[i].text[OWNER_LABEL], value);
	return ret;
}

/* In the file, an empty text is the same as the number 0. */
static void test_empty_values(void **state)
{
	(void)state;
	assert_true(is_told("retries", "", "", "0"));
	assert_true(is_told("bytes", "", "bytes", "0"));
	assert_true(is_told("span", "x", "", "x"));
	assert_false(is_told("span", "", "", "0"));
	assert_true(is_told("span", "", "bytes", "0"));
	/* known to be a text, though no sample has one */
	assert_false(is_told("exe", "", "", "0"));
	assert_true(is_told("exe", "/bin/a", "", "/bin/a"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_texts),
		TEST(test_processes),
		TEST(test_phases),
		TEST(test_cgroup_without_path),
		TEST(test_owners),
		TEST(test_users_of_a_pid),
		TEST(test_no_label),
		TEST(test_no_samples),
		TEST(test_ten_thousand),
		TEST(test_hostile_labels),
		TEST(test_empty_values),
		TEST(test_owners_without_pid),
		TEST(test_by_container_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
