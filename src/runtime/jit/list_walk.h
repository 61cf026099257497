/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks a worker to read the list of objects that a process has registered for debuggers.
 * The process is not stopped.
 */
#ifndef LB_RUNTIME_JIT_LIST_WALK_H
#define LB_RUNTIME_JIT_LIST_WALK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "decode/jit/list.h"
#include "worker/worker.h"

#define JIT_LIST_CALL_MS   200 /* one call of the reader; most take less than 10 */
#define JIT_LIST_WALK_MS   1000 /* all calls of one walk: no new one after that */
#define JIT_LIST_MAX_BYTES (192ull << 20) /* of new objects in one walk: same */

struct jit_list_stats {
	enum list_walk result; /* see jit/list.h; LIST_NONE unless WORKER_OK */
	uint64_t nr_new, nr_bytes; /* objects that were handed over */
	uint64_t nr_known; /* of @known and of earlier calls, listed in the last one */
	uint64_t nr_foreign; /* no ELF */
	uint64_t nr_unreadable;
	uint64_t nr_calls; /* of the reader */
};

/**
 * Walks the list once, in as many calls as its new objects need.
 *
 * @pid    the process is not stopped and may be gone: check its identity (start
 *         time) afterwards, before believing anything
 * @known  objects that need not be read again; those over LIST_MAX_ENTRIES count as
 *         not known. Where list_object.ends is 0, one that has taken its place with the
 *         same addresses and size is not told apart from it.
 * @found  called for each registration that is listed; one of an earlier call is
 *         told as LIST_KNOWN in later ones. LIST_LATER is never told. After LIST_OK,
 *         an object of @known that was not told is not listed any more.
 * @ret    may be NULL; written always
 *
 * LIST_MORE and LIST_CHANGED: walk again, but later: the target may do this forever.
 * Return: WORKER_OK; WORKER_DEADLINE: the target's memory does not answer, it must
 * never be read again; else no answer this time (objects of calls before it have
 * been handed over).
 */
enum worker_answer jit_list_walk(struct worker *reader, pid_t pid,
				 uint64_t descriptor_addr,
				 const struct list_object *known, size_t nr_known,
				 list_found_fn found, void *ctx,
				 struct jit_list_stats *ret);

#endif
