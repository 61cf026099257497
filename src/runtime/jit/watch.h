/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JITs that describe their code by the GDB interface: finds files with that interface,
 * probes them, walks the lists of processes that started before the probe, and passes
 * registrations to the process table, in order with forks and execs.
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
struct shared_worker;

/* Which files get a uprobe. For other files lists are walked. */
enum jit_probing {
	JIT_PROBING_NONE,
	JIT_PROBING_TRUSTED, /* files that only root and @user may write */
	JIT_PROBING_ALL,
};

struct jit_watch_config {
	enum jit_probing probing;
	uid_t user; /* on whose behalf this runs */
	bool whole_machine; /* else only the targets of the sampler */
};

/** Pointers are borrowed and must outlive *ret. */
int jit_watch_new(const struct jit_watch_config *config, struct sampler *sampler,
		  struct process_table *processes, struct shared_worker *decoder,
		  struct shared_worker *reader, struct jit_watch **ret,
		  struct error *err);
void jit_watch_free(struct jit_watch *w);
DEFINE_CLEANUP(struct jit_watch, jit_watch_free);

/** Readable when the probe has data; -1: nothing is probed yet. */
int jit_watch_poll_fd(const struct jit_watch *w);

/** Reads the probe's events; jit_watch_apply() applies them later. */
void jit_watch_read(struct jit_watch *w);

/**
 * Applies events up to @time_ns. Call it before a task event of that time, so that a fork
 * inherits what its parent had then, and with UINT64_MAX after the last event.
 */
void jit_watch_apply(struct jit_watch *w, uint64_t time_ns);

/**
 * Reports that an image was sampled for the first time, so that the next look checks it.
 */
void jit_watch_expect(struct jit_watch *w);

/**
 * Handles a request of the kernel side for unknown code. If the process has no probe,
 * the next look walks its lists, unless the last walks found nothing.
 */
void jit_watch_request(struct jit_watch *w, const struct lb_unwind_request *request);

/** Readable when a probe was attached or removed, or could not be: call jit_watch_look(). */
int jit_watch_settled_fd(const struct jit_watch *w);

/** Searches new files and mappings, walks lists as needed. Cheap when nothing is new. */
void jit_watch_look(struct jit_watch *w);

/**
 * After process_table_forget_ended(): the next looks remove probes of files that no live
 * process has.
 */
void jit_watch_forget_files(struct jit_watch *w);

/** Sampling has ended: waits a second for a probe that is being attached or removed. */
void jit_watch_end(struct jit_watch *w);

/** At every drain: walks the lists of processes without a probe. */
void jit_watch_drain(struct jit_watch *w);

struct jit_watch_totals {
	uint64_t nr_foreign; /* in a runtime-specific format, seen by the probe */
	uint64_t nr_lost; /* registrations without any data */
	uint64_t nr_walks, nr_walks_failed; /* failed: list damaged, or always changing */
	uint64_t nr_banned; /* processes whose memory could not be read in time */
	uint64_t map_bytes; /* kernel memory */
};
void jit_watch_totals(const struct jit_watch *w, struct jit_watch_totals *ret);

#endif
