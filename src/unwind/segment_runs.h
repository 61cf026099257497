/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs of segments in the kernel's array (lineburn_unwind.h), deduplicated: processes
 * forked by one server share a run.
 */
#ifndef LB_UNWIND_SEGMENT_RUNS_H
#define LB_UNWIND_SEGMENT_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "lineburn_unwind.h"
#include "unwind/spans.h"

struct segment_run {
	uint64_t hash;
	uint64_t generation; /* never 0, never reused */
	uint32_t stamp; /* its index; the segments follow */
	uint32_t nr;
	uint32_t nr_refs; /* 0: this entry is free */
};

struct segment_runs {
	struct lb_unwind_segment *segments; /* LB_UNWIND_MAX_SEGMENTS of them, mapped */
	struct spans spans;
	struct segment_run *items; /* heap */
	size_t nr, cap;
	uint32_t *free; /* numbers of free entries; heap */
	size_t nr_free, cap_free;
	struct hashmap index;
	uint64_t last_generation;
	uint64_t nr_segments; /* held, stamps included */
};

/** @fd  the kernel's array; borrowed. Return: 0 or -errno. */
int segment_runs_init(struct segment_runs *r, int fd);
void segment_runs_deinit(struct segment_runs *r);

/**
 * Takes a reference to the run equal to @segments; creates it if needed.
 * Return: 0 with its number in @ret, or -ENOSPC.
 */
int segment_runs_get(struct segment_runs *r, const struct lb_unwind_segment *segments,
		     size_t nr, uint32_t *ret);
void segment_runs_put(struct segment_runs *r, uint32_t run);
void segment_runs_grace(struct segment_runs *r);

#endif
