// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/wire.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void wire_writer_deinit(struct wire_writer *w)
{
	free(w->data);
	*w = (struct wire_writer){0};
}

static void put(struct wire_writer *w, const void *data, size_t len)
{
	if (w->failed || !len)
		return;
	if (vec_grow(&w->data, &w->cap, w->len + len, 1, w->max)) {
		w->failed = true;
		return;
	}
	memcpy(w->data + w->len, data, len);
	w->len += len;
}

void wire_put_u8(struct wire_writer *w, uint8_t v)
{
	put(w, &v, sizeof(v));
}

void wire_put_u32(struct wire_writer *w, uint32_t v)
{
	v = htole32(v);
	put(w, &v, sizeof(v));
}

void wire_put_u64(struct wire_writer *w, uint64_t v)
{
	v = htole64(v);
	put(w, &v, sizeof(v));
}

void wire_put_bytes(struct wire_writer *w, const void *data, size_t len)
{
	if (!data)
		len = 0;
	if (len > UINT32_MAX) {
		w->failed = true;
		return;
	}
	wire_put_u32(w, (uint32_t)len);
	put(w, data, len);
}

void wire_put_str(struct wire_writer *w, const char *s)
{
	wire_put_bytes(w, s, s ? strlen(s) : 0);
}

static const void *get(struct wire_reader *r, size_t len)
{
	const void *at = r->data ? r->data + r->pos : NULL;

	if (r->failed || len > r->len - r->pos) {
		r->failed = true;
		return NULL;
	}
	r->pos += len;
	return at;
}

static void get_number(struct wire_reader *r, void *ret, size_t len)
{
	const void *at = get(r, len);

	if (at)
		memcpy(ret, at, len);
}

uint8_t wire_get_u8(struct wire_reader *r)
{
	uint8_t v = 0;

	get_number(r, &v, sizeof(v));
	return v;
}

uint32_t wire_get_u32(struct wire_reader *r)
{
	uint32_t v = 0;

	get_number(r, &v, sizeof(v));
	return le32toh(v);
}

uint64_t wire_get_u64(struct wire_reader *r)
{
	uint64_t v = 0;

	get_number(r, &v, sizeof(v));
	return le64toh(v);
}

const void *wire_get_bytes(struct wire_reader *r, size_t *len)
{
	size_t want = wire_get_u32(r);
	const void *at = get(r, want);

	*len = at ? want : 0;
	return at ? at : "";
}

const char *wire_get_str(struct wire_reader *r, size_t *len)
{
	const char *s = wire_get_bytes(r, len);

	if (memchr(s, '\0', *len)) {
		r->failed = true;
		*len = 0;
		return "";
	}
	return s;
}
