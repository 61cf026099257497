/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the memory of other processes: the only access to them that a WORKER_READER
 * has.
 */
#ifndef LB_WORKER_READER_H
#define LB_WORKER_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * Reads another process's memory without stopping it: data that it writes meanwhile may
 * be read half old, half new.
 *
 * @pid   in our pid namespace; the caller must check before and after reading that it
 *       is the same process
 * @addr  run-time address in that process; any value
 *
 * May block forever (a page that a FUSE file system never delivers): call it only in a
 * worker, which its deadline kills. process_vm_readv(2) ends at SIGKILL, unless the other
 * process holds its own mmap_lock: then the worker is left behind. Reading /proc/PID/mem
 * would not end in either case.
 * Return: bytes read, less than @len if the next page is not mapped (0 only for @len
 * 0); -EFAULT if the first one is not mapped, -ESRCH, -EPERM.
 */
ssize_t reader_read(pid_t pid, uint64_t addr, void *buf, size_t len);

/*
 * A process to read until a deadline, which is half of the worker call's. So a slow
 * walk (a list that keeps changing, a busy machine) ends with a partial result, and
 * only a read that hangs is killed.
 */
struct reader_target {
	pid_t pid;
	uint64_t end_ns; /* CLOCK_MONOTONIC */
};

/** Like reader_read(); -ETIME from the target's end_ns on. */
ssize_t reader_read_until(const struct reader_target *target, uint64_t addr, void *buf,
			  size_t len);

#endif
