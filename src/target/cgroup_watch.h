/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which cgroups something is said of, now and later: the trees of hierarchies are walked
 * once, and watched (inotify(7)), so that one made while it runs is asked about when it
 * appears. The kernel side looks at all that is above a task's cgroup, so what lies below
 * one that was told of need not be told of.
 */
#ifndef LB_TARGET_CGROUP_WATCH_H
#define LB_TARGET_CGROUP_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "process/cgroup_mount.h"

/* Directories that are watched; others are found by a walk every two seconds, or less often. */
#define CGROUP_SET_MAX_WATCHES 32768
/* That are watched, or told of. */
#define CGROUP_SET_MAX_KNOWN 65536
/* Directories below it, and those deeper, are not looked at. */
#define CGROUP_SET_MAX_DEPTH 32

struct cgroup_watch_handlers {
	void *ctx;
	/**
	 * What is said of a cgroup.
	 * @path  below the mount, "/" or "/a/b"; any bytes
	 * @ret_descend  may something be said of what is below it? True before the call
	 * Return: a mask; 0: nothing.
	 */
	uint32_t (*match)(void *ctx, const struct cgroup_mount *mount, const char *path,
			  bool *ret_descend);
	/* It is to be told of (again), or, with a mask of 0, is gone. Return: was it? */
	bool (*change)(void *ctx, const struct cgroup_mount *mount, uint64_t id,
		       uint32_t mask);
};

struct cgroup_watch;

/** @mounts  borrowed. Return: 0, or -errno of inotify_init1(2), or -ENOMEM. */
int cgroup_watch_new(const struct cgroup_mounts *mounts,
		     const struct cgroup_watch_handlers *handlers,
		     struct cgroup_watch **ret);
void cgroup_watch_free(struct cgroup_watch *set);
DEFINE_CLEANUP(struct cgroup_watch, cgroup_watch_free);

/** Walks the hierarchy of @mount, one of those given, and watches it from now on. */
void cgroup_watch_add(struct cgroup_watch *set, const struct cgroup_mount *mount);

/** Readable when cgroup_watch_look() has something to do. */
int cgroup_watch_poll_fd(const struct cgroup_watch *set);

/** Looks at what appeared and what is gone. Cheap when nothing did. */
void cgroup_watch_look(struct cgroup_watch *set, uint64_t now_ns);

/**
 * What match() says may have changed: the next look asks about all of them again, unless
 * that took long, and was just done.
 */
void cgroup_watch_walk_again(struct cgroup_watch *set);

/** Cgroups that could not be watched or told of, or were too deep, of the worst walk. */
uint64_t cgroup_watch_nr_missed(const struct cgroup_watch *set);

#endif
