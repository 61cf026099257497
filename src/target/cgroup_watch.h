/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds matching cgroups, present and future: walks the hierarchies once and watches
 * them (inotify(7)), so that a new cgroup is matched when it appears. The kernel side
 * checks all ancestors of a task's cgroup, so cgroups below a reported one need not be
 * reported.
 *
 * Users make cgroups in directories that are theirs. So no user gets more than a quarter of
 * what is known, watched or reported (base/quota.h), and no call takes longer than a walk may,
 * however many there are.
 */
#ifndef LB_TARGET_CGROUP_WATCH_H
#define LB_TARGET_CGROUP_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/quota.h"
#include "process/cgroup_mount.h"

/* Deeper directories are ignored. */
#define CGROUP_SET_MAX_DEPTH 32

/* In a mask: more may match, which cannot be told now; what matched stays, it is tried again. */
#define CGROUP_WATCH_UNKNOWN (1u << 31)

struct cgroup_watch_handlers {
	void *ctx;
	/**
	 * Matches a cgroup.
	 * @path  below the mount, "/" or "/a/b"; any bytes
	 * @ret_descend  whether cgroups below it may match; true before the call
	 * Return: a mask, maybe with CGROUP_WATCH_UNKNOWN; 0: no match.
	 */
	uint32_t (*match)(void *ctx, const struct cgroup_mount *mount, const char *path,
			  bool *ret_descend);
	/*
	 * Reports a cgroup (maybe again), or, with a mask of 0, its removal. Return:
	 * success.
	 */
	bool (*change)(void *ctx, const struct cgroup_mount *mount, uint64_t id,
		       uint32_t mask);
};

/* Most of all; one user gets a quarter. Fewer may be watched on this machine. */
struct cgroup_watch_limits {
	size_t known; /* watched or reported */
	size_t watched; /* others are found by a walk every two seconds, or less often */
	size_t reported;
};

struct cgroup_watch;

/** @mounts  borrowed. Return: 0, or -errno of inotify_init1(2), or -ENOMEM. */
int cgroup_watch_new(const struct cgroup_mounts *mounts,
		     const struct cgroup_watch_handlers *handlers,
		     const struct cgroup_watch_limits *limits, struct cgroup_watch **ret);
void cgroup_watch_free(struct cgroup_watch *set);
DEFINE_CLEANUP(struct cgroup_watch, cgroup_watch_free);

/** The next walk walks the hierarchy of @mount, one of @mounts, too. */
void cgroup_watch_add(struct cgroup_watch *set, const struct cgroup_mount *mount);

/**
 * Walks the added hierarchies, and watches them from now on. Return: false: there are more
 * cgroups than @time_ns is enough for; cgroup_watch_look() goes on.
 */
bool cgroup_watch_walk(struct cgroup_watch *set, uint64_t time_ns);

/** Readable when cgroup_watch_look() has something to do. */
int cgroup_watch_poll_fd(const struct cgroup_watch *set);

/**
 * Handles cgroups that appeared or were removed, and goes on with a walk: some 20 ms at most,
 * 0.25 s for each folder that does not answer, and more in the next look. Cheap if there are
 * none.
 */
void cgroup_watch_look(struct cgroup_watch *set, uint64_t now_ns);

/** Were there folders that did not answer in the last walk? They are tried again. */
bool cgroup_watch_has_late(const struct cgroup_watch *set);

/** Is there more to do in the next look, though nothing is readable? */
bool cgroup_watch_is_busy(const struct cgroup_watch *set);

/**
 * Reports that match() may return new results: the next look matches all cgroups again,
 * unless a slow walk has just ended.
 */
void cgroup_watch_walk_again(struct cgroup_watch *set);

/**
 * Returns how many cgroups could not be watched or reported, or were too deep, in the
 * worst walk.
 */
uint64_t cgroup_watch_nr_missed(const struct cgroup_watch *set);

/** quota_each_refused() of all its tables. */
void cgroup_watch_each_refused(struct cgroup_watch *set, quota_refused_fn fn, void *ctx);

#endif
