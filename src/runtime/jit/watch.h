/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JITs that describe their code by the GDB interface: finds the files that have
 * it, probes them, walks the lists of processes that were there before, and tells
 * the process table what was registered, in order with its forks and execs.
 */
#ifndef LB_RUNTIME_JIT_WATCH_H
#define LB_RUNTIME_JIT_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

struct jit_watch;
struct lb_unwind_request;
struct process_table;
struct sampler;
struct worker;

/* Which files get a uprobe. Of processes that map others, lists are walked. */
enum jit_probing {
	JIT_PROBING_NONE,
	JIT_PROBING_TRUSTED, /* that only root and @user may write */
	JIT_PROBING_ALL,
};

struct jit_watch_config {
	enum jit_probing probing;
	uid_t user; /* for whom this runs */
	bool whole_machine; /* else only the targets of the sampler */
};

/** All are borrowed and must outlive it. */
int jit_watch_new(const struct jit_watch_config *config, struct sampler *sampler,
		  struct process_table *processes, struct worker *decoder,
		  struct worker *reader, struct jit_watch **ret, struct error *err);
void jit_watch_free(struct jit_watch *w);
DEFINE_CLEANUP(struct jit_watch, jit_watch_free);

/** Readable when the probe has something to tell; -1: nothing is probed yet. */
int jit_watch_poll_fd(const struct jit_watch *w);

/** Takes what the probe sent; it is applied later. */
void jit_watch_read(struct jit_watch *w);

/**
 * Applies what happened up to @time_ns. Called before a task event of that time, so
 * that a fork inherits what its parent had then, and with UINT64_MAX after the last.
 */
void jit_watch_apply(struct jit_watch *w, uint64_t time_ns);

/** An image was sampled for the first time: the next look is not in vain. */
void jit_watch_expect(struct jit_watch *w);

/**
 * The kernel side met code that is not known. Where only its JIT's list tells of code, the next
 * look walks that, unless the last ones brought nothing.
 */
void jit_watch_request(struct jit_watch *w, const struct lb_unwind_request *request);

/** Searches new files and mappings, walks lists that want it. Cheap when nothing is new. */
void jit_watch_look(struct jit_watch *w);

/**
 * Behind process_table_forget_ended(): what no process has any more that is not over is not
 * probed any more.
 */
void jit_watch_forget_files(struct jit_watch *w);

/** At every drain: walks the lists where no probe tells. */
void jit_watch_drain(struct jit_watch *w);

struct jit_watch_totals {
	uint64_t nr_foreign; /* seen by the probe in a format of the runtime's own */
	uint64_t nr_lost; /* registrations of which nothing is known */
	uint64_t nr_walks, nr_walks_failed; /* list damaged, or always changing */
	uint64_t nr_banned; /* processes whose memory did not answer in time */
	uint64_t map_bytes; /* kernel memory */
};
void jit_watch_totals(const struct jit_watch *w, struct jit_watch_totals *ret);

#endif
