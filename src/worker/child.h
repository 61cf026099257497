/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts, kills and reaps one worker process, for the collector, by its broker if there is
 * one. The child is identified by a pidfd: if SIGCHLD is ignored (some service managers
 * start programs so), the kernel reaps the child itself, and its pid may be reused.
 */
#ifndef LB_WORKER_CHILD_H
#define LB_WORKER_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/quota.h"
#include "worker/broker.h"

/*
 * Its files in /proc. It opens them itself, and first of all, because any user can hold its
 * directory there: whoever looks up a name in it then waits, beyond SIGKILL.
 */
enum child_file {
	CHILD_STAT,
	CHILD_SCHEDSTAT,
	/* O_PATH: so these names stay in the kernel's cache, for io_reopen(), libc, sandbox.c. */
	CHILD_FDS,
	CHILD_EXE,
	CHILD_OOM_SCORE_ADJ,
	NR_CHILD_FILES
};

struct child {
	pid_t pid; /* 0: no child */
	int pidfd;
	int sock; /* our end; -1: no child */
	int files[NR_CHILD_FILES]; /* -1: /proc or the kernel lacks it */
};

#define CHILD_NONE \
	((struct child){.pid = 0, .pidfd = -1, .sock = -1, .files = {-1, -1, -1, -1, -1}})

/*
 * Most children that did not die after SIGKILL (they wait for a dead file system, or for a
 * lock that their target holds): of the targets of one tenant, and of root's. A target
 * chooses how many of its helpers get stuck; it must not use up those of others. So when
 * there are CHILD_MANY_UNDEAD, of all workers of this process, a tenant may have one if
 * it has none yet. With CHILD_MAX_UNDEAD no child is started any more, but those that
 * run still serve tenants that have none.
 */
#define CHILD_MAX_UNDEAD_TENANT  2
#define CHILD_MAX_UNDEAD_ROOT    8
#define CHILD_MAX_UNDEAD_FOLDERS 8 /* of all TENANT_FOLDERS; root's may have two more */
#define CHILD_MAX_UNDEAD_UNBORN  16 /* that got stuck in /proc before they were executed */
#define CHILD_MANY_UNDEAD        32
#define CHILD_MAX_UNDEAD         64
#define CHILD_MAX_RUNNING        8 /* workers of this process, each may get stuck */

/* How long to wait for a child after SIGKILL before it is put aside. */
#define CHILD_KILL_WAIT_MS 200

/* When children do not get to their own files in /proc: the pauses after which one is tried. */
#define CHILD_FIRST_PAUSE_NS (1 * CLOCK_SECOND_NS)
#define CHILD_MAX_PAUSE_NS   (16 * CLOCK_SECOND_NS)

/**
 * Executes this program again as a worker: argv[0] WORKER_ARGV0, no environment,
 * /dev/null on 0, 1 and 2, its socket on WORKER_SOCKET_FD, nothing else open, all
 * signals blocked (signals from a terminal are meant for the collector).
 *
 * @cpu_ns  as in child_kill(), for a child that gets stuck in /proc
 * Return: 0 with @ret filled, or a negative errno; -EBUSY: too many are stuck, or the last
 * one was; -ETIMEDOUT: it is one of them.
 */
int child_spawn(struct child *ret, uint64_t *cpu_ns);
/** Does the next child have to wait, because one got stuck in /proc? */
bool child_births_are_paused(void);
/** Returns the process that is the parent of children: this one, or the broker. */
pid_t child_parent(void);

/**
 * Kills and reaps; *child is CHILD_NONE afterwards. Waits at most @wait_ms and puts a
 * child that does not die by then aside. child_has_room() must have been true before it
 * was started.
 *
 * @who     tenant of the target that it served last, or TENANT_UNKNOWN; pays for the closing
 *          of its socket (base/target_fd.h)
 * @cpu_ns  gets its CPU time when it is reaped, maybe later: see child_forget_undead()
 * Return: the number of a child that was put aside; 0: it is dead.
 */
uint64_t child_kill(struct child *child, struct tenant who, int wait_ms,
		    uint64_t *cpu_ns);

/**
 * Reaps children that died since. Return: whether one more that serves a target of @who
 * may get stuck.
 */
bool child_has_room(struct tenant who);

/** Returns how many a tenant may have while there are few. */
size_t child_max_undead(struct tenant who);

/**
 * It served a target of @who, if it was put aside with TENANT_UNKNOWN and still is. 0: none.
 */
void child_charge_undead(uint64_t number, struct tenant who);

/** Reaps those that died since. Return: whether this one is still put aside. 0: no. */
bool child_is_undead(uint64_t number);

/** Returns how many are put aside. */
size_t child_nr_undead(void);

/** Reaps the dead ones; @cpu_ns goes away. The others still count; init inherits them. */
void child_forget_undead(const uint64_t *cpu_ns);

/** Returns the CPU time of the process in ns; 0 when unknown. */
uint64_t child_cpu_ns(const struct child *child);

/*
 * The broker's side. START: the reply is the pid_t, its descriptors are socket and pidfd.
 * KILL, REAP: the request is a pid_t that START has returned; -ESRCH if it is not. REAP:
 * the reply is the CPU time, uint64_t in ns; -EAGAIN if the child has not ended.
 */
broker_fn child_serve_start, child_serve_kill, child_serve_reap;

/* CPU time of a child since its start. */
struct child_schedule {
	uint64_t ran_ns;
	/* time runnable without a CPU, without the wait that is not over yet */
	uint64_t waited_ns;
};

/**
 * Reads its /proc/PID/schedstat. Return: false if it cannot be read, or the kernel lacks it
 * (CONFIG_SCHED_INFO).
 */
bool child_schedule(const struct child *child, struct child_schedule *ret);
/** Does the child run, or wait for a CPU? False if that cannot be read. */
bool child_is_runnable(const struct child *child);

#endif
