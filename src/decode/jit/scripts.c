// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The full names are in the names of the code: "JS:*hot /app/server.js:4:13". What
 * is left of a damaged one is its length and what follows its 16th byte.
 *
 * If that rest holds the whole base name, and one known file has that length and
 * that rest, it is that file. Short names ("/app/server.js" has no rest at all)
 * need more: the entry's line and column must be a place that exists in exactly
 * one of the possible files. Such places are where functions start (in their
 * names), and all positions of baseline code, whose DEBUG_INFO never has inlined
 * entries, so that they belong to the file in the code's own name.
 */
#include "decode/jit/scripts.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "decode/jit/name.h"

#define LOST_BYTES 16 /* of a damaged name */
#define NONE       UINT32_MAX

struct script {
	const char *path; /* interned */
	uint32_t next; /* with the same length and rest; NONE: last */
};

struct scripts {
	struct strpool *pool;
	struct script *items;
	size_t nr, cap;
	struct hashmap by_path; /* by pointer */
	struct hashmap by_rest; /* the newest of a list */
	struct hashmap positions; /* hash of (path, line, column); items unused */
};

void scripts_free(struct scripts *s)
{
	if (!s)
		return;
	free(s->items);
	hashmap_deinit(&s->by_path);
	hashmap_deinit(&s->by_rest);
	hashmap_deinit(&s->positions);
	free(s);
}

/* Does what is left of a damaged name hold the base name? */
static bool is_telling(const char *path, size_t len)
{
	return len > LOST_BYTES && memchr(path + LOST_BYTES, '/', len - LOST_BYTES);
}

struct rest_key {
	const char *name;
	size_t len;
};

static uint64_t rest_hash(const char *name, size_t len)
{
	size_t lost = len < LOST_BYTES ? len : LOST_BYTES;

	return hash_bytes(len, name + lost, len - lost);
}

static bool rest_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct scripts *s = ctx;
	const struct rest_key *want = key;
	const char *path = s->items[item].path;
	size_t lost = want->len < LOST_BYTES ? want->len : LOST_BYTES;

	return strlen(path) == want->len &&
	       !memcmp(path + lost, want->name + lost, want->len - lost);
}

static uint64_t position_hash(const char *path, uint32_t line, uint32_t column)
{
	return hash_u64(hash_pointer(0, path), (uint64_t)line << 32 | column);
}

static bool same_path(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct scripts *)ctx)->items[item].path == key;
}

/* A miss of memory or room is a file that is not recovered. */
static void add_path(struct scripts *s, const char *path, size_t len)
{
	struct rest_key key = {.name = path, .len = len};
	uint64_t hash = rest_hash(path, len);
	uint32_t head;

	if (hashmap_find(&s->by_path, hash_pointer(0, path), same_path, path, s) !=
		    HASHMAP_NONE ||
	    strlen(path) != len ||
	    vec_grow(&s->items, &s->cap, s->nr + 1, sizeof(*s->items), SCRIPTS_MAX))
		return;
	head = hashmap_find(&s->by_rest, hash, rest_eq, &key, s);
	s->items[s->nr] = (struct script){.path = path, .next = NONE};
	if (hashmap_add(&s->by_path, hash_pointer(0, path), (uint32_t)s->nr))
		return;
	if (head == HASHMAP_NONE) {
		if (hashmap_add(&s->by_rest, hash, (uint32_t)s->nr))
			return;
	} else {
		s->items[s->nr].next = s->items[head].next;
		s->items[head].next = (uint32_t)s->nr;
	}
	s->nr++;
}

static void add_position(struct scripts *s, const char *path, uint32_t line,
			 uint32_t column)
{
	uint64_t hash = position_hash(path, line, column);

	if (s->positions.nr_items < SCRIPTS_MAX_POSITIONS &&
	    hashmap_find(&s->positions, hash, NULL, NULL, NULL) == HASHMAP_NONE)
		(void)hashmap_add(&s->positions, hash, 0);
}

static void add_load(struct scripts *s, const struct jitdump *jd,
		     const struct record_load *load, const struct record *debug)
{
	struct debug_entry entry;
	struct debug_iter it;
	struct jit_name name;
	const char *path;

	jit_name_split(load->name, load->name_len, &name);
	if (!name.file_len)
		return;
	path = strpool_add_n(s->pool, name.file, name.file_len);
	add_path(s, path, name.file_len);
	if (is_telling(path, name.file_len))
		return;
	add_position(s, path, name.start_line, name.start_column);
	if (!name.bytecode_positions || !debug->size ||
	    !debug_iter_init(&it, jd, debug, load, name.file_len))
		return;
	while (debug_iter_next(&it, &entry))
		if (entry.damaged && entry.file_len == name.file_len)
			add_position(s, path, entry.line, entry.column);
}

struct scripts *scripts_new(const struct jitdump *jd, struct strpool *pool)
{
	struct scripts *s = calloc(1, sizeof(*s));
	struct record rec, debug = {0};
	struct record_load load;
	uint64_t off = jd->first_off;

	if (!s)
		return NULL;
	s->pool = pool;
	while (jitdump_next(jd, &off, &rec) == RECORD_OK) {
		if (rec.id == RECORD_DEBUG_INFO) {
			debug = rec;
		} else if (rec.id == RECORD_LOAD) {
			if (record_load(jd, &rec, &load))
				add_load(s, jd, &load, &debug);
			debug = (struct record){0};
		}
	}
	return s;
}

const char *scripts_find(const struct scripts *s, const struct debug_entry *entry)
{
	struct rest_key key = {.name = entry->file, .len = entry->file_len};
	bool telling = is_telling(entry->file, entry->file_len);
	const char *found = NULL;
	uint32_t i =
		hashmap_find(&s->by_rest, rest_hash(key.name, key.len), rest_eq, &key, s);

	if (telling && i != NONE && s->items[i].next == NONE)
		return s->items[i].path;
	for (; i != NONE; i = s->items[i].next) {
		uint64_t hash =
			position_hash(s->items[i].path, entry->line, entry->column);

		if (hashmap_find(&s->positions, hash, NULL, NULL, NULL) == HASHMAP_NONE)
			continue;
		if (found)
			return NULL;
		found = s->items[i].path;
	}
	return found;
}
