// SPDX-License-Identifier: GPL-2.0-or-later
/* Cgroups by their ids, in a real hierarchy. */
#include "process/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/strpool.h"
#include "lib/slow_opener.h"
#include "process/cgroup_mount.h"

#define ID "3f4b9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7a8"

static char mount[256], outer[320], inner[512];
static struct strpool *pool;
static struct process_table *table;

/* Finds the mount of v2, which comes first if there are also v1 mounts. */
static bool find_mount(void)
{
	_cleanup_(cgroup_mounts_deinit) struct cgroup_mounts mounts = {0};

	*mount = '\0';
	if (!cgroup_mounts_read(&mounts) && mounts.nr && !mounts.at->hierarchy)
		snprintf(mount, sizeof(mount), "%s", mounts.at->path);
	return *mount;
}

static int setup(void **state)
{
	_cleanup_(cgroup_mounts_deinit) struct cgroup_mounts mounts = {0};
	struct process_table_config config = {
		.proc_path = "/proc", .cgroups = mount, .cgroup_mounts = &mounts};

	(void)state;
	if (!find_mount())
		return 0;
	snprintf(outer, sizeof(outer), "%s/lineburn-unit.%d.slice", mount, getpid());
	snprintf(inner, sizeof(inner), "%s/docker-" ID ".scope", outer);
	if (mkdir(outer, 0755) || mkdir(inner, 0755)) {
		*mount = '\0';
		return 0;
	}
	assert_int_equal(cgroup_mounts_read(&mounts), 0);
	pool = strpool_new(1 << 20);
	return process_table_new(&config, pool, &table, NULL);
}

static int teardown(void **state)
{
	(void)state;
	process_table_free(table);
	table = NULL;
	strpool_free(pool);
	pool = NULL;
	rmdir(inner);
	rmdir(outer);
	return 0;
}

static uint64_t number(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void needs_v2(void)
{
	if (*mount)
		return;
	printf("cgroup v2 is not mounted here, or not ours to make cgroups in\n");
	skip();
}

static void number_tells_path_and_container(void **state)
{
	const struct process_owner *owner;
	char path[512];

	(void)state;
	needs_v2();
	owner = process_table_cgroup(table, number(inner), 1);
	assert_non_null(owner);
	assert_string_equal(owner->cgroup, inner + strlen(mount));
	assert_string_equal(owner->container, ID);
	assert_string_equal(owner->runtime, "docker");
	assert_null(owner->exe);
	owner = process_table_cgroup(table, number(outer), 1);
	assert_non_null(owner);
	snprintf(path, sizeof(path), "/lineburn-unit.%d.slice", getpid());
	assert_string_equal(owner->cgroup, path);
	assert_string_equal(owner->container, "");
}

static void removed_one_stays_known(void **state)
{
	const struct process_owner *owner;
	uint64_t id;

	(void)state;
	needs_v2();
	id = number(inner);
	owner = process_table_cgroup(table, id, 7);
	assert_non_null(owner);
	rmdir(inner);
	assert_ptr_equal(process_table_cgroup(table, id, 5), owner);
	process_table_forget_ended(table, 7);
	assert_ptr_equal(process_table_cgroup(table, id, 5), owner);
	process_table_forget_ended(table, 8);
	assert_null(process_table_cgroup(table, id, 9));
}

static void unknown_number_tells_nothing(void **state)
{
	uint64_t gone;

	(void)state;
	needs_v2();
	gone = number(inner);
	rmdir(inner);
	assert_null(process_table_cgroup(table, gone, 1));
	assert_null(process_table_cgroup(table, 0, 1));
	assert_null(process_table_cgroup(table, UINT64_MAX, 1));
}

static uint64_t nr_asked(void)
{
	struct opener_stats stats;

	opener_stats(&stats);
	return stats.nr_requests;
}

/* The opener is asked once for an id that is gone, not for each of its rows. */
static void unknown_number_is_asked_once(void **state)
{
	uint64_t gone, before = nr_asked();

	(void)state;
	needs_v2();
	gone = number(inner);
	rmdir(inner);
	assert_int_equal(opener_begin(NULL), 0);
	for (uint64_t i = 0; i < 3; i++)
		assert_null(process_table_cgroup(table, gone, i));
	assert_int_equal(nr_asked() - before, 1);
	/* For its path and for its owners. */
	assert_non_null(process_table_cgroup(table, number(outer), 1));
	assert_int_equal(nr_asked() - before, 3);
	/* It may have been for a lack of descriptors: a window later it is asked again. */
	process_table_forget_ended(table, 0);
	assert_null(process_table_cgroup(table, gone, 3));
	assert_int_equal(nr_asked() - before, 4);
	opener_end();
}

/* It is not asked for each row, but once more in the next drain. */
static void a_late_answer_is_not_final(void **state)
{
	const struct process_owner *owner;
	uint64_t before;

	(void)state;
	needs_v2();
	assert_int_equal(opener_begin(NULL), 0);
	assert_non_null(process_table_cgroup(table, number(outer), 1));
	kill(slow_opener_pid(), SIGSTOP);
	assert_null(process_table_cgroup(table, number(inner), 2));
	before = nr_asked();
	assert_null(process_table_cgroup(table, number(inner), 2));
	assert_int_equal(nr_asked(), before);
	process_table_refresh(table, 3);
	owner = process_table_cgroup(table, number(inner), 3);
	assert_non_null(owner);
	assert_string_equal(owner->container, ID);
	opener_end();
}

static void root_is_a_cgroup(void **state)
{
	const struct process_owner *owner;

	(void)state;
	needs_v2();
	owner = process_table_cgroup(table, number(mount), 1);
	assert_non_null(owner);
	assert_string_equal(owner->cgroup, "/");
	assert_string_equal(owner->unit, "");
	assert_true(owner->by_v2);
}

#define NR_MANY 9

/* Remaining cgroups are found at the same address. */
static void old_ones_are_forgotten(void **state)
{
	const struct process_owner *owners[NR_MANY];
	uint64_t ids[NR_MANY];
	char path[512];

	(void)state;
	needs_v2();
	for (size_t i = 0; i < NR_MANY; i++) {
		snprintf(path, sizeof(path), "%s/%zu", outer, i);
		assert_int_equal(mkdir(path, 0755), 0);
		ids[i] = number(path);
		owners[i] = process_table_cgroup(table, ids[i], i % 3);
		assert_non_null(owners[i]);
		assert_int_equal(rmdir(path), 0);
	}
	process_table_forget_ended(table, 2);
	for (size_t i = 0; i < NR_MANY; i++)
		assert_ptr_equal(process_table_cgroup(table, ids[i], 0),
				 i % 3 == 2 ? owners[i] : NULL);
}

static void on_refused(void *ctx, const struct quota *q, struct tenant who,
		       uint64_t nr_refused)
{
	assert_string_equal(q->what, "cgroups of samples");
	assert_int_equal(who.uid, 1000);
	*(uint64_t *)ctx += nr_refused;
}

/* A user has a quarter of the places, whoever has the cgroups inside of his. */
static void one_users_are_a_quarter(void **state)
{
	_cleanup_(cgroup_mounts_deinit) struct cgroup_mounts mounts = {0};
	struct process_table_config config = {.proc_path = "/proc",
					      .cgroups = mount,
					      .cgroup_mounts = &mounts,
					      .is_shared = true,
					      .max_cgroups = 16};
	struct strpool *names = strpool_new(1 << 20);
	struct process_table *shared;
	uint64_t nr_refused = 0;
	char path[512];

	(void)state;
	needs_v2();
	assert_int_equal(process_table_new(&config, names, &shared, NULL), 0);
	assert_int_equal(chown(outer, 1000, 1000), 0);
	for (unsigned int i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%s/%u", outer, i);
		assert_int_equal(mkdir(path, 0755), 0);
		if (i < 4)
			assert_non_null(process_table_cgroup(shared, number(path), 1));
		else
			assert_null(process_table_cgroup(shared, number(path), 1));
		assert_int_equal(rmdir(path), 0);
	}
	process_table_each_refused(shared, on_refused, &nr_refused);
	assert_int_equal(nr_refused, 2);
	assert_non_null(process_table_cgroup(shared, number(mount), 1));
	/* They are forgotten, so others have their places. */
	process_table_forget_ended(shared, 2);
	assert_non_null(process_table_cgroup(shared, number(inner), 3));
	process_table_free(shared);
	strpool_free(names);
}

static void names_move_to_the_next_pool(void **state)
{
	struct strpool *next;
	const struct process_owner *owner;

	(void)state;
	needs_v2();
	owner = process_table_cgroup(table, number(inner), 1);
	assert_non_null(owner);
	next = strpool_new(1 << 20);
	process_table_set_pool(table, next);
	strpool_free(pool);
	pool = next;
	assert_string_equal(owner->container, ID);
}

static void without_a_mount_nothing_is_asked(void **state)
{
	struct process_table_config config = {.proc_path = "/proc"};
	struct process_table *other;
	struct strpool *names = strpool_new(1 << 20);

	(void)state;
	needs_v2();
	assert_int_equal(process_table_new(&config, names, &other, NULL), 0);
	assert_null(process_table_cgroup(other, number(inner), 1));
	process_table_free(other);
	strpool_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(number_tells_path_and_container, setup,
						teardown),
		cmocka_unit_test_setup_teardown(removed_one_stays_known, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_number_tells_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(unknown_number_is_asked_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_late_answer_is_not_final, setup,
						teardown),
		cmocka_unit_test_setup_teardown(root_is_a_cgroup, setup, teardown),
		cmocka_unit_test_setup_teardown(old_ones_are_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(one_users_are_a_quarter, setup, teardown),
		cmocka_unit_test_setup_teardown(names_move_to_the_next_pool, setup,
						teardown),
		cmocka_unit_test_setup_teardown(without_a_mount_nothing_is_asked, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
