/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which functions' code is asked for while rows are folded, and kept in the profile. */
#ifndef LB_FOLD_CODE_H
#define LB_FOLD_CODE_H

#include "fold.h"

/* User frames of a sample, from the leaf on, whose functions may be shown as hot. */
#define FOLD_CODE_FRAMES 3
/* Addresses of one resolve whose functions' code is asked for: the hottest. */
#define FOLD_CODE_MAX_ADDRESSES 2000

/**
 * Asks for the code around the hottest addresses of rows [first, last), before they
 * are resolved. Without memory none is asked for.
 *
 * @ids  of the addresses of the rows, one after the other: kernel, then user
 */
void fold_want_code(struct symbolizer *s, const struct rows *rows, size_t first,
		    size_t last, const uint32_t *ids);

#endif
