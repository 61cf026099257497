/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Only the samples of some containers, services, processes...: by their labels, so
 * that files that are read back narrow as well. Filters of one kind are or-ed, kinds
 * are and-ed, and what an exclusion matches is left out whatever else matches it.
 *
 * A value "-" matches the samples that have nothing of the kind. Otherwise:
 *
 * container  name or id; where no container has it, the start of an id, or an fnmatch(3)
 *            pattern of one of them
 * unit       name, or where no unit has it, a pattern; ".service" may be left out
 * pod        uid, or where no pod has it, its start; "_" is as good as "-"
 * pid        of the initial pid namespace, as all recorded ones
 * thread     the same; of profiles that tell threads apart
 * comm       fnmatch(3) pattern
 * user       name, or number where the recording machine had no name for it
 * cgroup     path below the root of its hierarchy, or below /sys/fs/cgroup; with all
 *            that is below
 */
#ifndef LB_ANALYZE_FILTER_H
#define LB_ANALYZE_FILTER_H

#include "analyze/attribution.h"
#include "base/error.h"

enum filter_kind {
	FILTER_CONTAINER,
	FILTER_UNIT,
	FILTER_POD,
	FILTER_PID,
	FILTER_THREAD,
	FILTER_COMM,
	FILTER_USER,
	FILTER_CGROUP,
	NR_FILTER_KINDS,
};

/* "container", "unit", ...: as options, in JSON and in sentences. */
extern const char *const filter_kind_names[NR_FILTER_KINDS];

#define FILTER_MAX_FILTERS 64

struct profile_filter {
	enum filter_kind kind;
	bool exclude;
	const char *value; /* not "" */
};

/* What one filter met. */
struct filter_match {
	struct profile_filter filter; /* value: as given */
	uint32_t nr; /* containers, units, ... of the profile that it matches */
	/* container: name ("" not told) and id of the heaviest that matches; else "" */
	const char *name, *id;
};

struct filtered {
	struct weight all, left; /* samples before and after */
	struct filter_match *matches; /* by kind, in the order given */
	size_t nr_matches;
};

/**
 * Drops the samples of @p that do not match, which from then on is for reading only.
 *
 * @nr  1 to FILTER_MAX_FILTERS
 * Return: 0; -ENOMEM; -ENODATA with EXIT_NO_SAMPLES when @p has samples and none is
 * left: the sentence says why, and what there is that is called nearly like that.
 * After an error @p is unchanged.
 */
int filter_profile(struct profile *p, const struct profile_filter *filters, size_t nr,
		   struct filtered **ret, struct error *err);
void filtered_free(struct filtered *n);
DEFINE_CLEANUP(struct filtered, filtered_free);

#endif
