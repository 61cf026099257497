/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables of code that JITs registered (process/jit_code.h): the texts of each
 * object are decoded once for all images that share it by fork.
 */
#ifndef LB_UNWIND_TEXTS_H
#define LB_UNWIND_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/quota.h"

struct jit_store;
struct process;
struct shared_worker;
struct unwind_tables;
struct unwind_texts;
struct unwind_totals;

/** All arguments are borrowed and must outlive *ret. */
int unwind_texts_new(struct unwind_tables *tables, const struct jit_store *store,
		     struct shared_worker *decoder, struct unwind_totals *totals,
		     struct unwind_texts **ret, struct error *err);
void unwind_texts_free(struct unwind_texts *t);
DEFINE_CLEANUP(struct unwind_texts, unwind_texts_free);

/** Nobody but root gets more than a quarter of the texts. Call it first. */
void unwind_texts_share(struct unwind_texts *t);
/** quota_each_refused() of the texts. */
void unwind_texts_each_refused(struct unwind_texts *t, quota_refused_fn fn, void *ctx);

struct unwind_text {
	uint64_t start, end; /* run-time addresses */
	uint32_t object; /* in the tables; addresses: distance from start */
	uint32_t body; /* number of its JIT object's body */
};

/* Texts of one image. Zero-initialised: none. */
struct text_set {
	struct unwind_text *items; /* in order of start, disjoint; heap */
	size_t nr, cap;
	uint32_t *bodies; /* referenced; heap */
	size_t nr_bodies, cap_bodies;
};

/**
 * Gets the texts that @p has registered now. Asks the decoder for new ones; an answer
 * that does not come at once (worker/shared.h) has them in a later call.
 *
 * @deadline_ns  CLOCK_MONOTONIC: starts no call of the decoder after it
 * @ret          zeroed; free it with unwind_texts_put() when the kernel's tables do not
 *       refer to it any more
 * Return: 0, -EAGAIN when some are left for the next call, or -ENOMEM; @ret is valid in
 * any case.
 */
int unwind_texts_get(struct unwind_texts *t, const struct process *p,
		     uint64_t deadline_ns, struct text_set *ret);
void unwind_texts_put(struct unwind_texts *t, struct text_set *set);

/**
 * Adds the texts of @old that are not code of @p any more to its replaced_code.
 *
 * @old      in the kernel's tables since @told_ns
 * @present  from unwind_texts_get(); NULL: not known, so code that was freed without an
 *           event is not found
 */
void unwind_texts_note_gone(struct unwind_texts *t, struct process *p,
			    const struct text_set *old, const struct text_set *present,
			    uint64_t told_ns);

/**
 * Requests to decode the text at @ip again, because the kernel has no rows there.
 * Return: whether @ip is in @set.
 */
bool unwind_texts_want(struct unwind_texts *t, const struct text_set *set, uint64_t ip);

#endif
