/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fills the kernel's unwind tables while a recording runs: mappings of processes, rows of
 * the code that is hit, and layouts of interpreters.
 */
#ifndef LB_UNWIND_FEEDER_H
#define LB_UNWIND_FEEDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "lineburn_unwind.h"
#include "unwind/tables.h"

struct mapping;
struct process_table;
struct process;
struct unwind_feeder;
struct shared_worker;

/** As unwind_tables_new(). All pointers are borrowed and must outlive @ret. */
int unwind_feeder_new(uint64_t max_row_bytes, const struct unwind_kmaps *maps,
		      struct process_table *processes, struct shared_worker *decoder,
		      struct shared_worker *reader, struct unwind_feeder **ret,
		      struct error *err);
void unwind_feeder_free(struct unwind_feeder *w);
DEFINE_CLEANUP(struct unwind_feeder, unwind_feeder_free);

/**
 * From now on, files are read in idle time even if they are large and were not requested
 * yet. For programs whose stacks must be whole from the start.
 */
void unwind_feeder_read_all(struct unwind_feeder *w);

/**
 * Call before sampling @p: builds the tables of files it maps, and searches them for an
 * interpreter.
 *
 * @is_wanted    selects mappings; smaller files come first; NULL: all smaller files
 * @deadline_ns  CLOCK_MONOTONIC: starts nothing after it
 */
void unwind_feeder_prepare(struct unwind_feeder *w, const struct process *p,
			   bool (*is_wanted)(const struct mapping *m),
			   uint64_t deadline_ns);
/** Reports that @p was sampled for the first time. @p may be NULL if it is unknown. */
void unwind_feeder_sampled(struct unwind_feeder *w, const struct process *p);
/** Queues a request of the kernel side; the next look answers it. */
void unwind_feeder_request(struct unwind_feeder *w,
			   const struct lb_unwind_request *request);
/** Reports that @parent forked @child; each may be NULL. */
void unwind_feeder_forked(struct unwind_feeder *w, const struct process *parent,
			  const struct process *child);
/**
 * Reports that sampled images have new mappings, or code objects to read again
 * (interp_codes.nr_cut): the next look checks them.
 */
void unwind_feeder_expect(struct unwind_feeder *w);

/**
 * Answers requests, for 10 ms at most; one file may take longer. Cheap if nothing is
 * new.
 */
void unwind_feeder_look(struct unwind_feeder *w);
/**
 * Call after process_table_trim() or process_table_forget_ended(): drops the tables of
 * files that were released, or closed long ago.
 */
void unwind_feeder_forget_files(struct unwind_feeder *w);

/** Returns the milliseconds until the next work, at most @max_ms. */
int unwind_feeder_wait_ms(const struct unwind_feeder *w, int max_ms);

/** Reports that no earlier BPF program still runs: freed table space may be reused. */
void unwind_feeder_grace(struct unwind_feeder *w);
/** Call after each drain: drops entries of processes that have exited. */
void unwind_feeder_drain(struct unwind_feeder *w);

/** quota_each_refused() of all its tables. */
void unwind_feeder_each_refused(struct unwind_feeder *w, quota_refused_fn fn, void *ctx);
void unwind_feeder_totals(const struct unwind_feeder *w, struct unwind_totals *ret);

#endif
