/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time of a worker that tenants share: decides whose request is next. Among those who
 * wait, the one who had least is first. Nobody but root outside of containers gets more
 * than a quarter of the time, beyond a first burst: a request cannot be interrupted, so
 * others' would wait for it.
 *
 * The time that a tenant took counts four times, from when it took it, and is forgotten as
 * it passes. So a tenant with a quarter of the time owes nothing.
 */
#ifndef LB_BASE_TIME_SHARE_H
#define LB_BASE_TIME_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quota.h"

/*
 * Tenants who took something lately. Of more, those who owe least are forgotten, which is
 * next to nothing: a debt passes while others are made, so for 64 to owe something at once,
 * each has to take a third of the time that all after it take (docs/security.md). Nor does
 * it matter whether it is known that somebody waits: who owes nothing is served when it asks.
 */
#define TIME_SHARE_MAX_TENANTS 64

/* Zero-initialise; set the first two members. */
struct time_share {
	bool is_shared; /* false: the targets have no neighbours, nobody has to wait */
	uint64_t burst_ns; /* that a tenant may take at once */
	/* Requests, or tenants' rows of requests, that had to wait. */
	uint64_t nr_put_off;
	struct time_share_account {
		struct tenant tenant;
		bool is_put_off;
		uint64_t paid_ns; /* when it owes nothing any more */
		uint64_t asked_ns; /* when it last began to wait; 0: it does not */
	} accounts[TIME_SHARE_MAX_TENANTS];
	size_t nr_accounts;
};

/**
 * May @who take some time now? Who is refused, counts as waiting for a while: ask again
 * until it is its turn.
 *
 * @now_ns  as in all calls: CLOCK_MONOTONIC, never 0
 */
bool time_share_may_take(struct time_share *s, struct tenant who, uint64_t now_ns);

/** @who waits, but cannot be served now: others who had more are not first. */
void time_share_waits(struct time_share *s, struct tenant who, uint64_t now_ns);

/** Returns whether @who had all that it may have. Nobody waits by asking this. */
bool time_share_is_used_up(const struct time_share *s, struct tenant who,
			   uint64_t now_ns);

/** Returns whether any tenant had all that it may have. */
bool time_share_is_any_used_up(const struct time_share *s, uint64_t now_ns);

/** @who took the time from @begin_ns to @end_ns. */
void time_share_took(struct time_share *s, struct tenant who, uint64_t begin_ns,
		     uint64_t end_ns);

#endif
