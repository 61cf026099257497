/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the ids and root of the current process in the kernel, because a short-lived
 * process may have exited or executed another program before /proc is read.
 */
#ifndef LB_BPF_IDS_H
#define LB_BPF_IDS_H

#include "arch.h"
#include "walk.h"

/* As in filter.h: CO-RE finds these by name. */
struct id___ids {
	__u32 val;
} __attribute__((preserve_access_index));

struct ns_common___ids {
	__u32 inum;
} __attribute__((preserve_access_index));

struct user_namespace___ids {
	struct ns_common___ids ns;
} __attribute__((preserve_access_index));

struct cred___ids {
	struct id___ids euid, egid;
	struct user_namespace___ids *user_ns;
} __attribute__((preserve_access_index));

struct dentry___ids;

struct vfsmount___ids {
	struct dentry___ids *mnt_root;
} __attribute__((preserve_access_index));

struct mount___ids {
	struct vfsmount___ids mnt;
	int mnt_id;
} __attribute__((preserve_access_index));

struct path___ids {
	struct vfsmount___ids *mnt;
	struct dentry___ids *dentry;
} __attribute__((preserve_access_index));

struct fs_struct___ids {
	struct path___ids root;
} __attribute__((preserve_access_index));

struct upid___ids {
	int nr;
} __attribute__((preserve_access_index));

struct pid___ids {
	unsigned int level;
	struct upid___ids numbers[1]; /* level + 1 */
} __attribute__((preserve_access_index));

struct task_struct___ids {
	struct task_struct___ids *group_leader;
	struct task_struct___ids *real_parent;
	struct pid___ids *thread_pid;
	void *cgroups; /* struct css_set */
	int tgid;
	/*
	 * Not cred, which the kernel overrides while it works for the task (overlayfs).
	 */
	const struct cred___ids *real_cred;
	struct fs_struct___ids *fs; /* NULL: the task is exiting */
} __attribute__((preserve_access_index));

static __always_inline struct task_struct___ids *lb_leader(void)
{
	struct task_struct___ids *task = (struct task_struct___ids *)lb_current_task();

	return LB_TASK(task, group_leader);
}

/* Returns the effective ids of the process: (gid << 32) | uid. */
static __always_inline __u64 lb_user_and_group(void)
{
	struct task_struct___ids *leader = lb_leader();
	const struct cred___ids *cred = LB_TASK(leader, real_cred);

	/* To the verifier a pointer that was read directly may be NULL. */
	if (!cred)
		return ~0ULL;
	return (__u64)LB_TASK(cred, egid.val) << 32 | LB_TASK(cred, euid.val);
}

static __always_inline __u32 lb_user_ns(void)
{
	struct task_struct___ids *leader = lb_leader();
	const struct cred___ids *cred = LB_TASK(leader, real_cred);

	return cred ? BPF_CORE_READ(cred, user_ns, ns.inum) : 0;
}

/* Returns the pid of the process in its innermost namespace; 0: unknown. */
static __always_inline __u32 lb_ns_tgid(void)
{
	struct pid___ids *pid = BPF_CORE_READ(lb_leader(), thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);
	void *numbers = (void *)pid + bpf_core_field_offset(struct pid___ids, numbers);
	struct upid___ids *own = numbers + level * bpf_core_type_size(struct upid___ids);

	return BPF_CORE_READ(own, nr);
}

/* A css_set has one cgroup of each hierarchy. No address of the kernel is told. */
static __always_inline __u64 lb_cgroups_of(struct task_struct___ids *task)
{
	return lb_mix(hash_seed, (__u64)BPF_CORE_READ(task, cgroups));
}

/*
 * Reads its cgroups, and those of its parent, at one time. Those of the running thread: a
 * leader that has ended is not moved any more.
 */
static __always_inline void lb_read_cgroups(struct lb_ids *ret)
{
	struct task_struct___ids *task = (struct task_struct___ids *)lb_current_task();
	struct task_struct___ids *parent;

	ret->cgroups = ret->parents_cgroups = 0;
	parent = BPF_CORE_READ(lb_leader(), real_parent, group_leader);
	ret->ppid = BPF_CORE_READ(parent, tgid);
	if (!bpf_core_field_exists(task->cgroups))
		return;
	ret->cgroups = lb_cgroups_of(task);
	ret->parents_cgroups = lb_cgroups_of(parent);
}

/* Returns the id of the mount whose root is the process's root; 0: none, or unknown. */
static __always_inline __u32 lb_root_mount(void)
{
	struct task_struct___ids *leader = lb_leader();
	struct fs_struct___ids *fs = LB_TASK(leader, fs);
	struct path___ids root = {};
	struct mount___ids *mount;

	if (!fs || !bpf_core_type_exists(struct mount___ids))
		return 0;
	root.mnt = LB_TASK(fs, root.mnt);
	root.dentry = LB_TASK(fs, root.dentry);
	if (root.dentry != BPF_CORE_READ(root.mnt, mnt_root))
		return 0;
	mount = (void *)root.mnt - bpf_core_field_offset(struct mount___ids, mnt);
	return BPF_CORE_READ(mount, mnt_id);
}

#endif
