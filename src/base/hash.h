/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 64-bit hashing for tables in user space (not for hostile-input guarantees: seed it). */
#ifndef LB_BASE_HASH_H
#define LB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Mixes @value into @hash; the finaliser of MurmurHash3 (public domain constants). */
static inline uint64_t hash_u64(uint64_t hash, uint64_t value)
{
	hash ^= value;
	hash ^= hash >> 33;
	hash *= 0xff51afd7ed558ccdULL;
	hash ^= hash >> 33;
	hash *= 0xc4ceb9fe1a85ec53ULL;
	hash ^= hash >> 33;
	return hash;
}

/* One to one: with the same @hash no two addresses have the same. */
static inline uint64_t hash_pointer(uint64_t hash, const void *p)
{
	return hash_u64(hash, (uintptr_t)p);
}

static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;

	hash = hash_u64(hash, len);
	for (; len >= 8; p += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		hash = hash_u64(hash, word);
	}
	if (len) {
		uint64_t word = 0;

		memcpy(&word, p, len);
		hash = hash_u64(hash, word);
	}
	return hash;
}

/*
 * Of the first and the last bytes of something long, so many each (of less: of all of
 * it), for who would have to fetch the rest. @first and @last may overlap.
 */
#define HASH_END_BYTES 4096u

static inline size_t hash_end_len(uint64_t len)
{
	return len < HASH_END_BYTES ? (size_t)len : HASH_END_BYTES;
}

static inline uint64_t hash_ends(const void *first, const void *last, uint64_t len)
{
	return hash_bytes(hash_bytes(len, first, hash_end_len(len)), last,
			  hash_end_len(len));
}

#endif
