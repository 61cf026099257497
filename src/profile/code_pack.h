/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile_extra.codes <-> Code of lineburn.proto. */
#ifndef LB_PROFILE_CODE_PACK_H
#define LB_PROFILE_CODE_PACK_H

#include "lineburn.pb-c.h"
#include "profile/extra.h"

/** @arena  holds what @to points at afterwards. Return: 0 or -ENOMEM. */
int code_pack(const struct profile *p, struct arena *arena, Lineburn__Extra *to);

/**
 * Adds to @p, whose mappings and functions are there; code that does not fit
 * PROFILE_MAX_CODE_BYTES is left out. Return: 0, -EBADMSG, -ENOMEM.
 */
int code_unpack(struct profile *p, const Lineburn__Extra *from,
		const struct extra_ids *ids);

#endif
