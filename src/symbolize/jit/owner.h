/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: which of several functions at one address a sample met. Code at an
 * address is told in order of its appearance; each appearance happened within a
 * span of time (exactly known for jitdumps, between two looks for perf maps).
 */
#ifndef LB_SYMBOLIZE_JIT_OWNER_H
#define LB_SYMBOLIZE_JIT_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wire.h"

/* One address asked about, with the interval of its samples. */
struct jit_query {
	uint64_t ip, first_ns, last_ns;
	size_t index; /* in the request */
	/* State: the function chosen so far. */
	bool found, ambiguous;
	uint64_t owner; /* the caller's token of the function: its place in the file */
};

struct jit_queries {
	struct jit_query *items; /* by ip */
	size_t nr;
};

/** Reads u32 nr, nr * {u64 ip, u64 first_ns, u64 last_ns}. Return: 0, -EBADMSG, -ENOMEM. */
int jit_queries_read(struct wire_reader *r, struct jit_queries *ret);
void jit_queries_deinit(struct jit_queries *q);

/** Index of the first query with ip >= @start. */
size_t jit_queries_from(const struct jit_queries *q, uint64_t start);

/* When a function appeared: after not_before_ns, at by_ns at the latest. */
struct appearance {
	uint64_t not_before_ns, by_ns;
};

enum owner_offer {
	OWNER_TAKEN, /* this function is the owner now */
	OWNER_REFUSED, /* it came after the samples */
	OWNER_IN_DOUBT, /* it came while they were taken: ambiguous unless it is the same */
};

/**
 * Offers a later function at this address to @q.
 * @accept_late  with no earlier owner, take one that appeared after the samples:
 *               runtimes write a perf map's line some time after the code runs
 */
enum owner_offer owner_offer(const struct jit_query *q, const struct appearance *when,
			     bool accept_late);

#endif
