/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures what one tick of a cpu-clock costs the program that it interrupts. */
#ifndef LB_COLLECT_TICK_COST_H
#define LB_COLLECT_TICK_COST_H

#include <stddef.h>
#include <stdint.h>

/**
 * Measures it on the caller's CPU, in 20 ms of spinning: 1 to 2 us on most machines,
 * 15 us where a hypervisor has a part in it.
 *
 * Return: ns; TICK_COST_UNKNOWN_NS when it could not be measured.
 */
uint64_t tick_cost_ns(void);

/* As the dearest machines: a budget is kept with it, if with a lower rate than could be. */
#define TICK_COST_UNKNOWN_NS 15000

/** The middle one of @nr values, which are sorted; 0 if there is none. */
uint64_t tick_cost_median(uint64_t *values, size_t nr);

/** The same of the @most longest. */
uint64_t tick_cost_longest(uint64_t *values, size_t nr, size_t most);

/** tick_cost_ns() by @clock, ns: readings of it may take as long as interrupts do. */
uint64_t tick_cost_by(uint64_t (*clock)(void));

#endif
