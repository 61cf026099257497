/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The addresses that a request asks about, and who laid claim to each of them
 * over time. Perf maps and jitdumps say when code came, never when it went, and
 * the same address is used again: so each description of code is a claim, and
 * after the file was read once, every query decides between its claims.
 *
 * Memory is O(queries), whatever the file holds.
 */
#ifndef LB_DECODE_JIT_QUERY_H
#define LB_DECODE_JIT_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/wire.h"

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

#endif
