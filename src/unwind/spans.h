/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocates parts of an array. Freed parts rest first: all who may still read them must
 * have finished before reuse.
 */
#ifndef LB_UNWIND_SPANS_H
#define LB_UNWIND_SPANS_H

#include <stddef.h>
#include <stdint.h>

struct span {
	uint32_t start, nr;
};

struct spans {
	struct span *free; /* in order of start, none touches another; heap */
	struct span *resting; /* freed, not yet reusable; heap */
	size_t nr_free_spans, cap_free;
	size_t nr_resting_spans, cap_resting;
	size_t nr_taken; /* spans, including resting ones */
	uint64_t nr_free; /* items */
};

#define SPANS_NONE UINT32_MAX

/** Makes all of [0, @nr) free. Return: 0 or -ENOMEM. */
int spans_init(struct spans *s, uint32_t nr);
void spans_deinit(struct spans *s);

/**
 * Allocates @nr (1 or more) consecutive items, first fit. Return: their start;
 * SPANS_NONE: no room.
 */
uint32_t spans_take(struct spans *s, uint32_t nr);
/** Frees all items of a spans_take(@nr); cannot fail. */
void spans_rest(struct spans *s, uint32_t start, uint32_t nr);
/** Makes resting items free. */
void spans_wake(struct spans *s);

#endif
