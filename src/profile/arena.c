// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"

#define CHUNK_BYTES (256u * 1024)

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used;
	alignas(max_align_t) char bytes[];
};

static struct arena_chunk *add_chunk(struct arena *a, size_t size)
{
	size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
	struct arena_chunk *chunk = malloc(sizeof(*chunk) + room);

	if (!chunk)
		return NULL;
	chunk->size = room;
	chunk->used = 0;
	chunk->next = a->chunks;
	a->chunks = chunk;
	return chunk;
}

void *arena_alloc(struct arena *a, size_t size)
{
	const size_t align = alignof(max_align_t);
	struct arena_chunk *chunk = a->chunks;
	void *given;

	if (size > a->max - a->used || a->max - a->used - size < align) {
		a->full = true;
		return NULL;
	}
	size = (size + align - 1) / align * align;
	if (!chunk || chunk->size - chunk->used < size)
		chunk = add_chunk(a, size);
	if (!chunk)
		return NULL;
	given = chunk->bytes + chunk->used;
	chunk->used += size;
	a->used += size;
	return given;
}

const char *arena_utf8(struct arena *a, const char *s)
{
	size_t len = 0;
	bool ascii = true;
	char *copy;

	for (; s[len]; len++)
		ascii = ascii && (unsigned char)s[len] < 0x80;
	if (ascii)
		return s;
	/* each byte may become U+FFFD, three bytes */
	copy = arena_alloc(a, len * 3 + 1);
	return copy ? escape_utf8_buf(copy, len * 3 + 1, s) : NULL;
}

void arena_reset(struct arena *a)
{
	/* Keep one chunk of the usual size for reuse. */
	while (a->chunks && (a->chunks->next || a->chunks->size > CHUNK_BYTES)) {
		struct arena_chunk *next = a->chunks->next;

		free(a->chunks);
		a->chunks = next;
	}
	if (a->chunks)
		a->chunks->used = 0;
	a->used = 0;
	a->full = false;
}

void arena_deinit(struct arena *a)
{
	arena_reset(a);
	free(a->chunks);
	a->chunks = NULL;
}

static void *allocate(void *arena, size_t size)
{
	return arena_alloc(arena, size);
}

static void keep(void *arena, void *pointer)
{
	(void)arena;
	(void)pointer;
}

ProtobufCAllocator arena_allocator(struct arena *a)
{
	return (ProtobufCAllocator){.alloc = allocate, .free = keep, .allocator_data = a};
}
