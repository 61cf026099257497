/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the profile from rows: names every address once, and adds the samples. */
#ifndef LB_RECORD_PROFILE_BUILDER_H
#define LB_RECORD_PROFILE_BUILDER_H

#include "base/error.h"
#include "base/hashmap.h"
#include "profile/profile.h"
#include "record/source_names.h"
#include "record/stack_table.h"
#include "symbolize/symbolizer.h"

/* Names of users, asked for once: the system's answer may come over the network. */
struct user_names {
	struct user_name {
		uid_t uid;
		char *name; /* heap: profiles come and go */
	} * items;
	size_t nr, cap;
	struct hashmap index;
};

enum builder_step {
	BUILDER_DONE, /* there are no rows */
	BUILDER_GROUP, /* the next ROWS_AT_ONCE rows: */
	BUILDER_WANT, /* their addresses are noted, */
	BUILDER_RESOLVE, /* named, */
	BUILDER_ADD, /* and their samples added */
};

struct profile_builder {
	struct symbolizer *symbolizer; /* borrowed */
	struct strpool *names; /* of the symbolizer; borrowed */
	struct profile *profile; /* borrowed */
	bool keep_tid;
	bool dump; /* print each address and its names on stderr */
	/* Interned: the function that a greenlet begins with. */
	const char *greenlet_begin;

	uint32_t *mapping_of; /* object id -> mapping of the profile, + 1; 0: none yet */
	size_t cap_mapping_of;
	uint32_t *location_of; /* symbolizer id -> location of the profile, + 1 */
	size_t cap_location_of;
	const struct process **user_of; /* object id -> first process that had it */
	size_t cap_user_of;
	struct source_names files;
	struct user_names users;
	/* Processes of which not even the executable is known, and their samples. */
	struct hashmap unnamed; /* by hashes of (tgid, exec id) */
	uint64_t nr_unnamed_samples;
	uint64_t nr_dropped; /* samples for which memory was not to be had */

	struct builder_work {
		enum builder_step step;
		struct stack_table rows;
		size_t first, last; /* [first, last): the group */
		size_t next; /* row of the group */
		uint32_t *ids; /* of the group's addresses: kernel, then user; heap */
		size_t nr_ids, cap_ids, next_id;
	} work;
};

void profile_builder_deinit(struct profile_builder *f);

/**
 * From now on samples go to @profile, named by @symbolizer, whose names are in @names;
 * all borrowed. What was known of the profile before is forgotten; nr_dropped goes on.
 */
void profile_builder_begin(struct profile_builder *f, struct profile *profile,
			   struct symbolizer *symbolizer, struct strpool *names);

/** Takes all of @rows. Those that it was given before are done. */
void profile_builder_give(struct profile_builder *f, struct stack_table *rows);

/**
 * Does a piece of the work on the rows that it was given: names every address, and adds
 * their samples to the profile. That is some milliseconds, or one request to the decoder.
 *
 * Return: 1: call it again; 0: all is done; or -errno: they are lost.
 */
int profile_builder_step(struct profile_builder *f, struct error *err);

/**
 * When the last rows are done: keeps the code of the functions that samples were
 * charged to, hottest first, as far as it fits. Return: 0 or -ENOMEM.
 */
int profile_builder_add_code(struct profile_builder *f);

/** The same, PROFILE_NONE too when no sample of the profile has met @object. */
uint32_t profile_builder_known_mapping(const struct profile_builder *f,
				       const struct object *object);

/** The name by which the profile has the source file @file of @object's functions. */
const char *profile_builder_file(struct profile_builder *f, const struct object *object,
				 const char *file);

#endif
