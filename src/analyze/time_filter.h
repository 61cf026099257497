/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps only the samples of a part of the recording's time. */
#ifndef LB_ANALYZE_TIME_FILTER_H
#define LB_ANALYZE_TIME_FILTER_H

#include "analyze/filter.h"

/* Seconds from the start of the recording. from < to */
struct time_range {
	double from, to;
};

/** Parses "2-5", "0.5-", "-5" (to: HUGE_VAL if open). Return: false if it is none. */
bool time_range_parse(const char *text, struct time_range *ret);

/**
 * Keeps the samples of the buckets whose middle is in the range. If a sample of the
 * profile stands for several, its values become the part that was in the range. Extends
 * *@ret, or makes it if it is NULL.
 *
 * @text  as it was given, for listings; borrowed
 * Return: 0; -ENOMEM; -ENODATA if the profile has no times, or, with EXIT_NO_SAMPLES, no
 * samples in the range; with a message.
 */
int time_filter_profile(struct profile *p, const struct time_range *range,
			const char *text, struct filtered **ret, struct error *err);

#endif
