// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/segment_runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "collect/kmap.h"

#define SEGMENTS_BYTES (LB_UNWIND_MAX_SEGMENTS * sizeof(struct lb_unwind_segment))

int segment_runs_init(struct segment_runs *r, int fd)
{
	*r = (struct segment_runs){.segments = kmap_map(fd, SEGMENTS_BYTES)};
	if (!r->segments)
		return -errno;
	return spans_init(&r->spans, LB_UNWIND_MAX_SEGMENTS);
}

void segment_runs_deinit(struct segment_runs *r)
{
	kmap_unmap(r->segments, SEGMENTS_BYTES);
	spans_deinit(&r->spans);
	hashmap_deinit(&r->index);
	free(r->items);
	free(r->free);
	*r = (struct segment_runs){0};
}

struct wanted_run {
	const struct lb_unwind_segment *segments;
	size_t nr;
};

static bool run_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct segment_runs *r = ctx;
	const struct segment_run *run = &r->items[item];
	const struct wanted_run *wanted = key;

	return run->nr == wanted->nr &&
	       (!run->nr || !memcmp(r->segments + run->stamp + 1, wanted->segments,
				    run->nr * sizeof(*r->segments)));
}

static int take_entry(struct segment_runs *r, uint32_t *ret)
{
	if (r->nr_free) {
		*ret = r->free[--r->nr_free];
		return 0;
	}
	/* First reserve room to free every run: then freeing cannot fail. */
	if (vec_grow(&r->free, &r->cap_free, r->nr + 1, sizeof(*r->free), 0) ||
	    vec_grow(&r->items, &r->cap, r->nr + 1, sizeof(*r->items), 0))
		return -ENOSPC;
	*ret = (uint32_t)r->nr++;
	return 0;
}

/*
 * Writes the stamp last: a process forked with a reference to the previous run must not
 * find half of this one.
 */
static void write_run(struct segment_runs *r, const struct segment_run *run,
		      const struct lb_unwind_segment *segments)
{
	struct lb_unwind_segment *stamp = r->segments + run->stamp;

	__atomic_store_n(&stamp->start, 0, __ATOMIC_RELEASE);
	stamp->end = stamp->bias = 0;
	stamp->first_page = stamp->flags = 0;
	if (run->nr)
		memcpy(stamp + 1, segments, run->nr * sizeof(*segments));
	__atomic_store_n(&stamp->start, run->generation, __ATOMIC_RELEASE);
}

int segment_runs_get(struct segment_runs *r, const struct lb_unwind_segment *segments,
		     size_t nr, uint32_t *ret)
{
	struct wanted_run wanted = {segments, nr};
	uint64_t hash = hash_bytes(0, segments, nr * sizeof(*segments));
	uint32_t at, number = hashmap_find(&r->index, hash, run_eq, &wanted, r);

	if (number != HASHMAP_NONE) {
		r->items[number].nr_refs++;
		*ret = number;
		return 0;
	}
	if (nr >= LB_UNWIND_MAX_SEGMENTS || take_entry(r, &number))
		return -ENOSPC;
	at = spans_take(&r->spans, (uint32_t)nr + 1);
	if (at != SPANS_NONE && hashmap_add(&r->index, hash, number)) {
		spans_rest(&r->spans, at, (uint32_t)nr + 1);
		at = SPANS_NONE;
	}
	if (at == SPANS_NONE) {
		r->free[r->nr_free++] = number;
		return -ENOSPC;
	}
	r->items[number] = (struct segment_run){.hash = hash,
						.generation = ++r->last_generation,
						.stamp = at,
						.nr = (uint32_t)nr,
						.nr_refs = 1};
	r->nr_segments += nr + 1;
	write_run(r, &r->items[number], segments);
	*ret = number;
	return 0;
}

void segment_runs_put(struct segment_runs *r, uint32_t number)
{
	struct segment_run *run = &r->items[number];

	if (--run->nr_refs)
		return;
	/* This invalidates entries that the kernel copied at a fork. */
	__atomic_store_n(&r->segments[run->stamp].start, 0, __ATOMIC_RELEASE);
	hashmap_remove(&r->index, run->hash, number);
	spans_rest(&r->spans, run->stamp, run->nr + 1);
	r->nr_segments -= run->nr + 1;
	r->free[r->nr_free++] = number;
}

void segment_runs_grace(struct segment_runs *r)
{
	spans_wake(&r->spans);
}
