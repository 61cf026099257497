// SPDX-License-Identifier: GPL-2.0-or-later
/* What is read from /proc: hostile names, odd namespaces, a leader that has ended. */
#include "process/proc_dir.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "opener/opener.h"

#include "fake_proc.h"
#include "lib/slow_opener.h"

#define FIELDS " 1 4242 1 0 -1 4194304 9 0 0 0 5 6 0 0 20 0 7 0 123456789 1 2 3\n"

static void stat_lines(void **state)
{
	static const struct {
		const char *text, *comm;
		char process_state;
	} cases[] = {
		{"4242 (node) S" FIELDS, "node", 'S'},
		{"4242 () R" FIELDS, "", 'R'},
		{"4242 (a b) S" FIELDS, "a b", 'S'},
		{"4242 (x) R 9 9) S" FIELDS, "x) R 9 9", 'S'},
		{"4242 (a\nb)\n) Z" FIELDS, "a\nb)\n", 'Z'},
		{"4242 (((() D" FIELDS, "(((", 'D'},
		{"4242 (kworker/u4:2-events_unbound) I" FIELDS, "kworker/u4:2-ev", 'I'},
	};
	static const char *const bad[] = {
		"",
		"4242",
		"4242 (",
		"4242 (x",
		"4242 (x)",
		") S 1 (",
		"4242 (x) S 1 2 3 4",
	};
	static const char kthreadd[] =
		"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 6 0 0";
	struct proc_stat stat;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(proc_stat_parse(cases[i].text, &stat), 0);
		assert_string_equal(stat.comm, cases[i].comm);
		assert_int_equal(stat.state, cases[i].process_state);
		assert_int_equal(stat.ppid, 1);
		assert_int_equal(stat.nr_threads, 7);
		assert_int_equal(stat.start_ticks, 123456789);
		assert_false(stat.is_kernel_thread);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(proc_stat_parse(bad[i], &stat), -EBADMSG);
	assert_int_equal(proc_stat_parse(kthreadd, &stat), 0);
	assert_true(stat.is_kernel_thread);
}

static void status_lines(void **state)
{
	static const char text[] =
		"Name:\tx\\nUid:\t7\nTgid:\t12\nUid:\t1000\t1001\t1002\t1003\n"
		"Gid:\t50\t51\t52\t53\nGroups:\t1 "
		"2\nNStgid:\t12\t5\t1\nNSpid:\t12\t6\t2\n";
	static const char flat[] = "Name:\tx\nTgid:\t12\nUid:\t1\t2\nGid:\t3\t4\n";
	struct proc_status status;

	(void)state;
	assert_int_equal(proc_status_parse(text, &status), 0);
	assert_int_equal(status.tgid, 12);
	assert_int_equal(status.uid, 1001);
	assert_int_equal(status.real_uid, 1000);
	assert_int_equal(status.gid, 51);
	assert_int_equal(status.ns_tgid, 1);
	assert_int_equal(proc_status_parse(flat, &status), 0);
	assert_int_equal(status.ns_tgid, 0);
	assert_int_equal(proc_status_parse("Tgid:\t1\n", &status), -EBADMSG);
	assert_int_equal(proc_status_parse("", &status), -EBADMSG);
}

static void uid_maps(void **state)
{
	static const struct {
		const char *text;
		int rc;
		uid_t root;
	} cases[] = {
		{"         0          0 4294967295\n", 0, 0},
		{"0 100000 65536\n", 0, 100000},
		{"1000 1000 1\n0 231072 1000\n", 0, 231072},
		{"1000 1000 1\n", -ENOENT, 77},
		{"0 5 0\n", -ENOENT, 77},
		{"", -ENOENT, 77},
		{"x\n0 9 1", 0, 9},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uid_t root = 77;

		assert_int_equal(proc_uid_map_parse(cases[i].text, &root), cases[i].rc);
		assert_int_equal(root, cases[i].root);
	}
}

struct count {
	size_t nr;
	bool has_self, has_vdso;
};

static int count_mapping(void *ctx, const struct mapping *m)
{
	struct count *count = ctx;
	uint64_t ip = (uintptr_t)&count_mapping;

	count->nr++;
	if (ip >= m->start && ip < m->end)
		count->has_self = m->kind == MAPPING_FILE;
	count->has_vdso |= m->kind == MAPPING_VDSO;
	return 0;
}

static void the_real_proc(void **state)
{
	struct strpool *pool = strpool_new(1 << 20);
	int proc = open("/proc", O_PATH | O_DIRECTORY);
	int dir = proc_dir_open(proc, (uint32_t)getpid());
	struct proc_status status;
	struct proc_stat stat;
	struct count count = {0};
	uint64_t boot_ticks;
	struct timespec ts;

	(void)state;
	assert_true(dir >= 0);
	assert_int_equal(proc_dir_stat(dir, &stat), 0);
	clock_gettime(CLOCK_BOOTTIME, &ts);
	boot_ticks = (uint64_t)ts.tv_sec * 100 + (uint64_t)ts.tv_nsec / PROC_TICK_NS;
	assert_true(stat.start_ticks <= boot_ticks);
	assert_true(stat.start_ticks + 100 * 60 > boot_ticks);
	assert_int_equal(stat.ppid, getppid());
	assert_int_equal(stat.nr_threads, 1);
	assert_int_equal(stat.state, 'R');
	assert_int_equal(proc_dir_status(dir, &status), 0);
	assert_int_equal(status.tgid, getpid());
	assert_int_equal(status.uid, geteuid());
	assert_int_equal(status.real_uid, getuid());
	assert_int_equal(status.gid, getegid());
	assert_true(status.ns_tgid > 0);
	/* More than the kernel tells in one read. */
	assert_true(proc_dir_maps(dir, 1, pool, count_mapping, &count) > 4096);
	assert_true(count.has_self);
	assert_true(count.has_vdso);
	assert_true(count.nr >= 3);
	close(dir);
	assert_int_equal(proc_dir_open(proc, 0x7fffffff), -ENOENT);
	close(proc);
	strpool_free(pool);
}

/* The directory of a dead process gives nothing, even if its pid is reused. */
static void a_directory_dies_with_its_process(void **state)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY);
	struct proc_stat stat;
	pid_t pid = fork();
	int dir;

	(void)state;
	if (!pid) {
		pause();
		_exit(0);
	}
	dir = proc_dir_open(proc, (uint32_t)pid);
	assert_int_equal(proc_dir_stat(dir, &stat), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(proc_dir_stat(dir, &stat) < 0);
	close(dir);
	close(proc);
}

static void *live_on(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

static int begin_opener(void **state)
{
	(void)state;
	return opener_begin(NULL);
}

static int end_opener(void **state)
{
	(void)state;
	opener_end();
	return 0;
}

/* Returns a process whose leader has ended, and that has one more thread. */
static pid_t start_without_leader(int proc, int *ret_dir)
{
	const struct timespec moment = {.tv_nsec = 2000000};
	struct proc_stat stat = {0};
	pid_t pid = fork();
	int dir;

	if (!pid) {
		pthread_t id;

		pthread_create(&id, NULL, live_on, NULL);
		syscall(SYS_exit, 0); /* ends only this thread */
	}
	dir = proc_dir_open(proc, (uint32_t)pid);
	for (int i = 0; i < 60000 && stat.state != 'Z'; i++) {
		nanosleep(&moment, NULL);
		assert_int_equal(proc_dir_stat(dir, &stat), 0);
	}
	assert_int_equal(stat.state, 'Z');
	assert_true(stat.nr_threads > 1);
	*ret_dir = dir;
	return pid;
}

static void a_thread_tells_when_the_leader_is_gone(void **state)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY);
	struct strpool *pool = strpool_new(1 << 20);
	struct count count = {0};
	int dir, thread;
	pid_t pid = start_without_leader(proc, &dir);

	(void)state;
	thread = proc_dir_open_thread(proc, dir, (uint32_t)pid);
	assert_true(thread >= 0);
	assert_true(proc_dir_maps(thread, 1, pool, count_mapping, &count) > 0);
	assert_true(count.has_self);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(thread);
	close(dir);
	close(proc);
	strpool_free(pool);
}

/* It may hold the lock of the folder with its threads. */
static void a_late_thread_is_not_gone(void **state)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY), dir;
	pid_t pid = start_without_leader(proc, &dir);

	(void)state;
	kill(slow_opener_pid(), SIGSTOP);
	assert_int_equal(proc_dir_open_thread(proc, dir, (uint32_t)pid), -ETIMEDOUT);
	assert_int_equal(proc_dir_open_thread(proc, dir, (uint32_t)pid), -EBUSY);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(dir);
	close(proc);
}

struct names {
	size_t nr, nr_named;
};

static int count_name(void *ctx, const char *tid, const char *text)
{
	struct names *names = ctx;

	assert_true(strtoul(tid, NULL, 10) > 0);
	names->nr++;
	names->nr_named += !strcmp(text, "a-thread\n");
	return names->nr == 25;
}

static void *be_named(void *arg)
{
	prctl(PR_SET_NAME, "a-thread");
	sem_post(arg);
	pause();
	return NULL;
}

#define NR_THREADS 20

static void each_thread_is_read(void **state)
{
	struct names names = {0};
	pthread_t ids[NR_THREADS];
	int dir = proc_dir_open_here((uint32_t)getpid());
	sem_t named;

	(void)state;
	sem_init(&named, 0, 0);
	for (size_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, be_named, &named), 0);
	for (size_t i = 0; i < NR_THREADS; i++)
		sem_wait(&named);
	assert_int_equal(proc_dir_each_thread(dir, "comm", 4096, count_name, &names), 0);
	assert_int_equal(names.nr, NR_THREADS + 1);
	assert_int_equal(names.nr_named, NR_THREADS);
	/* Until it is told to stop. */
	assert_int_equal(proc_dir_each_thread(dir, "comm", 4096, count_name, &names), 1);
	assert_int_equal(names.nr, 25);
	/* The list may lack some. */
	assert_int_equal(proc_dir_each_thread(dir, "comm", 20, count_name, &names),
			 -EFBIG);
	assert_in_range(names.nr, 26, 30);
	for (size_t i = 0; i < NR_THREADS; i++) {
		pthread_cancel(ids[i]);
		pthread_join(ids[i], NULL);
	}
	sem_destroy(&named);
	close(dir);
}

static bool is_marked(const struct proc_tree *tree, uint32_t tgid)
{
	for (size_t i = 0; i < tree->nr; i++)
		if (tree->items[i].tgid == tgid)
			return tree->items[i].is_marked;
	return false;
}

/* 10 has the children 11 and 12, and 12 the child 13. */
static void a_detached_process_is_no_descendant(void **state)
{
	struct proc_tree_item items[] = {{.tgid = 10, .ppid = 1},
					 {.tgid = 11, .ppid = 10},
					 {.tgid = 12, .ppid = 10},
					 {.tgid = 13, .ppid = 12}};
	struct proc_tree tree = {.items = items, .nr = ARRAY_SIZE(items)};

	(void)state;
	proc_tree_detach(&tree, 12);
	proc_tree_detach(&tree, 99); /* there is none */
	assert_true(proc_tree_mark(&tree, 10));
	proc_tree_mark_descendants(&tree);
	assert_true(is_marked(&tree, 11));
	assert_false(is_marked(&tree, 12));
	assert_false(is_marked(&tree, 13));
	/* It can still be chosen itself, with its children. */
	assert_true(proc_tree_mark(&tree, 12));
	proc_tree_mark_descendants(&tree);
	assert_true(is_marked(&tree, 13));
}

static void long_lines_do_not_end_the_reading(void **state)
{
	struct strpool *pool = strpool_new(1 << 20);
	_cleanup_free_ char *maps = malloc(100000);
	struct fake_proc fake;
	struct count count = {0};
	size_t len = 0;
	int dir;

	(void)state;
	fake_proc_init(&fake);
	len += (size_t)sprintf(maps, "1000-2000 r-xp 0 0:0 1 /");
	memset(maps + len, 'x', 50000);
	len += 50000;
	len += (size_t)sprintf(maps + len, "\n3000-4000 r-xp 0 0:0 1 /last");
	fake_write(maps, len, "%s/maps", fake.proc);
	dir = open(fake.proc, O_PATH | O_DIRECTORY);
	assert_int_equal(proc_dir_maps(dir, 1, pool, count_mapping, &count), len);
	assert_int_equal(count.nr, 2);
	close(dir);
	fake_proc_deinit(&fake);
	strpool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_lines),
		cmocka_unit_test(status_lines),
		cmocka_unit_test(uid_maps),
		cmocka_unit_test(the_real_proc),
		cmocka_unit_test(a_directory_dies_with_its_process),
		cmocka_unit_test_setup_teardown(a_thread_tells_when_the_leader_is_gone,
						begin_opener, end_opener),
		cmocka_unit_test_setup_teardown(a_late_thread_is_not_gone, begin_opener,
						end_opener),
		cmocka_unit_test_setup_teardown(each_thread_is_read, begin_opener,
						end_opener),
		cmocka_unit_test(a_detached_process_is_no_descendant),
		cmocka_unit_test(long_lines_do_not_end_the_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
