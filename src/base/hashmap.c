// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/hashmap.h"

#include <errno.h>
#include <stdlib.h>

void hashmap_deinit(struct hashmap *map)
{
	free(map->slots);
	*map = (struct hashmap){0};
}

static size_t home(const struct hashmap *map, uint64_t hash)
{
	return (hash ^ hash >> 32) & (map->nr_slots - 1);
}

static void place(struct hashmap *map, uint64_t hash, uint32_t item)
{
	size_t i = home(map, hash);

	while (map->slots[i].item != HASHMAP_NONE)
		i = (i + 1) & (map->nr_slots - 1);
	map->slots[i] = (struct hashmap_slot){.hash = hash, .item = item};
}

uint32_t hashmap_get(const struct hashmap *map, uint64_t hash, hashmap_eq eq,
		     const void *key, const void *ctx)
{
	if (!map->nr_slots)
		return HASHMAP_NONE;
	for (size_t i = home(map, hash); map->slots[i].item != HASHMAP_NONE;
	     i = (i + 1) & (map->nr_slots - 1)) {
		const struct hashmap_slot *slot = &map->slots[i];

		if (slot->hash == hash && (!eq || eq(slot->item, key, ctx)))
			return slot->item;
	}
	return HASHMAP_NONE;
}

static int grow(struct hashmap *map)
{
	struct hashmap bigger = {.nr_slots = map->nr_slots ? map->nr_slots * 2 : 64,
				 .nr_items = map->nr_items};

	bigger.slots = malloc(bigger.nr_slots * sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < bigger.nr_slots; i++)
		bigger.slots[i].item = HASHMAP_NONE;
	for (size_t i = 0; i < map->nr_slots; i++)
		if (map->slots[i].item != HASHMAP_NONE)
			place(&bigger, map->slots[i].hash, map->slots[i].item);
	free(map->slots);
	*map = bigger;
	return 0;
}

int hashmap_add(struct hashmap *map, uint64_t hash, uint32_t item)
{
	/*
	 * Probe sequences are short while at most three quarters of the slots are used.
	 */
	if ((map->nr_items + 1) * 4 > map->nr_slots * 3 && grow(map))
		return -ENOMEM;
	place(map, hash, item);
	map->nr_items++;
	return 0;
}

void hashmap_remove(struct hashmap *map, uint64_t hash, uint32_t item)
{
	size_t mask = map->nr_slots - 1;
	size_t i, next;

	if (!map->nr_slots)
		return;
	for (i = home(map, hash);; i = (i + 1) & mask) {
		if (map->slots[i].item == HASHMAP_NONE)
			return;
		if (map->slots[i].hash == hash && map->slots[i].item == item)
			break;
	}
	/* Close the gap: move back each later entry that may be in an earlier slot. */
	for (next = (i + 1) & mask; map->slots[next].item != HASHMAP_NONE;
	     next = (next + 1) & mask) {
		size_t distance = (next - home(map, map->slots[next].hash)) & mask;

		if (distance >= ((next - i) & mask)) {
			map->slots[i] = map->slots[next];
			i = next;
		}
	}
	map->slots[i].item = HASHMAP_NONE;
	map->nr_items--;
}
