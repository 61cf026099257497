/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of the objects that a JIT registered over time had an address while it was
 * sampled. Registration and unregistration are known to the nanosecond, so unlike a
 * perf map's or a jitdump's claims (query.h) each object has an end. Some runtimes
 * never unregister (Numba 0.56): of several objects at one address the one that was
 * registered last has it.
 *
 * Of an object that only walks of the list have met they are not: it came at some moment
 * before the first of them, and between two that met it another one may have had its place
 * and run. So it has only what was sampled wholly within its time. Where several have the
 * address, one of them by walks, nothing is certain before it was met, nor when it may
 * have come before or after another one; and once one of them has gone nothing is,
 * whatever the times are.
 *
 * Memory is O(queries), whatever the objects say, but for what owners.same keeps.
 */
#ifndef LB_DECODE_JIT_OWNERS_H
#define LB_DECODE_JIT_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/jit/query.h"

#define OWNERS_NONE       UINT32_MAX
#define OWNERS_MAX_CLAIMS (16u << 20) /* of objects on queries: bounds hostile ones */

struct owner_time {
	uint64_t from_ns, until_ns; /* [from, until); from 0: since before we looked */
	uint64_t seen_ns; /* it came in [from, seen]; 0: at from */
};

/* What is known about one query; order of claims matters only between equal times. */
struct address_history {
	uint32_t at_first; /* object that had it when the first sample was taken */
	struct owner_time at_first_time;
	uint32_t
		arrived; /* the last object that came after that and by the last sample */
	uint64_t arrived_from_ns;
	bool many_arrived;
	/* Of all objects that had it at any time, when some were met by walks: */
	uint32_t any; /* the first that was claimed */
	bool differ; /* they have not the same code */
	bool has_walked, has_gone;
	bool is_early; /* sampled before one of them was met */
	bool is_unordered; /* which of two came last is not known */
};

/* Is what both objects have at @ip the same code? Then it does not matter which one ran. */
typedef bool (*owners_same_fn)(void *ctx, uint32_t a, uint32_t b, uint64_t ip);

struct owners {
	const struct queries *queries; /* borrowed */
	struct address_history *items; /* one per query */
	owners_same_fn same; /* NULL: no object was met by walks only */
	void *ctx;
	uint64_t nr_claims;
};

/** Return: 0 or -ENOMEM. */
int owners_init(struct owners *o, const struct queries *queries);
void owners_deinit(struct owners *o);

/**
 * @object  its number; of two with the same times the one claimed earlier wins: they
 *          are of one walk of the list, which has the newest first
 * @time    when it was registered
 * Return: 0, or -E2BIG over OWNERS_MAX_CLAIMS.
 */
int owners_claim(struct owners *o, uint32_t object, uint64_t start_ip, uint64_t end_ip,
		 const struct owner_time *time);

enum ownership {
	OWNERSHIP_NONE, /* no object had the address */
	OWNERSHIP_ONE, /* @ret_object */
	OWNERSHIP_TWO, /* @ret_object, then @ret_next: ambiguous unless both are the same */
	OWNERSHIP_MANY, /* ambiguous */
};

enum ownership owners_of(const struct owners *o, size_t query, uint32_t *ret_object,
			 uint32_t *ret_next);

#endif
