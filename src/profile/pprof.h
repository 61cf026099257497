/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads and writes the model as gzipped profile.proto, with lineburn.Extra in a second
 * gzip member.
 */
#ifndef LB_PROFILE_PPROF_H
#define LB_PROFILE_PPROF_H

#include "profile/profile.h"

#define PPROF_MAX_BYTES (1u << 30) /* after unpacking: stops a gzip bomb */

/**
 * Writes the main program as the first mapping, strings as valid UTF-8, and the other
 * tables in the order of order.h; changes nothing else. For our own recording call
 * profile_add_summary() before.
 *
 * @with_extra  false: plain pprof, for other tools; also if extra.present is false
 * Return: 0 and a heap buffer, or -ENOMEM.
 */
int pprof_write(const struct profile *p, bool with_extra, void **ret, size_t *ret_len);

/**
 * Reads any tool's profile, gzipped or not, with or without Extra. The input is
 * untrusted: every index is checked, sizes are limited. A reference to a missing
 * mapping or function becomes PROFILE_NONE; one to a missing location is an error.
 *
 * @name  file name as the user gave it, for the message in @err
 * Return: 0, -EBADMSG (not a profile, truncated, or malformed), -EFBIG, -ENOMEM.
 */
int pprof_read(const void *data, size_t len, const char *name, struct strpool *pool,
	       struct profile **ret, struct error *err);

#endif
