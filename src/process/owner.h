/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fills struct process_owner: from /proc while the process lives, else from its
 * ancestors. A process that lives 5 ms is in its parent's cgroup. A process that a
 * container runtime or systemd moves to a new cgroup before its exec lives long enough
 * to be read.
 *
 * Also finds the owner of a sample's cgroup id: the cgroup of the process at that
 * moment, even if it is gone or moved since. Works only if cgroup v2 is the only
 * mounted hierarchy: with v1 the id is often that of the v2 root.
 */
#ifndef LB_PROCESS_OWNER_H
#define LB_PROCESS_OWNER_H

#include "process/image.h"

/**
 * @proc_fd      /proc
 * @v2           as cgroups of struct process_table_config
 * @max_cgroups  same
 * Return: NULL when out of memory.
 */
struct process_owners *process_owners_new(int proc_fd, const char *v2,
					  size_t max_cgroups);
void process_owners_free(struct process_owners *o);

/** From now on no user has more than a quarter of the cgroups (base/quota.h). */
void process_owners_share(struct process_owners *o);
/** Borrowed. */
struct quota *process_owners_quota(struct process_owners *o);

/** Fills its owner, but exe, if the kernel told that it is its parent's. Return: whether. */
bool owner_fill_told(struct process_table *t, struct image *img);

/**
 * Fills its owner from what was just viewed of it, else from its ancestors. Sets
 * owner_waits if the parent has to be read for that, and can be read later.
 */
void owner_fill(struct process_table *t, struct image *img);
/** Fills the owner of an image that waits for its parent's. */
void owner_fill_late(struct process_table *t, struct image *img);

/** See process_table_cgroup(). */
const struct process_owner *process_owners_find(struct process_table *t,
						uint64_t cgroup_id, uint64_t time_ns);
/** Forgets cgroup ids that no sample has had since @before_ns, or that were not found. */
void process_owners_forget(struct process_owners *o, uint64_t before_ns);

/** Looks again for owners that were late, and for missing names of containers. */
void process_owners_refresh(struct process_table *t, uint64_t now_ns);

/** Moves the names of one owner, or of all by cgroup id, to @pool. */
void owner_set_pool(struct process_owner *owner, struct strpool *pool);
void process_owners_set_pool(struct process_owners *o, struct strpool *pool);

/** @proc_fd  /proc. Return: NULL when out of memory. */
struct container_names *owner_container_names(int proc_fd);

#endif
