/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the symbolizer remembers: each unique address once (an entry), grouped by
 * who can name it (a source), and what it belongs to (an object).
 */
#ifndef LB_SYMBOLIZE_ADDRESS_TABLE_H
#define LB_SYMBOLIZE_ADDRESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "process/file.h"
#include "symbolize/resolved.h"

enum source_kind {
	SOURCE_NONE, /* nobody can be asked: entries have their miss from the start */
	SOURCE_FILE,
	SOURCE_VDSO,
	SOURCE_JIT,
	SOURCE_INTERP,
	SOURCE_KERNEL,
};

struct source {
	enum source_kind kind;
	const void *key; /* NONE: path (interned) or NULL; FILE: file; JIT, INTERP:
			  * process */
	struct object *object;
	const struct target_file *file; /* FILE only */
	const struct process *process; /* first one that had it; NULL: not known */
	const struct runtime *runtime; /* INTERP only */
	bool in_memory; /* FILE: a memfd, so no path leads beside it */
	uint32_t *pending; /* entries to resolve */
	size_t nr_pending, cap_pending;
};

struct entry {
	struct resolved resolved;
	uint64_t lookup; /* FILE, VDSO: file offset; INTERP: the frame as sampled; else
			  * run-time address. Of a return address: 1 less */
	uint64_t first_ns, last_ns; /* JIT; else 0 */
	uint32_t source;
	bool is_return;
	bool wants_code; /* of the function that holds it */
};

#define TABLE_CHUNK_ENTRIES 4096
#define TABLE_NO_SOURCE     UINT32_MAX

struct address_table {
	struct strpool *pool; /* borrowed */
	size_t max_entries;

	struct entry **chunks; /* of TABLE_CHUNK_ENTRIES: entries never move */
	size_t nr_chunks, cap_chunks;
	size_t nr_entries;
	struct hashmap entries_by_key;

	struct source *sources;
	size_t nr_sources, cap_sources;
	struct hashmap sources_by_key;

	struct object **objects; /* by id */
	size_t nr_objects, cap_objects;

	uint64_t nr_over_limit;
};

/* Entry 0 always exists: what did not fit. */
#define TABLE_OVER_LIMIT 0

/** @pool is borrowed. Return: 0 or -ENOMEM; call deinit in either case. */
int table_init(struct address_table *t, struct strpool *pool, size_t max_entries);
void table_deinit(struct address_table *t);

struct entry *table_entry(const struct address_table *t, uint32_t id);

/** A new object. @name is interned. Return: NULL when out of memory. */
struct object *table_add_object(struct address_table *t, enum object_kind kind,
				const char *name);

/**
 * The source of that kind and key, made when it is new; then its object is not set
 * yet. Return: its number, or TABLE_NO_SOURCE when out of memory.
 */
uint32_t table_source(struct address_table *t, enum source_kind kind, const void *key);

/**
 * The entry of what @wanted says (source, lookup, is_return, times), made when it
 * is new: a copy of @wanted, and pending at its source unless that is SOURCE_NONE.
 * Return: its id; TABLE_OVER_LIMIT, counted, when it does not fit.
 */
uint32_t table_want(struct address_table *t, const struct entry *wanted);

#endif
