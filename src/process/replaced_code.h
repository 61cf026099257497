/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses of one image where the kernel side had unwind tables of code that the JIT
 * had freed, and when: other code may have run there.
 */
#ifndef LB_PROCESS_REPLACED_CODE_H
#define LB_PROCESS_REPLACED_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replaced_range {
	uint64_t start, end; /* run-time addresses */
	uint64_t from_ns; /* CLOCK_MONOTONIC: the code was freed */
	uint64_t until_ns; /* the kernel side dropped its table; UINT64_MAX: not yet */
};

/* Embedded in struct process. Zero-initialised: none. */
struct replaced_code {
	struct replaced_range *items; /* in order of start, disjoint; heap */
	size_t nr, cap;
};

#define REPLACED_CODE_MAX 4096 /* ranges; more are merged with their neighbours */

void replaced_code_deinit(struct replaced_code *c);

/**
 * Code at [start, end) was freed at @from_ns, and the kernel side still has its table.
 * Ranges that overlap become one, with the time of both: it covers more than is needed,
 * never less, unless memory is short.
 */
void replaced_code_add(struct replaced_code *c, uint64_t start, uint64_t end,
		       uint64_t from_ns);

/** From @now_ns on the kernel side has the present tables only. */
void replaced_code_told(struct replaced_code *c, uint64_t now_ns);

/** Drops ranges that concern no sample after @before_ns. */
void replaced_code_forget(struct replaced_code *c, uint64_t before_ns);

/** Was @ip in such a range at some time in [first_ns, last_ns]? */
bool replaced_code_has(const struct replaced_code *c, uint64_t ip, uint64_t first_ns,
		       uint64_t last_ns);

#endif
