/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When to answer what a tick woke us for. Were it done at once each time, the work would
 * be over before the next tick: never sampled, its CPU time would be charged to whom it
 * interrupts, and what runs in step with it would be sampled too often or too seldom
 * (docs/benchmarks.md, Accounting). So only some answers are prompt, as for a program
 * that starts; where new processes come without end, work begins at a random time.
 */
#ifndef LB_RECORD_WAKEUP_LIMIT_H
#define LB_RECORD_WAKEUP_LIMIT_H

#include <stdint.h>

/* So many in a row, and one each 10 ms. One is some 0.12 ms of work: no more than 1.2 % of a
 * CPU can be in step for long. Where ticks are few, most answers are prompt. */
#define WAKEUP_LIMIT_PROMPT_BURST 100
#define WAKEUP_LIMIT_PROMPT_NS    10000000ULL
/* Rests are shorter: several periods of the rates at which it matters. */
#define WAKEUP_LIMIT_REST_NS 10000000ULL

/* Zeroed: the burst is there. */
struct wakeup_limit {
	uint64_t spent_ns; /* prompt answers are used up to that time */
	uint64_t random;
};

/** @now_ns: CLOCK_MONOTONIC. Return: ns to wait before the work; 0: none. */
uint64_t wakeup_limit_wait_ns(struct wakeup_limit *p, uint64_t now_ns);

#endif
