/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps only the samples of some containers, services, processes... by their labels, so
 * it works on files, too. Filters of one kind are or-ed, kinds are and-ed, and an
 * exclusion removes its samples even if another filter matches them.
 *
 * The value "-" matches samples without a label of the kind. Otherwise:
 *
 *   container  name or id; if no container has it, the start of an id, or an
 *              fnmatch(3) pattern of either
 *   unit       name, or if no unit has it, a pattern; ".service" may be omitted
 *   pod        uid, or if no pod has it, its start; "_" equals "-"
 *   pid        in the initial pid namespace, like all recorded pids
 *   thread     the same; only in profiles with thread labels
 *   comm       fnmatch(3) pattern
 *   user       name, or number if the recording machine had no name for it
 *   cgroup     path below the root of its hierarchy, or below /sys/fs/cgroup; includes
 *              all cgroups below it
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

/* "container", "unit", ...: for options, JSON and messages. */
extern const char *const filter_kind_names[NR_FILTER_KINDS];

#define FILTER_MAX_FILTERS 64

struct profile_filter {
	enum filter_kind kind;
	bool exclude;
	const char *value; /* not "" */
};

/* Matches of one filter. */
struct filter_match {
	struct profile_filter filter; /* as given */
	uint32_t nr; /* containers, units, ... of the profile that it matches */
	/*
	 * container: name ("": unknown) and id of the heaviest match; other kinds: "".
	 */
	const char *name, *id;
};

struct filtered {
	struct weight all, left; /* samples before and after */
	struct filter_match *matches; /* by kind, in the order given */
	size_t nr_matches;
	const struct frame_filter *frames; /* frame_filter.h; NULL: none */
	size_t nr_frames;
	const char *time; /* time_filter.h, as it was given; NULL: no such filter */
};

/**
 * Drops the samples of @p that do not match; afterwards @p is read-only.
 *
 * @nr  1 to FILTER_MAX_FILTERS
 * Return: 0; -ENOMEM; -ENODATA with EXIT_NO_SAMPLES if @p has samples and none is left:
 * the message says why and suggests similar names. After an error @p is unchanged.
 */
int filter_profile(struct profile *p, const struct profile_filter *filters, size_t nr,
		   struct filtered **ret, struct error *err);
void filtered_free(struct filtered *n);
DEFINE_CLEANUP(struct filtered, filtered_free);

#endif
