/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording takes in: opens the sampler and what follows processes, reads their
 * events, and drains samples into rows. Nothing is named here, and nothing waits.
 */
#ifndef LB_RECORD_INTAKE_H
#define LB_RECORD_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strpool.h"
#include "collect/sampler.h"
#include "collect/task_ring.h"
#include "launch/launch.h"
#include "process/table.h"
#include "record/sample_rate.h"
#include "record/sampling.h"
#include "record/stack_table.h"
#include "runtime/jit/watch.h"
#include "target/target.h"
#include "unwind/feeder.h"

/* No drain ends a window. */
#define INTAKE_NO_WINDOW_END UINT64_MAX

struct intake {
	const struct sampling *config; /* borrowed */
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

	bool sampling;
	uint64_t start_ns, stop_ns; /* CLOCK_MONOTONIC of the sampling; 0: not yet */
	int64_t start_wall_ns; /* CLOCK_REALTIME */
	uint64_t nr_drains;
	struct sample_rate rate;
	struct sampler_cost cost; /* when the rate was last looked at, ... */
	uint64_t cost_ns; /* ... and that time; CLOCK_MONOTONIC */

	/* The last drain: later samples are all of the next one. */
	struct intake_flip {
		uint64_t
			begin_ns; /* CLOCK_MONOTONIC: what had gone by then is in no later
				    * sample */
		uint64_t time_ns; /* CLOCK_MONOTONIC */
		int64_t wall_ns; /* CLOCK_REALTIME */
		uint64_t window_end_ns; /* as intake_drain() was told */
		bool ends_window; /* then: */
		struct sampler_totals totals; /* as they were just behind the flip */
		uint64_t longest_ns; /* between two, since somebody set it to 0 */
	} flip;
	const char *
		user_walk_note; /* why user stacks are leaf only; NULL: they are walked */
};

/**
 * Forks the command of run, loads and opens. From then on events are kept.
 *
 * @in      zeroed; to be deinitialised in either case
 * @names   borrowed until process_table_set_pool()
 * @worker  borrowed: decoder
 */
int intake_init(struct intake *in, const struct sampling *config, struct strpool *names,
		struct worker *worker, struct error *err);
void intake_deinit(struct intake *in);

/** Behind intake_init(): finds the targets, and tells the kernel side who they are. */
int intake_follow(struct intake *in, struct error *err);

int intake_start(struct intake *in, struct error *err);
/** No further sample is taken; those that were can still be drained. */
void intake_stop(struct intake *in);

/**
 * Reads events and answers the kernel side. Cheap when nothing is new.
 * Return: does a slot want to be drained now?
 */
bool intake_look(struct intake *in);
/** The time until the next intake_look() when nothing happens. 0: work is left. */
uint64_t intake_look_interval_ns(const struct intake *in);

/**
 * Moves all samples so far into the rows.
 *
 * @window_end_ns  a flip at this time or later ends a window: the totals are noted;
 *                 or INTAKE_NO_WINDOW_END
 */
int intake_drain(struct intake *in, uint64_t window_end_ns, struct error *err);

double intake_elapsed_s(const struct intake *in);

/** Are all of the processes or threads that were asked for gone? */
bool intake_targets_are_gone(const struct intake *in);

#endif
