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

#endif
