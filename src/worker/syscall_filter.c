// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A filter program of classic BPF, built once:
 *
 *   architecture is ours?                         no: kill
 *   number is one of `basic` or of this kind's?   yes: allow
 *   mprotect: no PROT_EXEC?                       yes: allow
 *   decoder:
 *     mmap: no PROT_EXEC, and memory that RLIMIT_DATA counts?   yes: allow
 *     fcntl: a command that only asks?            yes: allow
 *     newfstatat: of a descriptor?                yes: allow
 *   reader:
 *     mmap: no PROT_EXEC, private and anonymous?  yes: allow
 *   otherwise                                     EPERM
 *
 * The x32 convention of x86-64 sets bit 30 of the number, so it is never listed.
 */
#include "worker/syscall_filter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
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

#define NR_PROGRAM_MAX  128

/*
 * To receive, allocate, answer and die. Most frequent first. None of them reaches
 * beyond this process and what it holds.
 */
static const uint32_t basic[] = {
	SYS_munmap,
	SYS_recvmsg,
	SYS_sendmsg,
	SYS_close,
	SYS_brk,
	SYS_mremap,
	SYS_madvise,
	SYS_futex,
	SYS_clock_gettime,
	SYS_getrandom,
	SYS_write, /* to /dev/null and the socket: nothing else is writable */
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

/* Libraries that decode use the files they hold in many ways. */
static const uint32_t of_decoder[] = {
	SYS_pread64, SYS_fstat,    SYS_lseek,  SYS_read,      SYS_readv,
	SYS_preadv,  SYS_recvfrom, SYS_sendto, SYS_getrusage, SYS_gettimeofday,
};

static const uint32_t of_reader[] = {
	SYS_process_vm_readv,
};

/* Blocks reached with the number loaded; each begins with "is it me?". */
static const struct sock_filter mprotect_block[] = {
	IS(SYS_mprotect, 0, 4), LOAD(ARG(2)), HAS(PROT_EXEC, 1, 0), ALLOW, REFUSE,
};

static const struct sock_filter decoder_blocks[] = {
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
};

static const struct sock_filter reader_blocks[] = {
	IS(SYS_mmap, 0, 8),
	LOAD(ARG(2)),
	HAS(PROT_EXEC, 5, 0),
	LOAD(ARG(3)),
	HAS(MAP_GROWSDOWN, 3, 0),
	AND(MAP_TYPE | MAP_ANONYMOUS),
	IS(MAP_PRIVATE | MAP_ANONYMOUS, 0, 1),
	ALLOW,
	REFUSE,
};

struct program {
	struct sock_filter code[NR_PROGRAM_MAX];
	size_t nr;
};

static void append(struct program *p, const struct sock_filter *more, size_t nr)
{
	assert(nr <= NR_PROGRAM_MAX - p->nr);
	memcpy(p->code + p->nr, more, nr * sizeof(*more));
	p->nr += nr;
}

static void allow(struct program *p, const uint32_t *numbers, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct sock_filter one[] = {IS(numbers[i], 0, 1), ALLOW};

		append(p, one, ARRAY_SIZE(one));
	}
}

int syscall_filter_install(enum worker_kind kind)
{
	static const struct sock_filter begin[] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		IS(OUR_ARCH, 1, 0),
		RET(SECCOMP_RET_KILL_PROCESS),
		LOAD(offsetof(struct seccomp_data, nr)),
	};
	static const struct sock_filter end[] = {REFUSE};
	struct program p = {.nr = 0};
	struct sock_fprog fprog = {.filter = p.code};

	append(&p, begin, ARRAY_SIZE(begin));
	allow(&p, basic, ARRAY_SIZE(basic));
	if (kind == WORKER_READER) {
		allow(&p, of_reader, ARRAY_SIZE(of_reader));
		append(&p, reader_blocks, ARRAY_SIZE(reader_blocks));
	} else {
		allow(&p, of_decoder, ARRAY_SIZE(of_decoder));
		append(&p, decoder_blocks, ARRAY_SIZE(decoder_blocks));
	}
	append(&p, mprotect_block, ARRAY_SIZE(mprotect_block));
	append(&p, end, ARRAY_SIZE(end));
	fprog.len = (unsigned short)p.nr;
	/*
	 * Without this flag kernels before 5.16 switch speculation off for the whole
	 * worker, which makes decoding slower; its memory holds no secrets.
	 */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		    &fprog))
		return -errno;
	return 0;
}
