/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source text around hot lines: kept in the profile when recording, found again when reading. */
#ifndef LB_PROFILE_SOURCE_H
#define LB_PROFILE_SOURCE_H

#include "profile/attribution.h"

#define SOURCE_MAX_BYTES      (4u << 20) /* of text in one profile (DESIGN C1) */
#define SOURCE_MAX_FILE_BYTES (32u << 20)

/**
 * Opens a source file for reading at record time, by the rules of DESIGN C6 and
 * with the rights of the target's user. Return: a descriptor, or -errno.
 */
typedef int (*source_open_fn)(void *ctx, const char *path);

/**
 * Keeps text of the files of @a, hottest first, in p->extra.sources: whole small
 * files, else a window of @context lines around every line that has samples and
 * the whole function's lines where known.
 * Return: 0 or -ENOMEM. A file that cannot be opened is left out.
 */
int source_collect(struct profile *p, const struct attribution *a,
		   source_open_fn open_source, void *ctx);

/* "--source-path OLD=NEW": a path that starts with OLD is looked for at NEW. */
struct source_path_rule {
	const char *old_prefix, *new_prefix;
};

/**
 * Gives every file of @a its text: from the profile, else from disk (as the
 * calling user, after the rules), else a note that says where it was looked for.
 */
int source_attach(struct attribution *a, const struct profile *p,
		  const struct source_path_rule *rules, size_t nr_rules);

#endif
