// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SipHash (Aumasson, Bernstein: SipHash: a fast short-input PRF, INDOCRYPT 2012) with
 * one round per word and three at the end, as CPython, Rust and Ruby use it for tables.
 */
#include "base/hash.h"

#include <sys/auxv.h>
#include <sys/random.h>

struct sip {
	uint64_t v[4];
};

static struct hash_key secret;

/* Runs before main(), because the first hash needs the secret. */
__attribute__((constructor)) static void choose_secret(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	/*
	 * If the kernel has no random bytes yet: the 16 bytes that it gives each
	 * program (getauxval(3)).
	 */
	if (getrandom(&secret, sizeof(secret), GRND_NONBLOCK) != sizeof(secret) && random)
		memcpy(&secret, random, sizeof(secret));
}

static inline uint64_t rotate(uint64_t x, unsigned int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void mix(struct sip *s)
{
	uint64_t *v = s->v;

	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] = rotate(v[2], 32);
}

static inline struct sip begin(const struct hash_key *key)
{
	return (struct sip){.v = {key->k[0] ^ 0x736f6d6570736575ULL,
				  key->k[1] ^ 0x646f72616e646f6dULL,
				  key->k[0] ^ 0x6c7967656e657261ULL,
				  key->k[1] ^ 0x7465646279746573ULL}};
}

static inline void take(struct sip *s, uint64_t word)
{
	s->v[3] ^= word;
	mix(s);
	s->v[0] ^= word;
}

/* @word  the remaining bytes, with the length in its highest byte */
static inline uint64_t end(struct sip *s, uint64_t word)
{
	take(s, word);
	s->v[2] ^= 0xff;
	mix(s);
	mix(s);
	mix(s);
	return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

/* Reads words in host order, because all supported machines are little-endian. */
static inline uint64_t take_bytes(struct sip *s, const unsigned char *p, size_t len,
				  uint64_t len_in_all)
{
	uint64_t word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		take(s, word);
	}
	word = 0;
	if (len)
		memcpy(&word, p, len);
	return end(s, word | len_in_all << 56);
}

uint64_t hash_sip13(const struct hash_key *key, const void *data, size_t len)
{
	struct sip s = begin(key);

	return take_bytes(&s, data, len, len);
}

uint64_t hash_u64(uint64_t hash, uint64_t value)
{
	struct sip s = begin(&secret);

	take(&s, hash);
	take(&s, value);
	return end(&s, 16ULL << 56);
}

uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
	struct sip s = begin(&secret);

	take(&s, hash);
	return take_bytes(&s, data, len, len + 8);
}

uint64_t hash_ends(const void *first, const void *last, uint64_t len)
{
	const struct hash_key known = {{len, 0}};
	const uint64_t ends[] = {hash_sip13(&known, first, hash_end_len(len)),
				 hash_sip13(&known, last, hash_end_len(len))};

	return hash_sip13(&known, ends, sizeof(ends));
}
