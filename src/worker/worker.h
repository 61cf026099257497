/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes untrusted data in an unprivileged process. A worker is a disposable child: it
 * takes descriptors and bytes, returns plain data, and may do nothing else (seccomp,
 * landlock, RLIMIT_DATA, a uid of its own). It executes this program again
 * (/proc/self/exe), so it inherits neither the collector's memory nor its descriptors.
 * A reader is a worker with one privilege: it reads other processes' memory (reader.h),
 * interprets as little of it as possible, and opens or decodes no files.
 *
 * A worker's death, deadline and memory limit are results, not errors: the caller
 * counts a miss for that one object and the next call starts a fresh child.
 */
#ifndef LB_WORKER_WORKER_H
#define LB_WORKER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/quota.h"
#include "base/wire.h"
#include "worker/message.h"

#define WORKER_MAX_REQUEST_BYTES (64u << 20)
#define WORKER_MAX_REPLY_BYTES   (256u << 20)

/* ---- the worker's side ---- */

struct worker_call; /* one request being served */

/**
 * Serves one request in the child.
 *
 * @request  reader over the request's bytes
 * @fds      descriptors that came with it; closed by the caller after return
 * @reply    receives the answer
 * Return: 0, or a negative errno that worker_call() passes to the caller.
 */
typedef int worker_fn(struct worker_call *call, struct wire_reader *request,
		      const int *fds, size_t nr_fds, struct wire_writer *reply);
typedef worker_fn *worker_op;

/**
 * Asks the collector for another file while serving. Operation and caller agree on
 * @what (a build id, a debuglink name, a .dwo path).
 * Return: a descriptor the op must close, or -ENOENT when there is none.
 */
int worker_need(struct worker_call *call, const void *what, size_t len);

/**
 * Adds a descriptor to the reply, of an opener only; it is closed after sending.
 *
 * @may_wait  close() may wait for its file system, so it comes before the reply's payload
 * Return: 0, or -EMFILE: WORKER_MAX_FDS are there already; then it stays the caller's.
 */
int worker_reply_fd(struct worker_call *call, int fd, bool may_wait);

/** Runs the child: locks itself down, serves until the socket closes. Never prints. */
int worker_main(const worker_op *ops, size_t nr_ops);

/* ---- the collector's side ---- */

struct worker;

enum worker_kind {
	WORKER_DECODER, /* no privileges at all */
	WORKER_READER, /* keeps CAP_SYS_PTRACE and process_vm_readv(2), and nothing else */
	WORKER_OPENER, /* opens files and /proc (opener/opener.h); may reply with descriptors */
	NR_WORKER_KINDS,
};

struct worker_config {
	enum worker_kind kind; /* both kinds use the same table of operations */
	uint64_t max_data_bytes; /* RLIMIT_DATA of the child; 0: 512 MiB */
	unsigned int cpu_seconds; /* RLIMIT_CPU of one child's life; 0: 600 */
};

enum worker_answer {
	WORKER_OK,
	WORKER_FAILED, /* the op returned an error: @ret_error */
	WORKER_DIED, /* crashed or was killed by a limit; a fresh one will start */
	WORKER_DEADLINE, /* did not answer in time and was killed */
	WORKER_BAD_REPLY, /* sent no valid reply, or too much; was killed */
	WORKER_CANNOT_START, /* no child could be started and locked down */
	WORKER_REFUSED, /* too many children are stuck for its tenant */
	WORKER_PENDING, /* worker_receive() only: no answer yet */
};

struct worker_stats {
	uint64_t nr_calls, nr_starts, nr_died, nr_deadline, nr_bad_reply;
	uint64_t nr_refused; /* answered with WORKER_REFUSED */
	uint64_t cpu_ns; /* user and system time of all children so far */
};

/**
 * No child is started before the first call. A child is replaced after 512 calls, and
 * before a call whose deadline could reach its CPU limit. So RLIMIT_CPU kills only a
 * child that really ran for @cpu_seconds in calls that allowed it.
 *
 * Make all calls from one thread: children die with the thread that started them.
 */
int worker_new(const struct worker_config *config, struct worker **ret,
	       struct error *err);
void worker_free(struct worker *w);
DEFINE_CLEANUP(struct worker, worker_free);

/**
 * Answers the child's worker_need(). @what is untrusted. Return: a descriptor that is
 * passed on and then closed, or -1 for "none".
 */
typedef int (*worker_need_fn)(void *ctx, const void *what, size_t len);

/**
 * Begins a call; get its answer from worker_receive(). A worker has one call at a time.
 * Blocks only to start a fresh child.
 *
 * @request    len bytes, borrowed until worker_receive() has an answer
 * @fds        borrowed until return; sent along
 * @need       may be NULL: every need is answered "none"; at most 4096 per call.
 *        worker_receive() calls it
 * @deadline_ms  wall time for the whole call, needs included. Two things do not count:
 *               the start of a fresh child (which has 10 s of its own), and time in
 *               which the child was runnable and got no CPU (10 s at most). What it ran
 *               counts, also in the kernel
 */
void worker_send(struct worker *w, uint32_t op, const void *request, size_t len,
		 const int *fds, size_t nr_fds, worker_need_fn need, void *need_ctx,
		 unsigned int deadline_ms);

/**
 * Continues the call, for some milliseconds at most: sends the rest of the request,
 * answers needs, receives. Within this time it waits for a child that is sending or
 * receiving. Killing a child may take up to CHILD_KILL_WAIT_MS longer.
 *
 * @ret        on WORKER_OK a reader over the reply, valid until the next call
 * @ret_error  on WORKER_FAILED the op's negative errno; may be NULL
 * Return: WORKER_PENDING, or the answer, which ends the call.
 */
enum worker_answer worker_receive(struct worker *w, struct wire_reader *ret,
				  int *ret_error);

/*
 * worker_receive() can continue when this descriptor is ready, or the deadline is over.
 */
struct worker_wait {
	int fd;
	short events; /* POLLIN, POLLOUT */
	int64_t deadline_ns; /* CLOCK_MONOTONIC */
};

/** Return: false if there is no call, or it can continue now. */
bool worker_waits(const struct worker *w, struct worker_wait *ret);

/** Waits until worker_receive() can continue. */
void worker_wait(const struct worker *w);
/** The same, until @until_ns (CLOCK_MONOTONIC) at most. */
void worker_wait_until(const struct worker *w, int64_t until_ns);

/**
 * Returns when the call began, CLOCK_MONOTONIC, after its child had been started; if none
 * was, now.
 */
uint64_t worker_begin_ns(const struct worker *w);

/**
 * Returns how slow an opener was in its last call: the time in which it slept in the
 * kernel or ran, not the time in which it only waited for a CPU. 0 if it answered within
 * 2 ms; of a longer call, what it ran in the first 2 ms is not counted.
 */
uint64_t worker_slow_ns(const struct worker *w);

/** Frees the last reply, if it is large. Does nothing during a call. */
void worker_trim(struct worker *w);

/** Ends the current call, if any, and kills its child. */
void worker_cancel(struct worker *w);

/** Makes a whole call and waits for its answer. Arguments as above, all borrowed. */
enum worker_answer worker_call(struct worker *w, uint32_t op, const void *request,
			       size_t len, const int *fds, size_t nr_fds,
			       worker_need_fn need, void *need_ctx,
			       unsigned int deadline_ms, struct wire_reader *ret,
			       int *ret_error);

/**
 * The next calls serve targets of this tenant. While too many children are stuck in calls
 * for it (worker/child.h), its calls are answered with WORKER_REFUSED.
 *
 * @who  TENANT_UNKNOWN counts as one tenant
 */
void worker_serves(struct worker *w, struct tenant who);

/**
 * Until worker_serves(), a child that gets stuck counts for TENANT_UNKNOWN, so that it can
 * be found out first who is to be charged (child_charge_undead()).
 */
void worker_charges_nobody(struct worker *w);

/**
 * Returns the number of the child that was killed last, for the functions of
 * worker/child.h; 0: it is dead.
 */
uint64_t worker_last_stuck(const struct worker *w);

/**
 * Takes the descriptors of the last answer. Those of an answer are closed at the next
 * call, or if there are more than @max. Return: how many; the caller closes them.
 */
size_t worker_take_fds(struct worker *w, int *ret, size_t max);

void worker_stats(const struct worker *w, struct worker_stats *ret);

#endif
