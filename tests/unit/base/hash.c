// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keys crafted to collide under the hash function that tables had before, which is kept
 * here for that, whatever its seed. They must not collide under the new function.
 */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/hashmap.h"

#define NR_KEYS 4096u

/* ---- the old function and its inverse ---- */

static uint64_t old_mix(uint64_t hash, uint64_t value)
{
	hash ^= value;
	hash ^= hash >> 33;
	hash *= 0xff51afd7ed558ccdULL;
	hash ^= hash >> 33;
	hash *= 0xc4ceb9fe1a85ec53ULL;
	return hash ^ hash >> 33;
}

/* Newton's iteration: each step doubles the correct bits. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;

	for (int i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

static uint64_t old_unmix(uint64_t hash)
{
	hash ^= hash >> 33;
	hash *= inverse(0xc4ceb9fe1a85ec53ULL);
	hash ^= hash >> 33;
	hash *= inverse(0xff51afd7ed558ccdULL);
	return hash ^ hash >> 33;
}

/* Makes two words whose old hash under @seed is the same for each @n. */
static void craft(uint64_t seed, uint64_t n, uint64_t ret[2])
{
	ret[0] = n * 0x9e3779b97f4a7c15ULL | 1;
	ret[1] = old_mix(old_mix(seed, 16), ret[0]) ^ old_unmix(0x1234567);
	assert_int_equal(old_mix(old_mix(old_mix(seed, 16), ret[0]), ret[1]), 0x1234567);
}

/* ---- */

static bool count(uint32_t item, const void *key, const void *ctx)
{
	(void)item;
	(void)ctx;
	++*(size_t *)key;
	return false;
}

/*
 * Return: how often two keys were compared while all keys were looked up and added. The
 * chance that two of so few hashes are equal is 1 in 2 * 10^12.
 */
static size_t nr_compared(const uint64_t hashes[NR_KEYS])
{
	struct hashmap map = {0};
	size_t nr = 0;

	for (uint32_t i = 0; i < NR_KEYS; i++) {
		assert_int_equal(hashmap_get(&map, hashes[i], count, &nr, NULL),
				 HASHMAP_NONE);
		assert_int_equal(hashmap_add(&map, hashes[i], i), 0);
	}
	hashmap_deinit(&map);
	return nr;
}

static void crafted_bytes_share_no_hash(void **state)
{
	static const uint64_t seeds[] = {0, 1, 2}; /* of tables until then */
	uint64_t hashes[NR_KEYS], words[2];

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(seeds); s++) {
		for (uint32_t i = 0; i < NR_KEYS; i++) {
			craft(seeds[s], i, words);
			hashes[i] = hash_bytes(seeds[s], words, sizeof(words));
		}
		assert_int_equal(nr_compared(hashes), 0);
	}
}

static void crafted_numbers_share_no_hash(void **state)
{
	uint64_t hashes[NR_KEYS];

	(void)state;
	/* Words that cancel each other under any seed. */
	for (uint32_t i = 0; i < NR_KEYS; i++)
		hashes[i] = hash_u64(0x7f0000001000 ^ i, i);
	assert_int_equal(nr_compared(hashes), 0);
	/* Nested hashes. */
	for (uint32_t i = 0; i < NR_KEYS; i++)
		hashes[i] =
			hash_u64(hash_u64(0, i), old_mix(0, i) ^ old_unmix(0x1234567));
	assert_int_equal(nr_compared(hashes), 0);
}

/* Slots of numbers whose old hashes had the same low bits: no long runs. */
static void crafted_numbers_share_no_place(void **state)
{
	struct hashmap map = {0};
	size_t run = 0, longest = 0;

	(void)state;
	for (uint32_t i = 0; i < NR_KEYS; i++) {
		uint64_t key = old_unmix((uint64_t)i << 14 << 32 | (uint64_t)i << 14);

		assert_int_equal(old_mix(0, key) & 0x3fff, 0);
		assert_int_equal(hashmap_add(&map, hash_u64(0, key), i), 0);
	}
	for (size_t i = 0; i < map.nr_slots; i++) {
		run = map.slots[i].item == HASHMAP_NONE ? 0 : run + 1;
		longest = run > longest ? run : longest;
	}
	/* Half full, the longest run is about 30; with collisions it would be all. */
	assert_in_range(longest, 1, 256);
	hashmap_deinit(&map);
}

/* An attacker cannot precompute hashes: each process has its own secret. */
static void each_process_has_a_secret(void **state)
{
	uint64_t there, here = hash_u64(0, 7);
	FILE *other;

	(void)state;
	other = popen("/proc/$PPID/exe --tell", "r");
	assert_non_null(other);
	assert_int_equal(fread(&there, sizeof(there), 1, other), 1);
	assert_int_equal(pclose(other), 0);
	assert_int_not_equal(there, here);
	assert_int_equal(hash_u64(0, 7), here);
}

static void it_is_siphash(void **state)
{
	/* hash(bytes(range(LEN))) of CPython 3.11, PYTHONHASHSEED=0: the key is 0 */
	static const struct {
		size_t len;
		uint64_t hash;
	} known[] = {
		{1, 0x68a914128e01e473},  {7, 0x2f098ab0c751325a},
		{8, 0xead411e67ebe2eea},  {15, 0xf30eb725bb91c9ea},
		{16, 0x8972188433a5c5b7}, {63, 0x385d3e39e5f37359},
	};
	const struct hash_key zero = {{0, 0}};
	unsigned char bytes[64];

	(void)state;
	for (unsigned char i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		assert_int_equal(hash_sip13(&zero, bytes, known[i].len), known[i].hash);
	assert_int_not_equal(hash_sip13(&(struct hash_key){{0, 1}}, bytes, 8),
			     known[2].hash);
	assert_int_not_equal(hash_sip13(&(struct hash_key){{1, 0}}, bytes, 8),
			     known[2].hash);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crafted_bytes_share_no_hash),
		cmocka_unit_test(crafted_numbers_share_no_hash),
		cmocka_unit_test(crafted_numbers_share_no_place),
		cmocka_unit_test(each_process_has_a_secret),
		cmocka_unit_test(it_is_siphash),
	};
	uint64_t told = hash_u64(0, 7);

	(void)argv;
	if (argc > 1)
		return write(STDOUT_FILENO, &told, sizeof(told)) != sizeof(told);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
