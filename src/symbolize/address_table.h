/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of the symbolizer: each unique address is one entry. Entries are grouped by
 * the source that can name them, and by object.
 */
#ifndef LB_SYMBOLIZE_ADDRESS_TABLE_H
#define LB_SYMBOLIZE_ADDRESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "base/quota.h"
#include "base/retry_pause.h"
#include "process/file.h"
#include "symbolize/resolved.h"

enum source_kind {
	SOURCE_NONE, /* no source can name it: its entries have a miss from the start */
	SOURCE_FILE,
	SOURCE_VDSO,
	SOURCE_JIT,
	SOURCE_INTERP,
	SOURCE_KERNEL,
};

/* Of more tenants than this, the last ones are remembered. */
#define SOURCE_MAX_WANTING 4

/* A process that can open the debug files of a file. */
struct source_user {
	const struct process *process;
	struct tenant tenant; /* its own */
	uint64_t root_id; /* the root that it must have: process_may_open_in() */
	const char *path; /* of the file, as it sees it; interned */
};

#define SOURCE_MAX_CAME     UINT8_MAX
#define SOURCE_NR_PROVIDERS 3

struct source {
	enum source_kind kind;
	const void *key; /* NONE: path (interned) or NULL; FILE: file; JIT, INTERP:
			  * process */
	/* FILE: only for processes with this root, where its debug files are; 0: for all */
	uint64_t root_id;
	struct object *object; /* FILE: the first one */
	const struct target_file *file; /* FILE only */
	const char *path; /* FILE: as object->user sees it, interned */
	const struct process *process; /* JIT, INTERP */
	uint64_t search_ns; /* JIT, INTERP: time that searches for files of Python took */
	const struct runtime *runtime; /* INTERP only */
	/*
	 * FILE: the last ones who wanted addresses of it. One of them, this one, waits for
	 * its request: it pays for the decoder's time, and for the helper if it gets stuck.
	 */
	struct tenant wanting[SOURCE_MAX_WANTING];
	size_t nr_wanting;
	struct tenant tenant;
	/*
	 * FILE: the last tenants that can open its debug files, with a process of each. What
	 * one may not read is opened with the rights of another: nobody decides for the others.
	 */
	struct source_user users[SOURCE_MAX_WANTING];
	size_t nr_users;
	uint8_t nr_came; /* added since was_denied, and 1; up to SOURCE_MAX_CAME */
	bool was_denied; /* there was a debug file that none of them might read */
	bool in_memory; /* FILE: a memfd: no files in the same directory */
	/*
	 * FILE, VDSO: the decoder was late. Until table_want() after late.until_ns it is asked
	 * for names without lines only; or, if it was late with these, too, for none until
	 * after no_names.until_ns.
	 */
	bool is_late, has_no_names;
	struct retry_pause late, no_names;
	/* That are over; and those and the ones of no_names. */
	uint32_t nr_pauses, nr_all_pauses;
	/* JIT: which of the providers of its names (jit.c) were late, and are not asked now. */
	struct retry_pause providers[SOURCE_NR_PROVIDERS];
	uint32_t *pending; /* entries to resolve */
	size_t nr_pending, cap_pending;
};

/* A path of a source's file. */
struct table_name {
	uint32_t source;
	struct tenant tenant; /* who had it first */
	struct object *object; /* with that name */
	size_t nr; /* if it is that tenant's first one: how many it has; else 0 */
};

struct entry {
	struct resolved resolved;
	uint64_t lookup; /* FILE, VDSO: file offset; INTERP: the frame as sampled; else
			  * run-time address. Of a return address: 1 less */
	uint64_t first_ns, last_ns; /* JIT, generated code of the kernel; else 0 */
	uint32_t source;
	bool is_return;
	bool wants_code; /* the code of its function is requested */
	bool is_put_off; /* it got a miss, as no tenant that wanted it could be served */
	/*
	 * The source's nr_came, if none of them might read a debug file: when another one has
	 * come, the address gets a new entry. 0: it has all its names.
	 */
	uint8_t denied_to;
	/*
	 * The source's nr_pauses, or nr_all_pauses if it has no name, and 1, if the decoder
	 * was late: after the pause the address gets a new entry. 0: it has all its names.
	 */
	uint32_t late_in;
};

#define TABLE_CHUNK_ENTRIES 4096
#define TABLE_NO_SOURCE     UINT32_MAX
/* Most names of a file that a tenant adds: it may mount it at any number of paths. */
#define TABLE_MAX_NAMES 16
/* A source, with its object, takes the memory of as many entries. */
#define TABLE_SOURCE_PLACES 4

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

	struct table_name *names;
	size_t nr_names, cap_names;
	struct hashmap names_by_key; /* of source and path, and of source and tenant */

	uint64_t nr_over_limit;
	struct quota quota; /* of max_entries, for entries, sources and names of files */
};

/* Entry 0 always exists. It stands for all addresses over the limit. */
#define TABLE_OVER_LIMIT 0

/** @pool is borrowed. Return: 0 or -ENOMEM; call deinit on failure too. */
int table_init(struct address_table *t, struct strpool *pool, size_t max_entries);
void table_deinit(struct address_table *t);

struct entry *table_entry(const struct address_table *t, uint32_t id);

/** Adds an object. @name is interned. Return: NULL when out of memory. */
struct object *table_add_object(struct address_table *t, enum object_kind kind,
				const char *name);

/**
 * Finds or adds the object of a FILE source for @who, who maps the file at @path. Beyond
 * TABLE_MAX_NAMES it is that of the first path that @who added. Sets the source's object,
 * if it is the first one. Return: NULL when out of memory, or @who has no place for it.
 */
struct object *table_object_at(struct address_table *t, uint32_t source, const char *path,
			       struct tenant who);

/**
 * Finds or adds the source of that kind, key and root; a new one's object is not set yet.
 * @who pays for it. Return: its number, or TABLE_NO_SOURCE when out of memory, or @who has
 * no place for it.
 */
uint32_t table_source(struct address_table *t, enum source_kind kind, const void *key,
		      uint64_t root_id, struct tenant who);
/** Finds it. Return: its number, or TABLE_NO_SOURCE. */
uint32_t table_find_source(const struct address_table *t, enum source_kind kind,
			   const void *key, uint64_t root_id);

/**
 * Finds the entry equal to @wanted (source, lookup, is_return, times; of a file also the
 * object), or adds a copy of @wanted, pending at its source unless that is SOURCE_NONE.
 * One that was put off is pending again. One whose debug files another tenant may be able
 * to open now, or about which the decoder was late and may be asked again, is not found: its
 * names may be in a profile already.
 * Return: its id; TABLE_OVER_LIMIT (counted) when the table, or the part of its process'
 * tenant, is full.
 */
uint32_t table_want(struct address_table *t, const struct entry *wanted);

#endif
