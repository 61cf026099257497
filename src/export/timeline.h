/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the stacks of a group ran, one after the other, for viewers with a time axis. A
 * profile tells in which bucket of time a stack had its samples (profile/series.h), not
 * in which order. So the stacks of a bucket begin with it, each for its CPU time, or for
 * less if several threads ran at once. Without times all stacks are in one bucket.
 */
#ifndef LB_EXPORT_TIMELINE_H
#define LB_EXPORT_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "export/stack_tree.h"

struct timeline_sample {
	uint64_t begin_ns; /* from the beginning of the recording; ascending */
	uint64_t value; /* as of export_value(); 0 with PROFILE_NONE */
	uint32_t node; /* of the tree; PROFILE_NONE: nothing runs from here on */
};

/* Zero-initialised: empty. */
struct timeline {
	struct timeline_sample *samples; /* heap; the last one has no node */
	size_t nr, cap;
};

/** Return: 0 with the timeline of a group, or -ENOMEM. The values add up to the group's. */
int timeline_new(const struct export_stacks *s, const struct stack_tree *t,
		 const struct stack_group *group, struct timeline *ret);
void timeline_deinit(struct timeline *t);

/** Returns when the last of all timelines ends. */
uint64_t timeline_end_ns(const struct export_stacks *s, const struct stack_tree *t);

#endif
