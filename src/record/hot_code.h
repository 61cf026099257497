/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which functions' code is asked for while rows are folded, and kept in the profile. */
#ifndef LB_RECORD_HOT_CODE_H
#define LB_RECORD_HOT_CODE_H

#include "record/profile_builder.h"

/* User frames of a sample, from the leaf on, whose functions may be shown as hot. */
#define HOT_CODE_FRAMES 3
/* Addresses of one resolve whose functions' code is asked for: the hottest. */
#define HOT_CODE_MAX_ADDRESSES 2000

/**
 * Asks for the code around the hottest addresses of rows [first, last), before they
 * are resolved. Without memory none is asked for.
 *
 * @ids  of the addresses of the rows, one after the other: kernel, then user
 */
void hot_code_want(struct symbolizer *s, const struct stack_table *rows, size_t first,
		   size_t last, const uint32_t *ids);

#endif
