/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads from a sample's labels (labels.h) which container, unit, process and user it
 * belongs to.
 */
#ifndef LB_ANALYZE_SAMPLE_OWNER_H
#define LB_ANALYZE_SAMPLE_OWNER_H

#include "base/hashmap.h"
#include "profile/profile.h"

enum owner_text {
	OWNER_CONTAINER_NAME,
	OWNER_CONTAINER,
	OWNER_RUNTIME,
	OWNER_POD,
	OWNER_UNIT,
	OWNER_COMM,
	OWNER_EXE,
	OWNER_USER,
	OWNER_CGROUP,
	OWNER_LABEL, /* any other one, see owner_labels_of() */
	NR_OWNER_TEXTS,
};

struct sample_owner {
	const char *text[NR_OWNER_TEXTS]; /* interned; ""  unknown */
	uint32_t pid, tid, ns_pid; /* 0 unknown */
	uint64_t cgroup_id; /* same */
};

/* Id and name of a container, from any sample; both interned. */
struct owner_name {
	const char *id, *name;
};

#define OWNER_NAMES_MAX 65536

/* Keys of the labels, interned in the profile's pool. */
struct owner_labels {
	const struct profile *p;
	const char *text[NR_OWNER_TEXTS];
	const char *pid, *tid, *ns_pid, *cgroup_id, *empty;
	bool is_text; /* OWNER_LABEL has texts, not numbers */
	struct owner_name *names; /* heap */
	size_t nr_names, cap_names;
	struct hashmap by_id; /* -> index in names */
};

/**
 * @label  key of a label that becomes OWNER_LABEL, also one with a number; NULL: none.
 *   The format writes an empty text and the number 0 in the same way: it is a text if
 *   any sample has one, or if it is a label of ours.
 *
 * Collects containers' names. With too many containers or out of memory, some samples
 * lack their container's name.
 */
struct owner_labels owner_labels_of(const struct profile *p, const char *label);
void owner_labels_deinit(struct owner_labels *labels);

/**
 * Reads a sample's labels; if a label is repeated, the last one counts. A container's
 * name may be recorded late: a name in any sample applies to all samples of the id, also
 * as OWNER_LABEL.
 */
struct sample_owner sample_owner_of(const struct owner_labels *labels,
				    const struct profile_sample *s);

#endif
