/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files in and out, EINTR-safe. */
#ifndef LB_BASE_IO_H
#define LB_BASE_IO_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"

/**
 * Reads @fd from its position to the end into a heap buffer with a NUL behind it.
 *
 * @max  most bytes accepted
 * Return: 0, -EFBIG when there is more than @max, or a negative errno. *ret and
 * *ret_len are written only on success; the caller frees *ret.
 */
int io_read_all(int fd, size_t max, char **ret, size_t *ret_len);

/**
 * Is it a file of procfs, sysfs and their like, which are made up as they are read, for the
 * reader? Where that cannot be told, too. @fd may be O_PATH.
 */
bool io_is_made_up(int fd);

/** The very file behind @path_fd (O_PATH), to be read. Return: a descriptor or -errno. */
int io_reopen(int path_fd);

/**
 * Opens what somebody else named: a FIFO, a device, a directory (-EINVAL) and what is made
 * up (-EXDEV) are not even opened. Return: a descriptor, with @ret_st filled, or -errno.
 */
int io_open_regular(const char *path, struct stat *ret_st);

/** Opens the folder @name in @dir for reading, if it is no link. Return: NULL with errno set. */
DIR *io_open_dir(int dir, const char *name);

/** Opens @path (NULL: nothing to open, -EINVAL) and does the same. */
int io_read_file(const char *path, size_t max, char **ret, size_t *ret_len);

/** Writes all of @data. Return: 0 or a negative errno (-ENOSPC: disk full). */
int io_write_all(int fd, const void *data, size_t len);

/**
 * Maps all of a regular file, to be read. Who may cut it short meanwhile is the caller's
 * care: what is gone then is SIGBUS.
 *
 * Return: 0 (*ret NULL: the file is empty; else munmap(2) it), -EINVAL when it is not
 * regular, -EFBIG when it has more than @max bytes, or a negative errno.
 */
int io_map_file(int fd, uint64_t max, void **ret, uint64_t *ret_len);

/**
 * Writes a file that others never see half-written and that cannot be diverted:
 * a new file (O_EXCL, O_NOFOLLOW, mode 0600) beside @path, renamed over it.
 * An existing regular file at @path is kept as "<path>.old" when @keep_old, a
 * symlink is replaced. A character device (/dev/null) is written to. A directory,
 * a pipe or a link into /proc (/dev/stdout) is refused with -EEXIST.
 *
 * @uid, @gid  who shall own it; (uid_t)-1 leaves it as created
 *
 * On failure nothing is left behind and @err is a sentence for the user.
 * Return: 0 or a negative errno.
 */
int io_write_file_atomic(const char *path, const void *data, size_t len, bool keep_old,
			 uid_t uid, gid_t gid, struct error *err);

/**
 * Same, for @name in the open folder @dir; what has the name is replaced only when
 * @may_replace, else that is -EEXIST, whoever was quicker.
 *
 * @ret_fd  the file, locked (flock(2), exclusive) from before it has its name: as long as
 *          the caller has it open, others can tell that its writer is there. May be NULL.
 * Return: 0 or a negative errno; nothing is left behind then.
 */
int io_write_file_at(int dir, const char *name, const void *data, size_t len,
		     bool may_replace, int *ret_fd);

/**
 * Would io_write_file_atomic() find its directory, and may we write there? To be
 * asked before an hour of recording, not after. Return: 0 or -errno with a sentence.
 */
int io_check_output(const char *path, struct error *err);

#endif
