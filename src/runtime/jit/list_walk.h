/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a worker read the list of objects that a process registered for debuggers. Does
 * not stop the process.
 */
#ifndef LB_RUNTIME_JIT_LIST_WALK_H
#define LB_RUNTIME_JIT_LIST_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "decode/jit/list.h"
#include "worker/worker.h"

#define JIT_LIST_CALL_MS 200 /* one call of the reader; most take less than 10 */
/* of new objects in one walk: no new call after that */
#define JIT_LIST_MAX_BYTES (192ull << 20)

struct jit_list_stats {
	enum list_walk result; /* see jit/list.h; LIST_NONE unless WORKER_OK */
	uint64_t nr_new, nr_bytes; /* objects passed to @found */
	/* objects of @known and earlier calls that the last call saw listed */
	uint64_t nr_known;
	uint64_t nr_foreign; /* not ELF */
	uint64_t nr_unreadable;
	uint64_t nr_calls; /* of the reader */
};

/**
 * Is the process still the one whose list is walked? Asked after each call of the reader, whose
 * answer is dropped if not: the pid may have been used again.
 */
typedef bool (*list_is_its_fn)(void *ctx);

/**
 * Walks the list once, in as many calls as its new objects need.
 *
 * @pid    not stopped, may exit: see @is_its. Check it also before using the result
 * @end_ns CLOCK_MONOTONIC: one call, and no new call after this time
 * @known  objects not to read again; those beyond LIST_MAX_ENTRIES count as unknown. If
 *         list_object.ends is 0, a new object with the same addresses and size is taken
 *         for the old one.
 * @is_its NULL: it is not asked, as the process is a child
 * @found  called for each listed registration; in later calls it gets those of earlier
 *         calls as LIST_KNOWN. Never called with LIST_LATER. After LIST_OK, an object
 *         of @known for which it was not called is not listed any more.
 * @ret    may be NULL; always written
 *
 * LIST_MORE and LIST_CHANGED: walk again, but with a pause, as the target may cause
 * this forever. Return: WORKER_OK; WORKER_DEADLINE: reading the target's memory hangs,
 * never read it again; otherwise no answer this time (objects of earlier calls were
 * passed to @found).
 */
enum worker_answer jit_list_walk(struct worker *reader, pid_t pid,
				 uint64_t descriptor_addr, uint64_t end_ns,
				 const struct list_object *known, size_t nr_known,
				 list_is_its_fn is_its, list_found_fn found, void *ctx,
				 struct jit_list_stats *ret);

#endif
