/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors of files that strangers chose. To close one calls its file system (the flush
 * of struct file_operations; kernel: fs/open.c), and that of FUSE waits for a server, also
 * when it is killed. So another process closes them, which shares this process's table of
 * descriptors: a descriptor that it closes is gone from the table at once, and what it
 * waits for then keeps nobody else waiting. When this process ends, what is left of the
 * table is closed by that process, too.
 *
 * Descriptors opened with O_PATH are never flushed, but they may be the last that hold a
 * mount, and to close them then unmounts a file system. One thread only.
 */
#ifndef LB_BASE_TARGET_FD_H
#define LB_BASE_TARGET_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/quota.h"

/** Most descriptors of one tenant that may wait at a time for their file system. */
#define TARGET_FD_STUCK_MAX 2

/**
 * Starts the process that closes. Without it target_fd_close() closes by itself, as it does
 * in viewers and helpers. Return: 0, or -errno with @err set.
 */
int target_fd_begin(struct error *err);

/**
 * Closes what waits, ends the process, and waits for it. If a file system does not answer,
 * the process stays, until target_fd_leave().
 */
void target_fd_end(void);

/** Notes that @fd was opened for @who, who pays for its closing. */
void target_fd_opened(int fd, struct tenant who);

/** @fd was none of these after all: close(2) closes it. */
void target_fd_forget(int fd);

/**
 * May another file be opened for @who? Not while TARGET_FD_STUCK_MAX of its are being
 * closed for a second, too many of its wait to be closed, or somebody killed the process
 * that closes.
 */
bool target_fd_has_room(struct tenant who);

/** Returns how many descriptors wait to be closed, beyond the few that always may. */
size_t target_fd_nr_waiting(void);

/** Closes @fd, soon. Nothing may be done with it any more. Negative: nothing to do. */
void target_fd_close(int fd);

/** Same, for cleanup(). */
void target_fd_closep(const int *fd);
#define _cleanup_target_fd_ __attribute__((cleanup(target_fd_closep)))

/**
 * Call it before the process ends. If a file system still does not answer, closes all other
 * descriptors, as the table, and so the far end of a pipe, may outlive the process.
 */
void target_fd_leave(void);

#endif
