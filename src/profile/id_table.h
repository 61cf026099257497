/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ids that a pprof file gives the items of one table: any nonzero numbers, each
 * once.
 */
#ifndef LB_PROFILE_ID_TABLE_H
#define LB_PROFILE_ID_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"

/**
 * Returns the id of mapping @index in a file that we write. Ids are 1 to N in file
 * order, and the file has mapping @first (none: UINT32_MAX) before the others. 0:
 * @index is UINT32_MAX.
 */
static inline uint64_t mapping_id_of(uint32_t first, uint32_t index)
{
	if (index == UINT32_MAX)
		return 0;
	if (index == first)
		return 1;
	return index + UINT64_C(1) + (first != UINT32_MAX && index < first);
}

/* Zero-initialised: empty. */
struct id_table {
	uint64_t *items; /* by index; heap */
	size_t nr, cap;
	struct hashmap index;
};

/** Returns the index of @id; HASHMAP_NONE: not found, or 0. */
uint32_t id_table_find(const struct id_table *ids, uint64_t id);

/** Assigns the next index to @id, which must not be 0. Return: 0, -EEXIST, -ENOMEM. */
int id_table_add(struct id_table *ids, uint64_t id);
void id_table_deinit(struct id_table *ids);

#endif
