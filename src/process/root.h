/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Root directories of targets. Ten thousand processes of one container have one
 * root, hence one descriptor. It is O_PATH: it keeps the mount reachable after
 * the last process of a container is gone, and is given up when nobody needs it.
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
/** Frees all roots, whoever refers to them. */
void roots_free(struct roots *roots);
DEFINE_CLEANUP(struct roots, roots_free);

/**
 * The root of the process whose /proc directory is @proc_dir, with a reference
 * for the caller.
 * Return: NULL when it is gone, or may not be opened, or over a limit (counted in
 * the budget).
 */
struct root *roots_get(struct roots *roots, int proc_dir);

/**
 * The root of the mount that has this id, if it is known since before @time_ns: then the id
 * was that mount's at that time. With a reference for the caller; NULL: none.
 */
struct root *roots_find_mount(const struct roots *roots, uint64_t mount_id,
			      uint64_t time_ns);

/** One more reference. @root may be NULL. Returns @root. */
struct root *root_ref(struct root *root);
/** One reference less: the last one closes it. @root may be NULL. */
void roots_put(struct roots *roots, struct root *root);

/** O_PATH directory, owned by @root. -1 for NULL. */
int root_fd(const struct root *root);

/** Id of the mount that it is the root of, as in struct lb_ids; 0: of none. */
uint64_t root_mount(const struct root *root);

/** Unlike the descriptor's, this number is no other root's later. 0 for NULL. */
uint64_t root_id(const struct root *root);

/** The @i-th root that is known, in no order; NULL past the last. */
struct root *roots_at(const struct roots *roots, size_t i);
size_t roots_count(const struct roots *roots);

#endif
