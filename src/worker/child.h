/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts, kills and reaps one worker process, for the collector. A pidfd identifies it:
 * where SIGCHLD is ignored (some service managers start programs so) the kernel reaps
 * it by itself, and another process may soon have its number.
 */
#ifndef LB_WORKER_CHILD_H
#define LB_WORKER_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	pid_t pid; /* 0: there is none */
	int pidfd;
	int sock; /* our end; -1 when there is none */
};

#define CHILD_NONE ((struct child){.pid = 0, .pidfd = -1, .sock = -1})

/* Most children that SIGKILL did not end (a page fault on a dead file system). */
#define CHILD_MAX_UNDEAD 8

/* How long to wait for a child after SIGKILL before it is put aside. */
#define CHILD_KILL_WAIT_MS 200

/* Killed children that are not dead yet; all zeroes is none. */
struct undead {
	struct child child[CHILD_MAX_UNDEAD];
	size_t nr;
	uint64_t cpu_ns; /* used by all children that were reaped */
};

/**
 * Executes this program again as a worker: argv[0] WORKER_ARGV0, no environment,
 * /dev/null on 0, 1 and 2, its socket on WORKER_SOCKET_FD, nothing else open, all
 * signals blocked (those that a terminal sends are for the collector).
 * Return: 0 with @ret filled, or a negative errno.
 */
int child_spawn(struct child *ret);

/**
 * Kills and reaps; *child is CHILD_NONE afterwards. Waits at most CHILD_KILL_WAIT_MS: a
 * child that does not die is put into @undead, where the caller has made sure that there
 * is room.
 */
void child_kill(struct child *child, struct undead *undead);

/** Reaps those that died since. Return: whether there is room for another one. */
bool undead_reap(struct undead *undead);
/** Reaps what it can and lets go of the rest: init inherits them. */
void undead_deinit(struct undead *undead);

/** Returns the CPU time that the process used, ns; 0 when unknown. */
uint64_t child_cpu_ns(const struct child *child);

/* What a child got of the CPUs since it was started. */
struct child_schedule {
	uint64_t ran_ns;
	uint64_t waited_ns; /* was runnable, without a CPU; not the wait that goes on */
	bool is_runnable; /* now: it runs, or waits for a CPU */
};

/**
 * Reads /proc/PID/schedstat and /proc/PID/stat of the child.
 * Return: false where they cannot be read, or the kernel has none (CONFIG_SCHED_INFO).
 */
bool child_schedule(const struct child *child, struct child_schedule *ret);

#endif
