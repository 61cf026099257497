/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ids that a pprof file gives the items of one table: any numbers but 0, each once. */
#ifndef LB_PROFILE_ID_TABLE_H
#define LB_PROFILE_ID_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"

/* All zeroes: empty. */
struct id_table {
	uint64_t *items; /* by index; heap */
	size_t nr, cap;
	struct hashmap index;
};

/** Returns the index of @id; HASHMAP_NONE: there is none, as for 0. */
uint32_t id_table_find(const struct id_table *ids, uint64_t id);

/** Gives the next index to @id, which is not 0. Return: 0, -EEXIST, -ENOMEM. */
int id_table_add(struct id_table *ids, uint64_t id);
void id_table_deinit(struct id_table *ids);

#endif
