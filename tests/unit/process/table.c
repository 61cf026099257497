// SPDX-License-Identifier: GPL-2.0-or-later
/* The process table, with a fake /proc and fake events. */
#include "process/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/target_fd.h"
#include "fake_proc.h"
#include "lib/slow_opener.h"
#include "opener/opener.h"
#include "process/image.h"

#define TICK 10000000ull
#define MS   1000000ull
#define SEC  1000000000ull

#define EXE_LINE                                               \
	"00400000-00500000 r-xp 00001000 00:01 11 /bin/fake\n" \
	"00500000-00600000 rw-p 00000000 00:01 11 /bin/fake\n"

static struct fake_proc fake;
static struct strpool *pool;
static struct process_table *table;
static uint64_t now; /* after the last scan */

static void new_table(size_t max_processes, size_t max_files, size_t max_mappings)
{
	struct process_table_config config = {.proc_path = fake.proc,
					      .max_processes = max_processes,
					      .max_files = max_files,
					      .max_mappings = max_mappings};

	process_table_free(table);
	table = NULL;
	assert_int_equal(process_table_new(&config, pool, &table, NULL), 0);
	now = fake_now_ns();
}

static int setup(void **state)
{
	(void)state;
	fake_proc_init(&fake);
	pool = strpool_new(1 << 24);
	new_table(0, 0, 0);
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
	assert_int_equal(process_table_scan(table, NULL, 0, NULL), 0);
	now = fake_now_ns();
}

static void event(enum task_event_kind kind, uint64_t time_ns, uint32_t pid,
		  uint32_t ppid, const char *comm)
{
	struct task_event ev = {
		.kind = kind, .time_ns = time_ns, .pid = pid, .ppid = ppid};

	if (comm)
		snprintf(ev.comm, sizeof(ev.comm), "%s", comm);
	process_table_event(table, &ev);
}

static void event_mmap(uint64_t time_ns, uint32_t pid, uint64_t start, uint64_t end,
		       const char *path, uint8_t build_id)
{
	struct task_event ev = {.kind = TASK_EVENT_MMAP,
				.time_ns = time_ns,
				.pid = pid,
				.start = start,
				.end = end,
				.prot = 5,
				.name = path};

	if (build_id) {
		ev.build_id[0] = build_id;
		ev.build_id_len = 20;
	}
	process_table_event(table, &ev);
}

static const char *path_at(const struct process *p, uint64_t ip, uint64_t time_ns)
{
	const struct mapping *m;

	return p && maps_find(&p->maps, ip, time_ns, time_ns, &m) == MAPS_FOUND ? m->path
										: "-";
}

static const struct mapping *mapping_at(const struct process *p, uint64_t ip)
{
	const struct mapping *m = NULL;

	assert_int_equal(maps_find(&p->maps, ip, UINT64_MAX - 1, UINT64_MAX - 1, &m),
			 MAPS_FOUND);
	return m;
}

static uint64_t nr_images(void)
{
	struct process_table_stats stats;

	process_table_stats(table, &stats);
	return stats.nr_processes;
}

/* ---- scan ---- */

static void scan_reads_identity_and_mappings(void **state)
{
	struct process *p;

	(void)state;
	fake_process_add(&fake, &(struct fake_process){.pid = 100,
						       .ppid = 1,
						       .start_ticks = 77,
						       .comm = "a) S (b\n",
						       .uid = 1000,
						       .ns_pid = 5,
						       .maps = EXE_LINE,
						       .uid_map = "0 100000 65536\n"});
	fake_process_add(&fake, &(struct fake_process){.pid = 2, .flags = 0x00200000});
	fake_process_add(&fake, &(struct fake_process){.pid = 3, .state = 'Z'});
	fake_mkdir("%s/self", fake.proc);
	scan();
	assert_int_equal(nr_images(), 2);
	p = process_table_first_sample(table, IMAGE(100, 77 * TICK + 123, 9), now);
	assert_non_null(p);
	assert_string_equal(p->comm, "a) S (b\n");
	assert_int_equal(p->uid, 1000);
	assert_int_equal(p->gid, 1000);
	assert_int_equal(p->root_uid, 100000);
	assert_int_equal(p->ns_tgid, 5);
	assert_true(p->identified);
	assert_int_equal(p->exec_id, 9);
	assert_int_equal(p->start_boottime_ns, 77 * TICK + 123);
	assert_int_equal(p->from_ns, 0);
	assert_true(p->until_ns == UINT64_MAX);
	assert_true(p->root_fd >= 0);
	assert_int_equal(p->maps.nr, 1);
	/* The mapping holds for all times before the scan, too. */
	assert_string_equal(path_at(p, 0x400000, 1), "/bin/fake");
	p = process_table_first_sample(table, IMAGE(2, 0, 0), now);
	assert_true(p && p->is_kernel_thread);
}

static void scan_of_targets_takes_descendants(void **state)
{
	static const uint32_t parents[][2] = {{10, 1}, {20, 10}, {30, 20}, {15, 30},
					      {40, 1}, {50, 40}, {1, 0}};
	uint32_t targets[] = {10}, gone[] = {10, 999}, self = (uint32_t)getpid();
	struct error err = {0};

	(void)state;
	/* The recording itself, which a target has started, and its worker. */
	fake_process_add(&fake, &(struct fake_process){.pid = self, .ppid = 10});
	fake_process_add(&fake, &(struct fake_process){.pid = self + 1, .ppid = self});
	for (size_t i = 0; i < ARRAY_SIZE(parents); i++)
		fake_process_add(&fake, &(struct fake_process){.pid = parents[i][0],
							       .ppid = parents[i][1],
							       .maps = EXE_LINE});
	assert_int_equal(process_table_scan(table, gone, 2, &err), -ESRCH);
	assert_non_null(strstr(err.text, "999"));
	assert_int_equal(process_table_scan(table, targets, 1, NULL), 0);
	now = fake_now_ns();
	assert_int_equal(nr_images(), 4); /* 10, 20, 30, 15 */

	/* Events of other processes are ignored, except those of descendants. */
	event(TASK_EVENT_FORK, now, 60, 40, NULL);
	event(TASK_EVENT_EXEC, now, 61, 0, "x");
	event_mmap(now, 62, 0x1000, 0x2000, "/x", 0);
	assert_int_equal(nr_images(), 4);
	event(TASK_EVENT_FORK, now, 63, 15, NULL);
	assert_int_equal(nr_images(), 5);
}

static size_t nr_asked;

static bool second_is_too_many(void)
{
	return ++nr_asked > 1;
}

/* Of the whole machine, and of targets. */
static void scan_ends_when_it_must(void **state)
{
	struct process_table_config config = {.proc_path = fake.proc,
					      .scan_must_end = second_is_too_many};
	const uint32_t target = 10;

	(void)state;
	for (uint32_t pid = 10; pid < 13; pid++)
		fake_process_add(&fake, &(struct fake_process){.pid = pid,
							       .ppid = pid == 10 ? 1 : 10,
							       .maps = EXE_LINE});
	for (int i = 0; i < 2; i++) {
		process_table_free(table);
		table = NULL;
		assert_int_equal(process_table_new(&config, pool, &table, NULL), 0);
		nr_asked = 0;
		assert_int_equal(process_table_scan(table, i ? &target : NULL, i, NULL),
				 0);
		assert_int_equal(nr_images(), 1);
		assert_int_equal(nr_asked, 2);
	}
}

static void dead_leader_is_read_from_its_thread(void **state)
{
	struct fake_process p = {
		.pid = 100, .start_ticks = 5, .state = 'Z', .nr_threads = 3, .uid = 7};
	struct process *found;
	char dir[128];

	(void)state;
	fake_process_add(&fake, &p);
	snprintf(dir, sizeof(dir), "%s/100/task/102", fake.proc);
	fake_mkdir("%s", dir);
	p.maps = EXE_LINE;
	fake_process_files(dir, 102, 100, 'S', &p);
	scan();
	found = process_table_first_sample(table, IMAGE(100, 5 * TICK, 1), now);
	assert_non_null(found);
	assert_true(found->exited);
	assert_string_equal(path_at(found, 0x400000, now), "/bin/fake");
	assert_int_equal(found->uid, 7);
	/* It is still sampled although the leader has exited. */
	assert_ptr_equal(
		process_table_find(table, IMAGE(100, 5 * TICK, 1), now, now + SEC),
		found);
}

/* ---- events ---- */

static void fork_exec_mmap_exit(void **state)
{
	struct process *shell, *child, *command;

	(void)state;
	fake_process_add(&fake, &(struct fake_process){
					.pid = 100, .comm = "sh", .maps = EXE_LINE});
	scan();
	event(TASK_EVENT_FORK, now + 10, 200, 100, NULL);
	event_mmap(now + 15, 200, 0x7000, 0x8000, "/lib/pre.so", 0);
	event(TASK_EVENT_EXEC, now + 20, 200, 0, "cmd");
	event_mmap(now + 21, 200, 0x400000, 0x500000, "/bin/cmd", 1);
	event(TASK_EVENT_COMM, now + 25, 200, 0, "renamed");
	event(TASK_EVENT_EXIT, now + 30, 200, 0, NULL);

	/* Later samples identify images; the fork event gives the start time. */
	child = process_table_find(table, IMAGE(200, 0, 1), now + 12, now + 18);
	assert_null(child); /* started at boot: another process */
	child = process_table_at(table, 1);
	assert_int_equal(child->tgid, 200);
	assert_int_equal(child->from_ns, now + 10);
	assert_int_equal(child->until_ns, now + 20);
	assert_false(child->exited);
	assert_string_equal(child->comm, "sh");
	assert_string_equal(path_at(child, 0x400000, now + 12), "/bin/fake");
	assert_string_equal(path_at(child, 0x7000, now + 16), "/lib/pre.so");
	assert_string_equal(path_at(child, 0x7000, now + 14), "-");
	command = process_table_at(table, 2);
	assert_int_equal(command->from_ns, now + 20);
	assert_int_equal(command->until_ns, now + 30);
	assert_true(command->exited);
	assert_string_equal(command->comm, "renamed");
	assert_string_equal(path_at(command, 0x400000, now + 25), "/bin/cmd");
	assert_string_equal(path_at(command, 0x7000, now + 25), "-");
	shell = process_table_at(table, 0);
	assert_string_equal(shell->comm, "sh");
	assert_string_equal(path_at(shell, 0x7000, now + 25), "-");
}

static uint64_t boottime_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * SEC
	+(uint64_t)ts.tv_nsec;
}

static void samples_find_their_image_by_time_then_by_name(void **state)
{
	uint64_t start;
	struct process *forked, *execed;

	(void)state;
	start = boottime_now();
	now = fake_now_ns();
	event(TASK_EVENT_FORK, now + 10, 200, 1, NULL);
	event(TASK_EVENT_EXEC, now + 1 * SEC, 200, 0, "x");
	event(TASK_EVENT_EXIT, now + 2 * SEC, 200, 0, NULL);
	event(TASK_EVENT_FORK, now + 3 * SEC, 200, 1, NULL);

	forked = process_table_find(table, IMAGE(200, start, 4), now + 20, now + 30);
	assert_int_equal(forked->from_ns, now + 10);
	execed = process_table_find(table, IMAGE(200, start, 5), now + SEC + 1,
				    now + SEC + 2);
	assert_int_equal(execed->from_ns, now + SEC);
	assert_ptr_not_equal(forked, execed);
	/* By exec id and start time; also a thread that outlives the leader. */
	assert_ptr_equal(process_table_find(table, IMAGE(200, start, 4), 0, 0), forked);
	assert_ptr_equal(process_table_find(table, IMAGE(200, start, 5), now + 4 * SEC,
					    now + 5 * SEC),
			 execed);
	/* The pid was reused by a process with another start time. */
	assert_null(process_table_find(table, IMAGE(200, start, 6), now + 4 * SEC,
				       now + 4 * SEC));
	forked = process_table_find(table, IMAGE(200, start + 3 * SEC, 4), now + 4 * SEC,
				    now + 4 * SEC);
	assert_int_equal(forked->from_ns, now + 3 * SEC);
	/* Before the first process with this pid. */
	assert_null(process_table_find(table, IMAGE(200, start - SEC, 4), now, now + 1));
	assert_null(process_table_find(table, IMAGE(201, start, 4), now, now));
}

static void a_tick_inside_exec_does_not_confuse(void **state)
{
	uint64_t start = boottime_now();
	struct process *old, *new;

	(void)state;
	now = fake_now_ns();
	event(TASK_EVENT_FORK, now + 10, 200, 1, NULL);
	event(TASK_EVENT_EXEC, now + 20 * MS, 200, 0, "x");
	/* The kernel has reported the exec, but not yet changed the exec id. */
	new = process_table_first_sample(table, IMAGE(200, start, 1), now + 20 * MS + 5);
	assert_int_equal(new->from_ns, now + 20 * MS);
	assert_ptr_equal(
		process_table_first_sample(table, IMAGE(200, start, 2), now + 25 * MS),
		new);
	assert_int_equal(new->exec_id, 2);
	old = process_table_find(table, IMAGE(200, start, 1), now + 11, now + 12);
	assert_int_equal(old->from_ns, now + 10);
	/* An exec id older than all known ones has no image. */
	assert_null(
		process_table_first_sample(table, IMAGE(200, start, 0), now + 30 * MS));
}

/* With a loss in between there may have been an exec that is not known. */
static void an_exec_may_be_among_lost_events(void **state)
{
	uint64_t start = boottime_now() / TICK * TICK;
	struct fake_process fp = {.pid = 200,
				  .start_ticks = start / TICK,
				  .maps = "7000-8000 r-xp 0 0:1 5 /bin/next\n"};
	struct process *old, *new;

	(void)state;
	now = fake_now_ns();
	event(TASK_EVENT_FORK, now + 10, 200, 1, NULL);
	event(TASK_EVENT_EXEC, now + 20, 200, 0, "x");
	event_mmap(now + 30, 200, 0x400000, 0x500000, "/bin/fake", 0);
	old = process_table_first_sample(table, IMAGE(200, start, 1), now + 40);
	event(TASK_EVENT_LOST, now + 50, 0, 0, NULL);
	fake_process_add(&fake, &fp);
	new = process_table_first_sample(table, IMAGE(200, start, 2), now + 60);
	assert_ptr_not_equal(new, old);
	assert_int_equal(old->exec_id, 1);
	assert_string_equal(path_at(new, 0x7000, now + 70), "/bin/next");
}

/* The same, and it is looked at before its first sample. */
static void what_was_read_after_a_lost_exec_is_not_the_one_before(void **state)
{
	uint64_t start = boottime_now() / TICK * TICK;
	struct fake_process fp = {.pid = 200,
				  .start_ticks = start / TICK,
				  .maps = "7000-8000 r-xp 0 0:1 5 /bin/next\n"};
	struct process *old, *new;

	(void)state;
	now = fake_now_ns();
	event(TASK_EVENT_FORK, now + 10, 200, 1, NULL);
	event(TASK_EVENT_EXEC, now + 20, 200, 0, "x");
	event_mmap(now + 30, 200, 0x400000, 0x500000, "/bin/fake", 0);
	fake_process_add(&fake, &fp);
	old = process_table_first_sample(table, IMAGE(200, start, 1), now + 40);
	event(TASK_EVENT_LOST, now + 50, 0, 0, NULL);
	process_table_refresh(table, now + 55);
	new = process_table_first_sample(table, IMAGE(200, start, 2), now + 60);
	assert_ptr_not_equal(new, old);
	assert_int_equal(old->exec_id, 1);
}

static void the_inner_pid_is_told_to_images_before(void **state)
{
	struct fake_process parent = {.pid = 100, .start_ticks = 5, .maps = EXE_LINE};
	uint64_t start = boottime_now() / TICK * TICK;
	struct fake_process fp = {
		.pid = 200, .ns_pid = 3, .start_ticks = start / TICK, .maps = EXE_LINE};
	struct process *before, *p;

	(void)state;
	fake_process_add(&fake, &parent);
	scan();
	event(TASK_EVENT_FORK, now + 10, 200, 100, NULL);
	event(TASK_EVENT_EXEC, now + 5 * MS, 200, 0, "x");
	before = process_table_find(table, IMAGE(200, start, 1), now + 20, now + 20);
	assert_non_null(before);
	fake_process_add(&fake, &fp);
	p = process_table_first_sample(table, IMAGE(200, start, 2), now + 6 * MS);
	assert_int_equal(p->ns_tgid, 3);
	assert_ptr_not_equal(p, before);
	assert_int_equal(before->ns_tgid, 3);
}

/* Images before, of which there may be thousands, are told once. */
static void an_inner_pid_is_told_once(void **state)
{
	struct lb_first_sample first = {.start_boottime_ns = boottime_now(),
					.tgid = 200,
					.exec_id = 3,
					.ids = {.uid = 1, .gid = 1, .ns_tgid = 3}};
	struct process *p[3];

	(void)state;
	event(TASK_EVENT_FORK, now + 10, 100, 1, NULL);
	event(TASK_EVENT_FORK, now + 20, 200, 100, NULL);
	for (uint32_t i = 0; i < ARRAY_SIZE(p); i++) {
		if (i)
			event(TASK_EVENT_EXEC, now + i * MS, 200, 0, "x");
		p[i] = process_table_newest(table, 200);
	}
	first.time_ns = now + 3 * MS;
	assert_ptr_equal(process_table_first_told(table, &first), p[2]);
	assert_int_equal(p[1]->ns_tgid, 3);
	assert_int_equal(p[0]->ns_tgid, 3);
	p[0]->ns_tgid = 4; /* to see who is told */
	first.time_ns++;
	process_table_first_told(table, &first);
	assert_int_equal(p[0]->ns_tgid, 4);
	first.time_ns++;
	first.ids.ns_tgid = 5;
	process_table_first_told(table, &first);
	assert_int_equal(p[1]->ns_tgid, 5);
	assert_int_equal(p[0]->ns_tgid, 5);
}

/* As when sh runs chroot, which runs a program: the events of both execs come late. */
static void an_image_is_not_taken_for_one_two_execs_later(void **state)
{
	uint64_t start = boottime_now();
	struct process *shell, *program;

	(void)state;
	now = fake_now_ns();
	event(TASK_EVENT_FORK, now + 10, 200, 1, NULL);
	event(TASK_EVENT_EXEC, now + 20 * MS, 200, 0, "sh");
	shell = process_table_first_sample(table, IMAGE(200, start, 2),
					   now + 20 * MS + 5);
	assert_non_null(process_table_identified(table, IMAGE(200, start, 2)));
	assert_null(process_table_identified(table, IMAGE(200, start, 4)));
	program = process_table_first_sample(table, IMAGE(200, start, 4), now + 24 * MS);
	assert_ptr_not_equal(program, shell);
	assert_int_equal(shell->exec_id, 2);
	event(TASK_EVENT_EXEC, now + 22 * MS, 200, 0, "chroot");
	event(TASK_EVENT_EXEC, now + 23 * MS, 200, 0, "program");
	assert_ptr_equal(process_table_find(table, IMAGE(200, start, 2), now + 21 * MS,
					    now + 21 * MS),
			 shell);
	assert_ptr_not_equal(process_table_find(table, IMAGE(200, start, 4),
						now + 30 * MS, now + 30 * MS),
			     shell);
}

static void a_lost_exec_is_seen_by_the_sample(void **state)
{
	struct fake_process fp = {.pid = 100, .start_ticks = 5, .maps = EXE_LINE};
	struct process *old, *new;

	(void)state;
	fake_process_add(&fake, &fp);
	scan();
	old = process_table_first_sample(table, IMAGE(100, 5 * TICK, 1), now);
	fp.maps = "7000-8000 r-xp 0 0:1 5 /bin/next\n";
	fake_process_add(&fake, &fp);
	new = process_table_first_sample(table, IMAGE(100, 5 * TICK, 2), now + 50 * MS);
	assert_ptr_not_equal(old, new);
	assert_string_equal(path_at(new, 0x7000, now + 60 * MS), "/bin/next");
	assert_string_equal(path_at(new, 0x400000, now + 60 * MS), "-");
	assert_string_equal(path_at(old, 0x400000, now), "/bin/fake");
	/* The exec event was late, not lost: still two images. */
	event(TASK_EVENT_EXEC, now + 40 * MS, 100, 0, "late");
	assert_int_equal(nr_images(), 2);
	assert_int_equal(new->from_ns, now + 40 * MS);
}

static void events_older_than_the_scan_double_nothing(void **state)
{
	uint64_t before = fake_now_ns(), start = boottime_now(), reported;
	struct process *p;
	size_t nr;

	(void)state;
	fake_process_add(&fake, &(struct fake_process){.pid = 200,
						       .start_ticks = start / TICK,
						       .comm = "new",
						       .maps = EXE_LINE});
	scan();
	/* An earlier process with this pid, then this one; all before the scan. */
	event(TASK_EVENT_FORK, before - 9 * SEC, 200, 1, NULL);
	event(TASK_EVENT_EXIT, before - 8 * SEC, 200, 0, NULL);
	event(TASK_EVENT_FORK, before - 20, 200, 1, NULL);
	event(TASK_EVENT_EXEC, before - 10, 200, 0, "older");
	event_mmap(before - 9, 200, 0x400000, 0x500000, "/bin/fake", 0);
	event_mmap(before - 8, 200, 0x9000, 0xa000, "/lib/unmapped-since", 0);
	event(TASK_EVENT_COMM, before - 7, 200, 0, "older");
	assert_int_equal(nr_images(), 1);
	p = process_table_find(table, IMAGE(200, start, 1), now, now);
	assert_non_null(p);
	assert_int_equal(p->from_ns, before - 10);
	assert_false(p->exited);
	assert_string_equal(p->comm, "new");
	assert_int_equal(p->maps.nr, 1);

	/* A fork is reported just after /proc showed the process. */
	start = boottime_now() / TICK;
	fake_process_add(&fake, &(struct fake_process){.pid = 300,
						       .start_ticks = start,
						       .maps = EXE_LINE});
	scan();
	reported = boottime_to_monotonic(start * TICK) + TICK;
	/* However long a busy machine took for the scan. */
	image_newest(table, 300)->read_ns = reported - 1;
	nr = nr_images();
	event(TASK_EVENT_FORK, reported, 300, 200, NULL);
	assert_int_equal(nr_images(), nr);
	/* This fork is of another process: the exit of the first one was lost. */
	event(TASK_EVENT_FORK, now + 5 * SEC, 300, 200, NULL);
	assert_int_equal(nr_images(), nr + 1);
}

static void an_old_mmap_event_still_tells_the_build_id(void **state)
{
	uint64_t before = fake_now_ns();
	struct task_event ev = {.kind = TASK_EVENT_MMAP,
				.time_ns = before,
				.pid = 200,
				.start = 0x400000,
				.end = 0x500000,
				.file_off = 0x1000,
				.prot = 5,
				.build_id = {0xab},
				.build_id_len = 20,
				.name = "/bin/fake"};

	(void)state;
	fake_process_add(&fake, &(struct fake_process){.pid = 200, .maps = EXE_LINE});
	scan();
	process_table_event(table, &ev);
	assert_int_equal(mapping_at(process_table_at(table, 0), 0x400000)->build_id[0],
			 0xab);
	ev.prot = 1; /* not executable: ignored */
	ev.time_ns = now + 1;
	ev.start = 0x10000;
	ev.end = 0x20000;
	process_table_event(table, &ev);
	assert_int_equal(process_table_at(table, 0)->maps.nr, 1);
}

static void maps_read_too_late_go_to_the_next_image(void **state)
{
	uint64_t sampled, start = boottime_now();
	struct process *old, *new;

	(void)state;
	sampled = fake_now_ns();
	/* Unknown process: sampled, calls exec, and only then /proc is read. */
	fake_process_add(&fake, &(struct fake_process){.pid = 200,
						       .start_ticks = start / TICK,
						       .maps = EXE_LINE});
	old = process_table_first_sample(table, IMAGE(200, start, 1), sampled);
	assert_int_equal(old->maps.nr, 1);
	event(TASK_EVENT_EXEC, sampled + 1, 200, 0, "x");
	new = process_table_find(table, IMAGE(200, start, 2), sampled + 2, sampled + 3);
	assert_ptr_not_equal(old, new);
	assert_string_equal(path_at(new, 0x400000, sampled + 5), "/bin/fake");
	assert_string_equal(path_at(old, 0x400000, sampled), "-");
}

/* ---- credentials ---- */

static void assert_nobodys(const struct process *p)
{
	assert_int_equal(p->uid, (uid_t)-1);
	assert_int_equal(p->gid, (gid_t)-1);
	assert_int_equal(p->root_uid, (uid_t)-1);
	assert_false(p->in_our_user_ns);
	assert_int_equal(p->root_fd, -1);
	assert_int_equal(p->root_id, 0);
	assert_false(process_may_open(p));
	assert_int_equal(process_open_in_root(p, 0, "/source.c", 0, NULL), -ESRCH);
}

/* A daemon of root forks. The child gives up its rights, executes a job, and ends. */
static void what_is_gone_has_not_its_parents_rights(void **state)
{
	uint64_t start;
	struct process *daemon, *forked, *job, *lost;

	(void)state;
	fake_process_add(&fake, &(struct fake_process){.pid = 100, .maps = EXE_LINE});
	fake_write("text", 4, "%s/source.c", fake.root);
	scan();
	start = boottime_now();
	now = fake_now_ns(); /* the fork's time is after the start time */
	event(TASK_EVENT_FORK, now + 10, 200, 100, NULL);
	event(TASK_EVENT_EXEC, now + 20 * MS, 200, 0, "job");
	event(TASK_EVENT_EXIT, now + 60 * MS, 200, 0, NULL);
	forked = process_table_first_sample(table, IMAGE(200, start, 1), now + 20);
	job = process_table_first_sample(table, IMAGE(200, start, 2), now + 30 * MS);
	/* Its exec event is missing. */
	lost = process_table_first_sample(table, IMAGE(200, start, 3), now + 50 * MS);
	assert_true(forked && job && lost && forked != job && job != lost);
	assert_nobodys(forked);
	assert_nobodys(job);
	assert_nobodys(lost);
	daemon = process_table_at(table, 0);
	assert_int_equal(daemon->uid, 0);
	assert_int_equal(daemon->gid, 0);
	assert_int_equal(daemon->root_uid, 0);
	assert_true(process_may_open(daemon));
}

static void what_was_told_counts(void **state)
{
	uint64_t start;
	struct lb_ids ids = {.uid = 1000, .gid = 1001}, none = {.uid = LB_NO_ID};
	struct stat ns;
	struct process *p;

	(void)state;
	assert_int_equal(stat("/proc/self/ns/user", &ns), 0);
	fake_process_add(&fake, &(struct fake_process){.pid = 100, .maps = EXE_LINE});
	scan();
	start = boottime_now();
	now = fake_now_ns(); /* the fork's time is after the start time */
	event(TASK_EVENT_FORK, now + 10, 200, 100, NULL);
	event(TASK_EVENT_EXIT, now + 60 * MS, 200, 0, NULL);
	p = process_table_first_sample(table, IMAGE(200, start, 1), now + 20);
	image_tell_ids(table, table->images[p->id], &none, now + 20);
	assert_nobodys(p);
	image_tell_ids(table, table->images[p->id], &ids, now + 21);
	assert_int_equal(p->uid, 1000);
	assert_int_equal(p->gid, 1001);
	assert_int_equal(p->root_uid, (uid_t)-1);
	assert_false(p->in_our_user_ns);
	assert_false(process_may_open(p)); /* its root is unknown */
	/* It gave up its rights. A report with an older time is ignored. */
	ids = (struct lb_ids){.uid = 65534, .gid = 65533, .user_ns = (__u32)ns.st_ino};
	image_tell_ids(table, table->images[p->id], &ids, now + 40);
	ids = (struct lb_ids){.uid = 0, .gid = 0};
	image_tell_ids(table, table->images[p->id], &ids, now + 30);
	assert_int_equal(p->uid, 65534);
	assert_int_equal(p->gid, 65533);
	assert_int_equal(p->root_uid, 0);
	assert_true(p->in_our_user_ns);

	/* A living process may have changed its ids since the sample. */
	fake_process_add(&fake, &(struct fake_process){
					.pid = 300, .start_ticks = 5, .maps = EXE_LINE});
	scan();
	p = process_table_identify(table, IMAGE(300, 5 * TICK, 1), now);
	assert_int_equal(p->uid, 0);
	ids = (struct lb_ids){.uid = 7, .gid = 8};
	image_tell_ids(table, table->images[p->id], &ids, now);
	process_table_first_sample(table, IMAGE(300, 5 * TICK, 1), now);
	assert_int_equal(p->uid, 7);
	assert_int_equal(p->gid, 8);
	assert_true(process_may_open(p));
	/* From its uid_map, which was read later. */
	assert_false(p->in_our_user_ns);
	assert_int_equal(p->root_uid, 0);
}

/* The root of an ended process is found by mount id if another process has it. */
static void a_told_mount_is_the_root_that_has_it(void **state)
{
	uint64_t start;
	struct lb_ids ids = {.uid = 1000, .gid = 1000};
	struct process *p;
	struct statx stx;
	char link[160];

	(void)state;
	assert_int_equal(statx(AT_FDCWD, "/", 0, STATX_MNT_ID, &stx), 0);
	if (!(stx.stx_mask & STATX_MNT_ID) ||
	    !(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT)) {
		print_message("skip: / is no mount here\n");
		skip();
	}
	fake_process_add(&fake, &(struct fake_process){.pid = 100, .maps = EXE_LINE});
	snprintf(link, sizeof(link), "%s/100/root", fake.proc);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("/", link), 0);
	ids.root_mount = (__u32)stx.stx_mnt_id;
	start = boottime_now();
	now = fake_now_ns(); /* the fork's time is after the start time */
	for (uint32_t pid = 200; pid < 203; pid++)
		event(TASK_EVENT_FORK, now + 1, pid, 100, NULL);
	/* Before that root was scanned, the mount id may have been of another mount. */
	p = process_table_first_sample(table, IMAGE(200, start, 1), now + 2);
	image_tell_ids(table, table->images[p->id], &ids, now + 2);
	assert_int_equal(p->root_fd, -1);
	scan();
	image_tell_ids(table, table->images[p->id], &ids, now - SEC);
	assert_int_equal(p->root_fd, -1);
	p = process_table_first_sample(table, IMAGE(201, start, 1), now + 2);
	image_tell_ids(table, table->images[p->id], &ids, now + 2);
	assert_true(process_may_open(p));
	assert_int_equal(p->root_id, process_table_newest(table, 100)->root_id);
	/* The ids are reported before its /proc directory is opened. */
	p = process_table_identify(table, IMAGE(202, start, 1), now + 2);
	image_tell_ids(table, table->images[p->id], &ids, now + 2);
	assert_int_equal(p->root_fd, -1);
	process_table_first_sample(table, IMAGE(202, start, 1), now + 2);
	assert_int_equal(p->root_id, process_table_newest(table, 100)->root_id);
	/* Another mount, and a root without a mount id. */
	for (uint32_t i = 0; i < 2; i++) {
		ids.root_mount = i ? 0 : 0x7fffffff;
		event(TASK_EVENT_FORK, now + 3, 300 + i, 100, NULL);
		p = process_table_first_sample(table, IMAGE(300 + i, start, 1), now + 4);
		image_tell_ids(table, table->images[p->id], &ids, now + 4);
		assert_int_equal(p->uid, 1000);
		assert_int_equal(p->root_fd, -1);
	}
}

/* A process is sampled, executes a program of root's, and only then /proc is read. */
static void ids_read_too_late_are_not_believed(void **state)
{
	uint64_t start = boottime_now();
	struct fake_process su = {.start_ticks = start / TICK, .maps = EXE_LINE};
	struct lb_ids ids = {.uid = 1000, .gid = 1000};
	uint64_t sampled = fake_now_ns();
	struct process *old, *told, *in_time;

	(void)state;
	for (su.pid = 200; su.pid < 203; su.pid++)
		fake_process_add(&fake, &su);
	old = process_table_first_sample(table, IMAGE(200, start, 1), sampled);
	assert_true(process_may_open(old));
	told = process_table_first_sample(table, IMAGE(201, start, 1), sampled);
	image_tell_ids(table, table->images[told->id], &ids, sampled);
	in_time = process_table_first_sample(table, IMAGE(202, start, 1), sampled);
	event(TASK_EVENT_EXEC, sampled + 1, 200, 0, "su");
	event(TASK_EVENT_EXEC, sampled + 1, 201, 0, "su");
	event(TASK_EVENT_EXEC, fake_now_ns(), 202, 0, "su");
	assert_nobodys(old);
	assert_int_equal(told->uid, 1000);
	assert_int_equal(told->root_fd, -1);
	assert_nobodys(process_table_newest(table, 202));
	assert_true(process_may_open(in_time));
	assert_int_equal(in_time->uid, 0);
}

/* A process outside our user namespace can mount root's files below its new root. */
static void with_another_root_the_ids_are_read_again(void **state)
{
	struct fake_process fp = {.pid = 200, .start_ticks = 5, .maps = EXE_LINE};
	uint64_t root_id;
	struct process *p;
	char link[160];

	(void)state;
	fake_process_add(&fake, &fp);
	scan();
	p = process_table_first_sample(table, IMAGE(200, 5 * TICK, 1), now);
	assert_int_equal(p->root_uid, 0);
	root_id = p->root_id;
	process_table_refresh(table, now);
	fp.uid_map = "0 5000 1\n";
	fake_process_add(&fake, &fp);
	snprintf(link, sizeof(link), "%s/200/root", fake.proc);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("../../root/tmp", link), 0);
	event_mmap(now + 1, 200, 0x7000, 0x8000, "/lib/more.so", 0);
	process_table_refresh(table, now + 2);
	assert_int_not_equal(p->root_id, root_id);
	assert_int_equal(p->root_uid, 5000);
}

static void lost_events_are_made_good(void **state)
{
	struct fake_process fp = {.pid = 100, .start_ticks = 5, .maps = EXE_LINE};
	struct process_table_stats stats;
	struct task_event lost = {.kind = TASK_EVENT_LOST, .nr_lost = 12};
	struct process *p;

	(void)state;
	fake_process_add(&fake, &fp);
	fp.pid = 101;
	fake_process_add(&fake, &fp);
	scan();
	p = process_table_first_sample(table, IMAGE(100, 5 * TICK, 1), now);
	fp.pid = 100;
	fp.maps = "a000-b000 r-xp 0 0:1 6 /lib/late.so\n" EXE_LINE;
	fake_process_add(&fake, &fp);
	assert_string_equal(path_at(p, 0xa000, now + SEC), "-");
	lost.time_ns = now + 1;
	process_table_event(table, &lost);
	process_table_event(table, &lost);
	assert_ptr_equal(process_table_find(table, IMAGE(100, 5 * TICK, 1), now, now), p);
	assert_string_equal(path_at(p, 0xa000, now + SEC), "/lib/late.so");
	assert_int_equal(p->maps.nr, 2);
	process_table_find(table, IMAGE(100, 5 * TICK, 1), now, now);
	process_table_stats(table, &stats);
	assert_int_equal(stats.nr_lost_events, 24);
	assert_int_equal(stats.nr_rereads, 1); /* once, only the sampled one */

	/* The kernel reports no munmap. */
	fp.maps = EXE_LINE;
	fake_process_add(&fake, &fp);
	process_table_event(table, &lost);
	process_table_find(table, IMAGE(100, 5 * TICK, 1), now, now);
	assert_string_equal(path_at(p, 0xa000, now), "/lib/late.so");
	assert_string_equal(path_at(p, 0xa000, now + SEC), "-");
	assert_string_equal(path_at(p, 0x400000, now + SEC), "/bin/fake");

	/* What is forgotten at a read gives its place back. */
	for (uint64_t at = 1; at <= 2 * MAPS_PAST_MAX; at++)
		event_mmap(fake_now_ns(), 100, at << 28, (at << 28) + 1, "/x", 0);
	process_table_event(table, &lost);
	process_table_find(table, IMAGE(100, 5 * TICK, 1), now, now);
	process_table_stats(table, &stats);
	assert_int_equal(p->maps.nr, 1 + MAPS_PAST_MAX / 2);
	assert_int_equal(stats.nr_mappings, p->maps.nr + 1);

	/* The exit of the process without samples may be among the lost events. */
	fake_process_remove(&fake, 101);
	process_table_expire(table, now + SEC);
	process_table_expire(table, now + 20 * SEC);
	assert_int_equal(nr_images(), 1);
}

/* ---- unknown, reused, expired, too many ---- */

static void an_unknown_process_is_read_if_it_is_the_one(void **state)
{
	struct process *p;

	(void)state;
	fake_process_add(&fake, &(struct fake_process){
					.pid = 300, .start_ticks = 50, .maps = EXE_LINE});
	assert_null(process_table_first_sample(table, IMAGE(300, 51 * TICK, 1), now));
	assert_null(process_table_first_sample(table, IMAGE(301, 50 * TICK, 1), now));
	assert_int_equal(nr_images(), 0);
	p = process_table_first_sample(table, IMAGE(300, 50 * TICK + 9999999, 1), now);
	assert_string_equal(path_at(p, 0x400000, now), "/bin/fake");
	/* Another process has the pid by now. */
	fake_process_add(&fake, &(struct fake_process){.pid = 300,
						       .start_ticks = 90,
						       .maps = "1000-2000 r-xp 0 0:1 1 "
							       "/bin/other\n"});
	assert_ptr_equal(process_table_first_sample(
				 table, IMAGE(300, 50 * TICK + 9999999, 1), now),
			 p);
	assert_null(process_table_first_sample(table, IMAGE(300, 70 * TICK, 1), now));
	p = process_table_first_sample(table, IMAGE(300, 90 * TICK, 1), fake_now_ns());
	assert_non_null(p);
	assert_string_equal(path_at(p, 0x1000, fake_now_ns()), "/bin/other");
	assert_string_equal(path_at(p, 0x400000, fake_now_ns()), "-");
	assert_int_equal(nr_images(), 2);
}

static void expire_forgets_what_was_never_sampled(void **state)
{
	uint64_t start = boottime_now();
	struct process *sampled;

	(void)state;
	now = fake_now_ns();
	for (uint32_t i = 0; i < 100; i++) {
		event(TASK_EVENT_FORK, now + i, 1000 + i % 10, 1, NULL);
		event(TASK_EVENT_EXEC, now + i, 1000 + i % 10, 0, "x");
		event(TASK_EVENT_EXIT, now + i, 1000 + i % 10, 0, NULL);
	}
	event(TASK_EVENT_FORK, now + 200, 5000, 1, NULL);
	assert_int_equal(nr_images(), 201);
	sampled = process_table_find(table, IMAGE(1003, start, 1), now + 53, now + 53);
	assert_non_null(sampled);
	process_table_expire(table, now + 2 * SEC);
	assert_int_equal(nr_images(), 201);
	process_table_expire(table, now + 3 * SEC + 200);
	assert_int_equal(nr_images(), 2);
	assert_ptr_equal(process_table_find(table, IMAGE(1003, start, 1), 0, 0), sampled);
	assert_ptr_equal(process_table_at(table, sampled->id), sampled);
	/* Ids are reused, and the chain of images of a pid stays intact. */
	event(TASK_EVENT_FORK, now + 11 * SEC, 1003, 1, NULL);
	event(TASK_EVENT_FORK, now + 11 * SEC, 1004, 1, NULL);
	assert_int_equal(nr_images(), 4);
	assert_ptr_equal(process_table_find(table, IMAGE(1003, start, 1), 0, 0), sampled);
	assert_non_null(process_table_find(table, IMAGE(1003, start + 11 * SEC, 1),
					   now + 11 * SEC, now + 11 * SEC));
}

/*
 * After a window even sampled images are forgotten, unless their process lives. Names
 * move to the next pool.
 */
static void ended_images_are_forgotten(void **state)
{
	struct strpool *next = strpool_new(1 << 20);
	uint64_t start = boottime_now();
	struct process *alive;

	(void)state;
	fake_process_add(&fake, &(struct fake_process){.pid = 100, .maps = EXE_LINE});
	scan();
	alive = process_table_newest(table, 100);
	assert_non_null(alive);
	for (uint32_t i = 0; i < 50; i++) {
		event(TASK_EVENT_FORK, now + i, 1000 + i, 1, NULL);
		assert_non_null(process_table_find(table, IMAGE(1000 + i, start, 1),
						   now + i, now + i));
		event(TASK_EVENT_EXIT, now + i, 1000 + i, 0, NULL);
	}
	assert_int_equal(nr_images(), 51);
	process_table_expire(table, now + 20 * SEC);
	assert_int_equal(nr_images(), 51);
	process_table_forget_ended(table, now + 2 * SEC);
	assert_int_equal(nr_images(), 51);
	/* Images that kept rows refer to are not freed later either. */
	process_table_expire(table, now + 20 * SEC);
	assert_int_equal(nr_images(), 51);
	process_table_forget_ended(table, now + 20 * SEC);
	assert_int_equal(nr_images(), 1);
	assert_ptr_equal(process_table_newest(table, 100), alive);

	process_table_set_pool(table, next);
	strpool_free(pool);
	pool = next;
	assert_string_equal(path_at(alive, 0x400000, fake_now_ns()), "/bin/fake");
	assert_ptr_equal(alive->maps.items[0].path, strpool_add(pool, "/bin/fake"));
}

/* An image that exec ended is over even if its process lives; its files are closed. */
static void what_exec_ended_is_over(void **state)
{
	struct process_table_stats stats;
	struct process *first, *next;

	(void)state;
	fake_process_add(&fake, &(struct fake_process){
					.pid = 100, .start_ticks = 50, .maps = EXE_LINE});
	fake_map_file(&fake, 100, 0x400000, 0x500000, "first");
	scan();
	now = fake_now_ns();
	first = process_table_first_sample(table, IMAGE(100, 50 * TICK, 1), now);
	assert_non_null(first);
	assert_true(first->maps.items[0].file->fd >= 0);
	process_table_stats(table, &stats);
	assert_int_equal(stats.nr_files_known, 2);
	event(TASK_EVENT_EXEC, now + 1, 100, 0, "next");
	next = process_table_newest(table, 100);
	assert_ptr_not_equal(next, first);
	process_table_trim(table, now + 9 * SEC);
	assert_false(first->is_over);
	assert_true(first->maps.items[0].file->fd >= 0);
	process_table_trim(table, now + 11 * SEC);
	assert_true(first->is_over);
	assert_int_equal(first->maps.items[0].file->fd, -1);
	assert_int_equal(nr_images(), 2);
	process_table_forget_ended(table, now + 11 * SEC);
	assert_int_equal(nr_images(), 1);
	assert_ptr_equal(process_table_newest(table, 100), next);
	assert_false(next->is_over);
	process_table_stats(table, &stats);
	assert_int_equal(stats.nr_files_known, 1);
}

/* Rows that were drained since refer to the image. */
static void what_is_sampled_again_is_not_forgotten(void **state)
{
	struct process *first;

	(void)state;
	fake_process_add(&fake, &(struct fake_process){
					.pid = 100, .start_ticks = 50, .maps = EXE_LINE});
	scan();
	first = process_table_first_sample(table, IMAGE(100, 50 * TICK, 1), now);
	assert_non_null(first);
	event(TASK_EVENT_EXEC, now + 1, 100, 0, "next");
	process_table_trim(table, now + 11 * SEC);
	assert_true(first->is_over);
	assert_ptr_equal(process_table_find(table, IMAGE(100, 50 * TICK, 1),
					    now + 13 * SEC, now + 13 * SEC),
			 first);
	process_table_forget_ended(table, now + 12 * SEC);
	assert_ptr_equal(process_table_find(table, IMAGE(100, 50 * TICK, 1), 0, 0),
			 first);
	process_table_forget_ended(table, now + 14 * SEC);
	assert_int_equal(nr_images(), 1);
}

/* Its threads lived longer, and their samples are not yet drained. */
static void what_ran_a_moment_ago_is_not_over(void **state)
{
	struct process *p;

	(void)state;
	fake_process_add(&fake, &(struct fake_process){
					.pid = 100, .start_ticks = 50, .maps = EXE_LINE});
	scan();
	p = process_table_first_sample(table, IMAGE(100, 50 * TICK, 1), now);
	assert_non_null(p);
	p->until_ns = now - 20 * SEC;
	fake_process_remove(&fake, 100);
	process_table_trim(table, now);
	assert_false(p->is_over);
	process_table_forget_ended(table, now);
	assert_ptr_equal(process_table_newest(table, 100), p);
	process_table_trim(table, fake_now_ns());
	assert_true(p->is_over);
}

/*
 * Adds processes whose leaders are dead, 128 of them with living threads.
 * Return: the last by id, which is gone.
 */
static struct process *add_without_leaders(void)
{
	struct process *gone;

	for (uint32_t pid = 1000; pid < 1129; pid++)
		fake_process_add(&fake, &(struct fake_process){.pid = pid,
							       .start_ticks = 50,
							       .maps = EXE_LINE});
	scan();
	assert_int_equal(process_table_nr_ids(table), 129);
	for (uint32_t pid = 1000; pid < 1129; pid++) {
		struct process *p =
			process_table_first_sample(table, IMAGE(pid, 50 * TICK, 1), now);

		assert_non_null(p);
		p->until_ns = now - 20 * SEC;
	}
	gone = process_table_at(table, 128);
	fake_process_remove(&fake, gone->tgid);
	return gone;
}

/* Each check reads /proc: what a round has no time for may run. */
static void who_has_no_leader_is_checked_in_rounds(void **state)
{
	const struct process *gone = add_without_leaders();

	(void)state;
	/* Not checked, checked, and checked once more: the first cannot tell since when. */
	process_table_trim(table, fake_now_ns());
	process_table_trim(table, fake_now_ns());
	assert_false(gone->is_over);
	process_table_trim(table, fake_now_ns());
	assert_true(gone->is_over);
	for (uint32_t id = 0; id < 128; id++)
		assert_false(process_table_at(table, id)->is_over);
}

static void jit_code_of_who_has_no_leader_is_forgotten_in_rounds(void **state)
{
	const struct process *gone = add_without_leaders();
	const struct jit_registration r = {.entry_addr = 1, .time_ns = now};

	(void)state;
	for (uint32_t id = 0; id < 129; id++)
		jit_code_register(&process_table_at(table, id)->jit_code,
				  process_table_jit_store(table), &r);
	process_table_forget_jit(table, fake_now_ns());
	process_table_forget_jit(table, fake_now_ns());
	assert_int_equal(gone->jit_code.nr, 1);
	process_table_forget_jit(table, fake_now_ns());
	assert_int_equal(gone->jit_code.nr, 0);
	for (uint32_t id = 0; id < 128; id++)
		assert_int_equal(process_table_at(table, id)->jit_code.nr, 1);
}

static void files_of_past_mappings_stay_open(void **state)
{
	struct process *p;

	(void)state;
	fake_process_add(&fake, &(struct fake_process){
					.pid = 100, .start_ticks = 50, .maps = EXE_LINE});
	fake_map_file(&fake, 100, 0x400000, 0x500000, "first");
	scan();
	p = process_table_first_sample(table, IMAGE(100, 50 * TICK, 1), now);
	assert_non_null(p);
	assert_true(p->maps.items[0].file->fd >= 0);
	event_mmap(now + 1, 100, 0x400000, 0x500000, "/lib/next.so", 1);
	assert_int_equal(p->maps.nr_past, 1);
	/* For samples that are not named yet. */
	process_table_trim(table, now + 9 * SEC);
	assert_true(p->maps.items[0].file->fd >= 0);
	process_table_trim(table, now + 11 * SEC);
	assert_int_equal(p->maps.items[0].file->fd, -1);
}

/* Of a tenant whose files are slow, none is opened: others' are first. */
static void a_slow_tenants_file_is_not_opened(void **state)
{
	struct look itself = {.where = LOOK_ITSELF, .what = LOOK_FACTS};
	struct process *slow, *other;
	bool by_path = true;
	int dir, fd;

	(void)state;
	for (uint32_t uid = 1000; uid < 1002; uid++) {
		fake_process_add(&fake, &(struct fake_process){.pid = uid,
							       .start_ticks = uid,
							       .uid = uid,
							       .maps = EXE_LINE});
		fake_map_file(&fake, uid, 0x400000, 0x500000, "mapped");
	}
	scan();
	slow = process_table_first_sample(table, IMAGE(1000, 1000 * TICK, 1), now);
	other = process_table_first_sample(table, IMAGE(1001, 1001 * TICK, 1), now);
	assert_true(slow && other);
	assert_int_equal(opener_begin(NULL), 0);
	opener_share();
	dir = open(fake.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* The first request starts the opener. */
	fd = process_find_mapped(table, slow, mapping_at(slow, 0x400000), &by_path);
	assert_true(fd >= 0);
	target_fd_close(fd);
	while (opener_has_time(slow->tenant))
		assert_int_equal(slow_opener_look(dir, slow->tenant, &itself), 0);
	/* So that its debt does not pass at once. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(slow_opener_look(dir, slow->tenant, &itself), 0);
	assert_int_equal(
		process_find_mapped(table, slow, mapping_at(slow, 0x400000), &by_path),
		-EBUSY);
	fd = process_find_mapped(table, other, mapping_at(other, 0x400000), &by_path);
	assert_true(fd >= 0);
	assert_false(by_path);
	target_fd_close(fd);
	/* What is gone is not waited for. */
	fake_process_remove(&fake, 1000);
	process_table_trim(table, fake_now_ns());
	assert_int_equal(
		process_find_mapped(table, slow, mapping_at(slow, 0x400000), &by_path),
		-ESRCH);
	close(dir);
	opener_end();
}

static void what_is_expected_is_opened_but_not_kept(void **state)
{
	uint64_t start = boottime_now();
	struct process *p;

	(void)state;
	now = fake_now_ns();
	event(TASK_EVENT_FORK, now, 1000, 1, NULL);
	event(TASK_EVENT_EXEC, now + 1, 1000, 0, "x");
	p = process_table_expect(table, IMAGE(1000, start, 1), now + 2);
	assert_non_null(p);
	assert_true(p->identified && p->opened);
	/* Its new mappings are opened without a sample. */
	assert_false(process_table_open_new(table, now + 3));
	event_mmap(now + 4, 1000, 0x1000, 0x2000, "/lib/x.so", 0);
	assert_true(process_table_open_new(table, now + 5));
	/*
	 * A sample with the next exec id, whose exec event is still missing, belongs to
	 * another image.
	 */
	assert_ptr_not_equal(
		process_table_identify(table, IMAGE(1000, start, 2), now + 6), p);
	event(TASK_EVENT_EXIT, now + 7, 1000, 0, NULL);
	process_table_expire(table, now + 11 * SEC);
	assert_int_equal(nr_images(), 0);
}

static void limits_are_counted(void **state)
{
	struct process_table_stats stats;

	(void)state;
	new_table(10, 0, 12);
	for (uint32_t i = 0; i < 15; i++)
		event(TASK_EVENT_FORK, now + i, 100 + i, 1, NULL);
	for (uint64_t i = 0; i < 20; i++)
		event_mmap(now + 50 + i, 100, i * 0x2000, i * 0x2000 + 0x1000, "/x", 0);
	process_table_stats(table, &stats);
	assert_int_equal(stats.nr_processes, 10);
	assert_int_equal(stats.nr_dropped, 5);
	assert_int_equal(stats.nr_mappings, 12);
	assert_int_equal(stats.nr_mappings_dropped, 8);
	/* Dropped mappings stay counted when their image is gone. */
	for (uint32_t i = 0; i < 15; i++)
		event(TASK_EVENT_EXIT, now + 100, 100 + i, 1, NULL);
	process_table_expire(table, now + 20 * SEC);
	process_table_stats(table, &stats);
	assert_int_equal(stats.nr_processes, 0);
	assert_int_equal(stats.nr_mappings, 0);
	assert_int_equal(stats.nr_mappings_dropped, 8);
	event(TASK_EVENT_FORK, now + 21 * SEC, 100, 1, NULL);
	assert_int_equal(nr_images(), 1);
}

/* Its records come again and again. */
static void without_a_place_no_process_is_looked_at(void **state)
{
	struct fake_process fp = {.pid = 300, .start_ticks = 50, .maps = EXE_LINE};
	struct process_table_stats stats;
	struct process *p;

	(void)state;
	new_table(1, 0, 0);
	fake_process_add(&fake, &fp);
	p = process_table_identify(table, IMAGE(300, 50 * TICK, 1), now);
	assert_non_null(p);
	fp.start_ticks = 90;
	fake_process_add(&fake, &fp);
	assert_null(process_table_identify(table, IMAGE(300, 90 * TICK, 1), now));
	process_table_stats(table, &stats);
	assert_int_equal(stats.nr_dropped, 1);
	/* A look would have shown that the first one is gone. */
	assert_int_equal(p->until_ns, UINT64_MAX);
}

static void a_command_is_tried_once_in_a_drain(void **state)
{
	struct fake_process fp = {.pid = 300, .start_ticks = 50, .maps = EXE_LINE};
	const struct lb_interp_code code = {.code_id = 1};
	struct process *p;

	(void)state;
	fake_process_add(&fake, &fp);
	scan();
	p = process_table_first_sample(table, IMAGE(300, 50 * TICK, 1), now);
	assert_int_equal(process_add_interp_code(table, p, &code, 1), -EINVAL);
	fake_write("python\0a.py", sizeof("python\0a.py"), "%s/300/cmdline", fake.proc);
	assert_int_equal(process_add_interp_code(table, p, &code, 1), -EINVAL);
	assert_null(p->command);
	process_table_refresh(table, now);
	assert_int_equal(process_add_interp_code(table, p, &code, 1), -EINVAL);
	assert_string_equal(p->command, "python\na.py\n");
}

static size_t nr_descriptors(void)
{
	size_t nr = 0;

	for (int fd = 0; fd < 4096; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/*
 * If few descriptors are allowed, the kept /proc directories leave most of them free.
 */
static size_t nr_kept_of_few(void)
{
	struct rlimit few = {200, 200};
	struct process_table_stats stats;
	size_t before;

	if (setrlimit(RLIMIT_NOFILE, &few))
		return SIZE_MAX;
	new_table(0, 0, 0);
	before = nr_descriptors();
	for (uint32_t pid = 1000; pid < 1060; pid++)
		process_table_first_sample(table, IMAGE(pid, 50 * TICK, 1),
					   fake_now_ns());
	process_table_stats(table, &stats);
	return nr_descriptors() - before - stats.nr_files_open;
}

static void few_descriptors_are_not_used_up(void **state)
{
	int status;
	pid_t child;

	(void)state;
	for (uint32_t pid = 1000; pid < 1060; pid++)
		fake_process_add(&fake, &(struct fake_process){.pid = pid,
							       .start_ticks = 50,
							       .maps = EXE_LINE});
	child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit((int)nr_kept_of_few());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_in_range(WEXITSTATUS(status), 10, 25);
}

static void no_proc_is_said(void **state)
{
	struct process_table_config config = {.proc_path = "/nonexistent"};
	struct process_table *none = NULL;
	struct error err = {0};

	(void)state;
	assert_int_equal(process_table_new(&config, pool, &none, &err), -ENOENT);
	assert_null(none);
	assert_int_equal(err.exit_code, EXIT_SYSTEM);
	assert_non_null(strstr(err.text, "/nonexistent"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(scan_reads_identity_and_mappings),
		TEST(scan_of_targets_takes_descendants),
		TEST(scan_ends_when_it_must),
		TEST(dead_leader_is_read_from_its_thread),
		TEST(fork_exec_mmap_exit),
		TEST(samples_find_their_image_by_time_then_by_name),
		TEST(a_tick_inside_exec_does_not_confuse),
		TEST(an_exec_may_be_among_lost_events),
		TEST(what_was_read_after_a_lost_exec_is_not_the_one_before),
		TEST(the_inner_pid_is_told_to_images_before),
		TEST(an_inner_pid_is_told_once),
		TEST(an_image_is_not_taken_for_one_two_execs_later),
		TEST(a_lost_exec_is_seen_by_the_sample),
		TEST(events_older_than_the_scan_double_nothing),
		TEST(an_old_mmap_event_still_tells_the_build_id),
		TEST(maps_read_too_late_go_to_the_next_image),
		TEST(what_is_gone_has_not_its_parents_rights),
		TEST(what_was_told_counts),
		TEST(a_told_mount_is_the_root_that_has_it),
		TEST(ids_read_too_late_are_not_believed),
		TEST(with_another_root_the_ids_are_read_again),
		TEST(lost_events_are_made_good),
		TEST(an_unknown_process_is_read_if_it_is_the_one),
		TEST(expire_forgets_what_was_never_sampled),
		TEST(ended_images_are_forgotten),
		TEST(what_exec_ended_is_over),
		TEST(what_is_sampled_again_is_not_forgotten),
		TEST(what_ran_a_moment_ago_is_not_over),
		TEST(who_has_no_leader_is_checked_in_rounds),
		TEST(jit_code_of_who_has_no_leader_is_forgotten_in_rounds),
		TEST(files_of_past_mappings_stay_open),
		TEST(a_slow_tenants_file_is_not_opened),
		TEST(what_is_expected_is_opened_but_not_kept),
		TEST(limits_are_counted),
		TEST(a_command_is_tried_once_in_a_drain),
		TEST(without_a_place_no_process_is_looked_at),
		TEST(few_descriptors_are_not_used_up),
		TEST(no_proc_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
