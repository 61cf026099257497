// SPDX-License-Identifier: GPL-2.0-or-later
/* Perf maps and jitdumps through the table: found, refused, and read as they grow. */
#include "process/table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "fake_proc.h"
#include "lib/slow_opener.h"
#include "process/image.h"

#define TICK     10000000ull
#define JIT_LINE "7f0000000000-7f0000100000 rwxp 0 0:0 0\n"

static struct fake_proc fake;
static struct strpool *pool;
static struct process_table *table;
static uint64_t now;

static int setup(void **state)
{
	struct process_table_config config = {.proc_path = fake.proc};

	(void)state;
	fake_proc_init(&fake);
	pool = strpool_new(1 << 20);
	now = fake_now_ns();
	return process_table_new(&config, pool, &table, NULL);
}

static int teardown(void **state)
{
	(void)state;
	process_table_free(table);
	strpool_free(pool);
	fake_proc_deinit(&fake);
	return 0;
}

static struct process *start(const char *maps, uint32_t ns_pid)
{
	fake_process_add(&fake, &(struct fake_process){.pid = 100,
						       .start_ticks = 5,
						       .uid = geteuid(),
						       .ns_pid = ns_pid,
						       .maps = maps});
	assert_int_equal(process_table_scan(table, NULL, 0, NULL), 0);
	return process_table_first_sample(table, IMAGE(100, 5 * TICK, 1), now);
}

static void put(const char *path, const char *text)
{
	fake_write(text, strlen(text), "%s%s", fake.root, path);
}

static const char *in_root(const char *path)
{
	static char full[256];

	snprintf(full, sizeof(full), "%s%s", fake.root, path);
	return full;
}

/* "time:size ..." with times relative to now. */
static const char *sizes_of(const struct jit_file *f)
{
	static char text[256];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < f->nr_sizes; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%lld:%llu",
					i ? " " : "",
					(long long)(f->sizes[i].time_ns - now),
					(unsigned long long)f->sizes[i].size_bytes);
	return text;
}

static void opened_by_the_number_inside(void **state)
{
	struct process *p;

	(void)state;
	put("/tmp/perf-100.map", "of another pid namespace");
	put("/tmp/perf-7.map", "1000 10 f\n");
	p = start(JIT_LINE, 7);
	assert_string_equal(p->perf_map.path, "/tmp/perf-7.map");
	assert_string_equal(fake_content(p->perf_map.fd), "1000 10 f\n");
	assert_int_equal(p->perf_map.open_errno, 0);
	assert_int_equal(p->perf_map.nr_sizes, 1);
	assert_int_equal(p->perf_map.sizes[0].size_bytes, 10);
	assert_true(p->perf_map.sizes[0].time_ns >= now);
}

/* The user of a child that has ended is unknown: it need not be its parent's. */
static void nothing_is_opened_for_who_is_not_known(void **state)
{
	struct task_event fork = {.kind = TASK_EVENT_FORK, .pid = 200, .ppid = 100};
	struct lb_ids ids = {.uid = geteuid(), .gid = getegid()};
	struct timespec ts;
	struct process *p;

	(void)state;
	put("/tmp/perf-200.map", "1000 10 f\n");
	start(JIT_LINE, 0);
	clock_gettime(CLOCK_BOOTTIME, &ts);
	fork.time_ns = fake_now_ns();
	process_table_event(table, &fork);
	p = process_table_first_sample(
		table,
		IMAGE(200, (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec, 1),
		fork.time_ns);
	assert_int_equal(p->ns_tgid, 200);
	assert_int_equal(p->perf_map.fd, -1);
	assert_int_equal(p->perf_map.open_errno, ESRCH);
	/* The user alone is not enough either: the root is unknown. */
	image_tell_ids(table, table->images[p->id], &ids, fork.time_ns);
	process_table_refresh(table, now);
	assert_int_equal(p->perf_map.fd, -1);
	assert_int_equal(p->perf_map.open_errno, ESRCH);
}

/* Who holds the machine's /tmp takes perf maps from others, and nothing else. */
static void a_held_tmp_is_nobodys(void **state)
{
	struct look look = {.where = LOOK_BELOW, .what = LOOK_FACTS, .name = "."};
	_cleanup_close_ int dir = open("/", O_PATH | O_CLOEXEC);
	struct tenant user = {.uid = 4711};
	struct process *p;

	(void)state;
	put("/tmp/perf-100.map", "1000 10 f\n");
	fake_process_add(&fake, &(struct fake_process){.pid = 1, .start_ticks = 1});
	assert_int_equal(process_table_scan(table, NULL, 0, NULL), 0);
	process_table_first_sample(table, IMAGE(1, TICK, 1), now);
	assert_int_equal(opener_begin(NULL), 0);
	slow_opener_hold(TENANT_OF_TMP);
	p = start(JIT_LINE, 0);
	assert_true(p->has_machines_root);
	assert_int_equal(p->perf_map.fd, -1);
	assert_int_equal(p->perf_map.open_errno, EBUSY);
	assert_int_equal(opener_look_at(dir, user, &look), 0);
	opener_end();
}

/* In another root, or mount namespace, its owner may have mounted anything. */
static void a_tmp_of_another_root_is_the_users(void **state)
{
	struct process *p;

	(void)state;
	put("/tmp/perf-100.map", "1000 10 f\n");
	assert_int_equal(opener_begin(NULL), 0);
	slow_opener_hold(TENANT_OF_TMP);
	p = start(JIT_LINE, 0);
	assert_false(p->has_machines_root);
	assert_int_equal(p->perf_map.open_errno, 0);
	opener_end();
}

static void only_who_has_jit_code_is_asked(void **state)
{
	struct process *p;

	(void)state;
	put("/tmp/perf-100.map", "x");
	p = start("1000-2000 r-xp 0 0:1 5 /bin/x\n", 0);
	assert_int_equal(p->perf_map.fd, -1);
	assert_int_equal(p->perf_map.open_errno, ENOENT);
	assert_string_equal(p->perf_map.path, "");
}

static void growth_is_noted(void **state)
{
	struct process *p = start(JIT_LINE, 0);
	char to[256];

	(void)state;
	assert_int_equal(p->perf_map.open_errno, ENOENT);
	process_table_refresh(table, now + 1);
	assert_int_equal(p->perf_map.nr_sizes, 0);
	put("/tmp/perf-100.map", "1234");
	for (uint64_t t = 10; t < 15; t++)
		process_table_refresh(table, now + t);
	assert_string_equal(sizes_of(&p->perf_map), "10:4 14:4");
	put("/tmp/perf-100.map", "12345678");
	process_table_refresh(table, now + 20);
	put("/tmp/perf-100.map", "123456789");
	process_table_refresh(table, now + 21);
	process_table_refresh(table, now + 22);
	process_table_refresh(table, now + 23);
	assert_string_equal(sizes_of(&p->perf_map), "10:4 14:4 20:8 21:9 23:9");

	/* Rewritten in place: shorter. */
	put("/tmp/perf-100.map", "12");
	process_table_refresh(table, now + 30);
	assert_string_equal(sizes_of(&p->perf_map), "30:2");

	/* Replaced by another file of any size. */
	put("/tmp/new", "longer than that");
	strcpy(to, in_root("/tmp/perf-100.map"));
	assert_int_equal(rename(in_root("/tmp/new"), to), 0);
	process_table_refresh(table, now + 40);
	assert_string_equal(sizes_of(&p->perf_map), "40:16");
	assert_string_equal(fake_content(p->perf_map.fd), "longer than that");

	/* Removed: the open file is kept. */
	assert_int_equal(unlink(in_root("/tmp/perf-100.map")), 0);
	process_table_refresh(table, now + 50);
	assert_string_equal(fake_content(p->perf_map.fd), "longer than that");
	assert_string_equal(sizes_of(&p->perf_map), "40:16 50:16");
}

static void a_long_history_is_thinned(void **state)
{
	struct process *p = start(JIT_LINE, 0);
	const struct jit_file *f = &p->perf_map;

	(void)state;
	put("/tmp/perf-100.map", "");
	for (int i = 1; i <= 9000; i++) {
		assert_int_equal(truncate(in_root("/tmp/perf-100.map"), i), 0);
		process_table_refresh(table, now + (uint64_t)i);
	}
	assert_true(f->nr_sizes <= 4096 && f->nr_sizes >= 2048);
	assert_int_equal(f->sizes[0].size_bytes, 1);
	assert_int_equal(f->sizes[f->nr_sizes - 1].size_bytes, 9000);
	for (size_t i = 1; i < f->nr_sizes; i++) {
		assert_true(f->sizes[i - 1].time_ns < f->sizes[i].time_ns);
		assert_int_equal(f->sizes[i].time_ns - now, f->sizes[i].size_bytes);
	}
}

static void hostile_perf_maps_are_refused(void **state)
{
	struct process *p = start(JIT_LINE, 0);
	const char *path = "/tmp/perf-100.map";

	(void)state;
	alarm(60);
	assert_int_equal(mkfifo(in_root(path), 0600), 0);
	process_table_refresh(table, now + 1);
	assert_int_equal(p->perf_map.open_errno, EINVAL);
	unlink(in_root(path));
	assert_int_equal(symlink("/etc/shadow", in_root(path)), 0);
	process_table_refresh(table, now + 2);
	assert_int_equal(p->perf_map.open_errno, ELOOP);
	unlink(in_root(path));
	assert_int_equal(mkdir(in_root(path), 0755), 0);
	process_table_refresh(table, now + 3);
	assert_int_equal(p->perf_map.open_errno, EINVAL);
	rmdir(in_root(path));
	put(path, "");
	if (!truncate(in_root(path), 1ll << 40)) {
		process_table_refresh(table, now + 4);
		assert_int_equal(p->perf_map.open_errno, EFBIG);
	}
	assert_int_equal(truncate(in_root(path), 3), 0);
	assert_int_equal(chmod(in_root(path), 0666), 0);
	process_table_refresh(table, now + 5);
	assert_int_equal(p->perf_map.open_errno, EPERM);
	assert_int_equal(p->perf_map.fd, -1);
	assert_int_equal(p->perf_map.nr_sizes, 0);
	alarm(0);
	/* Corrected, it is read. */
	assert_int_equal(chmod(in_root(path), 0600), 0);
	process_table_refresh(table, now + 6);
	assert_true(p->perf_map.fd >= 0);
}

/* A process that has none was late once: nothing was refused. */
static void only_what_was_there_stays_refused(void **state)
{
	static const int unseen[] = {EBUSY,  ETIMEDOUT, EIO,  EAGAIN,
				     EMFILE, ENFILE,    ESRCH};
	struct process *p = start(JIT_LINE, 0);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(unseen); i++) {
		p->perf_map.open_errno = unseen[i];
		process_table_refresh(table, now + i);
		assert_int_equal(p->perf_map.open_errno, ENOENT);
	}
	p->perf_map.open_errno = EPERM;
	process_table_refresh(table, now + 10);
	assert_int_equal(p->perf_map.open_errno, EPERM);
}

static void anothers_perf_map_is_refused(void **state)
{
	struct process *p;

	(void)state;
	if (geteuid()) {
		print_message("skipped: needs root, to make a file of another user\n");
		skip();
	}
	put("/tmp/perf-100.map", "x");
	assert_int_equal(chown(in_root("/tmp/perf-100.map"), 1234, 1234), 0);
	p = start(JIT_LINE, 0);
	assert_int_equal(p->perf_map.open_errno, EPERM);
}

static void exited_targets_get_a_last_look(void **state)
{
	struct task_event exit_event = {.kind = TASK_EVENT_EXIT,
					.pid = 100,
					.time_ns = fake_now_ns() + 1000000000};
	struct process *p;

	(void)state;
	put("/tmp/perf-100.map", "1");
	p = start(JIT_LINE, 0);
	put("/tmp/perf-100.map", "123");
	fake_process_remove(&fake, 100);
	process_table_event(table, &exit_event);
	process_table_refresh(table, now + 5);
	assert_int_equal(p->perf_map.sizes[p->perf_map.nr_sizes - 1].size_bytes, 3);
	/* Now the file may belong to another process. */
	put("/tmp/perf-100.map", "12345");
	process_table_refresh(table, now + 6);
	assert_int_equal(p->perf_map.sizes[p->perf_map.nr_sizes - 1].size_bytes, 3);
}

static void jitdump_is_opened_as_mapped(void **state)
{
	struct process *p;

	(void)state;
	put("/tmp/jit-100.dump", "by path");
	fake_process_add(&fake, &(struct fake_process){.pid = 100});
	p = start("a000-b000 r-xp 0 0:1 5 /tmp/jit-100.dump\n" JIT_LINE, 0);
	/* map_files is missing: opened by path. */
	assert_string_equal(fake_content(p->jitdump.fd), "by path");
	assert_string_equal(p->jitdump.path, "/tmp/jit-100.dump");
}

static void jitdump_that_comes_later(void **state)
{
	struct process *p = start(JIT_LINE, 5);
	struct task_event ev = {.kind = TASK_EVENT_MMAP,
				.time_ns = fake_now_ns(),
				.pid = 100,
				.start = 0xa000,
				.end = 0xb000,
				.prot = 5};

	(void)state;
	assert_int_equal(p->jitdump.open_errno, ENOENT);
	ev.name = "/cwd/jit-99.dump"; /* of another process */
	process_table_event(table, &ev);
	process_table_refresh(table, now + 1);
	assert_int_equal(p->jitdump.fd, -1);
	ev.name = "/cwd/jit-5.dump (deleted)";
	ev.start += 0x10000;
	ev.end += 0x10000;
	ev.time_ns++;
	process_table_event(table, &ev);
	fake_map_file(&fake, 100, ev.start, ev.end, "as mapped");
	process_table_refresh(table, now + 2);
	assert_string_equal(fake_content(p->jitdump.fd), "as mapped");
	assert_string_equal(p->jitdump.path, "/cwd/jit-5.dump");
}

static void hostile_jitdump_is_refused(void **state)
{
	struct process *p;

	(void)state;
	put("/tmp/jit-100.dump", "x");
	assert_int_equal(chmod(in_root("/tmp/jit-100.dump"), 0666), 0);
	p = start("a000-b000 r-xp 0 0:1 5 /tmp/jit-100.dump\n" JIT_LINE, 0);
	assert_int_equal(p->jitdump.fd, -1);
	assert_int_equal(p->jitdump.open_errno, EPERM);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(opened_by_the_number_inside),
		TEST(nothing_is_opened_for_who_is_not_known),
		TEST(a_held_tmp_is_nobodys),
		TEST(a_tmp_of_another_root_is_the_users),
		TEST(only_who_has_jit_code_is_asked),
		TEST(growth_is_noted),
		TEST(a_long_history_is_thinned),
		TEST(hostile_perf_maps_are_refused),
		TEST(only_what_was_there_stays_refused),
		TEST(anothers_perf_map_is_refused),
		TEST(exited_targets_get_a_last_look),
		TEST(jitdump_is_opened_as_mapped),
		TEST(jitdump_that_comes_later),
		TEST(hostile_jitdump_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
