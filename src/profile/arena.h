/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory for one decoding step, freed all at once. Its maximum limits the memory that
 * protobuf-c allocates for a hostile message.
 */
#ifndef LB_PROFILE_ARENA_H
#define LB_PROFILE_ARENA_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

/* Zero-initialised, except max: an empty arena. */
struct arena {
	struct arena_chunk *chunks; /* newest first */
	size_t used; /* bytes allocated since the last reset */
	size_t max; /* most bytes to allocate between resets */
	bool full; /* an allocation was refused because of max */
};

/**
 * Allocates memory aligned for any type, not zeroed. NULL: over the maximum (a->full), or
 * out of memory.
 */
void *arena_alloc(struct arena *a, size_t size);

/**
 * Returns the text as valid UTF-8: @s itself if it is pure ASCII, else a copy. NULL: as
 * above.
 */
const char *arena_utf8(struct arena *a, const char *s);

/** Invalidates all allocations and clears a->full. */
void arena_reset(struct arena *a);
void arena_deinit(struct arena *a);

/**
 * Returns an allocator with which protobuf-c unpacks into @a; nothing needs freeing.
 */
ProtobufCAllocator arena_allocator(struct arena *a);

#endif
