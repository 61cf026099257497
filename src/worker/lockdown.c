// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/lockdown.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/cleanup.h"
#include "worker/syscall_filter.h"

/* ---- capabilities ---- */

static int become(uid_t uid, gid_t gid)
{
	if (uid == geteuid() && gid == getegid())
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(0, NULL) ||
	    setresgid(gid, gid, gid) || setresuid(uid, uid, uid) ||
	    prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0))
		return -errno;
	return 0;
}

/* Tries what the collector will do without CAP_SYS_ADMIN, to see whether it needs it. */
static int drop_capabilities(const struct lockdown *l)
{
	uint64_t needed = CAPABILITY(CAP_BPF) | CAPABILITY(CAP_PERFMON);
	const uint64_t admin = CAPABILITY(CAP_SYS_ADMIN);
	uint64_t have = 0;
	int rc = capabilities_permitted(&have);

	if (!rc)
		rc = become(l->uid, l->gid);
	if (!rc)
		rc = capabilities_set(have & needed, have & (needed | admin), 0);
	if (!rc &&
	    ((have & needed) != needed || (l->needs_admin && l->needs_admin(l->ctx))))
		needed |= admin;
	if (!rc)
		rc = capabilities_keep(needed, false);
	if (!rc && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		rc = -errno;
	return rc;
}

/* ---- system calls ---- */

/*
 * Calls that a collector never makes. An attacker who runs code in it could use them with
 * what is left: root's uid, and its two or three capabilities.
 */
static const uint32_t refused[] = {
	/* to execute, and to create processes; clone(2) is below */
	SYS_execve, SYS_execveat,
#ifdef SYS_fork
	SYS_fork, SYS_vfork,
#endif
	SYS_unshare, SYS_setns, SYS_personality,
	/* other processes */
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_tkill,
	SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_setpriority, SYS_ioprio_set,
	SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr,
	SYS_sched_setaffinity, SYS_migrate_pages, SYS_move_pages,
	424, /* pidfd_send_signal: the same number everywhere, as all of 424 and later */
	438, /* pidfd_getfd */
	440, /* process_madvise */
	448, /* process_mrelease */
	/* memory, queues and semaphores that processes of one user share by a number or name */
	SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop,
	SYS_semctl, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open,
	SYS_mq_unlink,
	/* the machine */
	SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, 428, /* open_tree */
	429, /* move_mount */
	430, /* fsopen */
	431, /* fsconfig */
	432, /* fsmount */
	433, /* fspick */
	442, /* mount_setattr */
	443, /* quotactl_fd */
	467, /* open_tree_attr */
	SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load,
#ifdef SYS_kexec_file_load
	SYS_kexec_file_load,
#endif
	SYS_vhangup, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl,
	SYS_syslog, SYS_sethostname, SYS_setdomainname, SYS_settimeofday,
	SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime,
#ifdef SYS_iopl
	SYS_iopl, SYS_ioperm,
#endif
	/* keys, ids */
	SYS_add_key, SYS_request_key, SYS_keyctl, SYS_setuid, SYS_setgid, SYS_setreuid,
	SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setgroups, SYS_capset,
	/* sockets; those that it has are enough. To bind one may create a file. */
	SYS_socket, SYS_socketpair, SYS_bind, SYS_connect, SYS_listen, SYS_accept,
	SYS_accept4,
	/* ways around this filter, and parts of the kernel that need not be in reach */
	425, /* io_uring_setup */
	426, /* io_uring_enter */
	427, /* io_uring_register */
	SYS_io_setup, SYS_io_submit, SYS_userfaultfd, SYS_open_by_handle_at,
	437, /* openat2: its flags are in memory, which a filter cannot read */
	SYS_fanotify_init,
/* files */
#ifdef SYS_creat
	SYS_creat, SYS_unlink, SYS_rmdir, SYS_rename, SYS_link, SYS_symlink, SYS_mkdir,
	SYS_mknod, SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
	SYS_unlinkat,
#ifdef SYS_renameat
	SYS_renameat,
#endif
	SYS_renameat2, SYS_linkat, SYS_symlinkat, SYS_mkdirat, SYS_mknodat, SYS_fchmod,
	SYS_fchmodat, 452, /* fchmodat2 */
	SYS_fchown, SYS_fchownat, SYS_truncate, SYS_utimensat, SYS_setxattr,
	SYS_lsetxattr, SYS_fsetxattr, 463, /* setxattrat */
	SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, 466, /* removexattrat */
	469, /* file_setattr */
};

#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC)

static const struct sock_filter blocks[] = {
	IS(SYS_openat, 0, 4),
	LOAD(ARG(2)),
	HAS(WRITES, 0, 1),
	REFUSE,
	ALLOW,
#ifdef SYS_open
	IS(SYS_open, 0, 4),
	LOAD(ARG(1)),
	HAS(WRITES, 0, 1),
	REFUSE,
	ALLOW,
#endif
	/* Only threads. glibc falls back to clone(2), whose flags are not in memory. */
	IS(435 /* clone3 */, 0, 1),
	UNKNOWN,
	IS(SYS_clone, 0, 4),
	LOAD(ARG(0)),
	HAS(CLONE_THREAD, 1, 0),
	REFUSE,
	ALLOW,
	/* A descriptor may signal its owner, with any signal; a terminal has one already. */
	IS(SYS_fcntl, 0, 9),
	LOAD(ARG(1)),
	IS(F_SETOWN, 5, 0),
	IS(F_SETOWN_EX, 4, 0),
	IS(F_SETSIG, 3, 0),
	IS(F_SETFL, 0, 3),
	LOAD(ARG(2)),
	HAS(O_ASYNC, 0, 1),
	REFUSE,
	ALLOW,
};

/*
 * Root's terminal may take what is typed or pasted for root's input (before 6.2), or be
 * taken from its processes; a descriptor may signal its owner; what is open to read may be
 * frozen, or be given flags.
 */
static const uint32_t refused_ioctls[] = {
	TIOCSTI,  TIOCLINUX,       TIOCSCTTY,         TIOCVHANGUP, FIOSETOWN, SIOCSPGRP,
	FIOASYNC, FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FIFREEZE,    FITHAW,
};

/*
 * Maps are made and filled, and events of new CPUs get the program that is loaded. Nothing
 * is found by a number or a path: programs and maps of others stay out of reach.
 */
static const uint32_t bpf_calls[] = {
	BPF_MAP_LOOKUP_ELEM,
	BPF_MAP_UPDATE_ELEM,
	BPF_MAP_DELETE_ELEM,
	BPF_MAP_GET_NEXT_KEY,
	BPF_MAP_LOOKUP_AND_DELETE_ELEM,
	BPF_MAP_LOOKUP_BATCH,
	BPF_MAP_LOOKUP_AND_DELETE_BATCH,
	BPF_MAP_UPDATE_BATCH,
	BPF_MAP_DELETE_BATCH,
	BPF_MAP_CREATE,
	BPF_OBJ_GET_INFO_BY_FD,
	BPF_LINK_CREATE,
	/* for probes that come later */
	BPF_PROG_LOAD,
	BPF_BTF_LOAD,
	BPF_MAP_FREEZE,
	BPF_PROG_BIND_MAP,
};
#define NR_LOADING 4 /* the last ones */

static int filter_calls(const struct lockdown *l)
{
	static const struct sock_filter allow = ALLOW, refuse = REFUSE;
	const uint32_t own = (uint32_t)getpid();
	const uint32_t other = l->may_signal ? (uint32_t)l->may_signal : own;
	const struct sock_filter of_processes[] = {
		IS(SYS_kill, 0, 5),
		LOAD(ARG(0)),
		IS(own, 2, 0),
		IS(other, 1, 0),
		REFUSE,
		ALLOW,
		IS(SYS_tgkill, 0, 4),
		LOAD(ARG(0)),
		IS(own, 1, 0),
		REFUSE,
		ALLOW,
		IS(SYS_prlimit64, 0, 5),
		LOAD(ARG(0)),
		IS(0, 2, 0),
		IS(own, 1, 0),
		REFUSE,
		ALLOW,
	};
	struct syscall_filter f;

	syscall_filter_begin(&f);
	syscall_filter_list(&f, refused, ARRAY_SIZE(refused), refuse);
	syscall_filter_add(&f, blocks, ARRAY_SIZE(blocks));
	syscall_filter_values(&f, SYS_ioctl, 1, refused_ioctls,
			      ARRAY_SIZE(refused_ioctls), refuse, allow);
	syscall_filter_values(&f, SYS_bpf, 0, bpf_calls,
			      ARRAY_SIZE(bpf_calls) -
				      (l->loads_programs ? 0 : NR_LOADING),
			      allow, refuse);
	syscall_filter_add(&f, of_processes, ARRAY_SIZE(of_processes));
	return syscall_filter_install(&f, allow, true);
}

int lockdown_enter(const struct lockdown *l, struct error *err)
{
	int rc = drop_capabilities(l);

	if (!rc)
		rc = filter_calls(l);
	if (!rc)
		return 0;
	errno = -rc;
	return error_set_exit(err, EXIT_SYSTEM, rc,
			      "cannot give up the rights that a recording does not need: "
			      "%m; lineburn needs a kernel with seccomp filters "
			      "(CONFIG_SECCOMP_FILTER)");
}
