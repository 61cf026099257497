/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds which registered JIT object owned an address while it was sampled. Registration
 * and unregistration times are exact to the nanosecond, so unlike the claims of a perf
 * map or a jitdump (struct query, below) each object has an end. Some runtimes never
 * unregister (Numba 0.56): of several objects at one address the last registered one owns
 * it.
 *
 * Times of an object that only list walks have seen are not exact. It came at some time
 * before the first walk that saw it, and between two walks another object may have run at
 * its place. So it owns only addresses sampled wholly within its time. With several
 * objects at the address, one of them seen by walks, ownership is unknown before the
 * first walk that saw it, and when the order of two arrivals is unknown; after one of
 * them has gone it is unknown at any time.
 *
 * Memory is O(queries), independent of the objects, except for what owners.same keeps.
 */
#ifndef LB_DECODE_JIT_OWNERS_H
#define LB_DECODE_JIT_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/wire.h"

/*
 * The addresses of a request, and the claims on each of them over time. Perf maps
 * and jitdumps record when code came, never when it went, and addresses are
 * reused: so each description of code is a claim, and after one pass over the
 * file every query decides between its claims.
 *
 * Memory is O(queries), independent of the file.
 */

/* Claims on queries that one file may make: bounds the time of hostile ones. */
#define QUERY_MAX_CLAIMS (64u << 20)

struct claim {
	const char
		*name; /* interned, equal by pointer; NULL: the code left this address */
	uint64_t start_ip; /* where the claimed code begins now */
	uint64_t record_off; /* for the caller: where in the file it is described */
	uint64_t after_ns, by_ns; /* it came in (after_ns, by_ns]; CLOCK_MONOTONIC */
};

struct query {
	uint64_t ip;
	uint64_t first_ns, last_ns; /* first and last sample there */
	size_t index; /* in the request */
	/* What is known so far; order of arrival does not matter. */
	struct claim before; /* the last one that came by first_ns */
	struct claim during; /* the last one that may have come in between */
	struct claim after; /* the first one that came after last_ns */
	bool has_before, has_during, has_after;
	bool during_differ; /* several names came in between */
	bool during_many; /* several claims came in between */
};

struct queries {
	struct query *items; /* by ip */
	size_t nr;
	uint64_t nr_claims;
};

/** Reads u32 nr, nr * {ip, first_ns, last_ns}. Return: 0, -EBADMSG or -ENOMEM. */
int queries_read(struct wire_reader *r, struct queries *ret);
void queries_deinit(struct queries *q);

/** The first query at or above @ip; q->nr if none. */
size_t queries_lower_bound(const struct queries *q, uint64_t ip);

/**
 * Notes the claim of code of @size_bytes at c->start_ip on every query in it.
 * Return: 0, or -E2BIG when the file makes too many claims.
 */
int queries_claim(struct queries *q, const struct claim *c, uint64_t size_bytes);

enum owner {
	OWNER_NONE, /* nobody described this address */
	OWNER_ONE,
	OWNER_SAME_NAME, /* code of that name was replaced by code of that name meanwhile */
	OWNER_AMBIGUOUS, /* the name changed between first and last sample */
};

/**
 * Who owned the address during [first_ns, last_ns]? *ret is written for
 * OWNER_ONE and OWNER_SAME_NAME (then it is one of them).
 *
 * Code whose first description came later than all samples is still taken when
 * nothing older was there: runtimes describe code when they make it, but buffers
 * delay the line, and agents that are loaded late describe what exists already.
 */
enum owner query_owner(const struct query *q, struct claim *ret);

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
