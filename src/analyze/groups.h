/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups the samples of a profile by a label (labels.h). Every sample is in one group;
 * samples without the label form a group of their own.
 */
#ifndef LB_ANALYZE_GROUPS_H
#define LB_ANALYZE_GROUPS_H

#include "analyze/attribution.h"
#include "analyze/sample_owner.h"

enum group_by {
	GROUP_BY_NOTHING,
	GROUP_BY_CONTAINER, /* id and runtime */
	GROUP_BY_UNIT, /* per container, because each may have an nginx.service */
	GROUP_BY_POD,
	/*
	 * Pid, executable, container and user: after pid reuse or exec it is another
	 * process.
	 */
	GROUP_BY_PROCESS,
	GROUP_BY_THREAD, /* the same and tid */
	GROUP_BY_COMM,
	GROUP_BY_USER,
	GROUP_BY_CGROUP, /* path; if unknown, the id */
	GROUP_BY_PHASE, /* computed (phase.h) unless it is a label */
	GROUP_BY_LABEL, /* any label, by its key */
	/*
	 * Pid, container, unit and user: "processes" in JSON. Omits samples without any
	 * of the first three.
	 */
	GROUP_BY_OWNER,
	NR_GROUP_BY,
};

/* Names on the command line and in JSON: "container", "unit", ...; otherwise "".
 * GROUP_BY_LABEL has the name of its label, see group_by_name(). */
extern const char *const group_by_names[NR_GROUP_BY];

/**
 * Returns the label that names a group. @by must have a text: not NOTHING, PROCESS,
 * THREAD or OWNER.
 */
enum owner_text group_by_text(enum group_by by);

struct group {
	bool is_told; /* false: the group of samples without the label */
	/*
	 * The most common text of the samples that have one; "" if none has, or if the
	 * grouping does not determine it.
	 */
	const char *text[NR_OWNER_TEXTS];
	uint32_t pid, tid; /* when grouped by process, thread or owner; else 0 */
	/* in its own pid namespace, if different; when grouped by owner */
	uint32_t ns_pid;
	uint64_t cgroup_id; /* when grouped by cgroup without a path; else 0 */
	struct weight self;
	struct weight with_line; /* part of self: charged to a source line */
};

struct groups {
	enum group_by by;
	const char *label; /* GROUP_BY_LABEL: its key; else NULL */
	struct group *items; /* heaviest first, then by name; self adds up to all */
	size_t nr; /* at most one per sample */
};

/** Returns what the samples are grouped by: "container", or the key of a label. */
const char *group_by_name(const struct groups *g);

/**
 * @a      of @p
 * @by     not GROUP_BY_NOTHING
 * @label  of GROUP_BY_LABEL; borrowed
 * Return: 0; -ENOMEM; -ENODATA with a message if the profile lacks the label: another
 * tool wrote it, or threads were not sampled separately.
 */
int groups_new(const struct profile *p, const struct attribution *a, enum group_by by,
	       const char *label, struct groups **ret, struct error *err);
void groups_free(struct groups *g);
DEFINE_CLEANUP(struct groups, groups_free);

#endif
