// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbolize/address_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "process/process.h"

int table_init(struct address_table *t, struct strpool *pool, size_t max_entries)
{
	struct entry over = {.resolved.miss = MISS_LIMIT};
	uint32_t source;

	*t = (struct address_table){.pool = pool, .max_entries = max_entries};
	source = table_source(t, SOURCE_NONE, NULL, 0, (struct tenant){0});
	if (source == TABLE_NO_SOURCE)
		return -ENOMEM;
	over.source = source;
	over.resolved.object = table_add_object(t, OBJECT_UNKNOWN, "[unknown]");
	if (!over.resolved.object)
		return -ENOMEM;
	t->sources[source].object = t->objects[0];
	/* Unique: all other entries of NONE have times 0. */
	over.first_ns = UINT64_MAX;
	t->max_entries++;
	table_want(t, &over);
	return t->nr_entries == 1 ? 0 : -ENOMEM;
}

void table_deinit(struct address_table *t)
{
	for (size_t i = 0; i < t->nr_chunks; i++)
		free(t->chunks[i]);
	free(t->chunks);
	hashmap_deinit(&t->entries_by_key);
	for (size_t i = 0; i < t->nr_sources; i++)
		free(t->sources[i].pending);
	free(t->sources);
	hashmap_deinit(&t->sources_by_key);
	for (size_t i = 0; i < t->nr_objects; i++)
		free(t->objects[i]);
	free(t->objects);
	free(t->names);
	hashmap_deinit(&t->names_by_key);
	quota_deinit(&t->quota);
	*t = (struct address_table){0};
}

struct entry *table_entry(const struct address_table *t, uint32_t id)
{
	return &t->chunks[id / TABLE_CHUNK_ENTRIES][id % TABLE_CHUNK_ENTRIES];
}

struct object *table_add_object(struct address_table *t, enum object_kind kind,
				const char *name)
{
	struct object *object;

	if (vec_grow(&t->objects, &t->cap_objects, t->nr_objects + 1, sizeof(*t->objects),
		     0))
		return NULL;
	object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	object->kind = kind;
	object->name = strpool_add(t->pool, name);
	object->id = (uint32_t)t->nr_objects;
	t->objects[t->nr_objects++] = object;
	return object;
}

/* ---- the names of a file ---- */

struct name_key {
	uint32_t source;
	const char *path; /* NULL: the first one of the tenant */
	struct tenant tenant;
};

static bool name_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct table_name *name = &((const struct address_table *)ctx)->names[item];
	const struct name_key *want = key;

	if (name->source != want->source)
		return false;
	return want->path ? !strcmp(name->object->name, want->path)
			  : name->nr && tenant_is_same(name->tenant, want->tenant);
}

static uint64_t name_hash(const struct name_key *key)
{
	if (key->path)
		return hash_bytes(key->source, key->path, strlen(key->path));
	return hash_u64(hash_u64(key->source, key->tenant.container), key->tenant.uid);
}

static struct table_name *find_name(const struct address_table *t,
				    const struct name_key *key)
{
	uint32_t i = hashmap_get(&t->names_by_key, name_hash(key), name_eq, key, t);

	return i == HASHMAP_NONE ? NULL : &t->names[i];
}

/* @by_tenant  its first name. Return: NULL: out of memory, or of places. */
static struct object *add_name(struct address_table *t, const struct name_key *by_path,
			       const struct name_key *by_tenant)
{
	struct object **first = &t->sources[by_path->source].object, *object;
	uint32_t i = (uint32_t)t->nr_names;
	struct table_name *own;

	if (!quota_take(&t->quota, by_tenant->tenant, 1) ||
	    vec_grow(&t->names, &t->cap_names, t->nr_names + 1, sizeof(*t->names),
		     HASHMAP_NONE - 1))
		return NULL;
	object = table_add_object(t, OBJECT_FILE, by_path->path);
	if (!object || hashmap_add(&t->names_by_key, name_hash(by_path), i))
		return NULL;
	own = find_name(t, by_tenant);
	t->names[t->nr_names++] = (struct table_name){.source = by_path->source,
						      .tenant = by_tenant->tenant,
						      .object = object,
						      .nr = !own};
	/* Out of memory: the next one is its first one, too. */
	if (own)
		own->nr++;
	else
		hashmap_add(&t->names_by_key, name_hash(by_tenant), i);
	if (*first) {
		object->first = *first;
		object->next = (*first)->next;
		(*first)->next = object;
	} else {
		*first = object;
	}
	return object;
}

struct object *table_object_at(struct address_table *t, uint32_t source, const char *path,
			       struct tenant who)
{
	const struct name_key by_path = {.source = source, .path = path};
	const struct name_key by_tenant = {.source = source, .tenant = who};
	struct object *first = t->sources[source].object;
	const struct table_name *name;

	/* Most files have one name. */
	if (first && !strcmp(first->name, path))
		return first;
	name = find_name(t, &by_path);
	if (!name)
		name = find_name(t, &by_tenant);
	if (name && (!strcmp(name->object->name, path) || name->nr >= TABLE_MAX_NAMES))
		return name->object;
	return add_name(t, &by_path, &by_tenant);
}

/* ---- sources ---- */

struct source_key {
	enum source_kind kind;
	const void *key;
	uint64_t root_id;
};

static bool source_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct address_table *t = ctx;
	const struct source_key *want = key;
	const struct source *source = &t->sources[item];

	return source->kind == want->kind && source->key == want->key &&
	       source->root_id == want->root_id;
}

static uint64_t source_hash(const struct source_key *key)
{
	return hash_pointer(hash_u64(key->root_id, key->kind), key->key);
}

static uint32_t find_source(const struct address_table *t, const struct source_key *key)
{
	uint32_t i = hashmap_get(&t->sources_by_key, source_hash(key), source_eq, key, t);

	return i == HASHMAP_NONE ? TABLE_NO_SOURCE : i;
}

uint32_t table_find_source(const struct address_table *t, enum source_kind kind,
			   const void *key, uint64_t root_id)
{
	return find_source(t, &(struct source_key){kind, key, root_id});
}

uint32_t table_source(struct address_table *t, enum source_kind kind, const void *key,
		      uint64_t root_id, struct tenant who)
{
	struct source_key want = {.kind = kind, .key = key, .root_id = root_id};
	uint32_t i = find_source(t, &want);

	if (i != TABLE_NO_SOURCE)
		return i;
	if (!quota_take(&t->quota, who, TABLE_SOURCE_PLACES))
		return TABLE_NO_SOURCE;
	/* Each source has its own entry, so the entry limit bounds sources, too. */
	if (vec_grow(&t->sources, &t->cap_sources, t->nr_sources + 1, sizeof(*t->sources),
		     t->max_entries + 1))
		return TABLE_NO_SOURCE;
	i = (uint32_t)t->nr_sources;
	if (hashmap_add(&t->sources_by_key, source_hash(&want), i))
		return TABLE_NO_SOURCE;
	t->sources[i] = (struct source){.kind = kind, .key = key, .root_id = root_id};
	t->nr_sources++;
	return i;
}

/* Did the decoder name it late, or not at all, before a pause that is over? */
static bool is_late_one(const struct address_table *t, const struct entry *have)
{
	const struct source *source = &t->sources[have->source];

	return have->late_in &&
	       have->late_in <= (have->resolved.nr_frames ? source->nr_pauses
							  : source->nr_all_pauses);
}

/*
 * Entries without a source also differ by their miss, and those of files by their object,
 * which are never changed later.
 */
static bool is_same_address(const struct address_table *t, const struct entry *have,
			    const struct entry *want)
{
	return have->lookup == want->lookup && have->source == want->source &&
	       have->is_return == want->is_return && have->first_ns == want->first_ns &&
	       have->last_ns == want->last_ns &&
	       (t->sources[have->source].kind != SOURCE_NONE ||
		have->resolved.miss == want->resolved.miss) &&
	       (t->sources[have->source].kind != SOURCE_FILE ||
		have->resolved.object == want->resolved.object);
}

static bool entry_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct address_table *t = ctx;
	const struct entry *have = table_entry(t, item);

	if (have->denied_to && have->denied_to < t->sources[have->source].nr_came)
		return false;
	return !is_late_one(t, have) && is_same_address(t, have, key);
}

static bool named_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct address_table *t = ctx;
	const struct entry *have = table_entry(t, item);

	return is_late_one(t, have) && have->resolved.nr_frames &&
	       is_same_address(t, have, key);
}

/* Until it is named again, it has the names without lines of the one before the pause. */
static void take_names(const struct address_table *t, uint64_t hash, struct entry *entry)
{
	uint32_t id = hashmap_get(&t->entries_by_key, hash, named_eq, entry, t);
	const struct resolved *before;

	if (id == HASHMAP_NONE)
		return;
	before = &table_entry(t, id)->resolved;
	entry->resolved.frames = before->frames;
	entry->resolved.nr_frames = before->nr_frames;
	entry->resolved.address = before->address;
}

static struct entry *new_entry(struct address_table *t)
{
	if (t->nr_entries >= t->max_entries || t->nr_entries >= UINT32_MAX - 1)
		return NULL;
	if (t->nr_entries == t->nr_chunks * TABLE_CHUNK_ENTRIES) {
		struct entry *chunk;

		if (vec_grow(&t->chunks, &t->cap_chunks, t->nr_chunks + 1,
			     sizeof(*t->chunks), 0))
			return NULL;
		chunk = calloc(TABLE_CHUNK_ENTRIES, sizeof(*chunk));
		if (!chunk)
			return NULL;
		t->chunks[t->nr_chunks++] = chunk;
	}
	return table_entry(t, (uint32_t)t->nr_entries);
}

static int reserve_pending(struct source *source)
{
	return vec_grow(&source->pending, &source->cap_pending, source->nr_pending + 1,
			sizeof(*source->pending), 0);
}

/* Tries again to name it. */
static void want_again(struct source *source, struct entry *entry, uint32_t id)
{
	if (reserve_pending(source))
		return;
	source->pending[source->nr_pending++] = id;
	entry->is_put_off = false;
	entry->resolved.miss = MISS_NONE;
}

/* A late decoder may be asked again for all that it has not named. */
static void end_pause(struct source *source)
{
	uint64_t now_ns = source->is_late ? clock_now_ns() : 0;
	bool ends_late = source->is_late && now_ns >= source->late.until_ns;

	if (!ends_late && !(source->has_no_names && now_ns >= source->no_names.until_ns))
		return;
	source->is_late &= !ends_late;
	source->has_no_names = false;
	source->nr_pauses += ends_late;
	source->nr_all_pauses++;
}

/* Who pays for an entry: the kernel's are root's. */
static struct tenant payer_of(const struct address_table *t, const struct entry *entry)
{
	const struct process *process = entry->resolved.process;

	if (t->sources[entry->source].kind == SOURCE_KERNEL)
		return (struct tenant){0};
	return process ? process->tenant : TENANT_UNKNOWN;
}

uint32_t table_want(struct address_table *t, const struct entry *wanted)
{
	struct tenant who = payer_of(t, wanted);
	struct source *source = &t->sources[wanted->source];
	uint64_t hash = hash_u64(hash_u64(wanted->lookup, (uint64_t)wanted->source << 1 |
								  wanted->is_return),
				 wanted->first_ns ^ wanted->last_ns << 1 ^
					 (uint64_t)wanted->resolved.object->id << 32);
	struct entry *entry;
	uint32_t id;

	end_pause(source);
	id = hashmap_get(&t->entries_by_key, hash, entry_eq, wanted, t);
	if (id != HASHMAP_NONE) {
		entry = table_entry(t, id);
		if (entry->is_put_off)
			want_again(source, entry, id);
		return id;
	}
	if (!quota_take(&t->quota, who, 1)) {
		t->nr_over_limit++;
		return TABLE_OVER_LIMIT;
	}
	entry = new_entry(t);
	id = (uint32_t)t->nr_entries;
	if (!entry || (source->kind != SOURCE_NONE && reserve_pending(source)) ||
	    hashmap_add(&t->entries_by_key, hash, id)) {
		quota_give(&t->quota, who, 1);
		t->nr_over_limit++;
		return TABLE_OVER_LIMIT;
	}
	*entry = *wanted;
	if (source->nr_pauses)
		take_names(t, hash, entry);
	if (source->kind != SOURCE_NONE)
		source->pending[source->nr_pending++] = id;
	t->nr_entries++;
	return id;
}
