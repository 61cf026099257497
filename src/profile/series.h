/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When samples were taken: counts in buckets of equal time. Each item (a row, a sample of
 * a profile) has a list of points. The buckets begin short and double their length
 * whenever there are too many of them, or of points; so memory is bounded, however long
 * a recording is.
 */
#ifndef LB_PROFILE_SERIES_H
#define LB_PROFILE_SERIES_H

#include <stddef.h>
#include <stdint.h>

#define SERIES_FIRST_NS    100000000u /* length of the first buckets */
#define SERIES_MAX_BUCKETS 600u
#define SERIES_MAX_POINTS  (1u << 19) /* 6 MB */

struct series_point {
	uint32_t bucket; /* [bucket, bucket + 1) * bucket_ns */
	uint32_t count; /* samples; > 0; saturates */
	uint32_t next; /* number of the next point of the list, + 1; 0: none */
};

/* The points of an item, in any order. Zero-initialised: none. */
struct series_list {
	uint32_t first, last; /* numbers + 1 */
};

/* Zero-initialised: empty. */
struct series {
	uint64_t bucket_ns; /* 0: empty */
	/* Where the buckets of the beginning are; see series_offset(). */
	uint64_t begin_ns;
	uint32_t lowest, highest; /* buckets with points */
	struct series_point *points; /* heap */
	size_t nr, cap;
};

/* Where the lists of all items are: members of the structs of an array. */
struct series_lists {
	void *first; /* struct series_list of the first item */
	size_t nr, stride; /* items; bytes from one to the next */
};

void series_deinit(struct series *s);

/**
 * Adds @count samples at @ns to a list, doubling the buckets of all lists if there is no
 * room. Times of one series begin at one zero.
 *
 * Return: 0; -ENOMEM: not added; -ENOSPC: no room even with longer buckets.
 */
int series_add(struct series *s, struct series_list *list, uint64_t ns, uint64_t count,
	       const struct series_lists *all);

/** Adds the points of a list of another series, whose zero is the same. Return: as above */
int series_add_list(struct series *s, struct series_list *list, const struct series *from,
		    const struct series_list *from_list, const struct series_lists *all);

/** Returns the bucket's number, counted from the bucket that begin_ns is in. */
uint32_t series_offset(const struct series *s, uint32_t bucket);

/** Finds the point with a number; NULL for 0. */
static inline const struct series_point *series_point(const struct series *s,
						      uint32_t number)
{
	return number ? &s->points[number - 1] : NULL;
}

#endif
