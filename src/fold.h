/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of raw addresses -> samples of the profile, with every address named once. */
#ifndef LB_FOLD_H
#define LB_FOLD_H

#include "base/error.h"
#include "base/hashmap.h"
#include "fold_files.h"
#include "fold_labels.h"
#include "profile/profile.h"
#include "rows.h"
#include "symbolize/symbolizer.h"

struct fold {
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
	struct fold_files files;
	struct user_names users;
	/* Processes of which not even the executable is known, and their samples. */
	struct hashmap unnamed; /* by hashes of (tgid, exec id) */
	uint64_t nr_unnamed_samples;
	uint64_t nr_dropped; /* samples for which memory was not to be had */
};

void fold_deinit(struct fold *f);

/**
 * From now on samples go to @profile, named by @symbolizer, whose names are in @names;
 * all borrowed. What was known of the profile before is forgotten; nr_dropped goes on.
 */
void fold_begin(struct fold *f, struct profile *profile, struct symbolizer *symbolizer,
		struct strpool *names);

/** Names every address of @rows and adds their samples to the profile. */
int fold_rows(struct fold *f, const struct rows *rows, struct error *err);

/**
 * After the last fold_rows(): keeps the code of the functions that samples were
 * charged to, hottest first, as far as it fits. Return: 0 or -ENOMEM.
 */
int fold_codes(struct fold *f);

/** The mapping of the profile for @object, or PROFILE_NONE. */
uint32_t fold_mapping(struct fold *f, const struct object *object);

/** The same, PROFILE_NONE too when no sample of the profile has met @object. */
uint32_t fold_known_mapping(const struct fold *f, const struct object *object);

/** The name by which the profile has the source file @file of @object's functions. */
const char *fold_file(struct fold *f, const struct object *object, const char *file);

#endif
