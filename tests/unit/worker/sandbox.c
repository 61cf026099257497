// SPDX-License-Identifier: GPL-2.0-or-later
/* What code that took over a worker could still do: nothing of use. */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cmocka.h>

#define PATIENCE_MS 20000

/* ---- the worker's side: each attempt returns -1 with errno, or succeeds ---- */

static long try_open(void)
{
	return syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
}

static long try_open_old(void)
{
#ifdef SYS_open
	return syscall(SYS_open, "/etc/passwd", O_RDONLY);
#else
	return try_open();
#endif
}

static long try_openat2(void)
{
	uint64_t how[3] = {O_RDONLY};

	return syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", how, sizeof(how));
}

static long try_create(void)
{
	return syscall(SYS_openat, AT_FDCWD, "/tmp/lineburn-sandbox", O_WRONLY | O_CREAT,
		       0600);
}

static long try_unlink(void)
{
	return syscall(SYS_unlinkat, AT_FDCWD, "/tmp/lineburn-sandbox", 0);
}

static long try_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

/* On the socket that it has. */
static long try_connect(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	return connect(3, (struct sockaddr *)&to, sizeof(to));
}

static long try_kill(void)
{
	return kill(getpid(), 0);
}

/* getppid(2) is not allowed either, so the call is what is tried. */
static long try_kill_parent(void)
{
	return syscall(SYS_kill, 1, 0);
}

static long try_tgkill(void)
{
	return syscall(SYS_tgkill, getpid(), getpid(), 0);
}

static long try_getppid(void)
{
	return syscall(SYS_getppid);
}

static long try_execve(void)
{
	char *const argv[] = {(char *)"true", NULL};

	return execve("/bin/true", argv, argv + 1);
}

static long try_fork(void)
{
	return syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static long try_clone3(void)
{
	return syscall(SYS_clone3, NULL, 0);
}

static long try_ptrace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long try_readv(void)
{
	char c;
	struct iovec local = {&c, 1}, remote = {&c, 1};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
}

static long try_writev(void)
{
	char c = 0;
	struct iovec local = {&c, 1}, remote = {&c, 1};

	return process_vm_writev(getpid(), &local, 1, &remote, 1, 0);
}

static long try_bpf(void)
{
	return syscall(SYS_bpf, 0, NULL, 0);
}

static long try_perf(void)
{
	return syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
}

static long try_io_uring(void)
{
	char params[120] = {0};

	return syscall(SYS_io_uring_setup, 1, params);
}

static long try_memfd(void)
{
	return memfd_create("x", 0);
}

static long try_unshare(void)
{
	return unshare(CLONE_NEWUSER);
}

static long try_chroot(void)
{
	return chroot("/");
}

static long try_mount(void)
{
	return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static long try_setuid(void)
{
	return syscall(SYS_setresuid, 0, 0, 0);
}

static long try_prctl(void)
{
	return syscall(SYS_prctl, 4 /* PR_SET_DUMPABLE */, 1, 0, 0, 0);
}

static long try_setrlimit(void)
{
	struct rlimit r = {1 << 30, 1 << 30};

	return syscall(SYS_prlimit64, 0, RLIMIT_DATA, &r, NULL);
}

static long try_inotify(void)
{
	return inotify_init1(0);
}

static long try_ioctl(void)
{
	return syscall(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, "x");
}

#ifdef __x86_64__
/* The same calls under the numbers of the x32 ABI. */
static long try_x32_open(void)
{
	return syscall(0x40000000 + SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
}
#endif

static const struct {
	const char *name;
	long (*run)(void);
} attempts[] = {
	{"open", try_open},
	{"open (old)", try_open_old},
	{"openat2", try_openat2},
	{"create", try_create},
	{"unlink", try_unlink},
	{"socket", try_socket},
	{"connect", try_connect},
	{"kill", try_kill},
	{"kill another", try_kill_parent},
	{"tgkill", try_tgkill},
	{"getppid", try_getppid},
	{"execve", try_execve},
	{"fork", try_fork},
	{"clone3", try_clone3},
	{"ptrace", try_ptrace},
	{"process_vm_readv", try_readv},
	{"process_vm_writev", try_writev},
	{"bpf", try_bpf},
	{"perf_event_open", try_perf},
	{"io_uring", try_io_uring},
	{"memfd_create", try_memfd},
	{"unshare", try_unshare},
	{"chroot", try_chroot},
	{"mount", try_mount},
	{"setresuid", try_setuid},
	{"prctl", try_prctl},
	{"prlimit", try_setrlimit},
	{"inotify", try_inotify},
	{"ioctl", try_ioctl},
#ifdef __x86_64__
	{"x32 openat", try_x32_open},
#endif
};

static int op_attempt(struct worker_call *call, struct wire_reader *request,
		      const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	uint32_t which = wire_get_u32(request);

	(void)call, (void)fds, (void)nr_fds;
	errno = 0;
	wire_put_u64(reply, (uint64_t)attempts[which].run());
	wire_put_u32(reply, (uint32_t)errno);
	return 0;
}

static int op_environment(struct worker_call *call, struct wire_reader *request,
			  const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	uint64_t open_low = 0;

	(void)call, (void)request, (void)fds, (void)nr_fds;
	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			open_low |= 1ULL << fd;
	wire_put_u32(reply, environ && *environ != NULL);
	wire_put_u64(reply, open_low);
	wire_put_u32(reply, (uint32_t)getpid());
	return 0;
}

/* What is 0, 1 and 2: the device's number of each. */
static int op_streams(struct worker_call *call, struct wire_reader *request,
		      const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	(void)call, (void)request, (void)fds, (void)nr_fds;
	for (int fd = 0; fd < 3; fd++) {
		struct stat st;

		if (fstat(fd, &st))
			return -errno;
		wire_put_u64(reply, S_ISCHR(st.st_mode) ? st.st_rdev : 0);
	}
	return 0;
}

/* Not to be written to, though it was opened for that. */
static int op_write(struct worker_call *call, struct wire_reader *request, const int *fds,
		    size_t nr_fds, struct wire_writer *reply)
{
	(void)call, (void)request, (void)nr_fds;
	wire_put_u32(reply, write(fds[0], "x", 1) == 1);
	return 0;
}

enum op {
	OP_ATTEMPT,
	OP_ENVIRONMENT,
	OP_STREAMS,
	OP_WRITE
};

static const worker_op ops[] = {
	[OP_ATTEMPT] = op_attempt,
	[OP_ENVIRONMENT] = op_environment,
	[OP_STREAMS] = op_streams,
	[OP_WRITE] = op_write,
};

/* ---- the collector's side ---- */

static struct worker *make(void)
{
	struct worker_config config = {.max_data_bytes = 128 << 20, .cpu_seconds = 77};
	struct worker *w;
	struct error err;

	assert_int_equal(worker_new(&config, &w, &err), 0);
	return w;
}

static void test_rights(void **state)
{
	_cleanup_(worker_freep) struct worker *w = make();
	size_t nr_succeeded = 0;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		_cleanup_(wire_writer_deinit) struct wire_writer request = {0};
		struct wire_reader reply;
		int64_t got;
		int code;

		wire_put_u32(&request, i);
		assert_int_equal(worker_call(w, OP_ATTEMPT, request.data, request.len,
					     NULL, 0, NULL, NULL, PATIENCE_MS, &reply,
					     NULL),
				 WORKER_OK);
		got = (int64_t)wire_get_u64(&reply);
		code = (int)wire_get_u32(&reply);
		if (got != -1 || code != EPERM) {
			print_error("%s: %lld, %s\n", attempts[i].name, (long long)got,
				    strerror(code));
			nr_succeeded++;
		}
	}
	assert_int_equal(nr_succeeded, 0);
}

static pid_t environment(struct worker *w)
{
	struct wire_reader reply;

	assert_int_equal(worker_call(w, OP_ENVIRONMENT, NULL, 0, NULL, 0, NULL, NULL,
				     PATIENCE_MS, &reply, NULL),
			 WORKER_OK);
	assert_int_equal(wire_get_u32(&reply), 0); /* no variables */
	assert_int_equal(wire_get_u64(&reply), 0xf); /* descriptors 0 to 3 */
	return (pid_t)wire_get_u32(&reply);
}

static void test_environment(void **state)
{
	_cleanup_(worker_freep) struct worker *w = make();
	struct stat null;
	struct wire_reader reply;

	(void)state;
	setenv("LINEBURN_SECRET", "1", 1);
	environment(w);
	assert_int_equal(stat("/dev/null", &null), 0);
	assert_int_equal(worker_call(w, OP_STREAMS, NULL, 0, NULL, 0, NULL, NULL,
				     PATIENCE_MS, &reply, NULL),
			 WORKER_OK);
	for (int fd = 0; fd < 3; fd++)
		assert_int_equal(wire_get_u64(&reply), null.st_rdev);
}

/* Does /proc/PID/@file have exactly this line? */
static void assert_line(pid_t pid, const char *file, const char *wanted)
{
	char path[64], line[512];
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, wanted))
			return;
	}
	fail_msg("no line \"%s\" in %s", wanted, path);
}

static void test_state_as_seen_from_outside(void **state)
{
	_cleanup_(worker_freep) struct worker *w = make();
	pid_t pid = environment(w);

	(void)state;
	assert_line(pid, "status", "NoNewPrivs:\t1");
	assert_line(pid, "status", "Seccomp:\t2");
	assert_line(pid, "status", "CapInh:\t0000000000000000");
	assert_line(pid, "status", "CapPrm:\t0000000000000000");
	assert_line(pid, "status", "CapEff:\t0000000000000000");
	assert_line(pid, "status", "CapAmb:\t0000000000000000");
}

static void test_ids_and_limits(void **state)
{
	_cleanup_(worker_freep) struct worker *w = NULL;
	pid_t pid;

	(void)state;
	if (geteuid()) {
		print_message("only root changes its ids, and sees another's limits\n");
		skip();
	}
	w = make();
	pid = environment(w);
	assert_line(pid, "status", "Uid:\t65534\t65534\t65534\t65534");
	assert_line(pid, "status", "Gid:\t65534\t65534\t65534\t65534");
	assert_line(pid, "status", "Groups:\t ");
	assert_line(pid, "limits",
		    "Max cpu time              77                   77                   "
		    "seconds   ");
	assert_line(pid, "limits",
		    "Max file size             0                    0                    "
		    "bytes     ");
	assert_line(pid, "limits",
		    "Max core file size        0                    0                    "
		    "bytes     ");
#if !defined(__SANITIZE_ADDRESS__)
	assert_line(pid, "limits",
		    "Max data size             134217728            134217728            "
		    "bytes     ");
#endif
}

static void test_no_write(void **state)
{
	_cleanup_(worker_freep) struct worker *w = NULL;
	_cleanup_close_ int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct wire_reader reply;
	enum worker_answer answer;
	struct stat st;

	(void)state;
	if (fd < 0) {
		print_message("no O_TMPFILE in /tmp\n");
		skip();
	}
	w = make();
	answer = worker_call(w, OP_WRITE, NULL, 0, &fd, 1, NULL, NULL, PATIENCE_MS,
			     &reply, NULL);
	/* RLIMIT_FSIZE: EFBIG, as its signal is blocked. */
	assert_int_equal(answer, WORKER_OK);
	assert_int_equal(wire_get_u32(&reply), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 0);
}

/* A process that may hold less than the worker's limits starts one all the same. */
static void test_stricter_limits(void **state)
{
	struct rlimit strict = {50, 50};
	struct wire_reader reply;
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		struct worker *w = make();

		if (setrlimit(RLIMIT_CPU, &strict) ||
		    (geteuid() == 0 && syscall(SYS_setresuid, 65533, 65533, 65533)))
			_exit(2);
		_exit(worker_call(w, OP_STREAMS, NULL, 0, NULL, 0, NULL, NULL,
				  PATIENCE_MS, &reply, NULL) == WORKER_OK
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Root of a user namespace in which 65534 is nobody's number. */
static void test_small_user_namespace(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		struct wire_reader reply;
		struct worker *w = make();
		_cleanup_close_ int map = -1;

		if (unshare(CLONE_NEWUSER))
			_exit(77);
		map = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
		if (map < 0 || write(map, "0 0 1", 5) != 5)
			_exit(77);
		_exit(worker_call(w, OP_STREAMS, NULL, 0, NULL, 0, NULL, NULL,
				  PATIENCE_MS, &reply, NULL) == WORKER_OK
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("no user namespaces for us here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_state_as_seen_from_outside),
		cmocka_unit_test(test_ids_and_limits),
		cmocka_unit_test(test_no_write),
		cmocka_unit_test(test_stricter_limits),
		cmocka_unit_test(test_small_user_namespace),
	};

	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(ops, ARRAY_SIZE(ops));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
