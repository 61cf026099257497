// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The state and rights of a worker. This program is its own worker; its operations try
 * what a compromised decoder would try, and reply with the names of calls that worked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <grp.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/sanitizer.h"
#include "worker/message.h"
#include "worker/worker.h"

extern char **environ;

/* ---- the worker's side ---- */

enum test_op {
	/* str of each forbidden call that did not give EPERM, "", u32 calls tried */
	OP_BREAK_OUT,
	OP_BREAK_OUT_OF_READER, /* same */
	OP_BREAK_OUT_OF_OPENER, /* same */
	OP_STATE, /* u32 has an environment, u32 pid, u32 each open descriptor */
	OP_HIDE_MEMORY, /* same, of ways around RLIMIT_DATA */
	OP_DECODE, /* fds[0] is an ELF file: u32 symbols, u32 units of DWARF */
	OP_WAIT, /* blocks in read(2) of fds[0] */
	NR_TEST_OPS,
};

#define OP(name)                                                               \
	static int name(struct worker_call *call, struct wire_reader *request, \
			const int *fds, size_t nr_fds, struct wire_writer *reply)
#define UNUSED ((void)call, (void)request, (void)fds, (void)nr_fds, (void)reply)

static uint32_t nr_tried;

/* Notes @name unless the raw call fails with EPERM. */
#define TRY(name, nr, ...)                                              \
	do {                                                            \
		nr_tried++;                                             \
		errno = 0;                                              \
		if (syscall(nr, ##__VA_ARGS__) != -1 || errno != EPERM) \
			wire_put_str(reply, name);                      \
	} while (0)

static int all_tried(struct wire_writer *reply)
{
	wire_put_str(reply, "");
	wire_put_u32(reply, nr_tried);
	nr_tried = 0;
	return 0;
}

static void try_files(struct wire_writer *reply, int fd)
{
	char path[] = "/etc/passwd", buf[64];

	TRY("openat", SYS_openat, AT_FDCWD, path, O_RDONLY);
	TRY("openat2", SYS_openat2, AT_FDCWD, path, NULL, 0);
	TRY("openat write", SYS_openat, AT_FDCWD, "/tmp/x", O_WRONLY | O_CREAT, 0600);
	TRY("unlinkat", SYS_unlinkat, AT_FDCWD, "/tmp/nothing", 0);
	TRY("readlinkat", SYS_readlinkat, AT_FDCWD, "/proc/self/exe", buf, sizeof(buf));
	TRY("stat by path", SYS_newfstatat, AT_FDCWD, path, buf, 0);
	TRY("statx", SYS_statx, AT_FDCWD, path, 0, 0, buf);
	TRY("getdents64", SYS_getdents64, fd, buf, sizeof(buf));
	TRY("memfd_create", SYS_memfd_create, "x", 0);
	TRY("ftruncate", SYS_ftruncate, fd, 0);
	TRY("fchmod", SYS_fchmod, fd, 0777);
	TRY("ioctl", SYS_ioctl, fd, 0);
	TRY("fcntl F_SETFL", SYS_fcntl, fd, F_SETFL, O_ASYNC);
	TRY("fcntl F_SETOWN", SYS_fcntl, fd, F_SETOWN, getppid());
	TRY("fcntl F_SETLK", SYS_fcntl, fd, F_SETLK, NULL);
	TRY("chroot", SYS_chroot, "/");
	TRY("mount", SYS_mount, "x", "/mnt", "tmpfs", 0, NULL);
}

static void try_processes(struct wire_writer *reply)
{
	char *argv[] = {"/bin/true", NULL};
	struct iovec iov = {0};

	TRY("execve", SYS_execve, argv[0], argv, NULL);
	TRY("execveat", SYS_execveat, AT_FDCWD, argv[0], argv, NULL, 0);
	TRY("clone", SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	TRY("clone3", SYS_clone3, NULL, 0);
	TRY("kill parent", SYS_kill, getppid(), 0);
	TRY("kill all", SYS_kill, -1, 0);
	TRY("tgkill", SYS_tgkill, getppid(), getppid(), 0);
	TRY("rt_sigqueueinfo", SYS_rt_sigqueueinfo, getppid(), SIGUSR1, NULL);
	TRY("pidfd_open", SYS_pidfd_open, getppid(), 0);
	TRY("ptrace", SYS_ptrace, PTRACE_ATTACH, getppid(), NULL, NULL);
	TRY("process_vm_writev", SYS_process_vm_writev, getppid(), &iov, 1, &iov, 1, 0);
	TRY("setuid", SYS_setuid, 0);
	TRY("unshare", SYS_unshare, 0x10000000);
	TRY("prctl", SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
	TRY("prlimit64", SYS_prlimit64, 0, RLIMIT_DATA, NULL, NULL);
	TRY("setpriority", SYS_setpriority, PRIO_PROCESS, 0, -20);
	TRY("sched_setscheduler", SYS_sched_setscheduler, 0, 0, NULL);
}

static void try_the_rest(struct wire_writer *reply)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	char buf[128] = {0};

	TRY("socket", SYS_socket, AF_INET, SOCK_STREAM, 0);
	TRY("socket netlink", SYS_socket, AF_NETLINK, SOCK_RAW, 0);
	TRY("socketpair", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, buf);
	TRY("connect", SYS_connect, WORKER_SOCKET_FD, buf, sizeof(buf));
	TRY("bind", SYS_bind, WORKER_SOCKET_FD, buf, sizeof(buf));
	TRY("bpf", SYS_bpf, 0, buf, sizeof(buf));
	TRY("perf_event_open", SYS_perf_event_open, &attr, 0, -1, -1, 0);
	TRY("io_uring_setup", SYS_io_uring_setup, 1, buf);
	TRY("userfaultfd", SYS_userfaultfd, 0);
	TRY("keyctl", SYS_keyctl, 0);
	TRY("epoll_create1", SYS_epoll_create1, 0);
	TRY("shmget", SYS_shmget, 1, 4096, 0600);
	TRY("splice", SYS_splice, 0, NULL, 1, NULL, 1, 0);
	TRY("nanosleep", SYS_nanosleep, NULL, NULL);
	TRY("personality", SYS_personality, 0);
	TRY("seccomp", SYS_seccomp, 0, 0, NULL);
	TRY("reboot", SYS_reboot, 0, 0, 0, NULL);
	TRY("no such call", 4095);
#ifdef __x86_64__
	TRY("open", SYS_open, "/etc/passwd", O_RDONLY);
	TRY("fork", SYS_fork);
	TRY("vfork", SYS_vfork);
	/* The x32 ABI uses other numbers for the same calls. */
	TRY("x32 getpid", SYS_getpid | 0x40000000);
	TRY("x32 openat", SYS_openat | 0x40000000, AT_FDCWD, "/etc/passwd", O_RDONLY);
#endif
}

static void try_code(struct wire_writer *reply)
{
	const int anon = MAP_PRIVATE | MAP_ANONYMOUS, rw = PROT_READ | PROT_WRITE;
	void *p = mmap(NULL, 4096, rw, anon, -1, 0);

	if (p == MAP_FAILED)
		wire_put_str(reply, "plain mmap does not work");
	TRY("mmap exec", SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, anon, -1, 0);
	TRY("mprotect exec", SYS_mprotect, p, 4096, PROT_READ | PROT_EXEC);
	TRY("mprotect exec write", SYS_mprotect, p, 4096, rw | PROT_EXEC);
	TRY("pkey_mprotect exec", SYS_pkey_mprotect, p, 4096, PROT_READ | PROT_EXEC, -1);
	if (mprotect(p, 4096, PROT_READ))
		wire_put_str(reply, "plain mprotect does not work");
	munmap(p, 4096);
}

OP(op_break_out)
{
	struct iovec iov = {0};

	UNUSED;
	TRY("process_vm_readv", SYS_process_vm_readv, getppid(), &iov, 1, &iov, 1, 0);
	TRY("mmap shared", SYS_mmap, NULL, 4096, PROT_READ, MAP_SHARED, fds[0], 0);
	try_files(reply, fds[0]);
	try_processes(reply);
	try_the_rest(reply);
	try_code(reply);
	return all_tried(reply);
}

/* A reader may not use files, not even those that it is given. */
OP(op_break_out_of_reader)
{
	char buf[256] = {0};

	UNUSED;
	TRY("read", SYS_read, fds[0], buf, 1);
	TRY("pread64", SYS_pread64, fds[0], buf, 1, 0);
	TRY("lseek", SYS_lseek, fds[0], 0, SEEK_SET);
	TRY("fstat", SYS_fstat, fds[0], buf);
	TRY("fcntl F_GETFL", SYS_fcntl, fds[0], F_GETFL);
	TRY("fstat by newfstatat", SYS_newfstatat, fds[0], "", buf, AT_EMPTY_PATH);
	TRY("mmap of a file", SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, fds[0], 0);
	TRY("mmap shared", SYS_mmap, NULL, 4096, PROT_READ, MAP_SHARED, fds[0], 0);
	try_files(reply, fds[0]);
	try_processes(reply);
	try_the_rest(reply);
	try_code(reply);
	return all_tried(reply);
}

/* An opener may open anything, to write, too. No call writes then. */
static void try_writes(struct wire_writer *reply)
{
	const struct open_how how = {.flags = O_RDWR | O_CLOEXEC};
	char path[64], byte = 0;
	struct iovec iov = {&byte, 1};
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)getppid());
	fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	if (fd < 0)
		fd = STDERR_FILENO;
#ifndef HAS_ADDRESS_SANITIZER /* its reports need write(2) */
	TRY("write", SYS_write, fd, &byte, 1);
#endif
	TRY("writev", SYS_writev, fd, &iov, 1);
	TRY("pwrite64", SYS_pwrite64, fd, &byte, 1, 0);
	TRY("pwritev", SYS_pwritev, fd, &iov, 1, 0, 0);
	TRY("pwritev2", SYS_pwritev2, fd, &iov, 1, 0, 0, 0);
	TRY("sendfile", SYS_sendfile, fd, STDIN_FILENO, NULL, 1);
	TRY("copy_file_range", SYS_copy_file_range, STDIN_FILENO, NULL, fd, NULL, 1, 0);
	TRY("splice", SYS_splice, STDIN_FILENO, NULL, fd, NULL, 1, 0);
	TRY("vmsplice", SYS_vmsplice, fd, &iov, 1, 0);
	TRY("fallocate", SYS_fallocate, fd, 0, 0, 1);
	TRY("ftruncate", SYS_ftruncate, fd, 0);
	TRY("mmap of a file", SYS_mmap, NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0);
	TRY("ioctl", SYS_ioctl, fd, 0);
	TRY("fcntl", SYS_fcntl, fd, F_SETFL, O_ASYNC);
	TRY("dup", SYS_dup, fd);
	TRY("fchmod", SYS_fchmod, fd, 0777);
	TRY("fchown", SYS_fchown, fd, 0, 0);
	TRY("fsetxattr", SYS_fsetxattr, fd, "user.x", "", 0, 0);
	TRY("utimensat", SYS_utimensat, fd, NULL, NULL, 0);
	TRY("io_submit", SYS_io_submit, 0, 0, NULL);
}

static void try_names(struct wire_writer *reply)
{
	TRY("openat write", SYS_openat, AT_FDCWD, "/tmp/x", O_WRONLY);
	TRY("openat create", SYS_openat, AT_FDCWD, "/tmp/x", O_RDONLY | O_CREAT, 0600);
	TRY("openat truncate", SYS_openat, AT_FDCWD, "/tmp/x", O_RDONLY | O_TRUNC);
	TRY("by handle", SYS_open_by_handle_at, AT_FDCWD, NULL, O_RDONLY | O_CLOEXEC);
	TRY("by handle truncate", SYS_open_by_handle_at, AT_FDCWD, NULL,
	    O_PATH | O_CLOEXEC | O_TRUNC);
	TRY("unlinkat", SYS_unlinkat, AT_FDCWD, "/tmp/nothing", 0);
	TRY("mkdirat", SYS_mkdirat, AT_FDCWD, "/tmp/nothing", 0);
	TRY("mknodat", SYS_mknodat, AT_FDCWD, "/tmp/nothing", S_IFREG, 0);
	TRY("linkat", SYS_linkat, AT_FDCWD, "/tmp/a", AT_FDCWD, "/tmp/b", 0);
	TRY("symlinkat", SYS_symlinkat, "/tmp/a", AT_FDCWD, "/tmp/b");
	TRY("renameat2", SYS_renameat2, AT_FDCWD, "/tmp/a", AT_FDCWD, "/tmp/b", 0);
	TRY("memfd_create", SYS_memfd_create, "x", 0);
	TRY("chroot", SYS_chroot, "/");
	TRY("mount", SYS_mount, "x", "/mnt", "tmpfs", 0, NULL);
}

OP(op_break_out_of_opener)
{
	struct iovec iov = {0};

	UNUSED;
	TRY("process_vm_readv", SYS_process_vm_readv, getppid(), &iov, 1, &iov, 1, 0);
	try_writes(reply);
	try_names(reply);
	try_processes(reply);
	try_the_rest(reply);
	try_code(reply);
	return all_tried(reply);
}

OP(op_hide_memory)
{
	const int rw = PROT_READ | PROT_WRITE;

	UNUSED;
	TRY("shared", SYS_mmap, NULL, 4096, rw, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	TRY("validated", SYS_mmap, NULL, 4096, rw, MAP_SHARED_VALIDATE | MAP_ANONYMOUS,
	    -1, 0);
	TRY("growing", SYS_mmap, NULL, 4096, rw,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);
	return all_tried(reply);
}

OP(op_state)
{
	UNUSED;
	wire_put_u32(reply, environ && environ[0] ? 1 : 0);
	wire_put_u32(reply, (uint32_t)getpid());
	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			wire_put_u32(reply, (uint32_t)fd);
	return 0;
}

/* Works as a decoder does: libelf and libdw on a descriptor, all mapped. */
OP(op_decode)
{
	uint32_t nr_symbols = 0, nr_units = 0;
	Dwarf_Off off = 0, next;
	size_t header_size;
	Elf_Scn *scn = NULL;
	Dwarf *dwarf;
	Elf *elf;

	UNUSED;
	elf_version(EV_CURRENT);
	elf = elf_begin(fds[0], ELF_C_READ_MMAP, NULL);
	if (!elf)
		return -EBADMSG;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_SYMTAB)
			nr_symbols = (uint32_t)(shdr.sh_size / shdr.sh_entsize);
	}
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	while (dwarf &&
	       !dwarf_nextcu(dwarf, off, &next, &header_size, NULL, NULL, NULL)) {
		Dwarf_Lines *lines;
		Dwarf_Die die;
		size_t nr;

		if (dwarf_offdie(dwarf, off + header_size, &die) &&
		    !dwarf_getsrclines(&die, &lines, &nr) && nr)
			nr_units++;
		off = next;
	}
	dwarf_end(dwarf);
	elf_end(elf);
	wire_put_u32(reply, nr_symbols);
	wire_put_u32(reply, nr_units);
	return 0;
}

OP(op_wait)
{
	char byte;

	UNUSED;
	return (int)read(fds[0], &byte, 1);
}

static const worker_op test_ops[NR_TEST_OPS] = {
	[OP_BREAK_OUT] = op_break_out,
	[OP_BREAK_OUT_OF_READER] = op_break_out_of_reader,
	[OP_BREAK_OUT_OF_OPENER] = op_break_out_of_opener,
	[OP_STATE] = op_state,
	[OP_HIDE_MEMORY] = op_hide_memory,
	[OP_DECODE] = op_decode,
	[OP_WAIT] = op_wait,
};

/* ---- the collector's side ---- */

#define DEADLINE_MS    60000
#define MAX_DATA_BYTES (256u << 20)
#define CPU_SECONDS    77

static int set_up(void **state)
{
	const struct worker_config config = {.max_data_bytes = MAX_DATA_BYTES,
					     .cpu_seconds = CPU_SECONDS};

	return worker_new(&config, (struct worker **)state, NULL);
}

static int set_up_reader(void **state)
{
	const struct worker_config config = {.kind = WORKER_READER};

	return worker_new(&config, (struct worker **)state, NULL);
}

static int set_up_opener(void **state)
{
	const struct worker_config config = {.kind = WORKER_OPENER};

	return worker_new(&config, (struct worker **)state, NULL);
}

static int tear_down(void **state)
{
	worker_free(*state);
	return 0;
}

static void call_op(struct worker *w, enum test_op op, int fd, struct wire_reader *ret)
{
	int error = 0;
	enum worker_answer answer =
		worker_call(w, op, NULL, 0, &fd, 1, NULL, NULL, DEADLINE_MS, ret, &error);

	if (answer != WORKER_OK)
		fail_msg("answer %d, error %d", answer, error);
}

/* Fails with the names of calls that worked, or if fewer than @least were tried. */
static void assert_nothing_worked(struct wire_reader *reply, uint32_t least)
{
	bool ok = true;
	const char *name;
	size_t len;

	while ((name = wire_get_str(reply, &len)) && len) {
		print_error("allowed: %.*s\n", (int)len, name);
		ok = false;
	}
	assert_true(wire_get_u32(reply) >= least);
	assert_false(reply->failed);
	assert_true(ok);
}

static void break_out(struct worker *w, enum test_op op)
{
	struct wire_reader reply;
	int fd = open("/etc/hostname", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fd = memfd_create("file", MFD_CLOEXEC);
	call_op(w, op, fd, &reply);
	close(fd);
	assert_nothing_worked(&reply, 50);
}

static void forbidden_calls_answer_eperm(void **state)
{
	break_out(*state, OP_BREAK_OUT);
}

static void a_reader_can_do_no_more(void **state)
{
	break_out(*state, OP_BREAK_OUT_OF_READER);
}

static void an_opener_writes_nothing(void **state)
{
	break_out(*state, OP_BREAK_OUT_OF_OPENER);
}

static void memory_cannot_hide_from_its_limit(void **state)
{
	struct wire_reader reply;

	call_op(*state, OP_HIDE_MEMORY, 0, &reply);
	assert_nothing_worked(&reply, 3);
}

/* The value of "Name:" in /proc/PID/@file, at most 255 bytes, with blanks squeezed. */
static char *proc_value(uint32_t pid, const char *file, const char *name, char *buf)
{
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	f = fopen(path, "re");
	assert_non_null(f);
	buf[0] = '\0';
	while (fgets(line, sizeof(line), f)) {
		const char *word;
		char *rest;

		if (strncmp(line, name, strlen(name)))
			continue;
		rest = line + strlen(name);
		for (word = strtok(rest, " \t\n"); word; word = strtok(NULL, " \t\n"))
			snprintf(buf + strlen(buf), 256 - strlen(buf), "%s%s",
				 buf[0] ? " " : "", word);
		break;
	}
	fclose(f);
	return buf;
}

static uint32_t state_of_child(struct worker *w, struct wire_reader *reply)
{
	call_op(w, OP_STATE, 0, reply);
	assert_int_equal(wire_get_u32(reply), 0); /* no environment */
	return wire_get_u32(reply);
}

static void the_child_has_nothing_of_ours(void **state)
{
	/* Without FD_CLOEXEC, as a library might open a file. */
	int leaked = open("/etc/passwd", O_RDONLY), high = fcntl(leaked, F_DUPFD, 700);
	const uint32_t fds[] = {0, 1, 2, WORKER_SOCKET_FD, WORKER_SOCKET_FD + 1};
	struct wire_reader reply;
	uint32_t pid;
	char buf[256];

	setenv("LD_PRELOAD", "", 1);
	setenv("SECRET", "token", 1);
	pid = state_of_child(*state, &reply);
	/* The last one came with the request. */
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		assert_int_equal(wire_get_u32(&reply), fds[i]);
	assert_int_equal(reply.pos, reply.len);
	assert_string_equal(proc_value(pid, "status", "Name:", buf), WORKER_ARGV0);
	close(leaked);
	close(high);
}

static void the_child_has_no_rights(void **state)
{
	static const struct {
		const char *file, *name, *value;
	} expected[] = {
		{"status", "CapInh:", "0000000000000000"},
		{"status", "CapPrm:", "0000000000000000"},
		{"status", "CapEff:", "0000000000000000"},
		{"status", "CapAmb:", "0000000000000000"},
		{"status", "NoNewPrivs:", "1"},
		{"status", "Seccomp:", "2"},
		{"status", "Threads:", "1"},
		{"limits", "Max core file size", "0 0 bytes"},
		{"limits", "Max file size", "0 0 bytes"},
		{"limits", "Max processes", "0 0 processes"},
		{"limits", "Max locked memory", "0 0 bytes"},
		{"limits", "Max cpu time", "77 77 seconds"},
#ifndef HAS_ADDRESS_SANITIZER
		{"limits", "Max data size", "268435456 268435456 bytes"},
#endif
		{"oom_score_adj", "", "1000"},
	};
	struct wire_reader reply;
	uint32_t pid = state_of_child(*state, &reply);
	char buf[256];

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_string_equal(
			proc_value(pid, expected[i].file, expected[i].name, buf),
			expected[i].value);
	/* All signals that can be: 9 and 19 cannot, 32 and 33 are libc's. */
	assert_string_equal(proc_value(pid, "status", "SigBlk:", buf),
			    "fffffffe7ffbfeff");
}

/* The id that all four fields of this status line have. */
static unsigned int id_of(uint32_t pid, const char *name)
{
	unsigned int id[4];
	char buf[256];

	assert_int_equal(sscanf(proc_value(pid, "status", name, buf), "%u %u %u %u",
				&id[0], &id[1], &id[2], &id[3]),
			 4);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(id[i], id[0]);
	return id[0];
}

/* The errno of kill() by a process of that uid; 0: it may kill. */
static int kill_as(unsigned int uid, uint32_t pid)
{
	int status;
	pid_t child = fork();

	if (!child) {
		if (setgroups(0, NULL) || setresgid(uid, uid, uid) ||
		    setresuid(uid, uid, uid))
			_exit(255);
		_exit(kill((pid_t)pid, 0) ? errno : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Whether we are in a user namespace with only the first 65,536 ids. */
static int has_few_ids(void)
{
	unsigned int last = 0, id, nr;
	FILE *f = fopen("/proc/self/uid_map", "re");

	assert_non_null(f);
	while (fscanf(f, "%u %*u %u", &id, &nr) == 2)
		if (id + nr - 1 > last)
			last = id + nr - 1;
	fclose(f);
	return last < 2080374783;
}

static void nobody_has_the_uid_of_a_child_of_root(void **state)
{
	struct wire_reader reply;
	unsigned int uid;
	uint32_t pid;
	char buf[256];

	if (geteuid()) {
		print_message("skipped: needs root\n");
		skip();
	}
	pid = state_of_child(*state, &reply);
	uid = id_of(pid, "Uid:");
	assert_int_equal(id_of(pid, "Gid:"), uid);
	assert_string_equal(proc_value(pid, "status", "Groups:", buf), "");
	if (has_few_ids()) {
		assert_int_equal(uid, 65534);
		return;
	}
	assert_in_range(uid, 2013265920, 2080374783);
	assert_int_equal(kill_as(65534, pid), EPERM);
	assert_int_equal(kill_as(uid, pid), 0); /* the reason for an own uid */
}

/* Root of a container with the first 65,536 ids: the worker stays nobody. */
static void in_a_user_namespace_it_is_nobody(void **state)
{
	struct wire_reader reply;
	char path[64], buf[256];
	int go[2], said[2], status, fd;
	unsigned int uid = 0;
	pid_t container;

	if (geteuid() || has_few_ids()) {
		print_message("skipped: needs root with all ids\n");
		skip();
	}
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	container = fork();
	if (!container) {
		if (unshare(CLONE_NEWUSER) || write(said[1], "u", 1) != 1 ||
		    read(go[0], buf, 1) != 1 || setresgid(0, 0, 0) || setresuid(0, 0, 0))
			_exit(1);
		uid = id_of(state_of_child(*state, &reply), "Uid:");
		_exit(uid == 65534 ? 0 : 2);
	}
	assert_int_equal(read(said[0], buf, 1), 1);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s_map", (int)container,
			 i ? "uid" : "gid");
		fd = open(path, O_WRONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, "0 100000 65536", 14), 14);
		close(fd);
	}
	assert_int_equal(write(go[1], "g", 1), 1);
	assert_int_equal(waitpid(container, &status, 0), container);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(said[i]);
	}
	assert_int_equal(status, 0);
}

static void libelf_and_libdw_work_inside(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct wire_reader reply;

	assert_true(fd >= 0);
	for (int i = 0; i < 20; i++) {
		call_op(*state, OP_DECODE, fd, &reply);
		assert_true(wire_get_u32(&reply) > 100);
		assert_true(wire_get_u32(&reply) > 3);
		assert_false(reply.failed);
	}
	close(fd);
}

/*
 * If the collector is killed while its worker is blocked, the worker ends, too. The
 * collector here is a forked child, which sends the worker's pid.
 */
static void the_child_dies_with_its_collector(void **state)
{
	struct wire_reader reply;
	int never[2], tell[2], fd;
	uint32_t pid = 0;
	char path[64];
	pid_t collector;

	assert_int_equal(pipe2(never, O_CLOEXEC), 0);
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	collector = fork();
	if (!collector) {
		pid = state_of_child(*state, &reply);
		if (write(tell[1], &pid, sizeof(pid)) == sizeof(pid))
			worker_call(*state, OP_WAIT, NULL, 0, never, 1, NULL, NULL,
				    DEADLINE_MS, &reply, NULL);
		_exit(1);
	}
	assert_int_equal(read(tell[0], &pid, sizeof(pid)), sizeof(pid));
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	usleep(50000); /* until its read blocks */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(kill(collector, SIGKILL), 0);
	assert_int_equal(waitpid(collector, NULL, 0), collector);
	for (int i = 0; i < 6000; i++) {
		char byte;

		/* A dead process has no command line, and soon no /proc file. */
		if (pread(fd, &byte, 1, 0) <= 0) {
			close(fd);
			close(never[0]);
			close(never[1]);
			close(tell[0]);
			close(tell[1]);
			return;
		}
		usleep(10000);
	}
	fail_msg("worker %u outlived its collector", pid);
}

/* Started by hand with the worker's argv[0] and a socket on 3 it exits. */
static void run_by_hand_it_leaves(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		close(WORKER_SOCKET_FD);
		execl("/proc/self/exe", WORKER_ARGV0, NULL);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 99);
}

#define TEST(name)        cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_READER(name) cmocka_unit_test_setup_teardown(name, set_up_reader, tear_down)
#define TEST_OPENER(name) cmocka_unit_test_setup_teardown(name, set_up_opener, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(forbidden_calls_answer_eperm),
		TEST_READER(a_reader_can_do_no_more),
		TEST_OPENER(an_opener_writes_nothing),
		TEST(memory_cannot_hide_from_its_limit),
		TEST_READER(memory_cannot_hide_from_its_limit),
		TEST(the_child_has_nothing_of_ours),
		TEST(the_child_has_no_rights),
		TEST(nobody_has_the_uid_of_a_child_of_root),
		TEST(in_a_user_namespace_it_is_nobody),
		TEST(libelf_and_libdw_work_inside),
		TEST(the_child_dies_with_its_collector),
		TEST(run_by_hand_it_leaves),
	};

	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(test_ops, NR_TEST_OPS);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
