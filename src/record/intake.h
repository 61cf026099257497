/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input of a recording: opens the sampler and the trackers of processes, reads
 * their events, and drains samples into rows. It names nothing, and waits only for helpers
 * with a deadline, during which it empties the kernel's rings.
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
#include "process/kernel_code.h"
#include "process/table.h"
#include "record/sample_rate.h"
#include "record/sampling.h"
#include "record/stack_table.h"
#include "runtime/jit/watch.h"
#include "target/family.h"
#include "target/target.h"
#include "unwind/feeder.h"
#include "worker/shared.h"

/* For intake_drain(): the drain does not end a window. */
#define INTAKE_NO_WINDOW_END UINT64_MAX

struct intake {
	const struct sampling *config; /* borrowed */
	struct worker *worker; /* decoder for requests of the kernel side */
	struct shared_worker decoder; /* the same, for all who ask it */
	struct worker *reader_worker; /* reads targets' memory */
	struct shared_worker reader; /* the same, for all who ask it */
	struct process_table *processes;
	struct kernel_code kernel_code;
	struct sampler *sampler;
	struct target *target;
	struct family *family; /* NULL: children do not get the rules of their parents */
	struct task_ring *tasks;
	struct jit_watch *jit;
	struct unwind_feeder *unwind;
	struct launch *launch; /* NULL for record */
	/* record -p: start times in ticks since boot, parallel to config->target.pids; heap. */
	uint64_t *target_starts;
	uint64_t prepared_by_ns; /* deadline of prepare(); 0: not begun */
	struct stack_table rows;

	bool sampling;
	uint64_t start_ns, stop_ns; /* CLOCK_MONOTONIC of the sampling; 0: not yet */
	int64_t start_wall_ns; /* CLOCK_REALTIME */
	uint64_t nr_drains;
	uint64_t nr_gathers; /* how often the rings were emptied while a helper worked */
	struct sample_rate rate;
	struct sampler_cost cost; /* at the last rate check, ... */
	uint64_t cost_ns; /* ... and the time of that check; CLOCK_MONOTONIC */

	/* The last drain. Later samples belong to the next drain. */
	struct intake_flip {
		/*
		 * CLOCK_MONOTONIC: processes that exited before have no later samples
		 */
		uint64_t begin_ns;
		uint64_t time_ns; /* CLOCK_MONOTONIC */
		int64_t wall_ns; /* CLOCK_REALTIME */
		uint64_t window_end_ns; /* argument of intake_drain() */
		bool ends_window; /* if so: */
		struct sampler_totals totals; /* right after the flip */
		uint64_t longest_ns; /* between two drains; callers reset it */
	} flip;
	/* why user stacks are not walked; NULL: they are walked */
	const char *user_walk_note;
};

/**
 * Forks the command of run, loads and opens the sampler. Events are recorded from then
 * on.
 *
 * @in      zeroed; deinitialise it on failure too
 * @names   borrowed until process_table_set_pool()
 */
int intake_init(struct intake *in, const struct sampling *config, struct strpool *names,
		struct error *err);
void intake_deinit(struct intake *in);

/** Call after intake_init(): finds the targets and sends them to the kernel side. */
int intake_follow(struct intake *in, struct error *err);

int intake_start(struct intake *in, struct error *err);
/** Stops sampling; samples already taken can still be drained. */
void intake_stop(struct intake *in);

/**
 * Reads events and answers requests of the kernel side. Cheap when nothing is new.
 * Return: whether a slot needs a drain now.
 */
bool intake_look(struct intake *in);
/**
 * Returns the time until the next intake_look() if no event arrives. 0: work is left.
 */
uint64_t intake_look_interval_ns(const struct intake *in);

/**
 * Moves all samples taken so far into the rows.
 *
 * @window_end_ns  a flip at or after this time ends a window and records the totals; or
 *                 INTAKE_NO_WINDOW_END
 */
int intake_drain(struct intake *in, uint64_t window_end_ns, struct error *err);

double intake_elapsed_s(const struct intake *in);

/** Returns whether all requested processes or threads have exited. */
bool intake_targets_are_gone(const struct intake *in);

#endif
