/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the profile from rows: names each address once and adds the samples. */
#ifndef LB_RECORD_PROFILE_BUILDER_H
#define LB_RECORD_PROFILE_BUILDER_H

#include "base/error.h"
#include "base/hashmap.h"
#include "profile/profile.h"
#include "record/source_names.h"
#include "record/stack_table.h"
#include "record/user_names.h"
#include "symbolize/symbolizer.h"

enum builder_step {
	BUILDER_DONE, /* no rows are left */
	BUILDER_GROUP, /* take the next ROWS_AT_ONCE rows */
	BUILDER_WANT, /* request names of their addresses */
	BUILDER_RESOLVE, /* resolve them */
	BUILDER_USERS, /* name the users of their processes */
	BUILDER_ADD, /* add the rows' samples */
};

struct profile_builder {
	struct symbolizer *symbolizer; /* borrowed */
	struct strpool *names; /* of the symbolizer; borrowed */
	struct profile *profile; /* borrowed */
	bool keep_tid;
	bool keep_code; /* the instructions of hot functions */
	bool is_shared; /* the samples are of many users */
	bool dump; /* print each address and its names on stderr */
	/* Interned: the first function of a greenlet. */
	const char *greenlet_begin;

	uint32_t *mapping_of; /* object id -> mapping of the profile, + 1; 0: none yet */
	size_t cap_mapping_of;
	uint32_t *location_of; /* symbolizer id -> location of the profile, + 1 */
	size_t cap_location_of;
	struct source_names files;
	struct user_names users;
	/* Processes whose executable is unknown, and their samples. */
	struct hashmap unnamed; /* by hashes of (tgid, exec id) */
	uint64_t nr_unnamed_samples;
	uint64_t nr_dropped; /* samples dropped for lack of memory */

	/* Rows of the table that is still filled whose addresses were named ahead. */
	size_t nr_ahead;

	struct builder_work {
		enum builder_step step;
		struct stack_table rows;
		const struct stack_table *ahead; /* borrowed; NULL: the rows are ours */
		size_t first, last; /* [first, last): the group */
		size_t next; /* next row of the group */
		uint32_t *ids; /* of the group's addresses: kernel, then user; heap */
		size_t nr_ids, cap_ids, next_id;
	} work;
};

void profile_builder_deinit(struct profile_builder *f);

/**
 * Begins a profile: samples are added to @profile, named by @symbolizer, whose names
 * are in @names; all borrowed. Resets the tables of the previous profile; keeps
 * nr_dropped.
 */
void profile_builder_begin(struct profile_builder *f, struct profile *profile,
			   struct symbolizer *symbolizer, struct strpool *names);

/** Takes all of @rows. Earlier rows must be done. */
void profile_builder_give(struct profile_builder *f, struct stack_table *rows);

/**
 * Begins to name the addresses of new rows of @rows, which is still filled. Their samples
 * are added to no profile; but when the rows are given later, most names are known.
 * Earlier rows must be done. @rows is borrowed until all steps are done.
 */
void profile_builder_name_ahead(struct profile_builder *f,
				const struct stack_table *rows);

/**
 * Does one step of the work on the given rows: names their addresses and adds their
 * samples to the profile. A step takes a few milliseconds, or sends one request to the
 * decoder.
 *
 * Return: 1: call again; 0: all rows are done; or -errno: the rows are lost.
 */
/** Returns the name of a user of our user namespace, in the profile's pool; "": none. */
const char *profile_builder_user(struct profile_builder *f, uid_t uid);

int profile_builder_step(struct profile_builder *f, struct error *err);

/**
 * Call after the last rows: stores the code of functions with samples, hottest first,
 * as far as it fits. Return: 0 or -ENOMEM.
 */
int profile_builder_add_code(struct profile_builder *f);

#endif
