/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects that JITs registered (GDB JIT interface), of all program images, each
 * with the time for which it was registered: addresses are used again.
 */
#ifndef LB_PROCESS_JIT_CODE_H
#define LB_PROCESS_JIT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* Bytes of all objects, kept in one memfd so that a decoder can be given them. */
struct jit_store;

#define JIT_STORE_DEFAULT_BYTES (256ull << 20)

/** @max_bytes  of objects held; 0: the default. Return: 0, -ENOMEM or -errno of memfd. */
int jit_store_new(uint64_t max_bytes, struct jit_store **ret);
void jit_store_free(struct jit_store *s);
DEFINE_CLEANUP(struct jit_store, jit_store_free);

/** Read-only descriptor of the bytes; borrowed. */
int jit_store_fd(const struct jit_store *s);

struct jit_store_stats {
	uint64_t nr_objects; /* held now */
	uint64_t nr_bytes; /* same */
	uint64_t nr_refused; /* over a maximum: not kept */
};
void jit_store_stats(const struct jit_store *s, struct jit_store_stats *ret);

/* One registration as one image sees it. */
struct jit_object {
	uint64_t entry_addr; /* identifies it while it is registered */
	uint64_t symfile_addr;
	uint64_t offset; /* of the bytes in the store */
	uint64_t size_bytes; /* 0: registered, but its bytes could not be had */
	uint64_t from_ns; /* CLOCK_MONOTONIC; 0: since before we looked */
	uint64_t until_ns; /* unregistered; UINT64_MAX: still there */
	uint32_t body; /* number of the bytes in the store, shared over forks */
};

#define JIT_CODE_MAX_OBJECTS 65536 /* of one image; more are refused, counted */

/* What one image has registered; embedded in struct process. */
struct jit_code {
	struct jit_object *items; /* in order of arrival */
	size_t nr, cap;
	uint64_t nr_lost; /* registrations whose bytes could not be had */
	uint64_t descriptor_addr; /* of __jit_debug_descriptor; 0: none known. See list_walk */
	bool walk_wanted; /* something may be on its list that no event told of */
};

void jit_code_deinit(struct jit_code *c, struct jit_store *s);

/** For fork: @dst (empty) gets what is registered in @src now. Return: 0 or -ENOMEM. */
int jit_code_copy(struct jit_code *dst, const struct jit_code *src, struct jit_store *s);

/**
 * A registration. One with the same entry_addr that is still there ends at @time_ns
 * unless it is the very same object (same address, same bytes), seen again by a walk.
 *
 * @object  NULL: its bytes could not be had
 * Return: 0, -ENOSPC (a maximum, counted), -ENOMEM.
 */
int jit_code_register(struct jit_code *c, struct jit_store *s, uint64_t entry_addr,
		      uint64_t symfile_addr, const void *object, uint64_t size_bytes,
		      uint64_t time_ns);
void jit_code_unregister(struct jit_code *c, uint64_t entry_addr, uint64_t time_ns);

#endif
