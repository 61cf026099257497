/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which mapping stands for the profile: other tools print the first one as "File:". */
#ifndef LB_PROFILE_MAIN_MAPPING_H
#define LB_PROFILE_MAIN_MAPPING_H

#include "profile/profile.h"

/**
 * The program with most samples in its stacks; a library, then anything else,
 * only when there is no program. PROFILE_NONE: no mappings, or out of memory.
 */
uint32_t main_mapping_find(const struct profile *p);

#endif
