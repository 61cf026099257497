// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes of which the kernel told all at their first sample: /proc is not read for them.
 * It is a fake one that says something else, to show that.
 */
#include "process/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>

#include "fake_proc.h"
#include "process/image.h"

#define TICK    10000000ull
#define SEC     1000000000ull
#define PARENT  100
#define CGROUPS 5 /* a number */
#define LINE    "00400000-00500000 r-xp 00001000 00:01 11 /bin/make\n"

static struct fake_proc fake;
static struct strpool *pool;
static struct process_table *table;
static struct lb_ids ids; /* of the next child */

static uint32_t mount_of_root(void)
{
	struct statx stx = {0};

	assert_int_equal(statx(AT_FDCWD, "/", 0, STATX_MNT_ID, &stx), 0);
	return stx.stx_attributes & STATX_ATTR_MOUNT_ROOT ? (uint32_t)stx.stx_mnt_id : 0;
}

static int setup(void **state)
{
	struct process_table_config config = {.proc_path = fake.proc};
	struct stat ns;
	char root[160];

	(void)state;
	fake_proc_init(&fake);
	pool = strpool_new(1 << 24);
	assert_int_equal(process_table_new(&config, pool, &table, NULL), 0);
	fake_process_add(&fake, &(struct fake_process){.pid = PARENT,
						       .start_ticks = 77,
						       .maps = LINE,
						       .cgroup = "0::/parent\n"});
	snprintf(root, sizeof(root), "%s/%d/root", fake.proc, PARENT);
	assert_int_equal(unlink(root), 0);
	assert_int_equal(symlink("/", root), 0);
	assert_int_equal(process_table_scan(table, NULL, 0, NULL), 0);
	assert_int_equal(stat("/proc/self/ns/user", &ns), 0);
	ids = (struct lb_ids){.cgroups = CGROUPS,
			      .parents_cgroups = CGROUPS,
			      .ppid = PARENT,
			      .user_ns = (uint32_t)ns.st_ino,
			      .root_mount = mount_of_root(),
			      .ns_tgid = 9};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	process_table_free(table);
	table = NULL;
	strpool_free(pool);
	fake_proc_deinit(&fake);
	return 0;
}

/* The events of a child that executes /bin/short. Return: now */
static uint64_t start_child(uint32_t pid)
{
	uint64_t now = fake_now_ns();
	const struct task_event events[] = {
		{.kind = TASK_EVENT_FORK, .time_ns = now, .pid = pid, .ppid = PARENT},
		{.kind = TASK_EVENT_EXEC,
		 .time_ns = now + 1,
		 .pid = pid,
		 .comm = "short"},
		{.kind = TASK_EVENT_MMAP,
		 .time_ns = now + 2,
		 .pid = pid,
		 .start = 0x400000,
		 .end = 0x500000,
		 .prot = 5,
		 .inode = 11,
		 .build_id = {1},
		 .build_id_len = 20,
		 .name = "/bin/short"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		process_table_event(table, &events[i]);
	return fake_now_ns();
}

/* @cgroup  what its /proc says */
static struct process *sample_child(uint32_t pid, const char *cgroup)
{
	struct lb_first_sample first = {.tgid = pid, .exec_id = 2, .ids = ids};
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	first.start_boottime_ns = (uint64_t)ts.tv_sec * SEC
	+(uint64_t)ts.tv_nsec;
	fake_process_add(&fake, &(struct fake_process){
					.pid = pid,
					.start_ticks = first.start_boottime_ns / TICK,
					.comm = "read",
					.uid = 1000,
					.ns_pid = 3,
					.maps = LINE,
					.cgroup = cgroup});
	fake_map_file(&fake, pid, 0x400000, 0x500000, "short");
	first.time_ns = start_child(pid);
	/* Together with others, as in a recording. */
	process_table_announce(table, &first);
	process_table_read_announced(table);
	assert_ptr_equal(process_table_first_told(table, &first),
			 process_table_newest(table, pid));
	process_table_forget_announced(table);
	return process_table_newest(table, pid);
}

static void assert_cgroup(const struct process *p, const char *cgroup)
{
	assert_string_equal(p->owner.cgroup, cgroup);
	assert_string_equal(p->owner.exe, "/bin/short");
	assert_non_null(p->maps.items[0].file);
	assert_true(p->maps.items[0].file->fd >= 0);
	assert_int_equal(p->until_ns, UINT64_MAX);
}

static void assert_told(const struct process *p)
{
	assert_int_equal(p->uid, ids.uid);
	assert_int_equal(p->root_uid, 0);
	assert_int_equal(p->ns_tgid, ids.ns_tgid);
	assert_int_equal(p->root_id, process_table_newest(table, PARENT)->root_id);
	assert_string_equal(p->comm, "short");
}

static bool is_possible(void)
{
	if (!ids.root_mount)
		print_message("skip: / is no mount here\n");
	return ids.root_mount;
}

static void only_the_first_child_is_read(void **state)
{
	struct process *p;

	(void)state;
	if (!is_possible())
		skip();
	/* It was moved since it was told of, but its parent was not. */
	p = sample_child(200, "0::/moved\n");
	assert_cgroup(p, "/moved");
	assert_told(p);
	/* The same cgroup, whatever this one's /proc says. */
	p = sample_child(201, "0::/read\n");
	assert_cgroup(p, "/parent");
	assert_told(p);
	/* It stays so, also when it has ended meanwhile. */
	fake_process_remove(&fake, 201);
	process_table_refresh(table, fake_now_ns());
	assert_cgroup(p, "/parent");
}

/* What was read of the parent counts when it was in the same cgroups before and after. */
static void a_parent_that_moved_is_read_again(void **state)
{
	(void)state;
	if (!is_possible())
		skip();
	assert_cgroup(sample_child(200, "0::/here\n"), "/here");
	ids.cgroups = ids.parents_cgroups = CGROUPS + 1;
	assert_cgroup(sample_child(201, "0::/next\n"), "/next");
	assert_cgroup(sample_child(202, "0::/read\n"), "/parent");
	ids.cgroups = ids.parents_cgroups = CGROUPS + 2;
	assert_cgroup(sample_child(205, "0::/last\n"), "/last");
	assert_cgroup(sample_child(206, "0::/read\n"), "/parent");
	/* And from time to time. */
	table->images[process_table_newest(table, PARENT)->id]->owner_cgroups_ns -= 10 *
										    SEC;
	assert_cgroup(sample_child(203, "0::/later\n"), "/later");
	assert_cgroup(sample_child(204, "0::/read\n"), "/parent");
}

static void a_child_elsewhere_is_read(void **state)
{
	struct lb_ids same = ids;

	(void)state;
	if (!is_possible())
		skip();
	assert_cgroup(sample_child(200, "0::/here\n"), "/here");
	/* It was moved, or its parent was. */
	ids.cgroups = CGROUPS + 1;
	assert_cgroup(sample_child(201, "0::/moved\n"), "/moved");
	ids.cgroups = CGROUPS;
	ids.parents_cgroups = CGROUPS + 1;
	assert_cgroup(sample_child(202, "0::/left\n"), "/left");
	/* It has another parent, or nothing is known of it. */
	ids = same;
	ids.ppid = 1;
	assert_cgroup(sample_child(205, "0::/orphan\n"), "/orphan");
	ids = same;
	ids.cgroups = ids.parents_cgroups = 0;
	assert_cgroup(sample_child(206, "0::/unknown\n"), "/unknown");
}

static void what_was_not_told_is_read(void **state)
{
	struct lb_ids told = ids;
	struct process *p;

	(void)state;
	if (!is_possible())
		skip();
	sample_child(200, "0::/here\n");
	for (uint32_t i = 0; i < 4; i++) {
		ids = told;
		ids.root_mount = i == 0 ? 0x7fffffff : i == 1 ? 0 : told.root_mount;
		ids.user_ns += i == 2;
		ids.uid = i == 3 ? LB_NO_ID : ids.uid;
		p = sample_child(201 + i, "0::/read\n");
		assert_int_equal(p->ns_tgid, 3);
		assert_int_not_equal(p->root_id,
				     process_table_newest(table, PARENT)->root_id);
		assert_cgroup(p, i == 3 ? "/read" : "/parent");
	}
	ids = told;
	ids.ns_tgid = 0;
	p = sample_child(205, "0::/read\n");
	assert_int_equal(p->ns_tgid, 3);
	assert_cgroup(p, "/parent");
}

/* Who has code of a JIT may have files beside it, for which its directory is needed. */
static void a_jit_is_read(void **state)
{
	struct task_event code = {.kind = TASK_EVENT_MMAP,
				  .pid = 201,
				  .start = 0x700000,
				  .end = 0x800000,
				  .prot = 7,
				  .name = "//anon"};
	struct process *p;

	(void)state;
	if (!is_possible())
		skip();
	sample_child(200, "0::/here\n");
	p = sample_child(201, "0::/here\n");
	assert_int_equal(p->ns_tgid, ids.ns_tgid);
	code.time_ns = fake_now_ns();
	process_table_event(table, &code);
	process_table_open_new(table, fake_now_ns());
	assert_int_equal(p->ns_tgid, 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_the_first_child_is_read),
		TEST(a_parent_that_moved_is_read_again),
		TEST(a_child_elsewhere_is_read),
		TEST(what_was_not_told_is_read),
		TEST(a_jit_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
