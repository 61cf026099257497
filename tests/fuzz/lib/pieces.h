/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Input that is a row of pieces: each is u16 bytes, then these bytes. */
#ifndef LB_TESTS_FUZZ_PIECES_H
#define LB_TESTS_FUZZ_PIECES_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct pieces {
	const uint8_t *data;
	size_t size;
};

/*
 * Takes the next piece; the last one may be cut. Return: a copy of its own, so that the
 * sanitizer sees reads beyond it; the caller frees it. NULL: there is none.
 */
static inline void *pieces_take(struct pieces *p, uint16_t *ret_bytes)
{
	uint16_t bytes;
	void *copy;

	if (p->size <= sizeof(bytes))
		return NULL;
	memcpy(&bytes, p->data, sizeof(bytes));
	p->data += sizeof(bytes);
	p->size -= sizeof(bytes);
	if (bytes > p->size)
		bytes = (uint16_t)p->size;
	copy = malloc(bytes ? bytes : 1);
	assert(copy);
	memcpy(copy, p->data, bytes);
	p->data += bytes;
	p->size -= bytes;
	*ret_bytes = bytes;
	return copy;
}

#endif
