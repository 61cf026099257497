// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/series.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

void series_deinit(struct series *s)
{
	free(s->points);
	*s = (struct series){0};
}

static uint32_t saturated_sum(uint32_t a, uint64_t b)
{
	return b > UINT32_MAX - a ? UINT32_MAX : a + (uint32_t)b;
}

/* Appends a point, or adds to the last one. Return: 0 or -ENOMEM. */
static int append(struct series *s, struct series_list *list, uint32_t bucket,
		  uint64_t count)
{
	if (list->last && s->points[list->last - 1].bucket == bucket) {
		uint32_t *sum = &s->points[list->last - 1].count;

		*sum = saturated_sum(*sum, count);
		return 0;
	}
	if (vec_grow(&s->points, &s->cap, s->nr + 1, sizeof(*s->points),
		     SERIES_MAX_POINTS))
		return -ENOMEM;
	s->points[s->nr++] =
		(struct series_point){.bucket = bucket, .count = saturated_sum(0, count)};
	if (list->last)
		s->points[list->last - 1].next = (uint32_t)s->nr;
	else
		list->first = (uint32_t)s->nr;
	list->last = (uint32_t)s->nr;
	return 0;
}

static struct series_list *list_at(const struct series_lists *all, size_t i)
{
	return (struct series_list *)((char *)all->first + i * all->stride);
}

/* Doubles the length of all buckets. Return: 0 or -ENOMEM. */
static int coarsen(struct series *s, const struct series_lists *all)
{
	struct series to = {.bucket_ns = s->bucket_ns * 2,
			    .begin_ns = s->begin_ns,
			    .lowest = s->lowest / 2,
			    .highest = s->highest / 2};

	/* Points only become fewer: there is room for all, and nothing can fail. */
	if (vec_grow(&to.points, &to.cap, s->nr + 1, sizeof(*to.points), 0))
		return -ENOMEM;
	for (size_t i = 0; i < all->nr; i++) {
		struct series_list *list = list_at(all, i), moved = {0};

		for (uint32_t n = list->first; n; n = s->points[n - 1].next)
			append(&to, &moved, s->points[n - 1].bucket / 2,
			       s->points[n - 1].count);
		*list = moved;
	}
	series_deinit(s);
	*s = to;
	return 0;
}

static bool has_room(const struct series *s, uint32_t bucket)
{
	uint32_t lowest = bucket < s->lowest ? bucket : s->lowest;
	uint32_t highest = bucket > s->highest ? bucket : s->highest;

	return !s->nr ||
	       (s->nr < SERIES_MAX_POINTS && highest - lowest < SERIES_MAX_BUCKETS);
}

int series_add(struct series *s, struct series_list *list, uint64_t ns, uint64_t count,
	       const struct series_lists *all)
{
	uint32_t bucket;
	int r;

	if (!s->bucket_ns)
		s->bucket_ns = SERIES_FIRST_NS;
	while (ns / s->bucket_ns > UINT32_MAX ||
	       !has_room(s, (uint32_t)(ns / s->bucket_ns))) {
		size_t nr = s->nr;

		r = coarsen(s, all);
		if (r)
			return r;
		/* Most items have one point: longer buckets do not help. */
		if (nr >= SERIES_MAX_POINTS && s->nr > SERIES_MAX_POINTS / 4 * 3)
			return -ENOSPC;
	}
	bucket = (uint32_t)(ns / s->bucket_ns);
	r = append(s, list, bucket, count);
	if (r)
		return r;
	if (s->nr == 1)
		s->lowest = s->highest = bucket;
	s->lowest = bucket < s->lowest ? bucket : s->lowest;
	s->highest = bucket > s->highest ? bucket : s->highest;
	return 0;
}

int series_add_list(struct series *s, struct series_list *list, const struct series *from,
		    const struct series_list *from_list, const struct series_lists *all)
{
	int r = 0;

	/* A bucket must not become finer. */
	if (!s->bucket_ns)
		s->bucket_ns = SERIES_FIRST_NS;
	while (!r && s->bucket_ns < from->bucket_ns)
		r = coarsen(s, all);
	for (uint32_t n = from_list->first; n && !r; n = from->points[n - 1].next)
		r = series_add(s, list, from->points[n - 1].bucket * from->bucket_ns,
			       from->points[n - 1].count, all);
	return r;
}

uint32_t series_offset(const struct series *s, uint32_t bucket)
{
	uint64_t begin = s->bucket_ns ? s->begin_ns / s->bucket_ns : 0;

	return bucket > begin ? (uint32_t)(bucket - begin) : 0;
}
