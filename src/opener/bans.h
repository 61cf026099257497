/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What looks got stuck at, and is not looked at again. */
#ifndef LB_OPENER_BANS_H
#define LB_OPENER_BANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/child.h"

/* Not more than processes can be stuck. */
#define MAX_BANS CHILD_MAX_UNDEAD

/*
 * Either a process, by its directory in /proc, or a whole mount, where a file of it was
 * opened.
 */
struct ban_subject {
	uint64_t dev, inode; /* of the directory; inode 0: a mount */
	uint64_t mount_id; /* of the mount, else 0 */
};

/* All zero: none. */
struct bans {
	struct ban {
		struct ban_subject subject;
		int fd; /* O_PATH: while it is open nothing else has these numbers */
		uint64_t time_ns;
	} bans[MAX_BANS];
	size_t nr, next;
};

/**
 * Bans @subject. When all places are taken, the oldest ban ends.
 *
 * @fd      a descriptor of it, which the bans own now
 * @now_ns  CLOCK_MONOTONIC
 */
void bans_add(struct bans *b, const struct ban_subject *subject, int fd, uint64_t now_ns);

/**
 * Is it banned? A process is for good. A mount is for @mount_ns: a file of a good one may be
 * late once, on a slow disk.
 */
bool bans_have(const struct bans *b, const struct ban_subject *subject, uint64_t now_ns,
	       uint64_t mount_ns);

/** Ends all bans. */
void bans_clear(struct bans *b);

#endif
