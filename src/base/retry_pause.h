/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When to ask again for what came too late: after pauses that double. So whatever is always
 * late costs little, and what was late once is missing for a while only.
 */
#ifndef LB_BASE_RETRY_PAUSE_H
#define LB_BASE_RETRY_PAUSE_H

#include <stdint.h>

#include "base/clock.h"

/* Of facts and unwind rows of a file: the first pause, and the longest (43 minutes). */
#define RETRY_FIRST_NS (10 * CLOCK_SECOND_NS)
#define RETRY_MAX_NS   (RETRY_FIRST_NS << 8)

/* Zero-initialised: it was never late. Times are CLOCK_MONOTONIC. */
struct retry_pause {
	uint64_t ns; /* the last pause */
	uint64_t until_ns;
};

/** It was late: begins a pause, twice as long as the last one, but at least @first_ns. */
static inline void retry_pause_begin(struct retry_pause *p, uint64_t first_ns,
				     uint64_t max_ns, uint64_t now_ns)
{
	uint64_t next_ns = p->ns < max_ns / 2 ? 2 * p->ns : max_ns;

	p->ns = next_ns > first_ns ? next_ns : first_ns;
	p->until_ns = now_ns + p->ns;
}

/**
 * It was not late. The next pause is a short one again, but not for what is late now and
 * then: if that went well for as long as the last pause took.
 */
static inline void retry_pause_forget(struct retry_pause *p, uint64_t now_ns)
{
	if (now_ns >= p->until_ns + p->ns)
		*p = (struct retry_pause){0};
}

#endif
