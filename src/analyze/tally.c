// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/tally.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"

static bool pair_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct tally_item *a = &((const struct tally *)ctx)->items[item];
	const struct tally_item *b = key;

	return a->a == b->a && a->b == b->b;
}

uint32_t tally_number(struct tally *t, uint64_t a, uint64_t b)
{
	const struct tally_item key = {.a = a, .b = b};
	uint64_t hash = hash_u64(hash_u64(0, a), b);
	uint32_t item = hashmap_find(&t->index, hash, pair_eq, &key, t);

	if (item != HASHMAP_NONE)
		return item;
	if (vec_grow(&t->items, &t->cap, t->nr + 1, sizeof(*t->items),
		     PROFILE_NONE - 1) ||
	    hashmap_add(&t->index, hash, (uint32_t)t->nr))
		return PROFILE_NONE;
	t->items[t->nr] = key;
	return (uint32_t)t->nr++;
}

void tally_deinit(struct tally *t)
{
	hashmap_deinit(&t->index);
	free(t->items);
	*t = (struct tally){0};
}

int weight_compare(struct weight a, struct weight b)
{
	if (a.cpu_ns != b.cpu_ns)
		return a.cpu_ns > b.cpu_ns ? -1 : 1;
	if (a.samples != b.samples)
		return a.samples > b.samples ? -1 : 1;
	return 0;
}
