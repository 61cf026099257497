// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/id_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"

static bool is_id(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct id_table *)ctx)->items[item] == *(const uint64_t *)key;
}

uint32_t id_table_find(const struct id_table *ids, uint64_t id)
{
	return hashmap_get(&ids->index, hash_u64(0, id), is_id, &id, ids);
}

int id_table_add(struct id_table *ids, uint64_t id)
{
	if (id_table_find(ids, id) != HASHMAP_NONE)
		return -EEXIST;
	if (vec_grow(&ids->items, &ids->cap, ids->nr + 1, sizeof(*ids->items),
		     HASHMAP_NONE) ||
	    hashmap_add(&ids->index, hash_u64(0, id), (uint32_t)ids->nr))
		return -ENOMEM;
	ids->items[ids->nr++] = id;
	return 0;
}

void id_table_deinit(struct id_table *ids)
{
	free(ids->items);
	hashmap_deinit(&ids->index);
}
