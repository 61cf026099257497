/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of objects that a program has registered for debuggers ("JIT Compilation
 * Interface" in GDB's manual, version 1, 64-bit), read while that program runs and
 * changes it. The memory is hostile. It is read by a callback only, so this is a pure
 * function of the callback's results.
 */
#ifndef LB_DECODE_JIT_LIST_H
#define LB_DECODE_JIT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIST_MAX_ENTRIES      65536
#define LIST_MIN_OBJECT_BYTES 64 /* no ELF file is smaller than its header */
#define LIST_MAX_OBJECT_BYTES (16u << 20)
#define LIST_MAX_TRIES        8 /* walks of a list that keeps changing */
/* Objects that the caller already has, also those that came since the last walk. */
#define LIST_MAX_KNOWN (3 * LIST_MAX_ENTRIES)

/* One registration. The first three come from the target: hostile. */
struct list_object {
	uint64_t entry_addr; /* of struct jit_code_entry; unique while listed */
	uint64_t symfile_addr;
	uint64_t size_bytes;
	/*
	 * Of a known object: hash_ends() of its bytes (base/hash.h), to detect a
	 * change. 0: not compared, the object is assumed unchanged.
	 */
	uint64_t ends;
};

enum list_walk {
	LIST_OK, /* the whole list as it was at one moment */
	LIST_NONE, /* no readable descriptor, or its version is not 1 */
	LIST_CHANGED, /* out of tries: found objects are valid, there may be more */
	LIST_DAMAGED, /* a bad or circular link: only objects before it were found */
	LIST_LIMIT, /* the list is longer than LIST_MAX_ENTRIES; the first ones were found */
	LIST_MORE, /* out of bytes or time: walk again, with the found ones as known */
	NR_LIST_WALKS,
};

enum list_state {
	LIST_NEW, /* its bytes were read, and begin like an ELF file */
	LIST_KNOWN, /* still listed */
	LIST_FOREIGN, /* no ELF file: the runtime's own format (Erlang's) */
	LIST_UNREADABLE, /* size out of range, not there, or changed while it was read */
	LIST_LATER, /* not read: LIST_MORE */
	NR_LIST_STATES,
};

/**
 * Reads all of [@addr, @addr + @len) of the target.
 * Return: 0; -ETIME to end the walk now (LIST_MORE); another negative errno when
 * it is not all there.
 */
typedef int (*list_read_fn)(void *ctx, uint64_t addr, void *buf, size_t len);

/** @bytes  o->size_bytes of it, valid during the callback; NULL unless LIST_NEW */
typedef void (*list_found_fn)(void *ctx, const struct list_object *o,
			      enum list_state state, const void *bytes);

struct list_request {
	uint64_t descriptor_addr; /* of __jit_debug_descriptor in the target */
	struct list_object *known; /* borrowed; is sorted here */
	size_t nr_known;
	uint64_t max_bytes; /* of objects; at least one object is read */
	bool by_pages; /* cache the pages of entries: calls of @read are expensive */
	list_read_fn read;
	void *read_ctx;
};

/**
 * Walks the list. @found is called once for each registration: for new ones when their
 * bytes have been read (even if the object is removed from the list during a later
 * try), for all others at the end, in no order.
 *
 * Memory: a few MB plus the largest object.
 * Return: 0 with @ret set, or -ENOMEM.
 */
int list_walk(const struct list_request *request, list_found_fn found, void *ctx,
	      enum list_walk *ret);

#endif
