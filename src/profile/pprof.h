/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads and writes the model as gzipped profile.proto, with lineburn.Extra in a second
 * gzip member.
 */
#ifndef LB_PROFILE_PPROF_H
#define LB_PROFILE_PPROF_H

#include "profile/profile.h"

#define PPROF_MAX_BYTES (1u << 30) /* after unpacking: a gzip bomb ends here */

/**
 * The main program becomes the first mapping, strings become valid UTF-8; nothing
 * else changes. A recording of ours has had profile_add_summary().
 *
 * @with_extra  false: plain pprof, for other tools; so is a profile whose
 *              extra.present is false
 * Return: 0 and a heap buffer, or -ENOMEM.
 */
int pprof_write(const struct profile *p, bool with_extra, void **ret, size_t *ret_len);

/**
 * Reads any tool's profile, gzipped or not, with or without Extra. Hostile input:
 * every index is checked, sizes are bounded. A mapping or function that is not
 * there is none; a location that is not there is an error.
 *
 * @name  of the file, as the user gave it, for the sentence in @err
 * Return: 0, -EBADMSG (not a profile, truncated, or malformed), -EFBIG, -ENOMEM.
 */
int pprof_read(const void *data, size_t len, const char *name, struct strpool *pool,
	       struct profile **ret, struct error *err);

#endif
