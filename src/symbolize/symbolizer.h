/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names addresses in two steps, so that each unique address is resolved once and each
 * file is opened once: symbolizer_want() records an address (cheap), then
 * symbolizer_resolve() sends the decoder all addresses of a file at once.
 */
#ifndef LB_SYMBOLIZE_SYMBOLIZER_H
#define LB_SYMBOLIZE_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/strpool.h"
#include "symbolize/resolved.h"
#include "worker/worker.h"

struct kallsyms_files;
struct kernel_code;
struct process_table;
struct symbolizer;
struct time_share;

struct symbolizer_config {
	/* borrowed; NULL: the kernel's functions have no names */
	const struct kallsyms_files *kernel_files;
	/* borrowed; NULL: no generated code has a name */
	const struct kernel_code *kernel_code;
	unsigned int deadline_ms; /* for one file; 0: 20000 */
	bool names_often; /* the decoder keeps what it has read of the last files */
	size_t max_addresses; /* 0: 4 Mi; more are MISS_LIMIT */
	bool is_shared; /* nobody but root gets more than a quarter (base/quota.h) */
	const char *debug_dir; /* "/usr/lib/debug" */
	/* Of the worker's time among users; borrowed; NULL: they do not share it. */
	struct time_share *share;
};

/* @pool, @worker, @processes are borrowed and must outlive it. @processes may be NULL. */
int symbolizer_new(const struct symbolizer_config *config, struct strpool *pool,
		   struct worker *worker, struct process_table *processes,
		   struct symbolizer **ret, struct error *err);
void symbolizer_free(struct symbolizer *s);
DEFINE_CLEANUP(struct symbolizer, symbolizer_free);

/**
 * Call it before the addresses of each stack: what they may cost together is bounded
 * (MAPS_PASSED_MAX).
 */
void symbolizer_begin_stack(struct symbolizer *s);

/**
 * Records a user address of @proc (NULL: not known) seen during [first_ns, last_ns]. An
 * address of a file is one entry for all processes; an address of JIT code is one entry
 * per process and time range. An interpreter's frame (LB_FRAME_TAG) is not an address:
 * @kind and the times are ignored.
 *
 * Return: an id for symbolizer_get(). Never fails: unknown addresses get a miss.
 */
uint32_t symbolizer_want(struct symbolizer *s, const struct process *proc, uint64_t ip,
			 enum frame_kind kind, uint64_t first_ns, uint64_t last_ns);
uint32_t symbolizer_want_kernel(struct symbolizer *s, uint64_t ip, enum frame_kind kind,
				uint64_t first_ns, uint64_t last_ns);

/**
 * Same, but only if the name is already final: code of files that are open, code objects
 * of an interpreter that are known, the kernel's own functions. A JIT may describe its
 * code later, even at its exit. Return: an id, or that of no address, whose code may be
 * requested in vain.
 */
uint32_t symbolizer_want_ahead(struct symbolizer *s, const struct process *proc,
			       uint64_t ip, enum frame_kind kind, uint64_t first_ns,
			       uint64_t last_ns);
uint32_t symbolizer_want_kernel_ahead(struct symbolizer *s, uint64_t ip,
				      enum frame_kind kind, uint64_t first_ns,
				      uint64_t last_ns);

/**
 * Resolves all addresses recorded since the last call, and waits. Return: 0 or -ENOMEM.
 */
int symbolizer_resolve(struct symbolizer *s, struct error *err);

/**
 * Does one short step of symbolizer_resolve(), usually sending a request or taking a
 * reply. Afterwards worker_waits() of the symbolizer's worker tells what it waits for.
 * Never blocks. Call symbolizer_want() only after the last step. Return: 1: call again;
 * 0: all resolved; -ENOMEM: the same, with losses.
 */
int symbolizer_resolve_step(struct symbolizer *s, struct error *err);

/**
 * From now on the decoder is asked no more, and its answer is not waited for: addresses
 * that only it could name are MISS_DECODER_GAVE_UP.
 */
void symbolizer_hurry(struct symbolizer *s);

/**
 * Returns the answer, borrowed until symbolizer_free(). Call it after
 * symbolizer_resolve().
 */
const struct resolved *symbolizer_get(const struct symbolizer *s, uint32_t id);

/**
 * Also requests the code of the function that contains this address. Meant for the
 * hottest addresses, before symbolizer_resolve(). Does nothing if the address is
 * already resolved or its source has no code. Code of a JIT is always returned.
 */
void symbolizer_want_code(struct symbolizer *s, uint32_t id);

/** Returns all codes so far, unsorted; borrowed until the next symbolizer_resolve(). */
const struct resolved_code *symbolizer_codes(const struct symbolizer *s, size_t *ret_nr);

/**
 * For report and annotate: names @nr vaddrs with a debug file from debuginfod or the
 * user. Writes @ret[i] for each. Return: 0 or a negative errno.
 */
int symbolizer_resolve_vaddrs(struct symbolizer *s, int fd, const uint64_t *vaddrs,
			      size_t nr, struct resolved *ret);

struct symbolizer_stats {
	uint64_t nr_addresses, nr_files, nr_over_limit, nr_bad_jit_records;
	/* kernel addresses were recorded, but kallsyms is hidden */
	bool kernel_is_hidden;
};
void symbolizer_stats(const struct symbolizer *s, struct symbolizer_stats *ret);
/** quota_each_refused() of its addresses, their inlined frames, and their code. */
void symbolizer_each_refused(struct symbolizer *s, quota_refused_fn fn, void *ctx);

#endif
