/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source files of a profile. Among processes with the same root a path is one file; in
 * another root, such as a container's, it may be another file. Files are compared by
 * inode, then by content. If the file exists in neither root, two different binaries of
 * one path are assumed to be built from different sources. Files that could not be
 * compared count as different.
 */
#ifndef LB_RECORD_SOURCE_NAMES_H
#define LB_RECORD_SOURCE_NAMES_H

#include "base/hashmap.h"
#include "base/quota.h"
#include "profile/profile.h"
#include "symbolize/symbolizer.h"

/*
 * Where the profile is of many users, none gets more than a quarter of each of these, and
 * of the profile's namesakes (base/quota.h).
 */
/* Most files opened to compare one path in several roots. */
#define SOURCE_NAMES_MAX_LOOKS 8192
/* Most bytes read to compare files. */
#define SOURCE_NAMES_MAX_BYTES ((uint64_t)64 << 20)
/* Time for files of a profile, where it is not of many users: these share the opener's. */
#define SOURCE_NAMES_MAX_NS UINT64_C(10000000000)
/* Most different files with one path. */
#define SOURCE_NAMES_MAX_OF_A_PATH 256

struct source_names {
	struct profile *profile; /* borrowed */
	struct source_name *items; /* heap */
	size_t nr, cap;
	/* (path, object) and (path, root) lead to the file; path to its first file. */
	struct hashmap index;
	bool is_shared; /* by many users */
	struct tenant who; /* is served: pays */
	uint64_t looks_left, bytes_left;
	struct quota looks, bytes, places;
	uint64_t took_ns; /* to open and read files */
	bool was_refused; /* a look or bytes, for the file that is decided */
	/* Files that were not compared, or have no name, because a maximum was reached. */
	uint64_t nr_not_told;
};

/* @profile is borrowed. @is_shared  by many users, some of whom may be hostile */
void source_names_init(struct source_names *files, struct profile *profile,
		       bool is_shared);
void source_names_deinit(struct source_names *files);

/** Whose samples are added from now on: pays. Root before the first call. */
void source_names_serve(struct source_names *files, struct tenant who);

/** quota_each_refused() of its tables. */
void source_names_each_refused(struct source_names *files, quota_refused_fn fn,
			       void *ctx);

/**
 * Returns the profile's name for the file @file of @object's debug info: interned, or
 * an alias. If there are too many files with its path, the name is one that no file has.
 * @user is the object_user(); NULL: none.
 */
const char *source_names_find(struct source_names *files, const char *file,
			      const struct object *object, const struct process *user);

/**
 * Reads the file of such a name in the root, and with the privileges, of a process that
 * ran its code. @ret  heap, terminated. Return: 0, -ESTALE if it is not any more what was
 * compared with the files of other roots that have its name, or another -errno.
 */
int source_names_read(struct source_names *files, const char *name, char **ret,
		      size_t *ret_len, struct look_facts *ret_facts);

/**
 * Sets the owner of each of the profile's sources whose path stands for several files.
 */
void source_names_tell_owners(const struct source_names *files);

#endif
