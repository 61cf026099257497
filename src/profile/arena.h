/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory for one decoding step, given back all at once, with a stated maximum:
 * what a hostile message makes protobuf-c allocate ends there.
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
	size_t used; /* bytes given out since the last reset */
	size_t max; /* most bytes ever given out between resets */
	bool full; /* something was refused because of max */
};

/** Aligned for any type, not zeroed. NULL: over the maximum (a->full), or no memory. */
void *arena_alloc(struct arena *a, size_t size);

/** The text as valid UTF-8: @s itself if it is pure ASCII, else a copy. NULL: as above. */
const char *arena_utf8(struct arena *a, const char *s);

/** Everything given out becomes invalid; a->full is false again. */
void arena_reset(struct arena *a);
void arena_deinit(struct arena *a);

/** Lets protobuf-c unpack into @a: there is nothing to free. */
ProtobufCAllocator arena_allocator(struct arena *a);

#endif
