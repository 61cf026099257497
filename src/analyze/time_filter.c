// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/time_filter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/tally.h"

static bool parse_seconds(const char *text, char **end, double *ret)
{
	*ret = strtod(text, end);
	return *end != text && isfinite(*ret) && *ret >= 0;
}

bool time_range_parse(const char *text, struct time_range *ret)
{
	struct time_range range = {0, HUGE_VAL};
	char *end = (char *)text;

	/* strtod() would take "-5" as a number. */
	if (*text != '-' && !parse_seconds(text, &end, &range.from))
		return false;
	if (*end++ != '-')
		return false;
	if (*end && (*end == '-' || !parse_seconds(end, &end, &range.to)))
		return false;
	if (*end || !text[1] || !(range.from < range.to))
		return false;
	*ret = range;
	return true;
}

static bool is_in(const struct series *times, uint32_t bucket,
		  const struct time_range *range)
{
	double middle = ((double)series_offset(times, bucket) + 0.5) *
			(double)times->bucket_ns / 1e9;

	return middle >= range->from && middle < range->to;
}

/* Takes the points outside of the range from the list. Return: the part that is left. */
static double clip(struct series *times, struct series_list *list,
		   const struct time_range *range)
{
	struct series_list kept = {0};
	double all = 0, left = 0;
	uint32_t next;

	for (uint32_t n = list->first; n; n = next) {
		struct series_point *point = &times->points[n - 1];

		next = point->next;
		all += point->count;
		if (!is_in(times, point->bucket, range))
			continue;
		left += point->count;
		point->next = 0;
		if (kept.last)
			times->points[kept.last - 1].next = n;
		else
			kept.first = n;
		kept.last = n;
	}
	*list = kept;
	return all > 0 ? left / all : 0;
}

static void scale(struct profile *p, struct profile_sample *s, double part)
{
	for (size_t i = 0; part < 1 && i < p->nr_value_types; i++) {
		int64_t *value = &p->values[s->first_value + i];

		*value = llround((double)*value * part);
	}
}

int time_filter_profile(struct profile *p, const struct time_range *range,
			const char *text, struct filtered **ret, struct error *err)
{
	size_t kept = 0;

	if (!p->times.nr && p->nr_samples)
		return error_set(err, -ENODATA,
				 "--time needs a profile with times, and this one has "
				 "none: %s",
				 p->extra.present
					 ? "they did not fit, or an older lineburn "
					   "wrote it"
					 : "another tool wrote it");
	if (!*ret) {
		*ret = calloc(1, sizeof(**ret));
		if (!*ret)
			return error_set(err, -ENOMEM, "out of memory");
		(*ret)->all = weight_of_profile(p);
	}
	for (size_t i = 0; i < p->nr_samples; i++) {
		struct profile_sample *s = &p->samples[i];
		double part = clip(&p->times, &s->times, range);

		if (part <= 0)
			continue;
		scale(p, s, part);
		p->samples[kept++] = *s;
	}
	p->nr_samples = kept;
	(*ret)->left = weight_of_profile(p);
	(*ret)->time = text;
	if (weight_is_zero(&(*ret)->left) && !weight_is_zero(&(*ret)->all))
		return error_set_exit(
			err, EXIT_NO_SAMPLES, -ENODATA,
			"no sample was taken in the time %s s; the recording "
			"has %.1f s",
			text, (double)p->extra.wall_ns / 1e9);
	return 0;
}
