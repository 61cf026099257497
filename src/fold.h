/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of raw addresses -> samples of the profile, with every address named once. */
#ifndef LB_FOLD_H
#define LB_FOLD_H

#include "base/error.h"
#include "base/hashmap.h"
#include "profile/profile.h"
#include "rows.h"
#include "symbolize/symbolizer.h"

struct fold {
	struct symbolizer *symbolizer; /* borrowed */
	struct profile *profile; /* borrowed */
	uint64_t period_ns;
	bool keep_tid;
	bool dump; /* print each address and its names on stderr */

	uint32_t *mapping_of; /* object id -> mapping of the profile, + 1; 0: none yet */
	size_t cap_mapping_of;
	uint32_t *location_of; /* symbolizer id -> location of the profile, + 1 */
	size_t cap_location_of;
	/* Whose root a source file is found in: the first process that ran it. */
	struct source_owner {
		const char *path;
		const struct process *process;
	} * owners;
	size_t nr_owners, cap_owners;
	struct hashmap owner_index;
	uint64_t nr_dropped; /* samples for which memory was not to be had */
};

void fold_deinit(struct fold *f);

/** Names every address of @rows and adds their samples to the profile. */
int fold_rows(struct fold *f, const struct rows *rows, struct error *err);

/**
 * After the last fold_rows(): keeps the code of the functions that samples were
 * charged to, hottest first, as far as it fits. Return: 0 or -ENOMEM.
 */
int fold_codes(struct fold *f);

/** The mapping of the profile for @object, or PROFILE_NONE. */
uint32_t fold_mapping(struct fold *f, const struct object *object);

/** The process in whose root the source file @path is to be opened, or NULL. */
const struct process *fold_source_owner(const struct fold *f, const char *path);

#endif
