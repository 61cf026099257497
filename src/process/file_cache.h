/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens each mapped file once, and keeps it by its identity. */
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
	int proc_dir; /* its directory in /proc; -1: it is gone */
	struct root *root; /* its root, or that of an ancestor; NULL: not known */
	bool no_path; /* only the mapped file itself: NULL when it is not found */
};

/**
 * Which of several files of one path and build id, that are one here, has @m? Found at the
 * mapping itself, else (by_path: it may be another by now) at its path in @source's root.
 * Return: a descriptor (O_PATH) of a regular file, or -errno.
 */
int file_source_find(const struct file_source *source, const struct mapping *m,
		     bool *ret_by_path);

/** @roots and @budget are borrowed. Return: NULL when out of memory. */
struct file_cache *file_cache_new(struct roots *roots, struct fd_budget *budget);
void file_cache_free(struct file_cache *c);
DEFINE_CLEANUP(struct file_cache, file_cache_free);

/**
 * The file behind @m (MAPPING_FILE or MAPPING_MEMFD; others have none).
 *
 * While the process lives that is /proc/PID/map_files/START-END, which is the very
 * file, deleted, replaced or without a name. Else its path in the root of the
 * image, then in other known roots: accepted when device and inode are those of
 * the mapping, or marked verify_build_id when the kernel told a build id. A path
 * and build id seen before is the same file without opening anything.
 *
 * Return: never NULL for those kinds; fd -1 and open_errno when there is no such
 * file. A failure is kept too, and mended when a later target can open the file.
 */
struct target_file *file_cache_open(struct file_cache *c, const struct mapping *m,
				    const struct file_source *source);

/**
 * The file behind @m if it is known and open, and the kernel told its build id: without
 * any system call. Return: NULL if not so.
 */
struct target_file *file_cache_find(const struct file_cache *c, const struct mapping *m);

/**
 * Closes files that are not in @is_used (by id, of file_cache_count() entries), as if
 * they could not be opened: a later target that maps one opens it again.
 */
void file_cache_close_unused(struct file_cache *c, const bool *is_used);

/**
 * Gives back entries without a descriptor that are not in @is_used: their ids become
 * those of other files, with another `use`. Nobody may have their addresses or paths.
 */
void file_cache_forget_unused(struct file_cache *c, const bool *is_used);

/* Of file_cache_count() entries, those that are not given back. */
size_t file_cache_in_use(const struct file_cache *c);

/* Entry 0 is no file: it stands for all that there was no room for (EMFILE). */
size_t file_cache_count(const struct file_cache *c);
struct target_file *file_cache_at(const struct file_cache *c, size_t id);

#endif
