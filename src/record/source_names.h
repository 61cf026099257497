/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source files of a profile. A path is one file as long as those who ran its code see the
 * same root; in another root, as containers have it, it may be another one. That is told by
 * what is there: the inode, else the content. Where nothing is there, two programs of one
 * path that are not the same file were made from files that are not the same either.
 */
#ifndef LB_RECORD_SOURCE_NAMES_H
#define LB_RECORD_SOURCE_NAMES_H

#include "base/hashmap.h"
#include "profile/profile.h"
#include "symbolize/symbolizer.h"

/* Looks at files of paths that were met in several roots; behind them a path is one file. */
#define SOURCE_NAMES_MAX_LOOKS 8192
/* Files of one path, each of which a further one is compared with. */
#define SOURCE_NAMES_MAX_OF_A_PATH 256
/* Read of them, to compare; behind that their size and time decide. */
#define SOURCE_NAMES_MAX_BYTES ((uint64_t)64 << 20)

struct source_names {
	struct profile *profile; /* borrowed */
	struct source_name *items; /* heap */
	size_t nr, cap;
	/* By path and object, by path and root: whose file it is; by path: the first one. */
	struct hashmap index;
	size_t looks_left;
	uint64_t bytes_left;
	/* Taken for the first one of their path, since a maximum was reached. */
	uint64_t nr_not_told;
};

/* @profile is borrowed. */
void source_names_init(struct source_names *files, struct profile *profile);
void source_names_deinit(struct source_names *files);

/**
 * The name that the profile has for the file @file of @object's debug info, which @user
 * (NULL: nobody, the kernel) was the first to run: interned, or a namesake.
 */
const char *source_names_find(struct source_names *files, const char *file,
			      const struct object *object, const struct process *user);

/** The process in whose root the file of such a name is to be opened, or NULL. */
const struct process *source_names_user(const struct source_names *files,
					const char *name);

/** Says of the profile's sources whose they are, where there are others of their path. */
void source_names_tell_owners(const struct source_names *files);

#endif
