/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When to answer a wake-up that a tick caused. If each answer were immediate, the work
 * would end before the next tick. It would never be sampled, its CPU time would be
 * charged to the interrupted program, and programs in step with it would be sampled too
 * often or too rarely (docs/benchmarks.md, Accounting). So only some answers are
 * prompt, such as those for a program that starts. Under a steady stream of new
 * processes, work begins at a random time.
 */
#ifndef LB_RECORD_WAKEUP_LIMIT_H
#define LB_RECORD_WAKEUP_LIMIT_H

#include <stdint.h>

/*
 * Prompt answers: this many in a row, then one per 10 ms. An answer is some 0.12 ms of
 * work, so at most 1.2 % of a CPU stays in step. If ticks are rare, most answers are
 * prompt.
 */
#define WAKEUP_LIMIT_PROMPT_BURST 100
#define WAKEUP_LIMIT_PROMPT_NS    10000000ULL
/* Longest delay: several sampling periods at rates where being in step matters. */
#define WAKEUP_LIMIT_REST_NS 10000000ULL

/* Zero-initialised: the whole burst is available. */
struct wakeup_limit {
	uint64_t spent_ns; /* prompt answers are used up until this time */
	uint64_t random;
};

/** @now_ns: CLOCK_MONOTONIC. Return: ns to wait before the work; 0: none. */
uint64_t wakeup_limit_wait_ns(struct wakeup_limit *p, uint64_t now_ns);

#endif
