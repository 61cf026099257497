/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places of a table that users share, counted by user, so that none takes those of others:
 * nobody but root (uid 0) may have more than a quarter of them. Targets whose user is not
 * known count as one user. Without a maximum nothing is refused: where the caller chose the
 * targets, they have no neighbours.
 */
#ifndef LB_BASE_QUOTA_H
#define LB_BASE_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"

/* Zero-initialise. */
struct quota {
	uint64_t max; /* places of the table; 0: no limit */
	struct quota_user {
		uint32_t uid;
		uint64_t nr;
	} * users; /* heap */
	size_t nr_users, cap_users;
	struct hashmap index;
};

void quota_deinit(struct quota *q);

/**
 * Takes @nr places for @uid. Return: false, with nothing taken: they are more than its
 * part, or there is no memory to count them.
 */
bool quota_take(struct quota *q, uint32_t uid, uint64_t nr);

/** Gives back places that @uid took. */
void quota_give(struct quota *q, uint32_t uid, uint64_t nr);

#endif
