/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What looks got stuck at, and is not looked at for a time. */
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
		struct tenant who;
		int fd; /* O_PATH: while it is open nothing else has these numbers */
		uint64_t time_ns;
		uint64_t stuck; /* number of the child that got stuck there; 0: none */
	} bans[MAX_BANS];
	size_t nr, next;
};

/**
 * Bans @subject. When all places are taken, the oldest ban ends.
 *
 * @who     was late there
 * @fd      a descriptor of it, which the bans own now
 * @stuck   see struct ban
 * @now_ns  CLOCK_MONOTONIC
 */
void bans_add(struct bans *b, const struct ban_subject *subject, struct tenant who,
	      int fd, uint64_t stuck, uint64_t now_ns);

/**
 * Is it banned for @who? A process is for everybody. A mount is for who was late there, as
 * far as that is known: others may use it, too, and it may be the root of all. It is banned
 * for @ban_ns, and as long as the child that got stuck there is: a good one may be late
 * once, because of a slow disk, or while a large process forks.
 */
bool bans_have(const struct bans *b, const struct ban_subject *subject, struct tenant who,
	       uint64_t now_ns, uint64_t ban_ns, bool (*is_stuck)(uint64_t number));

/** Is anything banned for anybody? */
bool bans_have_any(const struct bans *b, uint64_t now_ns, uint64_t ban_ns,
		   bool (*is_stuck)(uint64_t number));

/** Ends all bans. */
void bans_clear(struct bans *b);

#endif
