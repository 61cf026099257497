/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts, kills and reaps one worker process, for the collector. The child is
 * identified by a pidfd: if SIGCHLD is ignored (some service managers start programs
 * so), the kernel reaps the child itself, and its pid may be reused.
 */
#ifndef LB_WORKER_CHILD_H
#define LB_WORKER_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	pid_t pid; /* 0: no child */
	int pidfd;
	int sock; /* our end; -1: no child */
};

#define CHILD_NONE ((struct child){.pid = 0, .pidfd = -1, .sock = -1})

/* Most children that did not die after SIGKILL (a page fault on a dead file system). */
#define CHILD_MAX_UNDEAD 8

/* How long to wait for a child after SIGKILL before it is put aside. */
#define CHILD_KILL_WAIT_MS 200

/* Killed children that are not dead yet; zero-initialised: none. */
struct undead {
	struct child child[CHILD_MAX_UNDEAD];
	size_t nr;
	uint64_t cpu_ns; /* used by all children that were reaped */
};

/**
 * Executes this program again as a worker: argv[0] WORKER_ARGV0, no environment,
 * /dev/null on 0, 1 and 2, its socket on WORKER_SOCKET_FD, nothing else open, all
 * signals blocked (signals from a terminal are meant for the collector).
 * Return: 0 with @ret filled, or a negative errno.
 */
int child_spawn(struct child *ret);

/**
 * Kills and reaps; *child is CHILD_NONE afterwards. Waits at most CHILD_KILL_WAIT_MS
 * and puts a child that does not die by then into @undead. The caller must have ensured
 * that there is room.
 */
void child_kill(struct child *child, struct undead *undead);

/** Reaps children that died since. Return: whether there is room for another one. */
bool undead_reap(struct undead *undead);
/** Reaps the dead ones; init inherits the others. */
void undead_deinit(struct undead *undead);

/** Returns the CPU time of the process in ns; 0 when unknown. */
uint64_t child_cpu_ns(const struct child *child);

/* CPU time of a child since its start. */
struct child_schedule {
	uint64_t ran_ns;
	/* time runnable without a CPU, without the wait that is not over yet */
	uint64_t waited_ns;
};

/**
 * Reads /proc/PID/schedstat of the child. Return: false if it cannot be read, or the
 * kernel lacks it (CONFIG_SCHED_INFO).
 */
bool child_schedule(const struct child *child, struct child_schedule *ret);
/** Does the child run, or wait for a CPU? False if that cannot be read. */
bool child_is_runnable(const struct child *child);

#endif
