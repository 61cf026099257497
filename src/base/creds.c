// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/creds.h"

#include <errno.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

int creds_become(struct creds *creds, uid_t uid, gid_t gid)
{
	creds->nr_groups =
		getgroups((int)(sizeof(creds->groups) / sizeof(gid_t)), creds->groups);
	/* The raw call changes this thread only; glibc's wrapper changes all. */
	if (creds->nr_groups > 0 && syscall(SYS_setgroups, 0, NULL))
		creds->nr_groups = -1;
	creds->saved_gid = (gid_t)setfsgid(gid);
	creds->saved_uid = (uid_t)setfsuid(uid);
	if ((uid_t)setfsuid((uid_t)-1) != uid || (gid_t)setfsgid((gid_t)-1) != gid) {
		creds_restore(creds);
		return -EPERM;
	}
	return 0;
}

void creds_restore(const struct creds *creds)
{
	setfsuid(creds->saved_uid);
	setfsgid(creds->saved_gid);
	if (creds->nr_groups > 0)
		syscall(SYS_setgroups, creds->nr_groups, creds->groups);
}
