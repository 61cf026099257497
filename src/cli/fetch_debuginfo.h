/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds lines from debuginfod to a profile whose machine had no debug info. */
#ifndef LB_CLI_FETCH_DEBUGINFO_H
#define LB_CLI_FETCH_DEBUGINFO_H

#include "profile/profile.h"

/**
 * Where DEBUGINFOD_URLS is set: asks it, as the calling user, for debug info of
 * the mappings that have samples, a build id and addresses without lines, and
 * gives those addresses the lines it has. Failing is no error: misses stay.
 */
void fetch_debug_info(struct profile *p);

#endif
