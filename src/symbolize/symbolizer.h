/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names addresses. Two steps, so that each unique address is resolved once and
 * each file is opened once: symbolizer_want() notes an address (cheap), then
 * symbolizer_resolve() asks the decoder once per file for all of its addresses.
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

struct process_table;
struct symbolizer;

struct symbolizer_config {
	const char *kallsyms_path; /* "/proc/kallsyms"; tests give a fixture */
	unsigned int deadline_ms; /* for one file; 0: 20000 */
	size_t max_addresses; /* 0: 4 Mi; more are MISS_LIMIT */
	const char *debug_dir; /* "/usr/lib/debug" */
};

/* @pool, @worker, @processes are borrowed and must outlive it. @processes may be NULL. */
int symbolizer_new(const struct symbolizer_config *config, struct strpool *pool,
		   struct worker *worker, struct process_table *processes,
		   struct symbolizer **ret, struct error *err);
void symbolizer_free(struct symbolizer *s);
DEFINE_CLEANUP(struct symbolizer, symbolizer_free);

/**
 * Notes a user address of @proc (NULL: not known) seen during [first_ns, last_ns].
 * The same address in the same file, whatever the process, is one entry; code of
 * a JIT is one entry per process and time range. A frame of an interpreter (LB_FRAME_TAG) is no
 * address: it is what it is, whatever @kind and the times.
 *
 * Return: an id for symbolizer_get(). Never fails: knowing nothing is an answer.
 */
uint32_t symbolizer_want(struct symbolizer *s, const struct process *proc, uint64_t ip,
			 enum frame_kind kind, uint64_t first_ns, uint64_t last_ns);
uint32_t symbolizer_want_kernel(struct symbolizer *s, uint64_t ip, enum frame_kind kind);

/** Resolves all that was wanted since the last call. Return: 0 or -ENOMEM. */
int symbolizer_resolve(struct symbolizer *s, struct error *err);

/**
 * A part of symbolizer_resolve(): one file, or what is one of its kind. Nothing may be
 * wanted in between. Return: 1: call it again; 0: all is resolved; or -ENOMEM, then too.
 */
int symbolizer_resolve_step(struct symbolizer *s, struct error *err);

/** Borrowed, valid until symbolizer_free(). Only after symbolizer_resolve(). */
const struct resolved *symbolizer_get(const struct symbolizer *s, uint32_t id);

/**
 * Asks for the code of the function that holds this address, too: for the hottest
 * ones, before symbolizer_resolve(). Nothing happens when the address was resolved
 * before, or when nobody can tell. Code of a JIT comes without being asked for.
 */
void symbolizer_want_code(struct symbolizer *s, uint32_t id);

/** All of them so far, in no order; borrowed until the next symbolizer_resolve(). */
const struct resolved_code *symbolizer_codes(const struct symbolizer *s, size_t *ret_nr);

/**
 * For report and annotate: names @nr vaddrs from a debug file that debuginfod or
 * the user gave. @ret[i] is written for each. Return: 0 or a negative errno.
 */
int symbolizer_resolve_vaddrs(struct symbolizer *s, int fd, const uint64_t *vaddrs,
			      size_t nr, struct resolved *ret);

struct symbolizer_stats {
	uint64_t nr_addresses, nr_files, nr_over_limit, nr_bad_jit_records;
	bool kernel_is_hidden; /* it was asked for, and there are no names of it */
};
void symbolizer_stats(const struct symbolizer *s, struct symbolizer_stats *ret);

#endif
