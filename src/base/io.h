/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads, maps and writes whole files. Retries on EINTR. */
#ifndef LB_BASE_IO_H
#define LB_BASE_IO_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"

/**
 * Reads @fd from its position to the end into a heap buffer, NUL-terminated.
 *
 * @max  most bytes accepted
 * Return: 0, -EFBIG when there is more than @max, or a negative errno. *ret and
 * *ret_len are written only on success; the caller frees *ret.
 */
int io_read_all(int fd, size_t max, char **ret, size_t *ret_len);

/**
 * Returns whether @fd is on a pseudo file system (procfs, sysfs and the like), which
 * generates a file's content at each read. True if unknown. @fd may be O_PATH.
 */
bool io_is_made_up(int fd);

/** Are both descriptors of the same file? */
bool io_is_same_file(int a, int b);

/**
 * Opens the same file as @path_fd (O_PATH) for reading. @flags: O_NONBLOCK, or 0 to wait for
 * the writer of a pipe. Return: descriptor or -errno.
 */
int io_reopen(int path_fd, int flags);

/**
 * Opens a regular file by an untrusted path. Never opens a FIFO, a device, a directory
 * (-EINVAL) or a pseudo file (-EXDEV). Return: a descriptor, with @ret_st filled, or
 * -errno.
 */
int io_open_regular(const char *path, struct stat *ret_st);

/**
 * The same for a @path below @folder ("": "/"), both from the working directory: links that
 * lead out of the folder are refused (-ENOLINK).
 */
int io_open_regular_below(const char *folder, const char *path, struct stat *ret_st);

/* Opens files as io_open_regular() does, with other rights; zero: with our own. */
struct file_opener {
	int (*open)(void *ctx, const char *path, struct stat *ret_st);
	void *ctx;
};

/**
 * Opens the folder @name in @dir for reading; refuses links. Return: NULL with errno
 * set.
 */
DIR *io_open_dir(int dir, const char *name);

/**
 * Opens a pipe without a writer, instead of /dev/null, which a small container may lack:
 * reads end at once, writes fail. Return: descriptor or -errno.
 */
int io_open_nothing(void);

/**
 * Keeps the names that this process looks up more than once in folders that any user can hold,
 * such as its own in /proc, in the kernel's cache, as long as it lives. Whoever looks up a name
 * there that is not in the cache waits for who holds the folder, beyond SIGKILL.
 */
void io_keep_names(void);

/** Closes all descriptors but the standard streams, @a and @b (-1: none). */
void io_close_others(int a, int b);

/** io_read_all() of the file at @path (NULL: -EINVAL). */
int io_read_file(const char *path, size_t max, char **ret, size_t *ret_len);

/** Writes all of @data. Return: 0 or a negative errno (-ENOSPC: disk full). */
int io_write_all(int fd, const void *data, size_t len);

/**
 * Maps a whole regular file for reading. The file must not be truncated while it is
 * mapped: access to the missing part raises SIGBUS.
 *
 * Return: 0 (*ret NULL: the file is empty; else munmap(2) it), -EINVAL if it is not
 * regular, -EFBIG if it has more than @max bytes, or a negative errno.
 */
int io_map_file(int fd, uint64_t max, void **ret, uint64_t *ret_len);

/**
 * Writes a file atomically: other processes never see it half-written, and links cannot
 * redirect it. Creates a new file (O_EXCL, O_NOFOLLOW, mode 0600) in the same folder
 * and renames it to @path. With @keep_old an existing regular file at @path is kept as
 * "<path>.old". A symlink is replaced. A character device (/dev/null) is written to. A
 * directory, a pipe or a link into /proc (/dev/stdout) is refused with -EEXIST.
 *
 * On failure no file remains and @err has a message for the user.
 * Return: 0 or a negative errno.
 */
int io_write_file_atomic(const char *path, const void *data, size_t len, bool keep_old,
			 struct error *err);

/**
 * The same for @name in the open folder @dir. An existing file is replaced only with
 * @may_replace, else -EEXIST, without a race.
 *
 * @ret_fd  the file, with a write lock of F_OFD_SETLK (fcntl(2)) before it gets its
 *          name: while the caller keeps it open, others can see that its writer is
 *          running. Who may only read the file cannot lock it so. May be NULL.
 * Return: 0 or a negative errno; then no file remains.
 */
int io_write_file_at(int dir, const char *name, const void *data, size_t len,
		     bool may_replace, int *ret_fd);

/* An output that is built in memory, and written once all of it is there. */
struct io_pending {
	FILE *out;
	char *data; /* heap; whole once out is closed */
	size_t len, cap;
};

/** Return: 0 or -ENOMEM with a message. */
int io_pending_open(struct io_pending *ret, struct error *err);
/** Ends the output: @data is whole. Return: 0 or -ENOMEM with a message. */
int io_pending_end(struct io_pending *p, struct error *err);
void io_pending_deinit(struct io_pending *p);

/**
 * Checks that the directory of io_write_file_atomic() exists and is writable. Call it
 * before a long recording. Return: 0 or -errno with a message.
 */
int io_check_output(const char *path, struct error *err);

/*
 * A folder that is kept open until a file is written into it. So nobody who may rename it,
 * or who may change its path, leads the file to another folder meanwhile.
 */
struct io_folder {
	int fd; /* -1: not open */
	int failed; /* why it could not be opened: a negative errno */
	char *real; /* heap: its path without links when it was opened; NULL: not known */
};

/**
 * Opens the folder of the file @path; @ret is closed on failure, and keeps the reason.
 * io_folder_close() closes it. Return: 0 or a negative errno.
 */
int io_folder_open(const char *path, struct io_folder *ret);

/**
 * Opens a folder that was removed anew, if one is there again. No link may lead to it: who
 * removed the folder may have made one. Call it before each use.
 * Return: 0, -ENOENT if it cannot be found again, or another negative errno.
 */
int io_folder_use(struct io_folder *f);

void io_folder_close(struct io_folder *f);

/**
 * io_write_file_atomic() into the folder @f, which was the one of @path when it was opened.
 * Warns if @path is another file by now.
 */
int io_write_file_in(struct io_folder *f, const char *path, const void *data, size_t len,
		     bool keep_old, struct error *err);

#endif
