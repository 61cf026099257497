// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/strpool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/vec.h"

#define CHUNK_BYTES (64 * 1024)
/* Bytes of a string's pointer, and its slots in an index that is half full. */
#define INDEX_BYTES (sizeof(char *) + 2 * sizeof(struct hashmap_slot))

struct chunk {
	struct chunk *next;
	size_t used, size;
	char text[];
};

struct strpool {
	struct hashmap index;
	const char **strings;
	size_t nr, cap;
	struct chunk *chunks;
	size_t bytes, max_bytes;
	uint64_t nr_dropped;
	struct quota quota; /* of max_bytes */
	struct payers payers; /* who are served */
};

struct pool_text {
	const char *s;
	size_t len;
};

static const char dropped_text[] = "[too many names]";

struct strpool *strpool_new(size_t max_bytes)
{
	struct strpool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->max_bytes = max_bytes;
	return pool;
}

void strpool_free(struct strpool *pool)
{
	if (!pool)
		return;
	while (pool->chunks) {
		struct chunk *next = pool->chunks->next;

		free(pool->chunks);
		pool->chunks = next;
	}
	hashmap_deinit(&pool->index);
	quota_deinit(&pool->quota);
	free(pool->strings);
	free(pool);
}

void strpool_share(struct strpool *pool)
{
	pool->quota = (struct quota){.what = "bytes of names",
				     .loss = "some of its names are missing",
				     .max = pool->max_bytes};
}

void strpool_serve(struct strpool *pool, struct tenant who)
{
	pool->payers = payers_of_one(who);
}

void strpool_serve_any(struct strpool *pool, const struct payers *payers)
{
	pool->payers = *payers;
}

void strpool_each_refused(struct strpool *pool, quota_refused_fn fn, void *ctx)
{
	quota_each_refused(&pool->quota, fn, ctx);
}

static bool text_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct strpool *pool = ctx;
	const struct pool_text *text = key;

	/* @s may be in a mapped file, which changes: its bytes do not say where to look. */
	return strnlen(pool->strings[item], text->len + 1) == text->len &&
	       !memcmp(pool->strings[item], text->s, text->len);
}

/*
 * Adds a chunk with @room. A chunk for one long string is inserted after the current
 * one.
 */
static struct chunk *add_chunk(struct strpool *pool, size_t room)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + room);
	struct chunk **at = &pool->chunks;

	if (!chunk)
		return NULL;
	if (*at && room != CHUNK_BYTES)
		at = &(*at)->next;
	*chunk = (struct chunk){.size = room, .next = *at};
	*at = chunk;
	return chunk;
}

static char *allocate(struct strpool *pool, size_t size)
{
	struct chunk *chunk = pool->chunks;

	if (!chunk || chunk->size - chunk->used < size)
		chunk = add_chunk(pool, size > CHUNK_BYTES / 4 ? size : CHUNK_BYTES);
	if (!chunk)
		return NULL;
	chunk->used += size;
	return chunk->text + chunk->used - size;
}

static const char *drop(struct strpool *pool)
{
	pool->nr_dropped++;
	return dropped_text;
}

/* @may_refuse  whoever has its part gets no more */
static bool charge(struct strpool *pool, size_t bytes, bool may_refuse)
{
	struct tenant unused;

	if (may_refuse)
		return quota_take_any(&pool->quota, &pool->payers, bytes, &unused);
	quota_add_any(&pool->quota, &pool->payers, bytes);
	return true;
}

static const char *add(struct strpool *pool, const char *s, size_t len, bool may_refuse)
{
	struct pool_text text = {.s = s, .len = strnlen(s, len)};
	uint64_t hash = hash_bytes(0, s, text.len);
	uint32_t item = hashmap_get(&pool->index, hash, text_eq, &text, pool);
	size_t bytes = text.len + 1 + INDEX_BYTES;
	char *copy;

	if (item != HASHMAP_NONE)
		return pool->strings[item];
	if (pool->max_bytes - pool->bytes < INDEX_BYTES + 1 ||
	    text.len > pool->max_bytes - pool->bytes - INDEX_BYTES - 1 ||
	    pool->nr >= HASHMAP_NONE - 1)
		return drop(pool);
	if (vec_grow(&pool->strings, &pool->cap, pool->nr + 1, sizeof(*pool->strings),
		     0) ||
	    !charge(pool, bytes, may_refuse))
		return drop(pool);
	copy = allocate(pool, text.len + 1);
	if (!copy || hashmap_add(&pool->index, hash, (uint32_t)pool->nr))
		return drop(pool);
	memcpy(copy, s, text.len);
	copy[text.len] = '\0';
	pool->bytes += bytes;
	pool->strings[pool->nr++] = copy;
	return copy;
}

const char *strpool_add_n(struct strpool *pool, const char *s, size_t len)
{
	return add(pool, s, len, true);
}

const char *strpool_move(struct strpool *pool, const char *s)
{
	return add(pool, s, strlen(s), false);
}

const char *strpool_add(struct strpool *pool, const char *s)
{
	return s ? strpool_add_n(pool, s, strlen(s)) : strpool_add_n(pool, "", 0);
}

const char *strpool_add_namesake(struct strpool *pool, const char *s)
{
	size_t size = strlen(s) + 1;
	char *copy = NULL;

	if (size <= pool->max_bytes - pool->bytes && charge(pool, size, true))
		copy = allocate(pool, size);
	if (!copy)
		return strpool_add(pool, s);
	pool->bytes += size;
	return memcpy(copy, s, size);
}

uint64_t strpool_nr_dropped(const struct strpool *pool)
{
	return pool->nr_dropped;
}

const char *strpool_print(struct strpool *pool, const char *fmt, ...)
{
	char text[8192];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return strpool_add(pool, text);
}
