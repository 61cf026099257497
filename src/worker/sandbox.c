// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NOBODY 65534

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "no audit architecture known"
#endif

/*
 * What decoding needs: memory, the descriptors it was given, the socket. Opening,
 * connecting, executing, signalling and tracing are not here.
 */
static const int allowed[] = {
	SYS_read,       SYS_pread64,      SYS_readv,           SYS_write,
	SYS_recvmsg,    SYS_sendmsg,      SYS_ppoll,           SYS_mmap,
	SYS_munmap,     SYS_mremap,       SYS_madvise,         SYS_mprotect,
	SYS_brk,        SYS_fstat,        SYS_lseek,           SYS_close,
	SYS_futex,      SYS_fcntl,        SYS_getrandom,       SYS_clock_gettime,
	SYS_getrusage,  SYS_rt_sigreturn, SYS_rt_sigaction,    SYS_rt_sigprocmask,
	SYS_getpid,     SYS_gettid,       SYS_sched_yield,     SYS_exit,
	SYS_exit_group, SYS_newfstatat,   SYS_restart_syscall, /* poll after SIGCONT */
#ifdef SYS_poll
	SYS_poll,
#endif
};

/* linux/landlock.h may be older than the kernel: the values are ABI. */
#define LANDLOCK_CREATE_RULESET_VERSION 1
#define LANDLOCK_ACCESS_FS_ABI1         0x1fffULL
#define LANDLOCK_ACCESS_FS_ABI2         0x3fffULL
#define LANDLOCK_ACCESS_FS_ABI3         0x7fffULL

/* Lowers a limit; one that is stricter already stays, for only root may raise it. */
static int limit(int what, uint64_t value)
{
	struct rlimit r;

	if (getrlimit(what, &r))
		return -errno;
	if (value > r.rlim_max)
		value = r.rlim_max;
	r = (struct rlimit){value, value};
	return setrlimit(what, &r) ? -errno : 0;
}

static int set_limits(const struct sandbox_config *config)
{
	int rc = limit(RLIMIT_CPU, config->cpu_seconds);

	/* Sanitizers reserve terabytes of private memory, which counts as data. */
#if !defined(__SANITIZE_ADDRESS__)
	if (!rc)
		rc = limit(RLIMIT_DATA, config->max_data_bytes);
#endif
	if (!rc)
		rc = limit(RLIMIT_FSIZE, 0);
	if (!rc)
		rc = limit(RLIMIT_CORE, 0);
	if (!rc)
		rc = limit(RLIMIT_NPROC, 0);
	return rc;
}

/* Denies every path. Kernels before 5.13 do not have it: seccomp then stands alone. */
static void deny_paths(void)
{
	struct {
		uint64_t handled_access_fs;
	} rules = {LANDLOCK_ACCESS_FS_ABI1};
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);
	int fd;

	if (abi < 1)
		return;
	if (abi >= 2)
		rules.handled_access_fs = abi == 2 ? LANDLOCK_ACCESS_FS_ABI2
						   : LANDLOCK_ACCESS_FS_ABI3;
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
	if (fd < 0)
		return;
	syscall(SYS_landlock_restrict_self, fd, 0);
	close(fd);
}

static int drop_user(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	/*
	 * EINVAL: a user namespace that has no such id. EPERM: no right to change it.
	 * Then root's id stays, without any of its rights.
	 */
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	     setresuid(NOBODY, NOBODY, NOBODY)) &&
	    errno != EINVAL && errno != EPERM)
		return -errno;
	return syscall(SYS_capset, &header, none) ? -errno : 0;
}

static int filter_calls(void)
{
	struct sock_filter code[ARRAY_SIZE(allowed) * 2 + 5];
	struct sock_fprog program = {.filter = code};
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	code[n++] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (uint32_t)allowed[i], 0, 1);
		code[n++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[n++] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	program.len = n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}

int sandbox_enter(const struct sandbox_config *config)
{
	int rc = set_limits(config);

	if (rc)
		return rc;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	deny_paths();
	rc = drop_user();
	/* A change of user clears it. */
	if (!rc && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		rc = -errno;
	return rc ? rc : filter_calls();
}
