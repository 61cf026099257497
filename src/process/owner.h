/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fills struct process_owner: from /proc while the process lives, else from its
 * ancestors. A process that lives 5 ms is in the cgroup of its parent. Those that a
 * container runtime or systemd starts are not: they are moved before their exec, but live
 * long enough to be read.
 */
#ifndef LB_PROCESS_OWNER_H
#define LB_PROCESS_OWNER_H

#include "process/image.h"

/** @proc_dir  of this same image; -1: it is gone, or has become another image */
void owner_fill(struct process_table *t, struct image *img, int proc_dir);

/** Fills all of @owner but exe. @path  below the root of the hierarchy; v2: 0 */
void owner_of_cgroup(struct process_table *t, uint32_t hierarchy, const char *path,
		     size_t len, struct process_owner *owner);

/** Retries missing names of containers. */
void owner_refresh(struct process_table *t, uint64_t now_ns);

/** @proc_fd  /proc. Return: NULL when out of memory. */
struct container_names *owner_container_names(int proc_fd);

#endif
