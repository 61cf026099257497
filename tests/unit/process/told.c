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
#include "lib/slow_opener.h"
#include "process/image.h"

#define TICK      10000000ull
#define SEC       1000000000ull
#define PARENT    100
#define CGROUPS   5 /* a number */
#define LINE      "00400000-00500000 r-xp 00001000 00:01 11 /bin/make\n"
#define ID        "3f4b9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7a8"
#define CONTAINER "/docker-" ID ".scope"

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
	struct process_table_config config = {.proc_path = fake.proc,
					      .cgroup_mounts = &fake_cgroups};
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

static void fork_event(uint32_t pid, uint32_t ppid)
{
	struct task_event ev = {.kind = TASK_EVENT_FORK,
				.time_ns = fake_now_ns(),
				.pid = pid,
				.ppid = ppid};

	process_table_event(table, &ev);
}

static void map_event(uint32_t pid, uint64_t start, const char *path)
{
	struct task_event ev = {.kind = TASK_EVENT_MMAP,
				.time_ns = fake_now_ns(),
				.pid = pid,
				.start = start,
				.end = start + 0x100000,
				.prot = 5,
				.inode = 11,
				.build_id = {1},
				.build_id_len = 20,
				.name = path};

	process_table_event(table, &ev);
}

static void exec_event(uint32_t pid, const char *path)
{
	struct task_event ev = {.kind = TASK_EVENT_EXEC,
				.time_ns = fake_now_ns(),
				.pid = pid,
				.comm = "short"};

	process_table_event(table, &ev);
	map_event(pid, 0x400000, path);
}

/* Writes its /proc. Return: its start */
static uint64_t add_process(uint32_t pid, const char *cgroup)
{
	struct timespec ts;
	uint64_t start_ns;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	start_ns = SEC
	*(uint64_t)ts.tv_sec;
	start_ns += (uint64_t)ts.tv_nsec;
	fake_process_add(&fake, &(struct fake_process){.pid = pid,
						       .start_ticks = start_ns / TICK,
						       .comm = "read",
						       .uid = 1000,
						       .ns_pid = 3,
						       .maps = LINE,
						       .cgroup = cgroup});
	fake_map_file(&fake, pid, 0x400000, 0x500000, "short");
	return start_ns;
}

static struct lb_first_sample first_of(uint32_t pid, uint64_t start_ns, uint32_t exec_id)
{
	return (struct lb_first_sample){.start_boottime_ns = start_ns,
					.tgid = pid,
					.exec_id = exec_id,
					.time_ns = fake_now_ns(),
					.ids = ids};
}

/* Together with others, as in a recording. */
static struct process *tell(const struct lb_first_sample *first)
{
	process_table_announce(table, first);
	process_table_read_announced(table);
	process_table_first_told(table, first);
	process_table_forget_announced(table);
	return process_table_newest(table, first->tgid);
}

static struct process *sample(uint32_t pid, uint64_t start_ns)
{
	struct lb_first_sample first = first_of(pid, start_ns, 2);

	return tell(&first);
}

/* A child that executes /bin/short. @cgroup  what its /proc says */
static struct process *sample_child(uint32_t pid, const char *cgroup)
{
	uint64_t start_ns = add_process(pid, cgroup);

	fork_event(pid, ids.ppid);
	exec_event(pid, "/bin/short");
	return sample(pid, start_ns);
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

/* The kernel tells of an exec before the first sample, which a short program may not have. */
static void what_ended_is_not_opened_without_a_sample(void **state)
{
	struct task_event end = {.kind = TASK_EVENT_EXIT, .pid = 201};
	uint64_t start_ns = add_process(201, "0::/here\n");
	struct process *p;

	(void)state;
	fork_event(201, PARENT);
	exec_event(201, "/bin/short");
	end.time_ns = fake_now_ns();
	process_table_event(table, &end);
	p = process_table_expect(table, IMAGE(201, start_ns, 2), end.time_ns - 1);
	assert_non_null(p);
	assert_false(p->opened);
	assert_ptr_equal(sample(201, start_ns), p);
	assert_true(p->opened);
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
	table->images[process_table_newest(table, PARENT)->id]->owner_cgroups_ns = 1;
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

/* Where the targets are of many users, unless root started it. */
static void the_user_of_a_setuid_program_is_read(void **state)
{
	struct process *p;

	(void)state;
	if (!is_possible())
		skip();
	table->is_shared = true;
	sample_child(200, "0::/here\n");
	p = sample_child(201, "0::/read\n");
	assert_cgroup(p, "/parent");
	assert_told(p);
	process_table_newest(table, PARENT)->tenant = (struct tenant){.uid = 1000};
	p = sample_child(202, "0::/read\n");
	assert_cgroup(p, "/parent");
	assert_int_equal(p->ns_tgid, 3);
	assert_int_equal(p->tenant.uid, 1000);
	/* Nor is it known who runs what a program of root's started. */
	process_table_newest(table, PARENT)->tenant = TENANT_NEW;
	process_table_newest(table, PARENT)->real_uid = (uid_t)-1;
	assert_int_equal(sample_child(204, "0::/read\n")->ns_tgid, 3);
	/* The user of another program is told. */
	ids.uid = 1000;
	p = sample_child(203, "0::/read\n");
	assert_cgroup(p, "/parent");
	assert_told(p);
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
static void a_jit_is_looked_at(void **state)
{
	struct task_event code = {.kind = TASK_EVENT_MMAP,
				  .start = 0x700000,
				  .end = 0x800000,
				  .prot = 7,
				  .name = "//anon"};

	(void)state;
	if (!is_possible())
		skip();
	sample_child(200, "0::/here\n");
	for (uint32_t pid = 201; pid < 203; pid++) {
		uint64_t start_ns = add_process(pid, "0::/here\n");
		const struct process *p;

		fork_event(pid, PARENT);
		exec_event(pid, "/bin/short");
		code.time_ns = fake_now_ns();
		code.pid = pid;
		if (pid == 202)
			process_table_event(table, &code);
		p = sample(pid, start_ns);
		assert_int_equal(table->images[p->id]->proc_dir >= 0, pid == 202);
	}
}

/* A manager of containers, a container's first process, and a child that is sampled late. */
static void the_tenant_is_known_before_its_files_are_opened(void **state)
{
	struct process_table_config config = {.proc_path = fake.proc,
					      .cgroup_mounts = &fake_cgroups,
					      .is_shared = true};
	uint64_t start_ns;
	struct process *p;

	(void)state;
	if (!is_possible())
		skip();
	process_table_free(table);
	table = NULL;
	assert_int_equal(process_table_new(&config, pool, &table, NULL), 0);
	assert_int_equal(process_table_scan(table, NULL, 0, NULL), 0);
	process_table_first_sample(table, IMAGE(PARENT, 77 * TICK, 1), fake_now_ns());
	fork_event(200, PARENT);
	add_process(200, "0::" CONTAINER "\n");
	exec_event(200, "/bin/init");
	ids.ppid = 200;
	fork_event(202, 200);
	start_ns = add_process(202, "0::" CONTAINER "\n");
	sample_child(201, "0::" CONTAINER "\n");
	exec_event(202, "/usr/lib/forged.so");
	p = sample(202, start_ns);
	assert_string_equal(p->owner.cgroup, CONTAINER);
	assert_int_not_equal(p->tenant.container, 0);
	/* Root's files outside of containers are everybody's. */
	assert_true(tenant_is_same(p->maps.items[0].file->tenant, p->tenant));
}

/* A shell was moved, and its cgroup cannot be read: it gets the owner of its parent. */
static void an_owner_of_another_is_not_that_of_these_cgroups(void **state)
{
	char path[160];
	uint64_t start_ns;

	(void)state;
	if (!is_possible())
		skip();
	fork_event(300, PARENT);
	start_ns = add_process(300, "0::/container\n");
	exec_event(300, "/bin/sh");
	ids.ppid = 300;
	sample_child(201, "0::/container\n");
	assert_cgroup(sample_child(202, "0::/read\n"), "/container");
	ids.ppid = PARENT;
	ids.cgroups = CGROUPS + 1;
	snprintf(path, sizeof(path), "%s/300/cgroup", fake.proc);
	assert_int_equal(unlink(path), 0);
	assert_string_equal(sample(300, start_ns)->owner.cgroup, "/parent");
	/* A child that it had before is sampled. */
	ids.ppid = 300;
	ids.cgroups = CGROUPS;
	assert_cgroup(sample_child(203, "0::/container\n"), "/container");
}

static void what_maps_more_may_have_another_root(void **state)
{
	struct process *p;

	(void)state;
	if (!is_possible())
		skip();
	sample_child(200, "0::/here\n");
	p = sample_child(201, "0::/here\n");
	assert_told(p);
	/* Its /proc has another root, as after chroot(). */
	map_event(201, 0x700000, "/bin/short");
	process_table_open_new(table, fake_now_ns());
	assert_int_not_equal(p->root_id, process_table_newest(table, PARENT)->root_id);
}

/* What was told while it was read was told neither before nor after. */
static void a_telling_while_it_is_read_does_not_count(void **state)
{
	struct image *parent = table->images[process_table_newest(table, PARENT)->id];
	const struct lb_ids told = {.ppid = PARENT, .parents_cgroups = CGROUPS};

	(void)state;
	if (!is_possible())
		skip();
	sample_child(200, "0::/here\n");
	assert_true(parent->owner_ns < parent->owner_until_ns);
	image_tell_parent(table, &told, parent->owner_until_ns);
	assert_int_equal(parent->owner_cgroups, 0);
	image_tell_parent(table, &told, fake_now_ns());
	image_tell_parent(table, &told, fake_now_ns());
	assert_int_equal(parent->owner_cgroups, 0); /* read before both */
}

/* Its number may be another's, and that one's cgroups may have the number of the old ones. */
static void a_parent_that_ended_or_is_stale_does_not_count(void **state)
{
	struct task_event lost = {.kind = TASK_EVENT_LOST, .nr_lost = 1};
	struct task_event end = {.kind = TASK_EVENT_EXIT, .pid = PARENT};

	(void)state;
	if (!is_possible())
		skip();
	sample_child(200, "0::/here\n");
	assert_cgroup(sample_child(201, "0::/read\n"), "/parent");
	process_table_event(table, &lost);
	assert_cgroup(sample_child(202, "0::/stale\n"), "/stale");
	/* Until it was found to live. */
	process_table_expire(table, fake_now_ns());
	assert_cgroup(sample_child(203, "0::/read\n"), "/parent");
	end.time_ns = fake_now_ns();
	process_table_event(table, &end);
	assert_cgroup(sample_child(204, "0::/ended\n"), "/ended");
}

/* Both are announced together, or the first one alone. */
static void what_a_second_program_needs_is_read(void **state)
{
	struct lb_first_sample one, two;
	uint64_t start_ns;

	(void)state;
	if (!is_possible())
		skip();
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t pid = 201 + i;

		sample_child(210 + i, "0::/here\n");
		fork_event(pid, PARENT);
		start_ns = add_process(pid, "0::/new\n");
		exec_event(pid, "/bin/short");
		ids.cgroups = CGROUPS + 3; /* so that its cgroup is read */
		one = first_of(pid, start_ns, 2);
		exec_event(pid, "/bin/short");
		ids.root_mount = 0x7fffffff; /* that of a new container */
		two = first_of(pid, start_ns, 3);
		process_table_announce(table, &one);
		if (!i)
			process_table_announce(table, &two);
		process_table_read_announced(table);
		process_table_first_told(table, &one);
		process_table_first_told(table, &two);
		process_table_forget_announced(table);
		assert_true(process_may_open(process_table_newest(table, pid)));
		ids.cgroups = CGROUPS;
		ids.root_mount = mount_of_root();
	}
}

/* As told, also for the program that it was before (unshare -p). */
static void its_number_is_that_of_its_earlier_programs(void **state)
{
	struct process *old;

	(void)state;
	if (!is_possible())
		skip();
	fork_event(201, PARENT);
	old = process_table_newest(table, 201);
	assert_non_null(old);
	exec_event(201, "/bin/short");
	sample(201, add_process(201, "0::/here\n"));
	assert_int_equal(old->ns_tgid, ids.ns_tgid);
}

static uint64_t nr_requests(void)
{
	struct opener_stats stats;

	opener_stats(&stats);
	return stats.nr_requests;
}

#define NR_TOGETHER 8

/* Their first samples are in one drain. Return: how many requests the opener got. */
static uint64_t sample_together(uint32_t pid, const char *cgroup)
{
	struct lb_first_sample firsts[NR_TOGETHER];
	uint64_t before = nr_requests();

	for (uint32_t i = 0; i < NR_TOGETHER; i++) {
		uint64_t start_ns = add_process(pid + i, cgroup);

		fork_event(pid + i, PARENT);
		exec_event(pid + i, "/bin/short");
		firsts[i] = first_of(pid + i, start_ns, 2);
		process_table_announce(table, &firsts[i]);
	}
	process_table_read_announced(table);
	for (uint32_t i = 0; i < NR_TOGETHER; i++)
		process_table_first_told(table, &firsts[i]);
	process_table_forget_announced(table);
	return nr_requests() - before;
}

/*
 * Each request is two switches of a CPU. Processes of known programs need none if the kernel
 * told all; else one for all of a drain.
 */
static void many_processes_need_few_requests(void **state)
{
	(void)state;
	if (!is_possible())
		skip();
	assert_int_equal(opener_begin(NULL), 0);
	sample_child(200, "0::/parent\n");
	assert_int_equal(sample_together(300, "0::/parent\n"), 0);
	ids.root_mount = 0x7fffffff; /* that of a new container */
	ids.cgroups = CGROUPS + 3;
	assert_int_equal(sample_together(400, "0::/here\n"), 1);
	opener_end();
}

/* It has its right name as soon as they are looked at again. */
static void whose_folder_is_late_is_found_later(void **state)
{
	struct process *p;

	(void)state;
	if (geteuid() || !is_possible())
		skip();
	assert_int_equal(opener_begin(NULL), 0);
	slow_opener_hold(TENANT_OF_FOLDERS(0));
	ids.uid = 1000;
	p = sample_child(200, "0::" CONTAINER "\n");
	assert_string_equal(p->owner.container, "1000/" ID);
	process_table_refresh(table, fake_now_ns());
	assert_string_equal(p->owner.container, "1000/" ID);
	opener_end();
	process_table_refresh(table, fake_now_ns());
	assert_string_equal(p->owner.container, ID);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_the_first_child_is_read),
		TEST(what_ended_is_not_opened_without_a_sample),
		TEST(a_parent_that_moved_is_read_again),
		TEST(a_child_elsewhere_is_read),
		TEST(the_user_of_a_setuid_program_is_read),
		TEST(what_was_not_told_is_read),
		TEST(a_jit_is_looked_at),
		TEST(the_tenant_is_known_before_its_files_are_opened),
		TEST(an_owner_of_another_is_not_that_of_these_cgroups),
		TEST(what_maps_more_may_have_another_root),
		TEST(a_telling_while_it_is_read_does_not_count),
		TEST(a_parent_that_ended_or_is_stale_does_not_count),
		TEST(what_a_second_program_needs_is_read),
		TEST(its_number_is_that_of_its_earlier_programs),
		TEST(many_processes_need_few_requests),
		TEST(whose_folder_is_late_is_found_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
