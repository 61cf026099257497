/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files on behalf of another user: a path that an untrusted user named is opened
 * with that user's file-system privileges, never with root's. Or gives up root's
 * privileges for good.
 */
#ifndef LB_BASE_CREDS_H
#define LB_BASE_CREDS_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct creds {
	uid_t saved_uid;
	gid_t saved_gid;
	uint32_t saved_caps; /* effective capabilities for files */
	int nr_groups; /* -1: nothing to restore */
	gid_t groups[1024];
};

/**
 * Makes this thread open files as @uid and @gid, without supplementary groups or
 * capabilities for files (unless @uid is 0). The thread must soon call creds_restore()
 * with the same @creds.
 *
 * Return: 0, or -EPERM if the kernel refused or we have more than 1,024 groups; then
 * nothing changed.
 */
int creds_become(struct creds *creds, uid_t uid, gid_t gid);
void creds_restore(const struct creds *creds);

/**
 * For struct file_opener: opens only what every user may read. A path that does not exist
 * is -ENOENT, also below a folder that nobody else may enter. Who may not become nobody
 * opens none: -EPERM.
 */
int creds_open_as_nobody(void *unused, const char *path, struct stat *ret_st);

/**
 * Makes this process @uid and @gid for good: no groups, no capabilities, and no program
 * that it executes gives it more (no_new_privs). Call it while there is one thread.
 * In a container that has no other ids, or may not change to them, root keeps its id,
 * without capabilities.
 * Return: 0 or -errno; then some may be given up.
 */
int creds_give_up(uid_t uid, gid_t gid);

/** Returns a random id that belongs to no user, and most likely to no process. */
uid_t creds_own_id(void);

#endif
