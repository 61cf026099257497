// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A filter program of classic BPF, built once:
 *
 *   architecture is ours?                         no: kill
 *   number is one of `allowed`?                   yes: allow
 *   mmap: no PROT_EXEC, and memory that RLIMIT_DATA counts?     yes: allow
 *   mprotect: no PROT_EXEC?                       yes: allow
 *   fcntl: a command that only asks?              yes: allow
 *   newfstatat: of a descriptor?                  yes: allow
 *   otherwise                                     EPERM
 *
 * The x32 convention of x86-64 sets bit 30 of the number, so it is never listed.
 */
#include "worker/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "the system call filter knows x86-64 and arm64"
#endif

/* Low half of an argument: both architectures are little-endian. */
#define ARG(n)  offsetof(struct seccomp_data, args[n])

#define LOAD(k) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (k))
#define AND(k)  BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (k))
#define RET(k)  BPF_STMT(BPF_RET | BPF_K, (k))
/* Go @yes or @no instructions further. */
#define IS(k, yes, no)  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (yes), (no))
#define HAS(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (k), (yes), (no))

#define ALLOW           RET(SECCOMP_RET_ALLOW)
#define REFUSE          RET(SECCOMP_RET_ERRNO | EPERM)

#define NR_ALLOWED_MAX  40
#define NR_PROGRAM_MAX  (4 + 2 * NR_ALLOWED_MAX + 32)

/* Most frequent first. None of them reaches beyond this process and what it holds. */
static const uint32_t allowed[] = {
	SYS_pread64,
	SYS_munmap,
	SYS_recvmsg,
	SYS_sendmsg,
	SYS_fstat,
	SYS_close,
	SYS_lseek,
	SYS_read,
	SYS_brk,
	SYS_mremap,
	SYS_madvise,
	SYS_futex,
	SYS_clock_gettime,
	SYS_getrandom,
	SYS_readv,
	SYS_preadv,
	SYS_write, /* to /dev/null and the socket: nothing else is writable */
	SYS_recvfrom,
	SYS_sendto,
	SYS_getrusage,
	SYS_gettimeofday,
	SYS_sched_yield,
	SYS_restart_syscall,
	/* abort(3), sanitizers and their last words */
	SYS_rt_sigprocmask,
	SYS_rt_sigaction,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_getpid,
	SYS_gettid,
	SYS_exit,
	SYS_exit_group,
};
_Static_assert(ARRAY_SIZE(allowed) <= NR_ALLOWED_MAX, "the program has room for all");

/* Reached with the number loaded; each block begins with "is it me?". */
static const struct sock_filter conditional[] = {
	/*
	 * mmap: shared anonymous and growing mappings are not counted as data, so
	 * they would be a way around RLIMIT_DATA.
	 */
	IS(SYS_mmap, 0, 8),
	LOAD(ARG(2)),
	HAS(PROT_EXEC, 5, 0),
	LOAD(ARG(3)),
	HAS(MAP_GROWSDOWN, 3, 0),
	AND(MAP_SHARED | MAP_ANONYMOUS),
	IS(MAP_SHARED | MAP_ANONYMOUS, 1, 0),
	ALLOW,
	REFUSE,

	IS(SYS_mprotect, 0, 4),
	LOAD(ARG(2)),
	HAS(PROT_EXEC, 1, 0),
	ALLOW,
	REFUSE,

	IS(SYS_fcntl, 0, 6),
	LOAD(ARG(1)),
	IS(F_GETFD, 3, 0),
	IS(F_GETFL, 2, 0),
	IS(F_DUPFD_CLOEXEC, 1, 0),
	REFUSE,
	ALLOW,

	/* fstat(3) of glibc: by descriptor, with an empty path. */
	IS(SYS_newfstatat, 0, 4),
	LOAD(ARG(3)),
	IS(AT_EMPTY_PATH, 0, 1),
	ALLOW,
	REFUSE,

	REFUSE,
};

static size_t append(struct sock_filter *program, size_t nr,
		     const struct sock_filter *more, size_t nr_more)
{
	for (size_t i = 0; i < nr_more; i++)
		program[nr++] = more[i];
	return nr;
}

int syscall_filter_install(void)
{
	static const struct sock_filter begin[] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		IS(OUR_ARCH, 1, 0),
		RET(SECCOMP_RET_KILL_PROCESS),
		LOAD(offsetof(struct seccomp_data, nr)),
	};
	_Static_assert(ARRAY_SIZE(begin) + 2 * NR_ALLOWED_MAX + ARRAY_SIZE(conditional) <=
			       NR_PROGRAM_MAX,
		       "the program fits");
	struct sock_filter program[NR_PROGRAM_MAX];
	struct sock_fprog fprog = {.filter = program};
	size_t nr = append(program, 0, begin, ARRAY_SIZE(begin));

	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		const struct sock_filter one[] = {IS(allowed[i], 0, 1), ALLOW};

		nr = append(program, nr, one, ARRAY_SIZE(one));
	}
	nr = append(program, nr, conditional, ARRAY_SIZE(conditional));
	fprog.len = (unsigned short)nr;
	/*
	 * Without this flag kernels before 5.16 switch speculation off for the whole
	 * worker, which makes decoding slower; its memory holds no secrets.
	 */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		    &fprog))
		return -errno;
	return 0;
}
