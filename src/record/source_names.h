/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source files of a profile. Among processes with the same root a path is one file; in
 * another root, such as a container's, it may be another file. Files are compared by
 * inode, then by content. If the file exists in neither root, two different binaries of
 * one path are assumed to be built from different sources.
 */
#ifndef LB_RECORD_SOURCE_NAMES_H
#define LB_RECORD_SOURCE_NAMES_H

#include "base/hashmap.h"
#include "profile/profile.h"
#include "symbolize/symbolizer.h"

/*
 * Most files opened to compare one path in several roots. After that a path counts as
 * one file.
 */
#define SOURCE_NAMES_MAX_LOOKS 8192
/* Most different files with one path. */
#define SOURCE_NAMES_MAX_OF_A_PATH 256
/* Most bytes read to compare files; after that size and mtime decide. */
#define SOURCE_NAMES_MAX_BYTES ((uint64_t)64 << 20)

struct source_names {
	struct profile *profile; /* borrowed */
	struct source_name *items; /* heap */
	size_t nr, cap;
	/* (path, object) and (path, root) lead to the file; path to its first file. */
	struct hashmap index;
	size_t looks_left;
	uint64_t bytes_left;
	/*
	 * Files treated as the first one of their path, because a maximum was reached.
	 */
	uint64_t nr_not_told;
};

/* @profile is borrowed. */
void source_names_init(struct source_names *files, struct profile *profile);
void source_names_deinit(struct source_names *files);

/**
 * Returns the profile's name for the file @file of @object's debug info: interned, or
 * an alias. @user is the object_user(); NULL: none.
 */
const char *source_names_find(struct source_names *files, const char *file,
			      const struct object *object, const struct process *user);

/**
 * Reads the file of such a name in the root, and with the privileges, of a process that
 * ran its code. @ret  heap, terminated. Return: 0 or -errno.
 */
int source_names_read(const struct source_names *files, const char *name, char **ret,
		      size_t *ret_len, struct look_facts *ret_facts);

/**
 * Sets the owner of each of the profile's sources whose path stands for several files.
 */
void source_names_tell_owners(const struct source_names *files);

#endif
