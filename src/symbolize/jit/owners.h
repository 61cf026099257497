/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of the objects that a JIT registered over time had an address while it was
 * sampled. Registration and unregistration are known to the nanosecond, so unlike a
 * perf map's or a jitdump's claims (query.h) each object has an end. Some runtimes
 * never unregister (Numba 0.56): of several objects at one address the one that was
 * registered last has it.
 *
 * Memory is O(queries), whatever the objects say.
 */
#ifndef LB_SYMBOLIZE_JIT_OWNERS_H
#define LB_SYMBOLIZE_JIT_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/jit/query.h"

#define OWNERS_NONE       UINT32_MAX
#define OWNERS_MAX_CLAIMS (16u << 20) /* of objects on queries: bounds hostile ones */

/* What is known about one query; order of claims matters only between equal times. */
struct tenancy {
	uint32_t at_first; /* object that had it when the first sample was taken */
	uint64_t at_first_from_ns, at_first_until_ns;
	uint32_t
		arrived; /* the last object that came after that and by the last sample */
	uint64_t arrived_from_ns;
	bool many_arrived;
};

struct owners {
	const struct queries *queries; /* borrowed */
	struct tenancy *items; /* one per query */
	uint64_t nr_claims;
};

/** Return: 0 or -ENOMEM. */
int owners_init(struct owners *o, const struct queries *queries);
void owners_deinit(struct owners *o);

/**
 * @object  its number; of two with the same @from_ns the one claimed earlier wins:
 *          they are of one walk of the list, which has the newest first
 * @from_ns, @until_ns  registered in [from, until); from 0: since before we looked
 * Return: 0, or -E2BIG over OWNERS_MAX_CLAIMS.
 */
int owners_claim(struct owners *o, uint32_t object, uint64_t start_ip, uint64_t end_ip,
		 uint64_t from_ns, uint64_t until_ns);

enum ownership {
	OWNERSHIP_NONE, /* no object had the address */
	OWNERSHIP_ONE, /* @ret_object */
	OWNERSHIP_TWO, /* @ret_object, then @ret_next: ambiguous unless both are the same */
	OWNERSHIP_MANY, /* ambiguous */
};

enum ownership owners_of(const struct owners *o, size_t query, uint32_t *ret_object,
			 uint32_t *ret_next);

#endif
