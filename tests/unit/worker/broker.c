// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A collector with brokers, and what is left to it after it has given up its rights. Each
 * test is a process of its own, because neither can be undone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "worker/broker.h"
#include "worker/child.h"
#include "base/capability.h"
#include "worker/lockdown.h"
#include "worker/sandbox.h"
#include "worker/worker.h"

#define EVERYTHING UINT64_MAX

/* ---- what a broker serves here ---- */

/* Replies with the request's bytes and the context, and its descriptor. */
static int serve_echo(void *ctx, const struct broker_message *request,
		      struct broker_message *reply)
{
	memcpy(reply->data, request->data, request->len);
	memcpy((char *)reply->data + request->len, ctx, 1);
	reply->len = request->len + 1;
	for (size_t i = 0; i < request->nr_fds; i++)
		reply->fds[reply->nr_fds++] = dup(request->fds[i]);
	return -EXDEV;
}

static int serve_death(void *ctx, const struct broker_message *request,
		       struct broker_message *reply)
{
	(void)ctx, (void)request, (void)reply;
	_exit(1);
}

/* Waits until the caller's file has a byte. */
static int serve_late(void *ctx, const struct broker_message *request,
		      struct broker_message *reply)
{
	char byte;

	(void)ctx;
	while (pread(request->fds[0], &byte, 1, 0) <= 0)
		usleep(1000);
	reply->fds[reply->nr_fds++] = dup(STDIN_FILENO);
	reply->len = 4;
	return 0;
}

static broker_fn *const ops[NR_BROKER_OPS] = {
	[BROKER_START_CHILD] = child_serve_start, [BROKER_KILL_CHILD] = child_serve_kill,
	[BROKER_REAP_CHILD] = child_serve_reap,   [BROKER_OPEN_PAGER] = serve_echo,
	[BROKER_CLOSE_PAGER] = serve_death,       [BROKER_OPEN_SOURCE] = serve_late,
};

static void begin_broker(enum broker_kind kind, uint64_t capabilities)
{
	static char mark = 'x';
	const struct broker_config config = {.name = "test-broker",
					     .ops = ops,
					     .capabilities = capabilities,
					     .passes_on = true,
					     .answer_ms = kind == BROKER_HELPERS ? 500
										 : 0,
					     .ctx = &mark};

	assert_int_equal(broker_begin(kind, &config, NULL), 0);
}

/* ---- a process for each test ---- */

#define CHECK(what)                                                                \
	do {                                                                       \
		if (!(what)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			_exit(1);                                                  \
		}                                                                  \
	} while (0)

static void in_a_process(void (*test)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		test();
		broker_end();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- brokers ---- */

static void ask_and_be_answered(void)
{
	char sent[] = "abc", got[4] = "";
	struct broker_message request = {.data = sent, .len = 3, .nr_fds = 1};
	struct broker_message reply = {.data = got, .len = sizeof(got)};
	struct stat a, b;
	int pipe_fds[2];

	CHECK(!broker_is_there(BROKER_HELPERS));
	begin_broker(BROKER_HELPERS, EVERYTHING);
	begin_broker(BROKER_OUTPUT, EVERYTHING);
	CHECK(broker_is_there(BROKER_HELPERS) && broker_is_there(BROKER_OUTPUT));
	CHECK(!pipe2(pipe_fds, O_CLOEXEC));
	request.fds[0] = pipe_fds[0];
	for (int i = 0; i < NR_BROKER_KINDS; i++) {
		CHECK(broker_ask(i, BROKER_OPEN_PAGER, &request, &reply) == -EXDEV);
		CHECK(!memcmp(got, "abcx", 4) && reply.nr_fds == 1);
		CHECK(!fstat(reply.fds[0], &a) && !fstat(pipe_fds[0], &b));
		CHECK(a.st_ino == b.st_ino);
		close(reply.fds[0]);
	}
	CHECK(broker_ask(BROKER_OUTPUT, BROKER_WRITE_PAGE, NULL, NULL) == -ENOSYS);
	CHECK(broker_cpu_ns() > 0);
}

static void test_ask(void **state)
{
	(void)state;
	in_a_process(ask_and_be_answered);
}

/* What is late is lost, and nothing else. */
static void ask_the_late(void)
{
	char sent[] = "abc", got[4] = "", late[4];
	struct broker_message request = {.data = sent, .len = 3, .nr_fds = 1};
	struct broker_message reply = {.data = got, .len = sizeof(got)};
	struct broker_message late_reply = {.data = late, .len = sizeof(late)};
	int file = memfd_create("late", MFD_CLOEXEC), rc, last;

	begin_broker(BROKER_HELPERS, EVERYTHING);
	request.fds[0] = file;
	for (int i = 0; i < 3; i++) {
		CHECK(!ftruncate(file, 0));
		CHECK(broker_ask(BROKER_HELPERS, BROKER_OPEN_SOURCE, &request,
				 &late_reply) == -EAGAIN);
		CHECK(broker_ask(BROKER_HELPERS, BROKER_OPEN_PAGER, &request, &reply) ==
		      -EAGAIN);
		CHECK(pwrite(file, "x", 1, 0) == 1);
		last = dup(file);
		close(last);
		while ((rc = broker_ask(BROKER_HELPERS, BROKER_OPEN_PAGER, &request,
					&reply)) == -EAGAIN)
			usleep(1000);
		CHECK(rc == -EXDEV && !memcmp(got, "abcx", 4) && reply.nr_fds == 1);
		CHECK(reply.fds[0] == last); /* that of the late answer is closed */
		close(reply.fds[0]);
	}
	/* It does not end, either. */
	CHECK(!ftruncate(file, 0));
	CHECK(broker_ask(BROKER_HELPERS, BROKER_OPEN_SOURCE, &request, &late_reply) ==
	      -EAGAIN);
}

static void test_late(void **state)
{
	(void)state;
	in_a_process(ask_the_late);
}

/* Children of late answers end, as nobody has their sockets, and take no places for ever. */
static void start_and_forget(void)
{
	struct broker_message reply;
	pid_t pid;

	begin_broker(BROKER_HELPERS, EVERYTHING);
	for (int i = 0; i < CHILD_MAX_UNDEAD + CHILD_MAX_RUNNING + 5; i++) {
		struct pollfd pfd = {.events = POLLIN};

		reply = (struct broker_message){.data = &pid, .len = sizeof(pid)};
		CHECK(!broker_ask(BROKER_HELPERS, BROKER_START_CHILD, NULL, &reply));
		CHECK(reply.nr_fds == 2);
		close(reply.fds[0]);
		pfd.fd = reply.fds[1];
		CHECK(poll(&pfd, 1, 60000) == 1);
		close(pfd.fd);
	}
}

static void test_forgotten(void **state)
{
	(void)state;
	in_a_process(start_and_forget);
}

static void ask_the_dead(void)
{
	begin_broker(BROKER_HELPERS, EVERYTHING);
	CHECK(broker_ask(BROKER_HELPERS, BROKER_CLOSE_PAGER, NULL, NULL) == -EPIPE);
	/* It was there, so its work is not done here instead. */
	CHECK(broker_is_there(BROKER_HELPERS));
	CHECK(broker_ask(BROKER_HELPERS, BROKER_OPEN_PAGER, NULL, NULL) == -EPIPE);
}

static void test_dead(void **state)
{
	(void)state;
	in_a_process(ask_the_dead);
}

/*
 * Neither broker keeps the other from ending with the collector: both have stdin, and the
 * pipe ends when both have closed it.
 */
static void test_end_with_collector(void **state)
{
	int pipe_fds[2], status;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		dup2(pipe_fds[1], STDIN_FILENO);
		begin_broker(BROKER_HELPERS, EVERYTHING);
		begin_broker(BROKER_OUTPUT, EVERYTHING);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 0);
	close(pipe_fds[0]);
}

/* ---- workers of a broker ---- */

static int op_pids(struct worker_call *call, struct wire_reader *request, const int *fds,
		   size_t nr_fds, struct wire_writer *reply)
{
	(void)call, (void)request, (void)fds, (void)nr_fds;
	wire_put_u32(reply, (uint32_t)getpid());
	return 0;
}

static int op_loop(struct worker_call *call, struct wire_reader *request, const int *fds,
		   size_t nr_fds, struct wire_writer *reply)
{
	(void)call, (void)request, (void)fds, (void)nr_fds, (void)reply;
	while (getpid() > 0)
		;
	return 0;
}

static const worker_op worker_ops[] = {op_pids, op_loop};

static enum worker_answer call(struct worker *w, uint32_t op, unsigned int deadline_ms,
			       uint32_t *ret)
{
	struct wire_reader reply;
	enum worker_answer answer = worker_call(w, op, NULL, 0, NULL, 0, NULL, NULL,
						deadline_ms, &reply, NULL);

	if (answer == WORKER_OK)
		*ret = wire_get_u32(&reply);
	return answer;
}

static pid_t parent_of(pid_t pid)
{
	char path[64];
	_cleanup_fclose_ FILE *f = NULL;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	return f && fscanf(f, "%*d %*s %*c %d", &parent) == 1 ? parent : 0;
}

static void give_up_and_work(void)
{
	const struct lockdown stays = {.uid = geteuid(), .gid = getegid()};
	struct worker_config config = {.kind = WORKER_READER};
	struct worker_stats stats;
	struct worker *w;
	uint32_t pid, second;

	begin_broker(BROKER_HELPERS, READER_CAPABILITIES | CAPABILITY(CAP_SETUID) |
					     CAPABILITY(CAP_SETGID) |
					     CAPABILITY(CAP_KILL) |
					     CAPABILITY(CAP_SETPCAP));
	CHECK(!lockdown_enter(&stays, NULL));
	CHECK(!worker_new(&config, &w, NULL));
	CHECK(call(w, 0, 20000, &pid) == WORKER_OK);
	CHECK(parent_of((pid_t)pid) == broker_pid(BROKER_HELPERS));
	worker_stats(w, &stats);
	CHECK(stats.cpu_ns > 0); /* of a broker's child, while it lives */
	/* It has another uid, so this process has no right to kill it. */
	CHECK(call(w, 1, 50, &pid) == WORKER_DEADLINE);
	for (int i = 0; i < 6000 && child_nr_undead(); i++)
		usleep(10000);
	worker_stats(w, &stats);
	CHECK(stats.cpu_ns > 0);
	CHECK(call(w, 0, 20000, &second) == WORKER_OK && second != pid);
	worker_free(w);
	for (int i = 0; i < 6000 && child_nr_undead(); i++)
		usleep(10000);
	CHECK(!child_nr_undead());
	CHECK(!parent_of((pid_t)pid) && !parent_of((pid_t)second));
}

static void test_workers(void **state)
{
	(void)state;
	in_a_process(give_up_and_work);
}

static void work_without_broker(void)
{
	struct worker *w;
	uint32_t pid;

	begin_broker(BROKER_HELPERS, EVERYTHING);
	broker_ask(BROKER_HELPERS, BROKER_CLOSE_PAGER, NULL, NULL);
	CHECK(!worker_new(NULL, &w, NULL));
	CHECK(call(w, 0, 20000, &pid) == WORKER_CANNOT_START);
	worker_free(w);
}

static void test_no_workers(void **state)
{
	(void)state;
	in_a_process(work_without_broker);
}

static bool has_children(pid_t parent)
{
	char path[64];
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent,
		 (int)parent);
	f = fopen(path, "re");
	CHECK(f);
	return fgetc(f) != EOF;
}

/*
 * Where the collector has room for none or one of a child's descriptors, or cannot move
 * them up, the child ends, and the broker has its place again.
 */
static void start_without_descriptors(void)
{
	struct rlimit before, few;
	struct child child;
	uint64_t cpu_ns;
	int lowest;

	closefrom(STDERR_FILENO + 1);
	begin_broker(BROKER_HELPERS, EVERYTHING);
	lowest = dup(STDIN_FILENO);
	CHECK(lowest >= 0 && !close(lowest));
	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	for (int nr = 0; nr <= 2; nr++) {
		few = before;
		few.rlim_cur = (rlim_t)(lowest + nr);
		CHECK(!setrlimit(RLIMIT_NOFILE, &few));
		CHECK(child_spawn(&child, &cpu_ns) == (nr < 2 ? -EMFILE : -EINVAL));
		CHECK(dup(STDIN_FILENO) == (nr ? lowest : -1));
		CHECK(!setrlimit(RLIMIT_NOFILE, &before));
		for (int i = 0; i < 6000 && child_nr_undead(); i++)
			usleep(10000);
		CHECK(!child_nr_undead());
		CHECK(!has_children(broker_pid(BROKER_HELPERS)));
		close(lowest);
	}
}

static void test_start_without_descriptors(void **state)
{
	(void)state;
	in_a_process(start_without_descriptors);
}

/* Only children that it started can be killed through a broker. */
static void kill_others(void)
{
	pid_t pid = getppid();
	struct broker_message request = {.data = &pid, .len = sizeof(pid)};

	struct child own;
	uint64_t cpu_ns;

	begin_broker(BROKER_HELPERS, EVERYTHING);
	CHECK(!child_spawn(&own, &cpu_ns));
	CHECK(broker_ask(BROKER_HELPERS, BROKER_KILL_CHILD, &request, NULL) == -ESRCH);
	request.len--;
	CHECK(broker_ask(BROKER_HELPERS, BROKER_KILL_CHILD, &request, NULL) == -ESRCH);
	child_kill(&own, TENANT_UNKNOWN, 20000, &cpu_ns);
}

static void test_kill_others(void **state)
{
	(void)state;
	in_a_process(kill_others);
}

/* ---- the collector after it has given up its rights ---- */

static uint64_t status_number(const char *field, int base)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/thread-self/status", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, field, strlen(field)))
			return strtoull(line + strlen(field), NULL, base);
	CHECK(!"the status has the field");
	return 0;
}

static void check_status(void)
{
	CHECK(!(status_number("CapPrm:", 16) &
		~(CAPABILITY(CAP_BPF) | CAPABILITY(CAP_PERFMON))));
	CHECK(status_number("CapEff:", 16) == status_number("CapPrm:", 16));
	CHECK(!status_number("CapInh:", 16) && !status_number("CapAmb:", 16));
	CHECK(status_number("NoNewPrivs:", 10) == 1);
	CHECK(status_number("Seccomp:", 10) == 2);
}

static void *in_thread(void *unused)
{
	check_status();
	CHECK(syscall(SYS_execve, "/bin/true", NULL, NULL) && errno == EPERM);
	return unused;
}

#define REFUSED(what) CHECK((what) < 0 && errno == EPERM)

static void try_processes(pid_t other)
{
	char byte;
	struct iovec iov = {&byte, 1};

	REFUSED(execl("/bin/true", "true", (char *)NULL));
	REFUSED(fork());
	REFUSED(syscall(SYS_clone, CLONE_VM | SIGCHLD, NULL, NULL, NULL, NULL));
	CHECK(syscall(435 /* clone3 */, NULL, 0) < 0 && errno == ENOSYS);
	REFUSED(ptrace(PTRACE_ATTACH, other, NULL, NULL));
	REFUSED(process_vm_readv(other, &iov, 1, &iov, 1, 0));
	REFUSED(kill(other, 0));
	REFUSED(kill(-1, 0));
	REFUSED(syscall(SYS_tgkill, other, other, 0));
	REFUSED(syscall(424 /* pidfd_send_signal */, 0, 0, NULL, 0));
	REFUSED(syscall(SYS_prlimit64, other, RLIMIT_CORE, NULL, NULL));
	/* Descriptors may signal their owner. -1: the kernel itself would say EBADF. */
	REFUSED(fcntl(-1, F_SETOWN, other));
	REFUSED(fcntl(-1, F_SETOWN_EX, NULL));
	REFUSED(fcntl(-1, F_SETSIG, SIGKILL));
	/* A terminal's owner need not be set: it is who runs in its foreground. */
	REFUSED(fcntl(-1, F_SETFL, O_ASYNC | O_NONBLOCK));
	CHECK(fcntl(-1, F_SETFL, O_NONBLOCK) < 0 && errno == EBADF);
	REFUSED(ioctl(-1, FIOASYNC, &other));
	REFUSED(ioctl(-1, FIOSETOWN, &other));
	REFUSED(ioctl(-1, SIOCSPGRP, &other));
	REFUSED(ioctl(-1, TIOCSTI, "x"));
	REFUSED(ioctl(-1, TIOCLINUX, "x"));
	REFUSED(ioctl(-1, TIOCSCTTY, 1));
	REFUSED(syscall(SYS_sched_setaffinity, other, 0, NULL));
	REFUSED(shmget(1, 1, 0));
	REFUSED(syscall(SYS_shmat, -1, NULL, 0));
	REFUSED(syscall(SYS_msgget, 1, 0));
	REFUSED(syscall(SYS_semget, 1, 1, 0));
	REFUSED(syscall(SYS_mq_unlink, "nothing"));
	CHECK(ioctl(-1, FIOCLEX) < 0 && errno == EBADF);
	CHECK(!kill(getpid(), 0));
	CHECK(!syscall(SYS_prlimit64, 0, RLIMIT_CORE, NULL, NULL));
}

static void try_machine(void)
{
	/* Of a place that is not there the kernel itself would say ENOENT. */
	REFUSED(mount("none", "/proc/self/nowhere", "tmpfs", 0, NULL));
	REFUSED(umount2("/proc/self/nowhere", 0));
	REFUSED(syscall(SYS_init_module, NULL, 0, ""));
	REFUSED(syscall(SYS_finit_module, 0, "", 0));
	REFUSED(chroot("/proc/self/nowhere"));
	REFUSED(unshare(CLONE_NEWNS));
	REFUSED(setns(0, 0));
	REFUSED(setuid(0));
	REFUSED(socket(AF_INET, SOCK_DGRAM, 0));
	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	REFUSED(socketpair(AF_UNIX, SOCK_STREAM, 0, NULL));
	REFUSED(bind(-1, NULL, 0));
	REFUSED(connect(-1, NULL, 0));
	REFUSED(listen(-1, 0));
	REFUSED(accept(-1, NULL, NULL));
	REFUSED(syscall(443 /* quotactl_fd */, -1, 0, 0, NULL));
	REFUSED(syscall(467 /* open_tree_attr */, -1, NULL, 0, NULL, 0));
	REFUSED(syscall(425 /* io_uring_setup */, 1, NULL));
	REFUSED(syscall(SYS_open_by_handle_at, 0, NULL, 0));
	/* Without attributes the kernel itself would say EFAULT or EINVAL. */
	REFUSED(syscall(SYS_bpf, BPF_PROG_LOAD, NULL, 0));
	REFUSED(syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, NULL, 0));
	REFUSED(syscall(SYS_bpf, BPF_OBJ_PIN, NULL, 0));
	REFUSED(syscall(SYS_bpf, BPF_PROG_TEST_RUN, NULL, 0));
	/* Programs and maps of others, found by a number or a path. */
	REFUSED(syscall(SYS_bpf, BPF_OBJ_GET, NULL, 0));
	REFUSED(syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, NULL, 0));
	REFUSED(syscall(SYS_bpf, BPF_MAP_GET_FD_BY_ID, NULL, 0));
	REFUSED(syscall(SYS_bpf, BPF_LINK_DETACH, NULL, 0));
	REFUSED(syscall(SYS_bpf, BPF_TASK_FD_QUERY, NULL, 0));
	CHECK(syscall(SYS_bpf, BPF_MAP_CREATE, NULL, 0) < 0 && errno != EPERM);
#ifdef __x86_64__
	/* The same calls of the x32 ABI are no way around it. */
	REFUSED(syscall(0x40000000 | SYS_kill, getppid(), 0));
#endif
}

static char path[] = "/tmp/lineburn-broker-XXXXXX";

static void try_files(void)
{
	REFUSED(open(path, O_WRONLY));
	REFUSED(open(path, O_RDWR));
	REFUSED(open(path, O_RDONLY | O_TRUNC));
	REFUSED(open("/tmp", O_TMPFILE | O_WRONLY, 0600));
	REFUSED(creat(path, 0600));
	REFUSED(unlink(path));
	REFUSED(rename(path, "/tmp/lineburn-other"));
	REFUSED(link(path, "/tmp/lineburn-other"));
	REFUSED(symlink(path, "/tmp/lineburn-other"));
	REFUSED(mkdir("/tmp/lineburn-other", 0700));
	REFUSED(mknod("/tmp/lineburn-other", S_IFIFO, 0));
	REFUSED(chmod(path, 0777));
	REFUSED(chown(path, 1, 1));
	REFUSED(truncate(path, 0));
	REFUSED(syscall(437 /* openat2 */, AT_FDCWD, path, NULL, 0));
	REFUSED(syscall(469 /* file_setattr */, AT_FDCWD, path, NULL, 0, 0));
	REFUSED(ioctl(-1, FS_IOC_SETFLAGS, NULL));
	REFUSED(ioctl(-1, FIFREEZE, NULL));
	CHECK(close(open(path, O_RDONLY)) == 0);
}

static bool no(void *ctx)
{
	CHECK(!(status_number("CapEff:", 16) & CAPABILITY(CAP_SYS_ADMIN)));
	return ctx;
}

static void give_up(void)
{
	const struct lockdown stays = {
		.uid = geteuid(), .gid = getegid(), .needs_admin = no};
	int fd = open(path, O_RDONLY);
	pthread_t thread;
	pid_t other = fork();

	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	CHECK(fd >= 0 && other > 0);
	CHECK(!lockdown_enter(&stays, NULL));
	check_status();
	CHECK(!pthread_create(&thread, NULL, in_thread, NULL));
	CHECK(!pthread_join(thread, NULL));
	try_processes(other);
	try_machine();
	try_files();
	/* What a collector does. */
	CHECK(memfd_create("lineburn-test", 0) >= 0);
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED);
}

static bool yes(void *ctx)
{
	return !ctx;
}

static void keep_admin(void)
{
	const struct lockdown stays = {
		.uid = geteuid(), .gid = getegid(), .needs_admin = yes};
	uint64_t before = status_number("CapPrm:", 16);

	CHECK(!lockdown_enter(&stays, NULL));
	CHECK(status_number("CapPrm:", 16) ==
	      (before & (CAPABILITY(CAP_BPF) | CAPABILITY(CAP_PERFMON) |
			 CAPABILITY(CAP_SYS_ADMIN))));
	CHECK(status_number("CapEff:", 16) == status_number("CapPrm:", 16));
	/* Now the filter alone refuses it. */
	try_machine();
}

static void load_programs(void)
{
	const struct lockdown stays = {
		.uid = geteuid(), .gid = getegid(), .loads_programs = true};

	CHECK(!lockdown_enter(&stays, NULL));
	CHECK(syscall(SYS_bpf, BPF_PROG_LOAD, NULL, 0) < 0 && errno != EPERM);
	REFUSED(syscall(SYS_bpf, BPF_OBJ_GET, NULL, 0));
}

static void test_load_programs(void **state)
{
	(void)state;
	in_a_process(load_programs);
}

static void test_keep_admin(void **state)
{
	(void)state;
	in_a_process(keep_admin);
}

static void test_give_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	in_a_process(give_up);
	assert_int_equal(unlink(path), 0);
}

/* Under sudo, run becomes its user, whose command it may signal. */
static void become_user(void)
{
	pid_t command = fork();

	if (!command) {
		CHECK(!setresuid(1234, 1234, 1234));
		pause();
		_exit(0);
	}
	CHECK(!lockdown_enter(
		&(struct lockdown){.uid = 1234, .gid = 1235, .may_signal = command},
		NULL));
	check_status();
	CHECK(geteuid() == 1234 && getuid() == 1234 && getegid() == 1235);
	CHECK(!getgroups(0, NULL));
	CHECK(open("/etc/shadow", O_RDONLY) < 0 && errno == EACCES);
	for (int i = 0; kill(command, SIGTERM) && i < 6000; i++)
		usleep(10000); /* until it has changed its id */
	CHECK(waitpid(command, NULL, 0) == command);
}

static void test_become(void **state)
{
	(void)state;
	if (geteuid()) {
		print_message("skipped: only root can become another user\n");
		skip();
	}
	in_a_process(become_user);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ask),
		cmocka_unit_test(test_dead),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_end_with_collector),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_no_workers),
		cmocka_unit_test(test_start_without_descriptors),
		cmocka_unit_test(test_kill_others),
		cmocka_unit_test(test_give_up),
		cmocka_unit_test(test_become),
		cmocka_unit_test(test_keep_admin),
		cmocka_unit_test(test_load_programs),
	};

	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(worker_ops, ARRAY_SIZE(worker_ops));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
