/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose a uid is. A user may take ranges of uids from /etc/subuid in a user namespace, and make
 * files that are setuid for them, so a process outside of that namespace may have one, too.
 * Other sources of ranges (subid: of nsswitch.conf, systemd-nsresourced) are not known here.
 */
#ifndef LB_PROCESS_UID_OWNERS_H
#define LB_PROCESS_UID_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Zero-initialised: no uid is known. */
struct uid_owners {
	const char *path; /* of a file as /etc/subuid; NULL: not read */
	struct timespec changed; /* of that file, when it was read; 0: there was none */
	ino_t inode; /* same */
	struct known_user {
		uint64_t name; /* its hash (base/hash.h) */
		uid_t uid;
	} * users; /* of /etc/passwd; heap; in order of uid */
	size_t nr_users, cap_users;
	struct uid_range {
		uint32_t begin, end; /* [begin, end) */
		uid_t owner;
	} * ranges; /* heap; in order; disjoint */
	size_t nr_ranges, cap_ranges;
};

/** Reads /etc/passwd and @path, which is borrowed. Out of memory, some uids are not known. */
void uid_owners_read(struct uid_owners *o, const char *path);
void uid_owners_deinit(struct uid_owners *o);

/** Reads both again if @path has changed: useradd(8) writes it last. */
void uid_owners_refresh(struct uid_owners *o);

/**
 * Finds whose @uid is: that of a user of /etc/passwd is his own, also if it is in a range. The
 * owner of a range who is not there (LDAP) is known by its first uid. Ranges of root tell
 * nothing: root may become anybody, and makes containers for many with one of them.
 *
 * Return: false, with @ret unchanged: not known.
 */
bool uid_owners_find(const struct uid_owners *o, uid_t uid, uid_t *ret);

#endif
