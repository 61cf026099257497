/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples leave the kernel, processes are followed, and rows are kept. Nothing is named
 * while sampling.
 */
#ifndef LB_RECORD_SESSION_H
#define LB_RECORD_SESSION_H

#include "base/error.h"
#include "base/strpool.h"
#include "collect/sampler.h"
#include "collect/task_ring.h"
#include "launch/launch.h"
#include "process/process.h"
#include "record/sample_rate.h"
#include "record/sampling.h"
#include "record/stack_table.h"
#include "record/wakeup_limit.h"
#include "runtime/jit/watch.h"
#include "target/target.h"
#include "unwind/feeder.h"

enum session_end {
	SESSION_RUNNING,
	SESSION_ENDED, /* time is up, the command or the last target ended */
	SESSION_INTERRUPTED, /* Ctrl-C or SIGTERM: write what there is */
};

struct session {
	const struct sampling *config; /* borrowed */
	struct strpool *pool; /* borrowed */
	struct worker *worker; /* borrowed: decoder */
	struct worker *reader; /* of targets' memory */
	struct process_table *processes;
	struct sampler *sampler;
	struct target *target;
	struct task_ring *tasks;
	struct jit_watch *jit;
	struct unwind_feeder *unwind;
	struct launch *launch; /* NULL: record */
	uint64_t *
		target_starts; /* record -p: ticks since boot, beside config->target.pids; heap */
	uint64_t prepared_by_ns; /* CLOCK_MONOTONIC; 0: nothing was prepared yet */
	struct stack_table rows;
	/*
	 * Behind each drain: looks whether the rows are to be named, or a window has ended.
	 * @begin_ns  of the drain: what had gone by then is in no later sample
	 */
	int (*drained)(void *ctx, struct session *s, uint64_t begin_ns,
		       struct error *err);
	void *drained_ctx;

	int signal_fd, timer_fd, epoll_fd;
	bool polls_jit; /* the probe's ring is watched too */
	uint64_t start_ns, stop_ns; /* CLOCK_MONOTONIC of the sampling; 0: not yet */
	int64_t start_wall_ns; /* CLOCK_REALTIME */
	uint64_t nr_drains;
	struct wakeup_limit wakeup_limit;
	struct sample_rate rate;
	struct sampler_cost cost; /* when the rate was last looked at, ... */
	uint64_t cost_ns; /* ... and that time; CLOCK_MONOTONIC */
	bool sampling;
	bool has_terminal; /* a controlling one, with which the recording ends */

	/* Windows (record). The first end is --window behind the start; whoever is called
	 * behind a drain sets the next, and takes the wishes back. */
	uint64_t window_end_ns; /* CLOCK_MONOTONIC: there is to be a drain; 0: never */
	bool wants_window, wants_snapshot; /* SIGHUP, SIGUSR1 */
	/* The last drain: later samples are all of the next one. */
	struct session_flip {
		uint64_t time_ns; /* CLOCK_MONOTONIC */
		int64_t wall_ns; /* CLOCK_REALTIME */
		bool ends_window; /* by time or by wish; then: */
		struct sampler_totals totals; /* as they were just behind the flip */
		uint64_t longest_ns; /* between two, since somebody set it to 0 */
	} flip;
	const char *
		user_walk_note; /* why user stacks are leaf only; NULL: they are walked */
};

/** Loads, opens, scans. @s is zeroed by the caller apart from config, pool,
 * worker and drained. */
int session_init(struct session *s, struct error *err);
void session_deinit(struct session *s);

/**
 * Samples until the end. A command that could not be executed is a failure with
 * the exit status of launch.
 */
int session_run(struct session *s, enum session_end *ret, struct error *err);

/**
 * Drains again if it is time. A session.drained that takes long calls this, so that the
 * slots do not overflow; it is then called again itself, and must return at once.
 */
int session_keep_up(struct session *s, struct error *err);

/** Runs the event loop until @fd can be read, as long as sampling goes on. */
void session_attend(struct session *s, int fd);

/** From now on Ctrl-C ends lineburn at once, without writing. */
void session_let_signals_kill(const struct session *s);

#endif
