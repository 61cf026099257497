/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 64-bit hashes for tables. Most keys are untrusted: file names, addresses, code. So
 * hash_u64() and hash_bytes() are keyed with a secret of this process: without it
 * nobody can construct keys that share a hash or a table slot. A hash is meaningless in
 * another process or run.
 */
#ifndef LB_BASE_HASH_H
#define LB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Appends @value to @hash; begin with 0. */
uint64_t hash_u64(uint64_t hash, uint64_t value);
uint64_t hash_bytes(uint64_t hash, const void *data, size_t len);

/*
 * One to one, without a secret: only for numbers that others cannot choose. The
 * finaliser of MurmurHash3 (public domain constants).
 */
static inline uint64_t hash_number(uint64_t number)
{
	number ^= number >> 33;
	number *= 0xff51afd7ed558ccdULL;
	number ^= number >> 33;
	number *= 0xc4ceb9fe1a85ec53ULL;
	number ^= number >> 33;
	return number;
}

/*
 * One to one: no two addresses collide with the same @hash. Only for our own addresses,
 * which the kernel randomises.
 */
static inline uint64_t hash_pointer(uint64_t hash, const void *p)
{
	return hash_number(hash ^ (uintptr_t)p);
}

struct hash_key {
	uint64_t k[2];
};

/** SipHash-1-3 with the caller's @key. */
uint64_t hash_sip13(const struct hash_key *key, const void *data, size_t len);

/*
 * Hashes the first and the last HASH_END_BYTES of long data (all of it if shorter), for
 * callers that would have to read the rest from another process. @first and @last may
 * overlap. Unkeyed, the same in every process: the author of the data can construct
 * collisions.
 */
#define HASH_END_BYTES 4096u

static inline size_t hash_end_len(uint64_t len)
{
	return len < HASH_END_BYTES ? (size_t)len : HASH_END_BYTES;
}

uint64_t hash_ends(const void *first, const void *last, uint64_t len);

#endif
