// SPDX-License-Identifier: GPL-2.0-or-later
/* The index compared with a plain array as the model. */
#include "base/hashmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

#define NR_KEYS  2000
#define NR_STEPS 60000

/* xorshift64*: the same numbers in every run. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ULL;
}

static bool is_key(uint32_t item, const void *key, const void *ctx)
{
	(void)ctx;
	return item == *(const uint32_t *)key;
}

static uint32_t find(const struct hashmap *map, uint64_t hash, uint32_t key)
{
	return hashmap_get(map, hash, is_key, &key, NULL);
}

static void check_all(const struct hashmap *map, const uint64_t *hashes,
		      const bool *present)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < NR_KEYS; i++) {
		assert_int_equal(find(map, hashes[i], i), present[i] ? i : HASHMAP_NONE);
		nr += present[i];
	}
	assert_int_equal(map->nr_items, nr);
}

/* @distinct  how many hashes the keys share: few give long runs that wrap around */
static void against_model(uint64_t distinct, uint64_t multiplier)
{
	struct hashmap map = {0};
	static uint64_t hashes[NR_KEYS];
	static bool present[NR_KEYS];
	uint64_t seed = 88172645463325252ULL;

	memset(present, 0, sizeof(present));
	for (uint32_t i = 0; i < NR_KEYS; i++)
		hashes[i] = i % distinct * multiplier;
	for (int step = 0; step < NR_STEPS; step++) {
		uint32_t key = (uint32_t)(next_random(&seed) % NR_KEYS);
		bool filling = step / 10000 % 2 == 0;

		/*
		 * Phases alternate: in one most keys are added, in one most are
		 * removed.
		 */
		if (next_random(&seed) % 8 == 0)
			filling = !filling;
		if (!present[key] && filling) {
			assert_int_equal(hashmap_add(&map, hashes[key], key), 0);
			present[key] = true;
		} else if (!filling) {
			hashmap_remove(&map, hashes[key], key);
			present[key] = false;
		}
		if (step % 6000 == 0)
			check_all(&map, hashes, present);
	}
	check_all(&map, hashes, present);
	for (uint32_t i = 0; i < NR_KEYS; i++)
		hashmap_remove(&map, hashes[i], i);
	assert_int_equal(map.nr_items, 0);
	for (size_t i = 0; i < map.nr_slots; i++)
		assert_int_equal(map.slots[i].item, HASHMAP_NONE);
	hashmap_deinit(&map);
}

static void test_good_hashes(void **state)
{
	(void)state;
	against_model(NR_KEYS, 0x9e3779b97f4a7c15ULL);
}

static void test_neighbouring_hashes(void **state)
{
	(void)state;
	against_model(NR_KEYS, 1);
}

/* Hashes at both ends of the table, so that runs wrap around. */
static void test_wrapping_runs(void **state)
{
	(void)state;
	against_model(3, UINT32_MAX);
}

static void test_equal_hashes(void **state)
{
	struct hashmap map = {0};

	(void)state;
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(hashmap_add(&map, 42, i), 0);
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(find(&map, 42, i), i);
	assert_int_equal(find(&map, 42, 300), HASHMAP_NONE);
	assert_int_equal(find(&map, 43, 0), HASHMAP_NONE);
	/* Without a comparison function the hash decides. */
	assert_true(hashmap_get(&map, 42, NULL, NULL, NULL) < 300);
	for (uint32_t i = 0; i < 300; i += 2)
		hashmap_remove(&map, 42, i);
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(find(&map, 42, i), i % 2 ? i : HASHMAP_NONE);
	hashmap_deinit(&map);
	assert_int_equal(map.nr_slots, 0);
}

static void test_empty(void **state)
{
	struct hashmap map = {0};
	uint32_t key = 0;

	(void)state;
	assert_int_equal(hashmap_get(&map, 1, is_key, &key, NULL), HASHMAP_NONE);
	hashmap_remove(&map, 1, 0);
	assert_int_equal(map.nr_items, 0);
	assert_int_equal(hashmap_add(&map, 1, 0), 0);
	hashmap_remove(&map, 1, 7); /* same hash, another item */
	hashmap_remove(&map, 2, 0);
	assert_int_equal(find(&map, 1, 0), 0);
	hashmap_deinit(&map);
	hashmap_deinit(&map);
}

/*
 * At most three quarters full: in a full table a search for an absent key is endless.
 */
static void test_load(void **state)
{
	struct hashmap map = {0};

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		assert_int_equal(hashmap_add(&map, hash_u64(0, i), i), 0);
		assert_true(map.nr_items * 4 <= map.nr_slots * 3);
	}
	assert_true(map.nr_slots <= 4 * 10000);
	hashmap_deinit(&map);
}

static void test_hash_bytes(void **state)
{
	static const char text[] = "0123456789abcdef";
	uint64_t seen[17];

	(void)state;
	for (size_t len = 0; len <= 16; len++) {
		seen[len] = hash_bytes(7, text, len);
		for (size_t i = 0; i < len; i++)
			assert_int_not_equal(seen[i], seen[len]);
		assert_int_not_equal(hash_bytes(8, text, len), seen[len]);
	}
	/* Trailing zero bytes count. */
	assert_int_not_equal(hash_bytes(0, "a\0", 1), hash_bytes(0, "a\0", 2));
	/* The hash depends on the bytes, not on their alignment. */
	assert_int_equal(hash_bytes(7, "x0123456" + 1, 7), seen[7]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_hashes),
		cmocka_unit_test(test_neighbouring_hashes),
		cmocka_unit_test(test_wrapping_runs),
		cmocka_unit_test(test_equal_hashes),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_hash_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
