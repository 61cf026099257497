/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Users and their groups, from /etc/passwd and /etc/group, and from other sources (LDAP,
 * sssd, systemd) by getent(1) and id(1). getpwnam(3) and its like would load modules of
 * the C library (nsswitch.conf(5)) into this process, which may wait for a network. A
 * static program cannot load them: they need the C library that it was linked with.
 */
#ifndef LB_BASE_USER_H
#define LB_BASE_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/suggest.h"

#define USER_ASK_MS 10000 /* for callers that have nothing else to do */

struct user {
	uid_t uid;
	gid_t gid;
	char name[256];
};

/**
 * Finds a user by name or number. Blocks for @timeout_ms at most, if the user is not in
 * /etc/passwd.
 * Return: 0, -ENOENT: there is none, -ENOSYS: none in /etc/passwd, and no getent here,
 * -ETIMEDOUT, or another -errno.
 */
int user_by_name(const char *name, int timeout_ms, struct user *ret);
int user_by_uid(uid_t uid, int timeout_ms, struct user *ret);

/**
 * Finds the groups of a user, @gid among them, for setgroups(2).
 * Return: their number, at most @max.
 */
size_t user_groups(const char *name, gid_t gid, gid_t *ret, size_t max);

/**
 * From now on, users_each(), users_each_range() and users_stat() look up /etc/passwd and
 * /etc/subuid again only when they were changed or replaced, and never if they are not
 * there now: a user may hold the folder. Not for other threads, nor for children that close
 * descriptors.
 */
void users_keep_files(void);

/** stat(2) of one of these files. Return: 0 or -errno. */
int users_stat(const char *path, struct stat *ret);

/** Calls @fn for each user of /etc/passwd: uid, gid and name. */
typedef void user_fn(void *ctx, const struct user *user);
void users_each(user_fn *fn, void *ctx);

/**
 * Calls @fn for each range of uids that users may take in user namespaces.
 *
 * @path  of a file as /etc/subuid; wrong lines are skipped. @owner has a name or a uid.
 */
typedef void user_range_fn(void *ctx, const char *owner, uid_t first, uint64_t nr);
void users_each_range(const char *path, user_range_fn *fn, void *ctx);

/**
 * May other users write a file of @uid? A group whose id equals the owner's uid counts as
 * private, by convention of Linux distributions. With an ACL the group bits are the mask of
 * all its entries, so other users may write.
 */
static inline bool user_others_may_write(uid_t uid, gid_t gid, mode_t mode, bool has_acl)
{
	return mode & S_IWOTH || (mode & S_IWGRP && (gid != uid || has_acl));
}

/** Adds the users of /etc/passwd. */
void users_suggest(struct suggestions *s);

#endif
