/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Root directories of targets. Ten thousand processes of one container share one root,
 * hence one descriptor. It is O_PATH: it keeps the mount reachable after the last
 * process of a container is gone, and is closed with the last reference.
 */
#ifndef LB_PROCESS_ROOT_H
#define LB_PROCESS_ROOT_H

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "process/file.h"

/*
 * Identity of a root: the directory and its mount. A mount belongs to one mount
 * namespace, and the open descriptor keeps it alive, so its id is not reused.
 */
struct root_key {
	uint64_t dev, inode, mount_id;
};

struct root {
	struct root_key key;
	uint64_t id; /* never reused, unlike the descriptor; not 0 */
	uint64_t since_ns; /* CLOCK_MONOTONIC: opened at this time */
	bool is_mount_root; /* it is the root directory of its mount */
	int fd; /* O_PATH */
	struct tenant tenant; /* of the first target that had it */
	size_t nr_refs;
	uint32_t slot; /* in roots.items */
};

/* All roots, in no order. */
struct roots {
	struct root **items;
	size_t nr, cap;
	struct hashmap by_key;
	struct fd_budget *budget;
	uint64_t last_id;
};

/** @budget is borrowed. Return: NULL when out of memory. */
struct roots *roots_new(struct fd_budget *budget);
/** Frees all roots, even referenced ones. */
void roots_free(struct roots *roots);
DEFINE_CLEANUP(struct roots, roots_free);

/**
 * Returns the root that was found as the handle @found (proc_view.root), with a reference
 * for the caller. Takes the descriptor of @found if it is new; then @who pays for it.
 * Return: NULL when the process is gone, its root may not be opened, or a limit is reached
 * (counted in the budget).
 */
struct root *roots_take(struct roots *roots, struct look *found, struct tenant who);

/**
 * Finds the root of the mount with this id, if it was known before @time_ns: then the
 * mount had the id at that time. Takes a reference for the caller; NULL: none.
 */
struct root *roots_find_mount(const struct roots *roots, uint64_t mount_id,
			      uint64_t time_ns);

/** Same, without a reference. Return: whether there is one. */
bool roots_have_mount(const struct roots *roots, uint64_t mount_id, uint64_t time_ns);

/** Takes a reference. @root may be NULL. Returns @root. */
struct root *root_ref(struct root *root);
/** Drops a reference: the last one closes it. @root may be NULL. */
void roots_put(struct roots *roots, struct root *root);

#endif
