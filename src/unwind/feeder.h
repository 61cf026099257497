/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the kernel's unwind tables filled while a recording runs: what a process has
 * mapped, rows of the code that is hit, and where its interpreter is.
 */
#ifndef LB_UNWIND_FEEDER_H
#define LB_UNWIND_FEEDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "lineburn_unwind.h"

struct mapping;
struct process_table;
struct process;
struct unwind_feeder;
struct unwind_kmaps;
struct worker;

struct unwind_feeder_config {
	uint64_t max_row_bytes; /* of kernel memory for rows; 0: 64 MiB */
};

/** @maps is copied; its descriptors, and all others, are borrowed and must outlive it. */
int unwind_feeder_new(const struct unwind_feeder_config *config,
		      const struct unwind_kmaps *maps, struct process_table *processes,
		      struct worker *decoder, struct worker *reader,
		      struct unwind_feeder **ret, struct error *err);
void unwind_feeder_free(struct unwind_feeder *w);
DEFINE_CLEANUP(struct unwind_feeder, unwind_feeder_free);

/**
 * Before anything of @p is sampled: makes the tables of files it has mapped, and looks for
 * an interpreter among them.
 *
 * @is_wanted    which of its mappings, the smaller files first; NULL: all smaller files
 * @deadline_ns  CLOCK_MONOTONIC: nothing further is begun
 */
void unwind_feeder_prepare(struct unwind_feeder *w, const struct process *p,
			   bool (*is_wanted)(const struct mapping *m),
			   uint64_t deadline_ns);
/** @p was sampled for the first time; NULL: nothing is known of it. */
void unwind_feeder_sampled(struct unwind_feeder *w, const struct process *p);
/** The kernel asks; answered by the next look. */
void unwind_feeder_request(struct unwind_feeder *w,
			   const struct lb_unwind_request *request);
/** @child was forked by @parent; each may be NULL. */
void unwind_feeder_forked(struct unwind_feeder *w, const struct process *parent,
			  const struct process *child);
/** Some process has code objects to be read again (its interp_codes.nr_cut). */
void unwind_feeder_code_is_cut(struct unwind_feeder *w);
/** Sampled images mapped something new: the next look is not in vain. */
void unwind_feeder_expect(struct unwind_feeder *w);

/** Answers what was asked, for 10 ms at most but for one file. Cheap when nothing is new. */
void unwind_feeder_look(struct unwind_feeder *w);
/**
 * Behind process_table_trim() or process_table_forget_ended(): the tables of files that are
 * given back, or closed for long, go too.
 */
void unwind_feeder_forget_files(struct unwind_feeder *w);

/** Milliseconds until there is something to do, at most @max_ms. */
int unwind_feeder_wait_ms(const struct unwind_feeder *w, int max_ms);

/** No program that ran before this call still runs: what was given up may be used. */
void unwind_feeder_grace(struct unwind_feeder *w);
/** Behind each drain: gives up what is over. */
void unwind_feeder_drain(struct unwind_feeder *w);

struct unwind_feeder_totals {
	uint64_t nr_requests, nr_requests_dropped; /* too many at once */
	uint64_t nr_rows, nr_rules, nr_objects; /* held */
	uint64_t nr_processes, nr_segments; /* same */
	uint64_t nr_pages_evicted, nr_pages_refused;
	uint64_t nr_rules_refused, nr_processes_refused, nr_segments_refused;
	uint64_t nr_interps_found, nr_interps_refused;
	uint64_t nr_asked,
		nr_failed; /* files and JIT objects; that have no rows for it */
	uint64_t ask_ns; /* waited for the decoder */
	uint64_t row_bytes; /* kernel memory; the other tables are the sampler's */
};
void unwind_feeder_totals(const struct unwind_feeder *w,
			  struct unwind_feeder_totals *ret);

#endif
