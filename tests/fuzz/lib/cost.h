/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an input may cost: a bound that is linear in its bytes. An input above the bound
 * fails the target, as a crash does.
 *
 * The cost of an input is a count, so that it is the same at each run and on each machine:
 * one for each edge that lineburn's code passes, and one for each 16 bytes that a function
 * of libc reads, copies or clears for it. The target's own code does not count, nor that
 * of other libraries.
 *
 * Each target defines its bound. `fixed` is for what a target does for any input (it makes
 * tables, asks 256 addresses), and for loops with a limit of their own. The bounds are some
 * two to four times what the dearest input of the corpus costs.
 */
#ifndef LB_TESTS_FUZZ_COST_H
#define LB_TESTS_FUZZ_COST_H

#include <stdint.h>

struct cost_bound {
	uint64_t fixed, per_byte;
};

extern const struct cost_bound cost_bound;

#endif
