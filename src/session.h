/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One recording: samples leave the kernel, processes are followed, and rows are
 * kept. Nothing is named while it runs.
 */
#ifndef LB_SESSION_H
#define LB_SESSION_H

#include "base/error.h"
#include "base/strpool.h"
#include "collect/sampler.h"
#include "collect/task_ring.h"
#include "jit_watch.h"
#include "launch.h"
#include "options.h"
#include "process/process.h"
#include "rows.h"

enum session_end {
	SESSION_RUNNING,
	SESSION_ENDED, /* time is up, the command or the last target ended */
	SESSION_INTERRUPTED, /* Ctrl-C or SIGTERM: write what there is */
};

struct session {
	const struct options *options;
	struct strpool *pool; /* borrowed */
	struct worker *worker; /* borrowed: decoder */
	struct process_table *processes;
	struct sampler *sampler;
	struct task_ring *tasks;
	struct jit_watch *jit;
	struct launch *launch; /* NULL: record */
	uint64_t *
		target_starts; /* record -p: ticks since boot, beside options->pids; heap */
	struct rows rows;
	/* Called when the rows are full: names them and empties the table. */
	int (*fold)(void *ctx, struct session *s, struct error *err);
	void *fold_ctx;

	int signal_fd, timer_fd, epoll_fd;
	bool polls_jit; /* the probe's ring is watched too */
	uint64_t start_ns, stop_ns; /* CLOCK_MONOTONIC of the sampling; 0: not yet */
	int64_t start_wall_ns; /* CLOCK_REALTIME */
	uint64_t nr_drains;
	bool sampling;
	const char *
		user_walk_note; /* why user stacks are leaf only; NULL: they are walked */
};

/** Loads, opens, scans. @s is zeroed by the caller apart from options, pool,
 * worker and fold. */
int session_init(struct session *s, struct error *err);
void session_deinit(struct session *s);

/**
 * Samples until the end. A command that could not be executed is a failure with
 * the exit status of launch.
 */
int session_run(struct session *s, enum session_end *ret, struct error *err);

/** From now on Ctrl-C ends lineburn at once, without writing. */
void session_let_signals_kill(const struct session *s);

#endif
