// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/answer_texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"

#define MAX_TEXT_BYTES  (64u << 10) /* longer names are cut by the writer */
#define WIRE_TEXT_BYTES 4 /* at least */

void answer_texts_deinit(struct answer_texts *t)
{
	free(t->items);
	free(t->bytes);
	hashmap_deinit(&t->index);
	*t = (struct answer_texts){0};
}

struct text_key {
	const char *s;
	size_t len;
};

static bool text_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct answer_texts *t = ctx;
	const struct answer_text *text = &t->items[item];
	const struct text_key *want = key;

	return text->len == want->len &&
	       !memcmp(t->bytes + text->offset, want->s, want->len);
}

uint32_t answer_texts_add(struct answer_texts *t, const char *s)
{
	struct text_key key = {.s = s ? s : "",
			       .len = s ? strnlen(s, MAX_TEXT_BYTES) : 0};
	uint64_t hash = hash_bytes(0, key.s, key.len);
	uint32_t item = hashmap_find(&t->index, hash, text_eq, &key, t);

	if (item != HASHMAP_NONE)
		return item;
	/* One byte more, so that even "" has memory to point at. */
	if (vec_grow(&t->bytes, &t->cap_bytes, t->nr_bytes + key.len + 1, 1, 0) ||
	    vec_grow(&t->items, &t->cap, t->nr + 1, sizeof(*t->items),
		     HASHMAP_NONE - 1) ||
	    hashmap_add(&t->index, hash, (uint32_t)t->nr)) {
		t->failed = true;
		return 0;
	}
	memcpy(t->bytes + t->nr_bytes, key.s, key.len);
	t->items[t->nr] = (struct answer_text){.offset = t->nr_bytes, .len = key.len};
	t->nr_bytes += key.len;
	return (uint32_t)t->nr++;
}

void answer_texts_put(const struct answer_texts *t, uint32_t *numbers,
		      struct wire_writer *out)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < t->nr; i++)
		if (numbers[i])
			numbers[i] = ++nr;
	wire_put_u32(out, nr);
	for (size_t i = 0; i < t->nr; i++)
		if (numbers[i])
			wire_put_bytes(out, t->bytes + t->items[i].offset,
				       t->items[i].len);
}

int answer_strings_read(struct wire_reader *r, size_t max, struct strpool *pool,
			struct answer_strings *ret)
{
	size_t nr = answer_get_count(r, WIRE_TEXT_BYTES, max);
	_cleanup_free_ const char **items = calloc(nr ? nr : 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		size_t len;
		const char *s = wire_get_str(r, &len);

		if (r->failed || len > MAX_TEXT_BYTES)
			return -EBADMSG;
		items[i] = strpool_add_n(pool, s, len);
	}
	if (r->failed)
		return -EBADMSG;
	ret->items = take_ptr(items);
	ret->nr = nr;
	return 0;
}

void answer_strings_deinit(struct answer_strings *s)
{
	free(s->items);
	*s = (struct answer_strings){0};
}

const char *answer_strings_get(const struct answer_strings *s, struct wire_reader *r)
{
	uint32_t i = wire_get_u32(r);

	if (i < s->nr)
		return s->items[i];
	r->failed = true;
	return "";
}
