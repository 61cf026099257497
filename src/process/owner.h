/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fills struct process_owner: what /proc tells while the process lives, and for one that
 * is gone what is known of those it came from. A process that lives 5 ms is in the cgroup
 * of its parent, but for the ones that a container runtime or systemd starts; these are
 * moved before they execute, and live long enough to be asked.
 */
#ifndef LB_PROCESS_OWNER_H
#define LB_PROCESS_OWNER_H

#include "process/image.h"

/** @proc_dir  of this very image; -1: it is gone, or has become another image */
void owner_fill(struct process_table *t, struct image *img, int proc_dir);

/** Fills all of @owner but exe. @path  below the root of the hierarchy; v2: 0 */
void owner_of_cgroup(struct process_table *t, uint32_t hierarchy, const char *path,
		     size_t len, struct process_owner *owner);

/** Names of containers that were not there before. */
void owner_refresh(struct process_table *t, uint64_t now_ns);

/** @proc_fd  /proc. Return: NULL when out of memory. */
struct container_names *owner_container_names(int proc_fd);

#endif
