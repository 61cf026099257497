/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets protobuf-c unpack into an arena: nothing to free, and bounded. */
#ifndef LB_PROFILE_PROTOBUF_ARENA_H
#define LB_PROFILE_PROTOBUF_ARENA_H

#include <errno.h>
#include <protobuf-c/protobuf-c.h>

#include "profile/arena.h"

static inline void *protobuf_arena_alloc(void *arena, size_t size)
{
	return arena_alloc(arena, size);
}

static inline void protobuf_arena_free(void *arena, void *pointer)
{
	(void)arena;
	(void)pointer;
}

static inline ProtobufCAllocator protobuf_arena_allocator(struct arena *arena)
{
	return (ProtobufCAllocator){.alloc = protobuf_arena_alloc,
				    .free = protobuf_arena_free,
				    .allocator_data = arena};
}

#endif
