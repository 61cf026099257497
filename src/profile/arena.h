/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory for one decoding step, freed all at once. Its maximum bounds what a hostile
 * message makes protobuf-c allocate.
 */
#ifndef LB_PROFILE_ARENA_H
#define LB_PROFILE_ARENA_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

/* All zeroes but max is an empty arena. */
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

/** Returns an allocator that lets protobuf-c unpack into @a: nothing needs freeing. */
ProtobufCAllocator arena_allocator(struct arena *a);

#endif
