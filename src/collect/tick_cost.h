/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures how much time one cpu-clock tick takes from the interrupted program. */
#ifndef LB_COLLECT_TICK_COST_H
#define LB_COLLECT_TICK_COST_H

#include <stddef.h>
#include <stdint.h>

/**
 * Measures the cost of a tick on the caller's CPU by spinning for 20 ms: 1 to 2 us on
 * most machines, 15 us with a hypervisor.
 *
 * Return: ns; TICK_COST_UNKNOWN_NS if it could not be measured.
 */
uint64_t tick_cost_ns(void);

/*
 * Cost on the slowest machines. It keeps the budget, but may lower the rate needlessly.
 */
#define TICK_COST_UNKNOWN_NS 15000

/**
 * Returns the median of the @most longest of @nr values, and sorts these; 0: no values.
 */
uint64_t tick_cost_longest(uint64_t *values, size_t nr, size_t most);

/**
 * Like tick_cost_ns(), with @clock in ns, whose readings may take as long as interrupts.
 * @ticking tells for how long event @fd has ticked since the call, ns: while the caller
 * had the CPU.
 */
uint64_t tick_cost_by(uint64_t (*clock)(void), uint64_t (*ticking)(int fd), int fd);

#endif
