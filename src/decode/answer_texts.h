/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The strings of one answer, each of which is sent once and referred to by number. */
#ifndef LB_DECODE_ANSWER_TEXTS_H
#define LB_DECODE_ANSWER_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "base/strpool.h"
#include "base/wire.h"

/* ---- worker's side ---- */

struct answer_texts {
	struct answer_text {
		size_t offset; /* in bytes */
		size_t len;
	} * items;
	size_t nr, cap;
	char *bytes;
	size_t nr_bytes, cap_bytes;
	struct hashmap index;
	bool failed; /* out of memory */
};

void answer_texts_deinit(struct answer_texts *t);

/* The number of @s, cut at 64 KiB; NULL counts as "". 0 when out of memory. */
uint32_t answer_texts_add(struct answer_texts *t, const char *s);

/**
 * Sends those that are used, numbered in this order.
 *
 * @numbers  per text: not 0 if it is used; becomes its number on the wire plus one
 */
void answer_texts_put(const struct answer_texts *t, uint32_t *numbers,
		      struct wire_writer *out);

/* ---- collector's side ---- */

struct answer_strings {
	const char **items; /* interned; the array is heap */
	size_t nr;
};

/** @max  of them. Return: 0, -EBADMSG, -ENOMEM; then @ret is unchanged. */
int answer_strings_read(struct wire_reader *r, size_t max, struct strpool *pool,
			struct answer_strings *ret);
void answer_strings_deinit(struct answer_strings *s);

/* One by its number; "" and the error set when there is none. */
const char *answer_strings_get(const struct answer_strings *s, struct wire_reader *r);

/*
 * A count off the wire, or 0 with the error set when the rest of the message
 * cannot hold that many items or it is more than @max.
 */
static inline size_t answer_get_count(struct wire_reader *r, size_t item_bytes,
				      size_t max)
{
	size_t nr = wire_get_u32(r);

	if (nr > (r->len - r->pos) / item_bytes || nr > max)
		r->failed = true;
	return r->failed ? 0 : nr;
}

#endif
