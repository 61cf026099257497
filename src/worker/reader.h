/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the memory of other processes, the only thing that a WORKER_READER can do to them. */
#ifndef LB_WORKER_READER_H
#define LB_WORKER_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * Reads another process's memory, without stopping it: what it writes meanwhile
 * may come half old, half new.
 *
 * @pid   in our pid namespace; the caller must check before and after reading that it
 *        is the same process
 * @addr  run-time address in that process; any value
 *
 * May block for ever (a page that a FUSE file system never delivers): only in
 * a worker, which its deadline ends. process_vm_readv(2) ends at SIGKILL; reading
 * /proc/PID/mem would not.
 * Return: bytes read, less than @len when what follows is not there (0 for @len 0
 * only); -EFAULT when not even the first is, -ESRCH, -EPERM.
 */
ssize_t reader_read(pid_t pid, uint64_t addr, void *buf, size_t len);

/*
 * A process to read until a deadline, which is half of the worker call's: a slow walk (a
 * list that keeps changing, a busy machine) ends with a partial result, and only a read
 * that hangs is killed.
 */
struct reader_target {
	pid_t pid;
	uint64_t end_ns; /* CLOCK_MONOTONIC */
};

/** As reader_read(); -ETIME from the target's end on. */
ssize_t reader_read_until(const struct reader_target *target, uint64_t addr, void *buf,
			  size_t len);

#endif
