/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is counted from the start of a recording, told of each of its windows. */
#ifndef LB_RECORD_LOSSES_H
#define LB_RECORD_LOSSES_H

#include "profile/profile.h"

/**
 * What came since @told, which is the sum of all that was told of earlier windows:
 * each count is what @now has more, never less than nothing; due = sampled + missed.
 * Pure.
 */
void losses_since(const struct profile_losses *told, const struct profile_losses *now,
		  struct profile_losses *ret);

/** @told becomes the sum of it and @window. */
void losses_add(struct profile_losses *told, const struct profile_losses *window);

/** The same for the cost; peak and bytes are those of @now. */
void cost_since(const struct profile_cost *told, const struct profile_cost *now,
		struct profile_cost *ret);
void cost_add(struct profile_cost *told, const struct profile_cost *window);

#endif
