/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens each mapped file once, and caches it by its identity. */
#ifndef LB_PROCESS_FILE_CACHE_H
#define LB_PROCESS_FILE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "process/file.h"
#include "process/maps.h"
#include "process/root.h"

struct file_cache;

/* Where the mapped files of one image can be found now. */
struct file_source {
	int proc_dir; /* its /proc directory; -1: the process is gone */
	struct root *root; /* its root, or that of an ancestor; NULL: not known */
	struct tenant tenant; /* it is its process; pays for what is opened */
	bool no_path; /* only through map_files, never by path */
};

/**
 * Finds the exact file that @m maps, when several files with the same path and build id
 * share a cache entry. Tries the mapping itself, then its path in @source's root (sets
 * by_path: the file may have been replaced). Return: a descriptor (O_PATH) of a regular
 * file, or -errno.
 */
int file_source_find(const struct file_source *source, const struct mapping *m,
		     bool *ret_by_path);

/** @roots and @budget are borrowed. Return: NULL when out of memory. */
struct file_cache *file_cache_new(struct roots *roots, struct fd_budget *budget);
void file_cache_free(struct file_cache *c);
/**
 * Nobody but root gets more than a quarter of the entries, and a path and build id are
 * answered from the cache only to tenants that have mapped the very file, or if root has:
 * users may mount forged files in mount namespaces of their own. Call it first.
 */
void file_cache_share(struct file_cache *c);
DEFINE_CLEANUP(struct file_cache, file_cache_free);

/**
 * Returns the file of @m (MAPPING_FILE or MAPPING_MEMFD; others have none).
 *
 * While the process lives it opens /proc/PID/map_files/START-END, which is the mapped
 * file even if it was deleted, replaced or never had a name. Otherwise it tries the
 * path in the root of the image, then in other known roots: the file is accepted if
 * device and inode match the mapping, or marked verify_build_id if the kernel gave a
 * build id. A path and build id seen before are answered from the cache without opening
 * anything.
 *
 * Return: NULL: it may be there, but could not be looked at yet; try again. fd -1 and
 * open_errno when there is no such file.
 * A failure is cached too, and replaced when a later target can open the file.
 */
struct target_file *file_cache_open(struct file_cache *c, const struct mapping *m,
				    const struct file_source *source);

/**
 * Returns the file of @m, mapped by @who, if it is cached and open, and the kernel gave its
 * build id; else NULL. Makes no system call.
 */
struct target_file *file_cache_find(const struct file_cache *c, const struct mapping *m,
				    struct tenant who);

/**
 * Closes files that are not in @is_used (by id, file_cache_count() entries). A later
 * target that maps one opens it again.
 */
void file_cache_close_unused(struct file_cache *c, const bool *is_used);

/**
 * Frees entries without a descriptor that are not in @is_used. Other files reuse their
 * ids, with another `use`. Callers must not keep their addresses or paths.
 */
void file_cache_forget_unused(struct file_cache *c, const bool *is_used);

/* Returns how many of file_cache_count() entries are not freed. */
size_t file_cache_in_use(const struct file_cache *c);
struct quota *file_cache_quota(struct file_cache *c);

/* Number of entries. Entry 0 stands for all files without room (EMFILE). */
size_t file_cache_count(const struct file_cache *c);
struct target_file *file_cache_at(const struct file_cache *c, size_t id);

#endif
