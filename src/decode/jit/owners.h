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
 * The addresses of a request, and the claims on each of them over time. Perf maps and
 * jitdumps record when code came, never when it went, and addresses are reused. So each
 * description of code is a claim, and after one pass over the file the owner of each
 * address is chosen among its claims.
 *
 * Memory is O(queries), independent of the file.
 */

/* Maximum number of claims of one file: limits the time for hostile files. */
#define QUERY_MAX_CLAIMS (64u << 20)

struct claim {
	/* Interned, compared by pointer; NULL: the code left this address. */
	const char *name;
	uint64_t start_ip; /* where the claimed code begins now */
	uint64_t record_off; /* for the caller: where in the file it is described */
	uint64_t after_ns, by_ns; /* it came in (after_ns, by_ns]; CLOCK_MONOTONIC */
};

struct query {
	uint64_t ip;
	uint64_t first_ns, last_ns; /* first and last sample there */
	size_t index; /* in the request */
	/* Claims so far; the order of the calls does not matter. */
	struct claim before; /* the last claim that came by first_ns */
	struct claim during; /* the last claim that may have come in between */
	struct claim after; /* the first claim that came after last_ns */
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
 * Adds a claim to all queries in [c->start_ip, c->start_ip + @size_bytes).
 * Return: 0, or -E2BIG when the file makes too many claims.
 */
int queries_claim(struct queries *q, const struct claim *c, uint64_t size_bytes);

enum owner {
	OWNER_NONE, /* no claim describes this address */
	OWNER_ONE,
	OWNER_SAME_NAME, /* the code was replaced by code of the same name */
	OWNER_AMBIGUOUS, /* the name changed between first and last sample */
};

/**
 * Finds the owner of the address during [first_ns, last_ns]. *ret is written for
 * OWNER_ONE and OWNER_SAME_NAME (then it is one of them).
 *
 * Code that was first described after all samples is accepted if nothing older was
 * there: buffers delay what a runtime writes, and agents that are loaded late describe
 * existing code.
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
	uint32_t at_first; /* object that had the address at the first sample */
	struct owner_time at_first_time;
	uint32_t arrived; /* last object that came between first and last sample */
	uint64_t arrived_from_ns;
	bool many_arrived;
	/* About all objects that ever had it, if walks have seen some of them: */
	uint32_t any; /* first object */
	bool differ; /* their code differs */
	bool has_walked, has_gone;
	bool is_early; /* sampled before a walk saw one of them */
	bool is_unordered; /* the order of two arrivals is not known */
};

/* Do both objects have the same code at @ip? Then it does not matter which one ran. */
typedef bool (*owners_same_fn)(void *ctx, uint32_t a, uint32_t b, uint64_t ip);

struct owners {
	const struct queries *queries; /* borrowed */
	struct address_history *items; /* one per query */
	owners_same_fn same; /* NULL: no object was seen by walks only */
	void *ctx;
	uint64_t nr_claims;
};

/** Return: 0 or -ENOMEM. */
int owners_init(struct owners *o, const struct queries *queries);
void owners_deinit(struct owners *o);

/**
 * Adds an object's claim to all queries in [@start_ip, @end_ip).
 *
 * @object  number of the object. Of two with the same times the one claimed earlier
 *          wins: one walk saw both, and the list has the newest first
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
