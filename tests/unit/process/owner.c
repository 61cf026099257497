// SPDX-License-Identifier: GPL-2.0-or-later
/* Owners of images: read from /proc, inherited at fork and exec, or of an ancestor. */
#include "process/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "fake_proc.h"

#define TICK       10000000ull
#define MS         1000000ull
#define SEC        1000000000ull
#define ID         "3f4b9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7a8"
#define DOCKER     "0::/docker-" ID ".scope\n"
#define LINE(path) "00400000-00500000 r-xp 00001000 00:01 11 " path "\n"

static struct fake_proc fake;
static struct strpool *pool;
static struct process_table *table;
static uint64_t now; /* after the last scan */
static uint64_t start; /* the same in boottime */

static int setup(void **state)
{
	struct process_table_config config = {.proc_path = fake.proc,
					      .cgroup_mounts = &fake_cgroups};

	(void)state;
	fake_proc_init(&fake);
	/* Files of container runtimes are looked for below its root. */
	fake_process_add(&fake, &(struct fake_process){.pid = 1, .maps = LINE("/init")});
	pool = strpool_new(1 << 24);
	assert_int_equal(process_table_new(&config, pool, &table, NULL), 0);
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

static void scan(void)
{
	struct timespec ts;

	assert_int_equal(process_table_scan(table, NULL, 0, NULL), 0);
	now = fake_now_ns();
	clock_gettime(CLOCK_BOOTTIME, &ts);
	start = (uint64_t)ts.tv_sec * SEC
	+(uint64_t)ts.tv_nsec;
}

static void event(enum task_event_kind kind, uint64_t time_ns, uint32_t pid,
		  uint32_t ppid, const char *text)
{
	struct task_event ev = {.kind = kind,
				.time_ns = time_ns,
				.pid = pid,
				.ppid = ppid,
				.start = 0x400000,
				.end = 0x500000,
				.prot = 5,
				.name = text};

	process_table_event(table, &ev);
}

static const struct process_owner *sampled(uint32_t pid, uint64_t start_ns,
					   uint32_t exec_id, uint64_t time_ns)
{
	struct process *p =
		process_table_first_sample(table, IMAGE(pid, start_ns, exec_id), time_ns);

	assert_non_null(p);
	return &p->owner;
}

static void assert_in_docker(const struct process_owner *owner)
{
	assert_string_equal(owner->cgroup, "/docker-" ID ".scope");
	assert_string_equal(owner->container, ID);
	assert_string_equal(owner->runtime, "docker");
	assert_string_equal(owner->unit, "docker-" ID ".scope");
	assert_string_equal(owner->pod, "");
}

static void what_lives_is_read(void **state)
{
	const struct process_owner *owner;

	(void)state;
	fake_process_add(&fake, &(struct fake_process){.pid = 100,
						       .start_ticks = 77,
						       .maps = LINE("/bin/mapped"),
						       .cgroup = DOCKER,
						       .exe = "/bin/worker (deleted)"});
	scan();
	assert_null(process_table_newest(table, 100)->owner.cgroup);
	owner = sampled(100, 77 * TICK, 1, now);
	assert_in_docker(owner);
	assert_string_equal(owner->exe, "/bin/worker");
	assert_string_equal(owner->container_name, "");
}

static void what_cannot_be_told_is_empty(void **state)
{
	const struct process_owner *owner;

	(void)state;
	fake_process_add(&fake,
			 &(struct fake_process){.pid = 100,
						.start_ticks = 77,
						.maps = "7f0000000000-7f0000001000 r-xp "
							"00000000 00:00 0 \n"});
	fake_write("", 0, "%s/100/cgroup", fake.proc);
	scan();
	owner = sampled(100, 77 * TICK, 1, now);
	assert_string_equal(owner->cgroup, "");
	assert_string_equal(owner->container, "");
	assert_string_equal(owner->container_name, "");
	assert_string_equal(owner->runtime, "");
	assert_string_equal(owner->pod, "");
	assert_string_equal(owner->unit, "");
	assert_string_equal(owner->exe, "");
}

/* The exe of a process in a chroot is shown without the chroot's path. */
static void exe_is_as_the_process_sees_it(void **state)
{
	char exe[200], root[200];

	(void)state;
	snprintf(exe, sizeof(exe), "%s/bin/inside", fake.root);
	fake_process_add(&fake, &(struct fake_process){.pid = 100,
						       .start_ticks = 77,
						       .maps = LINE("/bin/inside"),
						       .exe = exe});
	snprintf(root, sizeof(root), "%s/100/root", fake.proc);
	assert_int_equal(unlink(root), 0);
	assert_int_equal(symlink(fake.root, root), 0);
	scan();
	assert_string_equal(sampled(100, 77 * TICK, 1, now)->exe, "/bin/inside");
}

static void a_child_that_is_gone_has_its_parents(void **state)
{
	const struct process_owner *owner;

	(void)state;
	fake_process_add(&fake, &(struct fake_process){.pid = 100,
						       .start_ticks = 77,
						       .maps = LINE("/bin/sh"),
						       .cgroup = DOCKER,
						       .exe = "/bin/sh"});
	scan();
	/* The parent was never sampled, so its owner was not read. */
	event(TASK_EVENT_FORK, now + 1, 101, 100, NULL);
	event(TASK_EVENT_EXEC, now + 2, 101, 0, NULL);
	event(TASK_EVENT_MMAP, now + 3, 101, 0, "/bin/short");
	event(TASK_EVENT_EXIT, now + 5 * MS, 101, 0, NULL);
	owner = sampled(101, start, 1, now + 4);
	assert_in_docker(owner);
	assert_string_equal(owner->exe, "/bin/short");
	/* The owner that was read for the child is stored for the parent, too. */
	assert_in_docker(&process_table_newest(table, 100)->owner);
	assert_string_equal(sampled(100, 77 * TICK, 1, now + 9)->exe, "/bin/sh");
}

static void what_ends_between_scan_and_sample_has_its_parents(void **state)
{
	(void)state;
	fake_process_add(&fake, &(struct fake_process){.pid = 100,
						       .start_ticks = 77,
						       .maps = LINE("/bin/sh"),
						       .cgroup = DOCKER});
	fake_process_add(&fake, &(struct fake_process){.pid = 101,
						       .ppid = 100,
						       .start_ticks = 78,
						       .maps = LINE("/bin/a")});
	fake_process_add(&fake, &(struct fake_process){.pid = 102,
						       .ppid = 1,
						       .start_ticks = 79,
						       .maps = LINE("/bin/orphan")});
	scan();
	fake_process_remove(&fake, 101);
	fake_process_remove(&fake, 102);
	assert_in_docker(sampled(101, 78 * TICK, 1, now));
	assert_string_equal(sampled(102, 79 * TICK, 1, now)->cgroup, "");
}

static bool announce(uint32_t pid, uint64_t start_ns)
{
	return process_table_announce(
		table, &(struct lb_first_sample){.tgid = pid,
						 .start_boottime_ns = start_ns,
						 .exec_id = 1,
						 .ids.uid = LB_NO_ID});
}

/* What was announced is read before it is told, and not again. */
static void what_is_announced_is_read_ahead(void **state)
{
	struct fake_process process = {
		.pid = 100, .start_ticks = 77, .maps = LINE("/bin/a"), .cgroup = DOCKER};

	(void)state;
	fake_process_add(&fake, &process);
	process.pid = 101;
	fake_process_add(&fake, &process);
	scan();
	assert_true(announce(100, 77 * TICK));
	assert_true(announce(99, 77 * TICK)); /* it is gone */
	process_table_read_announced(table);
	process.cgroup = "0::/init.scope\n";
	fake_process_add(&fake, &process);
	process.pid = 100;
	fake_process_add(&fake, &process);
	assert_in_docker(sampled(100, 77 * TICK, 1, now));
	process_table_forget_announced(table);
	assert_string_equal(sampled(101, 77 * TICK, 1, now)->unit, "init.scope");
	/* What was announced and not told is forgotten. */
	assert_true(announce(101, 77 * TICK)); /* known: needs nothing */
	for (uint32_t pid = 200; pid < 216; pid++) {
		process.pid = pid;
		fake_process_add(&fake, &process);
		assert_int_equal(announce(pid, 77 * TICK), pid < 215);
	}
	process_table_read_announced(table);
	process_table_forget_announced(table);
	process.cgroup = DOCKER;
	process.pid = 200;
	fake_process_add(&fake, &process);
	assert_in_docker(sampled(200, 77 * TICK, 1, now));
}

/* What was read of a program is not told of the one that it executed meanwhile. */
static void what_was_read_before_an_exec_is_not_taken(void **state)
{
	struct fake_process process = {.pid = 100,
				       .start_ticks = 77,
				       .maps = LINE("/bin/su"),
				       .cgroup = DOCKER,
				       .exe = "/bin/su"};
	const struct process_owner *owner;

	(void)state;
	fake_process_add(&fake, &process);
	scan();
	announce(100, 77 * TICK);
	process_table_read_announced(table);
	process.cgroup = "0::/init.scope\n";
	process.exe = "/bin/user";
	fake_process_add(&fake, &process);
	event(TASK_EVENT_EXEC, fake_now_ns(), 100, 0, NULL);
	owner = sampled(100, 77 * TICK, 2, fake_now_ns());
	assert_string_equal(owner->unit, "init.scope");
	assert_string_equal(owner->exe, "/bin/user");
	process_table_forget_announced(table);
}

static void what_was_read_ahead_does_not_show_that_a_process_lives(void **state)
{
	struct fake_process process = {
		.pid = 100, .start_ticks = 77, .maps = LINE("/bin/a")};
	const struct process *p;

	(void)state;
	fake_process_add(&fake, &process);
	scan();
	announce(100, 77 * TICK);
	process_table_read_announced(table);
	p = process_table_newest(table, 100);
	assert_true(process_is_alive(table, p));
	fake_process_remove(&fake, 100);
	assert_false(process_is_alive(table, p));
	process_table_forget_announced(table);
}

/* The parent was read before it moved to another cgroup; the child was never read. */
static void a_parent_that_moved_is_asked_again(void **state)
{
	struct fake_process parent = {.pid = 100,
				      .start_ticks = 77,
				      .maps = LINE("/bin/sh"),
				      .cgroup = "0::/init.scope\n"};

	(void)state;
	fake_process_add(&fake, &parent);
	scan();
	assert_string_equal(sampled(100, 77 * TICK, 1, now)->unit, "init.scope");
	parent.cgroup = DOCKER;
	fake_process_add(&fake, &parent);
	event(TASK_EVENT_FORK, fake_now_ns(), 101, 100, NULL);
	sampled(101, start, 1, fake_now_ns());
	process_table_refresh(table, fake_now_ns());
	assert_in_docker(&process_table_newest(table, 101)->owner);
}

/* Of many commands that are gone, the last fork and the time of reading decide. */
static void a_parent_is_read_once_for_all_that_are_gone(void **state)
{
	struct fake_process parent = {.pid = 100,
				      .start_ticks = 77,
				      .maps = LINE("/bin/sh"),
				      .cgroup = "0::/init.scope\n"};

	(void)state;
	fake_process_add(&fake, &parent);
	scan();
	sampled(100, 77 * TICK, 1, now);
	event(TASK_EVENT_FORK, fake_now_ns(), 101, 100, NULL);
	event(TASK_EVENT_FORK, fake_now_ns(), 102, 100, NULL);
	event(TASK_EVENT_FORK, fake_now_ns(), 103, 100, NULL);
	assert_string_equal(sampled(101, start, 1, fake_now_ns())->unit, "init.scope");
	assert_string_equal(sampled(102, start, 1, fake_now_ns())->unit, "init.scope");
	parent.cgroup = DOCKER;
	fake_process_add(&fake, &parent);
	process_table_refresh(table, fake_now_ns());
	assert_in_docker(&process_table_newest(table, 101)->owner);
	/* It was read since the fork of 103, too, so it is not read again. */
	parent.cgroup = "0::/init.scope\n";
	fake_process_add(&fake, &parent);
	assert_in_docker(&process_table_newest(table, 102)->owner);
	assert_in_docker(sampled(103, start, 1, fake_now_ns()));
}

static void a_parent_that_is_gone_leaves_what_it_had(void **state)
{
	(void)state;
	fake_process_add(&fake, &(struct fake_process){.pid = 100,
						       .start_ticks = 77,
						       .maps = LINE("/bin/sh"),
						       .cgroup = DOCKER});
	scan();
	sampled(100, 77 * TICK, 1, now);
	event(TASK_EVENT_FORK, fake_now_ns(), 101, 100, NULL);
	sampled(101, start, 1, fake_now_ns());
	fake_process_remove(&fake, 100);
	process_table_refresh(table, fake_now_ns());
	assert_in_docker(&process_table_newest(table, 101)->owner);
}

static void fork_and_exec_take_over_what_is_still_true(void **state)
{
	const struct process_owner *owner;

	(void)state;
	fake_process_add(&fake, &(struct fake_process){.pid = 100,
						       .start_ticks = 77,
						       .maps = LINE("/bin/sh"),
						       .cgroup = DOCKER,
						       .exe = "/bin/sh"});
	scan();
	sampled(100, 77 * TICK, 1, now);
	fake_process_remove(&fake, 100);
	event(TASK_EVENT_FORK, now + 1, 101, 100, NULL);
	owner = &process_table_newest(table, 101)->owner;
	assert_in_docker(owner);
	assert_string_equal(owner->exe, "/bin/sh");
	event(TASK_EVENT_EXEC, now + 2, 101, 0, NULL);
	owner = &process_table_newest(table, 101)->owner;
	assert_in_docker(owner);
	assert_null(owner->exe);
	event(TASK_EVENT_MMAP, now + 3, 101, 0, "/bin/other");
	owner = sampled(101, start, 1, now + 4);
	assert_in_docker(owner);
	assert_string_equal(owner->exe, "/bin/other");
}

/* A container runtime moves its child into the container's cgroup before exec. */
static void what_lives_is_asked_itself(void **state)
{
	(void)state;
	fake_process_add(&fake, &(struct fake_process){.pid = 100,
						       .start_ticks = 77,
						       .maps = LINE("/bin/runc"),
						       .cgroup = "0::/init.scope\n"});
	scan();
	assert_string_equal(sampled(100, 77 * TICK, 1, now)->unit, "init.scope");
	event(TASK_EVENT_FORK, now + 1, 101, 100, NULL);
	assert_string_equal(process_table_newest(table, 101)->owner.unit, "init.scope");
	event(TASK_EVENT_EXEC, now + 2, 101, 0, NULL);
	fake_process_add(&fake, &(struct fake_process){.pid = 101,
						       .start_ticks = start / TICK,
						       .maps = LINE("/bin/app"),
						       .cgroup = DOCKER});
	assert_in_docker(sampled(101, start, 1, now + 4));
}

static void a_name_that_comes_later_is_everybodys(void **state)
{
	struct process *p;

	(void)state;
	if (getuid()) {
		print_message("files of runtimes belong to root: not run\n");
		skip();
	}
	fake_process_add(&fake, &(struct fake_process){.pid = 100,
						       .start_ticks = 77,
						       .maps = LINE("/bin/a"),
						       .cgroup = DOCKER});
	scan();
	assert_string_equal(sampled(100, 77 * TICK, 1, now)->container_name, "");
	fake_mkdir("%s/var", fake.root);
	fake_mkdir("%s/var/lib", fake.root);
	fake_mkdir("%s/var/lib/docker", fake.root);
	fake_mkdir("%s/var/lib/docker/containers", fake.root);
	fake_mkdir("%s/var/lib/docker/containers/" ID, fake.root);
	fake_write("{\"Name\":\"/web\"}", 15,
		   "%s/var/lib/docker/containers/" ID "/config.v2.json", fake.root);
	p = process_table_newest(table, 100);
	process_table_refresh(table, now);
	assert_string_equal(p->owner.container_name, "");
	process_table_refresh(table, now + 2 * SEC);
	assert_string_equal(p->owner.container_name, "web");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_lives_is_read),
		TEST(what_cannot_be_told_is_empty),
		TEST(exe_is_as_the_process_sees_it),
		TEST(a_child_that_is_gone_has_its_parents),
		TEST(what_ends_between_scan_and_sample_has_its_parents),
		TEST(what_is_announced_is_read_ahead),
		TEST(what_was_read_before_an_exec_is_not_taken),
		TEST(what_was_read_ahead_does_not_show_that_a_process_lives),
		TEST(a_parent_that_moved_is_asked_again),
		TEST(a_parent_is_read_once_for_all_that_are_gone),
		TEST(a_parent_that_is_gone_leaves_what_it_had),
		TEST(fork_and_exec_take_over_what_is_still_true),
		TEST(what_lives_is_asked_itself),
		TEST(a_name_that_comes_later_is_everybodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
