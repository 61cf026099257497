/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose the current process is, as the kernel knows it at this moment: when /proc is read,
 * a short-lived process is gone, or has become another program.
 */
#ifndef LB_BPF_IDS_H
#define LB_BPF_IDS_H

#include "arch.h"

/* As in choice.h: CO-RE finds these by name. */
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

struct task_struct___ids {
	struct task_struct___ids *group_leader;
	/* Not cred, which is another's while the kernel works for it (overlayfs). */
	const struct cred___ids *real_cred;
	struct fs_struct___ids *fs; /* NULL: it exits */
} __attribute__((preserve_access_index));

/* Effective group and user of the process: (gid << 32) | uid; cheap. */
static __always_inline __u64 lb_user_and_group(struct task_struct *current)
{
	struct task_struct___ids *task = (struct task_struct___ids *)current, *leader;
	const struct cred___ids *cred;

	leader = LB_TASK(task, group_leader);
	cred = LB_TASK(leader, real_cred);
	/* One read in place may be of no credentials, for all that the kernel tells. */
	if (!cred)
		return ~0ULL;
	return (__u64)LB_TASK(cred, egid.val) << 32 | LB_TASK(cred, euid.val);
}

/* Which mount's root is the process's root directory? 0: none, or it is not known. */
static __always_inline __u32 lb_root_mount(struct task_struct___ids *task)
{
	struct vfsmount___ids *mnt = BPF_CORE_READ(task, group_leader, fs, root.mnt);
	struct dentry___ids *dentry = BPF_CORE_READ(task, group_leader, fs, root.dentry);
	struct mount___ids *mount;

	if (!mnt || dentry != BPF_CORE_READ(mnt, mnt_root) ||
	    !bpf_core_field_exists(mount->mnt_id))
		return 0;
	mount = (void *)mnt - bpf_core_field_offset(struct mount___ids, mnt);
	return BPF_CORE_READ(mount, mnt_id);
}

static __always_inline void lb_ids_read(struct task_struct *current, __u64 user_and_group,
					struct lb_ids *ret)
{
	struct task_struct___ids *task = (struct task_struct___ids *)current;

	ret->uid = user_and_group;
	ret->gid = user_and_group >> 32;
	ret->user_ns = BPF_CORE_READ(task, group_leader, real_cred, user_ns, ns.inum);
	ret->root_mount = lb_root_mount(task);
}

#endif
