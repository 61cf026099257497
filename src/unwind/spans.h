/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which parts of an array are in use. What is given back rests first: whoever may still
 * look at it has to be gone before it is used again.
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
	struct span *resting; /* given back; heap */
	size_t nr_free_spans, cap_free;
	size_t nr_resting_spans, cap_resting;
	size_t nr_taken; /* spans, resting ones included */
	uint64_t nr_free, nr_resting; /* items */
};

#define SPANS_NONE UINT32_MAX

/** All of [0, @nr) is free. Return: 0 or -ENOMEM. */
int spans_init(struct spans *s, uint32_t nr);
void spans_deinit(struct spans *s);

/** Return: where @nr (1 or more) items in a row are, the first that fit; SPANS_NONE: no room. */
uint32_t spans_take(struct spans *s, uint32_t nr);
/** Gives back all that spans_take(@nr) gave; cannot fail. */
void spans_rest(struct spans *s, uint32_t start, uint32_t nr);
/** What rests may be used again. */
void spans_wake(struct spans *s);

#endif
