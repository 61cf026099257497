/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens and lists folders of cgroups. Any user who may list one can hold it, so the opener
 * does that (opener/opener.h).
 */
#ifndef LB_PROCESS_CGROUP_FOLDER_H
#define LB_PROCESS_CGROUP_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "opener/look.h"

/**
 * Opens a folder. @top  of the hierarchy, or a negative errno, which is returned;
 * @path  from there: "/" or "/a/b"; @owner  user whose folders it is in; TENANT_UNKNOWN_UID: not known
 * Return: O_PATH, to be closed with close(2), and @ret filled; or -errno; -ETIMEDOUT and
 * -EBUSY: it is late, or was.
 */
int cgroup_folder_open(int top, const char *path, uint32_t owner, struct look_facts *ret);

/**
 * Lists the folders in one, a line each; in any order.
 *
 * @inode  it must have, else the rc is -ESTALE; 0: any
 * @ret    heap; NULL: none
 * Return: 0; -EFBIG: some do not fit; or as above.
 */
int cgroup_folder_list(int top, const char *path, uint32_t owner, uint64_t inode,
		       char **ret);

/** Is this process in it, as far as that can be seen now? @path  "/a/b", or "" */
bool cgroup_folder_has(int top, const char *path, uint32_t pid);

/** Does the result say that it could not be looked at now, for whatever reason? */
bool cgroup_folder_is_late(int rc);

#endif
