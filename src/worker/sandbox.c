// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order matters. Limits come first, while we may still write files. landlock and
 * seccomp need no_new_privs. The parent-death signal and "not dumpable" follow the
 * change of the uid, which resets both (commit_creds() in the kernel). seccomp comes
 * last, because it forbids all of the above.
 */
#include "worker/sandbox.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/capability.h"
#include "base/creds.h"
#include "worker/syscall_filter.h"
#include "worker/worker.h"

#if defined(__SANITIZE_ADDRESS__) /* gcc */
#define HAS_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) /* clang */
#define HAS_ADDRESS_SANITIZER
#endif
#endif

/*
 * The seccomp filter:
 *
 *   number is one of `basic` or of this kind's?   yes: allow
 *   mprotect: no PROT_EXEC?                       yes: allow
 *   decoder:
 *     mmap: no PROT_EXEC, private, and memory that RLIMIT_DATA counts?   yes: allow
 *     fcntl: a command that only reads?           yes: allow
 *     newfstatat: of a descriptor?                yes: allow
 *   reader, opener:
 *     mmap: no PROT_EXEC, private and anonymous?  yes: allow
 *   opener:
 *     openat: to read only?                       yes: allow
 *   otherwise                                     EPERM
 */

/*
 * System calls to receive, allocate, answer and exit; most frequent first. None affects
 * anything outside of this process and its descriptors.
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
	SYS_sched_yield,
	SYS_restart_syscall,
	/* for abort(3) and reports of sanitizers */
	SYS_rt_sigprocmask,
	SYS_rt_sigaction,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_getpid,
	SYS_gettid,
	SYS_exit,
	SYS_exit_group,
};

/* Libraries that decode read files by many different calls. What it has is read-only. */
static const uint32_t of_decoder[] = {
	SYS_pread64,  SYS_fstat,  SYS_lseek,     SYS_read,         SYS_readv, SYS_preadv,
	SYS_recvfrom, SYS_sendto, SYS_getrusage, SYS_gettimeofday, SYS_write,
};

static const uint32_t of_reader[] = {
	SYS_process_vm_readv, SYS_write, /* it has nothing to write to */
};

/*
 * To look up and read files as a target's user. openat2(2) has its flags in memory, which
 * the filter cannot read: an opener may open /proc/PID/mem or a device for writing. So no
 * call writes. Only a report of AddressSanitizer has to.
 */
static const uint32_t of_opener[] = {
#ifdef HAS_ADDRESS_SANITIZER
	SYS_write,
#endif
	SYS_openat2,    SYS_read,      SYS_pread64,
	SYS_readlinkat, SYS_statx,     SYS_newfstatat,
	SYS_fstat,      SYS_fstatfs,   SYS_getdents64,
	SYS_lseek,      SYS_fgetxattr, SYS_setfsuid,
	SYS_setfsgid,   SYS_getgroups, SYS_setgroups,
	SYS_capget,     SYS_capset,    SYS_name_to_handle_at,
};

static const struct sock_filter mprotect_block[] = {
	IS(SYS_mprotect, 0, 4), LOAD(ARG(2)), HAS(PROT_EXEC, 1, 0), ALLOW, REFUSE,
};

static const uint32_t decoder_fcntls[] = {F_GETFD, F_GETFL, F_DUPFD_CLOEXEC};

static const struct sock_filter decoder_blocks[] = {
	/*
	 * mmap: shared anonymous and growing mappings would evade RLIMIT_DATA, because
	 * the kernel does not count them as data. A shared one of a file could write to
	 * what the next decoder gets, if it was open for that.
	 */
	IS(SYS_mmap, 0, 8),
	LOAD(ARG(2)),
	HAS(PROT_EXEC, 5, 0),
	LOAD(ARG(3)),
	HAS(MAP_GROWSDOWN, 3, 0),
	AND(MAP_TYPE),
	IS(MAP_PRIVATE, 0, 1),
	ALLOW,
	REFUSE,

	/* glibc's fstat(3): by descriptor, with an empty path. */
	IS(SYS_newfstatat, 0, 4),
	LOAD(ARG(3)),
	IS(AT_EMPTY_PATH, 0, 1),
	ALLOW,
	REFUSE,
};

static const struct sock_filter opener_blocks[] = {
	IS(SYS_openat, 0, 4),
	LOAD(ARG(2)),
	HAS(O_ACCMODE | O_CREAT | O_TRUNC, 1, 0),
	ALLOW,
	REFUSE,
	/* Folders of cgroups, by their numbers: it opens nothing. */
	IS(SYS_open_by_handle_at, 0, 4),
	LOAD(ARG(2)),
	IS(O_PATH | O_CLOEXEC, 0, 1),
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

static int filter_calls(enum worker_kind kind)
{
	static const struct sock_filter allow = ALLOW, refuse = REFUSE;
	struct syscall_filter f;

	syscall_filter_begin(&f);
	syscall_filter_list(&f, basic, ARRAY_SIZE(basic), allow);
	if (kind == WORKER_READER) {
		syscall_filter_list(&f, of_reader, ARRAY_SIZE(of_reader), allow);
		syscall_filter_add(&f, reader_blocks, ARRAY_SIZE(reader_blocks));
	} else if (kind == WORKER_OPENER) {
		syscall_filter_list(&f, of_opener, ARRAY_SIZE(of_opener), allow);
		syscall_filter_add(&f, opener_blocks, ARRAY_SIZE(opener_blocks));
		syscall_filter_add(&f, reader_blocks, ARRAY_SIZE(reader_blocks));
	} else {
		syscall_filter_list(&f, of_decoder, ARRAY_SIZE(of_decoder), allow);
		syscall_filter_add(&f, decoder_blocks, ARRAY_SIZE(decoder_blocks));
		syscall_filter_values(&f, SYS_fcntl, 1, decoder_fcntls,
				      ARRAY_SIZE(decoder_fcntls), allow, refuse);
	}
	syscall_filter_add(&f, mprotect_block, ARRAY_SIZE(mprotect_block));
	return syscall_filter_install(&f, refuse, false);
}

#define NOBODY 65534

/*
 * Kept small: RLIMIT_DATA does not count the stack, and deep recursion on hostile names
 * (demangling) shall end in a fault.
 */
#define MAX_STACK_BYTES (8u << 20)

/*
 * Landlock's numbers (linux/landlock.h), because the headers of a build machine may be
 * older. They are the same on every kernel.
 */
#define SYS_LANDLOCK_CREATE_RULESET    444
#define SYS_LANDLOCK_RESTRICT_SELF     446
#define LANDLOCK_QUERY_VERSION         1u
#define LANDLOCK_ABI_1_FS              0x1fffULL /* execute to make_sym */
#define LANDLOCK_ABI_2_REFER           (1ULL << 13)
#define LANDLOCK_ABI_3_TRUNCATE        (1ULL << 14)
#define LANDLOCK_ABI_5_IOCTL_DEV       (1ULL << 15)
#define LANDLOCK_ABI_4_TCP             0x3ULL /* bind, connect */
#define LANDLOCK_ABI_6_SOCKET_AND_KILL 0x3ULL /* abstract sockets, signals */

struct landlock_ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

/* Makes this child the first victim of the OOM killer, before profiler and targets. */
static void become_first_oom_victim(void)
{
	_cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return; /* no /proc: continue without */
	n = write(fd, "1000", 4);
	(void)n; /* raising it needs no privilege; if refused, the default stays */
}

static int set_limit(__rlimit_resource_t resource, uint64_t value)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return -errno;
	/* Raising a hard limit needs a privilege; lower ones are kept. */
	if (limit.rlim_max > value)
		limit.rlim_max = value;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit) ? -errno : 0;
}

static int set_limits(const struct sandbox_config *config)
{
	const struct {
		__rlimit_resource_t resource;
		uint64_t value;
	} limits[] = {
		{RLIMIT_CORE, 0},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_NPROC, 0},
		{RLIMIT_MEMLOCK, 0},
		{RLIMIT_STACK, MAX_STACK_BYTES},
		/*
		 * Soft limit = hard limit: the kernel sends SIGKILL, not the blocked
		 * SIGXCPU.
		 */
		{RLIMIT_CPU, config->cpu_seconds},
#ifndef HAS_ADDRESS_SANITIZER
		/*
		 * AddressSanitizer reserves terabytes of private writable shadow
		 * memory, which counts as data although never touched: with any limit
		 * the next mmap(2) would fail.
		 */
		{RLIMIT_DATA, config->max_data_bytes},
#endif
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		int rc = set_limit(limits[i].resource, limits[i].value);

		if (rc)
			return rc;
	}
	return 0;
}

/*
 * Denies every path. Kernels before 5.13, or without landlock, rely on seccomp alone.
 */
static int deny_paths(void)
{
	struct landlock_ruleset rules = {.handled_access_fs = LANDLOCK_ABI_1_FS};
	long abi = syscall(SYS_LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_QUERY_VERSION);
	int fd, rc = 0;

	if (abi < 1)
		return 0;
	if (abi >= 2)
		rules.handled_access_fs |= LANDLOCK_ABI_2_REFER;
	if (abi >= 3)
		rules.handled_access_fs |= LANDLOCK_ABI_3_TRUNCATE;
	if (abi >= 4)
		rules.handled_access_net = LANDLOCK_ABI_4_TCP;
	if (abi >= 5)
		rules.handled_access_fs |= LANDLOCK_ABI_5_IOCTL_DEV;
	if (abi >= 6)
		rules.scoped = LANDLOCK_ABI_6_SOCKET_AND_KILL;
	/*
	 * An older kernel accepts the larger structure if the fields unknown to it are
	 * zero.
	 */
	fd = (int)syscall(SYS_LANDLOCK_CREATE_RULESET, &rules, sizeof(rules), 0);
	if (fd < 0)
		return -errno;
	if (syscall(SYS_LANDLOCK_RESTRICT_SELF, fd, 0))
		rc = -errno;
	close(fd);
	return rc;
}

/*
 * Root cannot change its uid in a container without CAP_SETUID, or if its user
 * namespace lacks the uid. It loses its capabilities below, and seccomp denies the
 * rest.
 */
static bool is_powerless_root(int error)
{
	return error == EPERM || error == EINVAL;
}

static const uint64_t kept_by[NR_WORKER_KINDS] = {
	[WORKER_READER] = READER_CAPABILITIES,
	[WORKER_OPENER] = OPENER_CAPABILITIES,
};

/* @set  setresuid(2) or setresgid(2) */
static int set_own_id(int (*set)(unsigned int, unsigned int, unsigned int),
		      unsigned int own)
{
	if (!set(own, own, own))
		return 0;
	/* A container's user namespace has fewer ids, usually including this one. */
	if (errno == EINVAL && !set(NOBODY, NOBODY, NOBODY))
		return 0;
	return is_powerless_root(errno) ? 0 : -errno;
}

/* Any process with a worker's uid may kill it, and many processes use NOBODY. */
static int become_own_user(void)
{
	uid_t own = creds_own_id();
	int rc;

	if (setgroups(0, NULL) && !is_powerless_root(errno))
		return -errno;
	rc = set_own_id(setresgid, own);
	return rc ? rc : set_own_id(setresuid, own);
}

static int drop_identity(enum worker_kind kind)
{
	uint64_t keep = kept_by[kind], have = 0;
	int rc = keep ? capabilities_permitted(&have) : 0;

	if (rc)
		return rc;
	keep &= have;
	/*
	 * Without it the change of the uid would clear the permitted capabilities, too.
	 */
	if (keep && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return -errno;
	/*
	 * An opener changes its file-system uid to and fro: without this bit the kernel
	 * would drop capabilities on the way. Refused without CAP_SETPCAP, that is, for a
	 * lineburn that is not root; then creds_become() takes care of them.
	 */
	if (kind == WORKER_OPENER)
		(void)prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0);
	if (!geteuid())
		rc = become_own_user();
	if (rc)
		return rc;
	if (keep && prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0))
		return -errno;
	return capabilities_keep(keep, false);
}

int sandbox_enter(const struct sandbox_config *config)
{
	int rc;

	become_first_oom_victim();
	rc = set_limits(config);
	if (rc)
		return rc;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	rc = config->kind == WORKER_DECODER ? deny_paths() : 0;
	if (rc)
		return rc;
	rc = drop_identity(config->kind);
	if (rc)
		return rc;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	return filter_calls(config->kind);
}
