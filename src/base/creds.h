/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening a file on behalf of somebody: a path that a stranger named is opened
 * with the file-system rights of that stranger, never with root's.
 */
#ifndef LB_BASE_CREDS_H
#define LB_BASE_CREDS_H

#include <sys/types.h>

struct creds {
	uid_t saved_uid;
	gid_t saved_gid;
	int nr_groups; /* -1: nothing to restore */
	gid_t groups[64];
};

/**
 * Makes this thread open files as @uid and @gid, without supplementary groups
 * (setfsuid(2): capabilities for files go with it). Only for a thread that
 * calls creds_restore() with the same @creds soon after.
 *
 * Return: 0, or -EPERM when the kernel refused; then nothing changed.
 */
int creds_become(struct creds *creds, uid_t uid, gid_t gid);
void creds_restore(const struct creds *creds);

#endif
