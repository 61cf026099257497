// SPDX-License-Identifier: GPL-2.0-or-later
/* The table on the real /proc, with files that only the kernel has. Needs root. */
#include "process/table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/io.h"
#include "fake_proc.h"
#include "process/proc_dir.h"

#define PAGE 4096u

static struct fake_proc dir; /* only its temporary directory is used */
static struct strpool *pool;
static struct process_table *table;

/* The child's mapping, in memory shared with the child. */
static struct shared {
	uint64_t start, end;
	volatile int ready, cut;
} * shared;

static int setup(void **state)
{
	struct process_table_config config = {.proc_path = "/proc"};

	(void)state;
	if (geteuid())
		return 0;
	fake_proc_init(&dir);
	pool = strpool_new(1 << 24);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return process_table_new(&config, pool, &table, NULL);
}

static int teardown(void **state)
{
	(void)state;
	if (geteuid())
		return 0;
	process_table_free(table);
	strpool_free(pool);
	munmap(shared, sizeof(*shared));
	fake_proc_deinit(&dir);
	return 0;
}

static void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skipped: needs root, to open map_files of processes\n");
	skip();
}

static const char *in_dir(const char *name)
{
	static char path[2][128];
	static int i;

	i ^= 1;
	snprintf(path[i], sizeof(path[i]), "%s%s", dir.root, name);
	return path[i];
}

/* A copy of this program: a real binary with a build id. */
static void copy_self(const char *to)
{
	_cleanup_free_ char *data = NULL;
	size_t len = 0;

	assert_int_equal(io_read_file("/proc/self/exe", 1 << 26, &data, &len), 0);
	fake_write(data, len, "%s", to);
}

static void map_code(int fd, size_t size)
{
	void *code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (code == MAP_FAILED)
		_exit(1);
	shared->start = (uintptr_t)code;
	shared->end = shared->start + size;
}

/* Forks a child that ends if the test fails. */
static pid_t start_child(void)
{
	pid_t pid;

	shared->ready = 0;
	pid = fork();
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void wait_for_child(void)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	for (int i = 0; i < 60000 && !shared->ready; i++)
		nanosleep(&moment, NULL);
	assert_true(shared->ready);
	shared->ready = 0;
}

static uint64_t start_of(pid_t pid)
{
	int proc = open("/proc", O_PATH | O_DIRECTORY);
	int proc_dir = proc_dir_open(proc, (uint32_t)pid);
	struct proc_stat stat;

	assert_int_equal(proc_dir_stat(proc_dir, &stat), 0);
	close(proc_dir);
	close(proc);
	return stat.start_ticks * PROC_TICK_NS;
}

static struct process *sample(pid_t pid)
{
	return process_table_first_sample(table, IMAGE((uint32_t)pid, start_of(pid), 1),
					  fake_now_ns());
}

static const struct mapping *mapping_at(const struct process *p, uint64_t ip)
{
	const struct mapping *m = NULL;

	assert_int_equal(maps_find(&p->maps, ip, UINT64_MAX - 1, UINT64_MAX - 1, &m),
			 MAPS_FOUND);
	return m;
}

static void assert_is_copy_of_self(const struct target_file *file)
{
	_cleanup_free_ char *want = NULL, *got = NULL;
	size_t want_len = 0, got_len = 0;

	assert_non_null(file);
	assert_true(file->fd >= 0);
	assert_int_equal(io_read_file("/proc/self/exe", 1 << 26, &want, &want_len), 0);
	assert_int_equal(io_read_all(file->fd, 1 << 26, &got, &got_len), 0);
	assert_int_equal(got_len, want_len);
	assert_memory_equal(got, want, want_len);
	assert_int_equal(file->size_bytes, want_len);
}

static void reap(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Starts a child that maps a copy of this program and replaces it by another file. */
static pid_t start_with_replaced_binary(void)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	pid_t pid;

	copy_self(in_dir("/bin"));
	shared->cut = 0;
	pid = start_child();
	if (!pid) {
		map_code(open(in_dir("/bin"), O_RDONLY), 16 * PAGE);
		unlink(in_dir("/bin"));
		fake_write("replaced", 8, "%s", in_dir("/bin"));
		shared->ready = 1;
		while (!shared->cut)
			nanosleep(&moment, NULL);
		if (mprotect((char *)(uintptr_t)shared->start + 4 * PAGE, PAGE,
			     PROT_READ))
			_exit(1);
		shared->ready = 1;
		pause();
	}
	wait_for_child();
	return pid;
}

static void a_replaced_binary_is_opened_as_mapped(void **state)
{
	const struct mapping *m;
	struct process *p;
	pid_t pid;

	(void)state;
	need_root();
	pid = start_with_replaced_binary();
	p = sample(pid);
	assert_non_null(p);
	m = mapping_at(p, shared->start);
	assert_true(m->deleted);
	assert_string_equal(m->path, in_dir("/bin"));
	assert_is_copy_of_self(m->file);
	assert_false(m->file->verify_build_id);
	assert_int_equal(mapping_at(p, (uintptr_t)&sample)->kind, MAPPING_FILE);
	assert_is_copy_of_self(mapping_at(p, (uintptr_t)&sample)->file);
	reap(pid);
	/* The file stays open after the process has ended. */
	assert_int_equal(lseek(m->file->fd, 0, SEEK_SET), 0);
	assert_is_copy_of_self(m->file);
}

static void a_mapping_that_was_cut_is_still_found(void **state)
{
	struct task_event ev = {.kind = TASK_EVENT_MMAP,
				.prot = PROT_READ | PROT_EXEC,
				.build_id = {1},
				.build_id_len = 20};
	const struct mapping *m;
	struct process *p;
	char name[160];
	pid_t pid;

	(void)state;
	need_root();
	pid = start_with_replaced_binary();
	ev.time_ns = fake_now_ns();
	ev.pid = (uint32_t)pid;
	ev.start = shared->start;
	ev.end = shared->end;
	/* The kernel reported the whole; then the child changed a page's protection. */
	snprintf(name, sizeof(name), "%s (deleted)", in_dir("/bin"));
	ev.name = name;
	process_table_event(table, &ev);
	shared->cut = 1;
	wait_for_child();
	p = sample(pid);
	assert_non_null(p);
	m = mapping_at(p, shared->start);
	assert_int_equal(m->end, shared->end);
	assert_is_copy_of_self(m->file);
	assert_int_equal(m->file->build_id[0], 1);
	reap(pid);
}

static void the_inode_that_is_mapped_is_found(void **state)
{
	const struct mapping *m;
	struct process *p;
	bool by_path = true;
	struct stat st;
	pid_t pid;
	int fd;

	(void)state;
	need_root();
	pid = start_with_replaced_binary();
	p = sample(pid);
	assert_non_null(p);
	m = mapping_at(p, shared->start);
	fd = process_find_mapped(table, p, m, &by_path);
	assert_true(fd >= 0);
	assert_false(by_path);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_dev, m->file->dev);
	assert_int_equal(st.st_ino, m->file->inode);
	close(fd);
	/* Another file is at the path. */
	shared->cut = 1;
	wait_for_child();
	assert_int_equal(process_find_mapped(table, p, m, &by_path), -ENOENT);
	m = mapping_at(p, (uintptr_t)&sample);
	reap(pid);
	assert_int_equal(process_find_mapped(table, p, m, &by_path), -ESRCH);
}

static void a_memfd_is_opened(void **state)
{
	const struct mapping *m;
	pid_t pid;

	(void)state;
	need_root();
	pid = start_child();
	if (!pid) {
		int fd = memfd_create("code", 0);

		if (write(fd, "memfd content", 13) != 13 || ftruncate(fd, PAGE))
			_exit(1);
		map_code(fd, PAGE);
		shared->ready = 1;
		pause();
	}
	wait_for_child();
	m = mapping_at(sample(pid), shared->start);
	assert_int_equal(m->kind, MAPPING_MEMFD);
	assert_string_equal(m->path, "/memfd:code");
	assert_string_equal(fake_content(m->file->fd), "memfd content");
	reap(pid);
}

static void a_dead_process_has_its_file_by_inode(void **state)
{
	struct task_event ev = {.kind = TASK_EVENT_FORK, .time_ns = fake_now_ns()};
	struct stat st;
	struct process *p;
	uint64_t start;
	struct timespec boot;
	pid_t pid;

	(void)state;
	need_root();
	copy_self(in_dir("/bin"));
	assert_int_equal(stat(in_dir("/bin"), &st), 0);
	assert_int_equal(process_table_scan(table, NULL, 0, NULL), 0);
	/* A child of this process that ends before it is scanned. */
	clock_gettime(CLOCK_BOOTTIME, &boot);
	start = (uint64_t)boot.tv_sec * 1000000000u + (uint64_t)boot.tv_nsec;
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	ev.pid = (uint32_t)pid;
	ev.ppid = (uint32_t)getpid();
	ev.time_ns = fake_now_ns();
	process_table_event(table, &ev);
	ev.kind = TASK_EVENT_EXEC;
	process_table_event(table, &ev);
	ev = (struct task_event){.kind = TASK_EVENT_MMAP,
				 .time_ns = ev.time_ns + 1,
				 .pid = (uint32_t)pid,
				 .start = 0x400000,
				 .end = 0x500000,
				 .prot = PROT_EXEC,
				 .major = major(st.st_dev),
				 .minor = minor(st.st_dev),
				 .inode = st.st_ino,
				 .name = in_dir("/bin")};
	process_table_event(table, &ev);
	p = process_table_first_sample(table, IMAGE((uint32_t)pid, start, 3),
				       ev.time_ns + 1);
	assert_non_null(p);
	assert_is_copy_of_self(mapping_at(p, 0x400000)->file);
}

static void paths_are_of_the_targets_root(void **state)
{
	static const char map[] = "1000 10 inside\n";
	struct process *p;
	char name[64];
	pid_t pid;
	int fd;

	(void)state;
	need_root();
	pid = start_child();
	if (!pid) {
		void *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (chroot(dir.root) || chdir("/") || code == MAP_FAILED)
			_exit(1);
		snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
		fd = open(name, O_WRONLY | O_CREAT, 0600);
		if (write(fd, map, sizeof(map) - 1) < 0 || symlink("/tmp", "/absolute") ||
		    symlink("/etc/passwd", "/escape"))
			_exit(1);
		shared->ready = 1;
		pause();
	}
	wait_for_child();
	p = sample(pid);
	assert_string_equal(fake_content(p->perf_map.fd), map);
	snprintf(name, sizeof(name), "/absolute/perf-%d.map", (int)pid);
	fd = process_open_in_root(p, 0, name, 0, NULL);
	assert_string_equal(fake_content(fd), map);
	close(fd);
	assert_int_equal(process_open_in_root(p, 0, "/escape", 0, NULL), -ENOENT);
	assert_int_equal(process_open_in_root(p, 0, name, 5, NULL), -EFBIG);
	reap(pid);
	/* Its root stays open. */
	fd = process_open_in_root(p, 0, name, 0, NULL);
	assert_string_equal(fake_content(fd), map);
	close(fd);
}

static void the_scan_finds_this_process(void **state)
{
	struct process_table_stats stats;
	struct process *p;

	(void)state;
	need_root();
	assert_int_equal(process_table_scan(table, NULL, 0, NULL), 0);
	p = process_table_find(table,
			       IMAGE((uint32_t)getpid(), start_of(getpid()) + 17, 5),
			       fake_now_ns(), fake_now_ns());
	assert_non_null(p);
	assert_string_equal(p->comm, "table_live");
	assert_int_equal(p->uid, 0);
	assert_true(p->ns_tgid > 0);
	assert_false(p->opened);
	process_table_refresh(table, fake_now_ns());
	assert_true(p->opened);
	assert_is_copy_of_self(mapping_at(p, (uintptr_t)&sample)->file);
	process_table_stats(table, &stats);
	assert_true(stats.nr_processes >= 1);
	/* Processes with one root share it; only this process was opened. */
	assert_true(stats.nr_files_open < 64);
}

/* Nobody has the machine's root in a mount namespace: who mounted there is not known. */
static void whose_root_it_is(void **state)
{
	static const struct {
		int flags;
		bool changes_root, is_machines;
	} cases[] = {
		{0, false, true},
		{CLONE_NEWNS, false, false},
		{CLONE_NEWUSER | CLONE_NEWNS, false, false},
		{0, true, false},
	};
	pid_t pid;

	(void)state;
	need_root();
	assert_int_equal(process_table_scan(table, NULL, 0, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		pid = start_child();
		if (!pid) {
			if (unshare(cases[i].flags) ||
			    (cases[i].changes_root && chroot(dir.root)))
				_exit(1);
			shared->ready = 1;
			pause();
		}
		wait_for_child();
		if (sample(pid)->has_machines_root != cases[i].is_machines)
			fail_msg("case %zu", i);
		reap(pid);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_replaced_binary_is_opened_as_mapped),
		TEST(a_mapping_that_was_cut_is_still_found),
		TEST(the_inode_that_is_mapped_is_found),
		TEST(a_memfd_is_opened),
		TEST(a_dead_process_has_its_file_by_inode),
		TEST(paths_are_of_the_targets_root),
		TEST(the_scan_finds_this_process),
		TEST(whose_root_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
