/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An index over the caller's array: 64-bit hash -> item number. The items, their
 * comparison and their memory belong to the caller, so one implementation serves every
 * table (strings, processes, frames, samples).
 */
#ifndef LB_BASE_HASHMAP_H
#define LB_BASE_HASHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASHMAP_NONE UINT32_MAX

struct hashmap_slot {
	uint64_t hash;
	uint32_t item; /* HASHMAP_NONE: free */
};

/* Zero-initialised: an empty map. */
struct hashmap {
	struct hashmap_slot *slots;
	size_t nr_slots; /* 0 or a power of two */
	size_t nr_items;
};

/* Returns whether @item has @key. Called only when the hashes are equal. */
typedef bool (*hashmap_eq)(uint32_t item, const void *key, const void *ctx);

/** Frees the index, not the items. */
void hashmap_deinit(struct hashmap *map);

/** Returns the item's number, or HASHMAP_NONE. @eq may be NULL: the hash decides. */
uint32_t hashmap_get(const struct hashmap *map, uint64_t hash, hashmap_eq eq,
		     const void *key, const void *ctx);

/** Adds @item, which must not be in the map yet. Return: 0 or -ENOMEM. */
int hashmap_add(struct hashmap *map, uint64_t hash, uint32_t item);

/**
 * Removes the entry with exactly this @hash and @item; does nothing if it is missing.
 */
void hashmap_remove(struct hashmap *map, uint64_t hash, uint32_t item);

#endif
