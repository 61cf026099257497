/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Root directories of targets. Ten thousand processes of one container share one
 * root, hence one descriptor. It is O_PATH: it keeps the mount reachable after
 * the last process of a container is gone, and is closed when nobody needs it.
 */
#ifndef LB_PROCESS_ROOT_H
#define LB_PROCESS_ROOT_H

#include "base/cleanup.h"
#include "process/file.h"

struct root; /* counted references */
struct roots;

#define ROOTS_MAX 4096

/** @budget is borrowed. Return: NULL when out of memory. */
struct roots *roots_new(struct fd_budget *budget);
/** Frees all roots, even referenced ones. */
void roots_free(struct roots *roots);
DEFINE_CLEANUP(struct roots, roots_free);

/**
 * Returns the root of the process whose /proc directory is @proc_dir, with a reference
 * for the caller.
 * Return: NULL when it is gone, may not be opened, or is over a limit (counted in
 * the budget).
 */
struct root *roots_get(struct roots *roots, int proc_dir);

/**
 * Finds the root of the mount with this id, if known since before @time_ns: then the
 * mount had the id at that time. With a reference for the caller; NULL: none.
 */
struct root *roots_find_mount(const struct roots *roots, uint64_t mount_id,
			      uint64_t time_ns);

/** Takes a reference. @root may be NULL. Returns @root. */
struct root *root_ref(struct root *root);
/** Drops a reference: the last one closes it. @root may be NULL. */
void roots_put(struct roots *roots, struct root *root);

/** Returns its O_PATH directory, owned by @root. -1 for NULL. */
int root_fd(const struct root *root);

/** Returns the id of the mount whose root it is, as in struct lb_ids; 0: none. */
uint64_t root_mount(const struct root *root);

/** Returns its id, which unlike its descriptor is never reused. 0 for NULL. */
uint64_t root_id(const struct root *root);

/** Returns the @i-th known root, in no order; NULL past the last. */
struct root *roots_at(const struct roots *roots, size_t i);
size_t roots_count(const struct roots *roots);

#endif
