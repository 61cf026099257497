/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds lines from debuginfod to a profile whose recording machine had no debug info. */
#ifndef LB_CLI_FETCH_DEBUGINFO_H
#define LB_CLI_FETCH_DEBUGINFO_H

#include <stdbool.h>

#include "profile/profile.h"

/**
 * If DEBUGINFOD_URLS is set: queries the servers, as the calling user, for debug info
 * of mappings with samples, a build id and addresses without lines, and adds the lines
 * found. A failure is not an error: the misses remain.
 *
 * @has_no_home  this process may not write to the caller's folders: what it downloads is
 *               kept in a folder of its own until the end of this call
 */
void fetch_debug_info(struct profile *p, bool has_no_home);

#endif
