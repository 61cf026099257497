// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define WINDOW_BITS (15 + 16) /* the largest window; + 16 adds a gzip header */
#define STEP_BYTES  65536u /* growth of the output */

static void deflate_step(struct gzip_writer *w, const uint8_t *data, size_t len,
			 int flush)
{
	int r;

	w->stream.next_in = (uint8_t *)data;
	w->stream.avail_in = (uInt)len;
	do {
		if (vec_grow(&w->out, &w->cap, w->len + STEP_BYTES, 1, 0)) {
			w->failed = true;
			return;
		}
		w->stream.next_out = w->out + w->len;
		w->stream.avail_out = STEP_BYTES;
		r = deflate(&w->stream, flush);
		w->len += STEP_BYTES - w->stream.avail_out;
	} while (r == Z_OK &&
		 (w->stream.avail_in || !w->stream.avail_out || flush == Z_FINISH));
}

static void flush_pending(struct gzip_writer *w, int flush)
{
	if (!w->in_member && !w->failed) {
		if (deflateInit2(&w->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
				 WINDOW_BITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
			w->failed = true;
		else
			w->in_member = true;
	}
	if (!w->failed)
		deflate_step(w, w->pending, w->nr_pending, flush);
	w->nr_pending = 0;
}

void gzip_put(struct gzip_writer *w, const void *data, size_t len)
{
	const uint8_t *from = data;

	while (len) {
		size_t part = sizeof(w->pending) - w->nr_pending;

		if (part > len)
			part = len;
		memcpy(w->pending + w->nr_pending, from, part);
		w->nr_pending += part;
		from += part;
		len -= part;
		if (w->nr_pending == sizeof(w->pending))
			flush_pending(w, Z_NO_FLUSH);
	}
}

void gzip_end_member(struct gzip_writer *w)
{
	flush_pending(w, Z_FINISH);
	if (w->in_member)
		deflateEnd(&w->stream);
	w->in_member = false;
	w->stream = (z_stream){0};
}

int gzip_take(struct gzip_writer *w, void **ret, size_t *ret_len)
{
	if (w->in_member || w->nr_pending)
		gzip_end_member(w);
	if (w->failed)
		return -ENOMEM;
	*ret_len = w->len;
	*ret = take_ptr(w->out);
	w->len = w->cap = 0;
	return 0;
}

void gzip_writer_deinit(struct gzip_writer *w)
{
	if (w->in_member)
		deflateEnd(&w->stream);
	w->in_member = false;
	free(take_ptr(w->out));
}

static void inflate_endp(z_stream **stream)
{
	inflateEnd(*stream);
}

/* Grows the output, unless its ratio to the input becomes too large. */
static int make_room(uint8_t **out, size_t *cap, size_t len, size_t in_len, size_t max)
{
	size_t ratio_max = in_len > (SIZE_MAX - GZIP_RATIO_SLACK) / GZIP_MAX_RATIO
				   ? SIZE_MAX
				   : in_len * GZIP_MAX_RATIO + GZIP_RATIO_SLACK;

	if (len < *cap)
		return 0;
	if (len >= max)
		return -EFBIG;
	if (len >= ratio_max)
		return -E2BIG;
	if (vec_grow(out, cap, len + STEP_BYTES, 1, max + STEP_BYTES))
		return -ENOMEM;
	return 0;
}

/*
 * Calls inflate() once for the remaining input; sets *done when all members are read.
 */
static int inflate_step(z_stream *z, const uint8_t *end, uint8_t *room, size_t room_len,
			size_t *produced, bool *done)
{
	size_t left = (size_t)(end - z->next_in);
	int r;

	z->avail_in = left > UINT_MAX ? UINT_MAX : (uInt)left;
	z->next_out = room;
	z->avail_out = room_len > UINT_MAX ? UINT_MAX : (uInt)room_len;
	r = inflate(z, Z_NO_FLUSH);
	*produced = (size_t)(z->next_out - room);
	switch (r) {
	case Z_STREAM_END:
		*done = z->next_in == end;
		if (!*done && !gzip_is(z->next_in, (size_t)(end - z->next_in)))
			return -EBADMSG;
		return *done || inflateReset(z) == Z_OK ? 0 : -EBADMSG;
	case Z_OK:
		return 0;
	case Z_BUF_ERROR: /* no progress despite room: the input is incomplete */
		return z->next_in == end ? -ENODATA : -EBADMSG;
	case Z_MEM_ERROR:
		return -ENOMEM;
	default:
		return -EBADMSG;
	}
}

int gzip_inflate(const void *data, size_t len, size_t max, uint8_t **ret, size_t *ret_len)
{
	_cleanup_free_ uint8_t *out = NULL;
	size_t cap = 0, out_len = 0;
	z_stream stream = {.next_in = (uint8_t *)data};
	_cleanup_(inflate_endp) z_stream *z = &stream;
	const uint8_t *end = (const uint8_t *)data + len;
	bool done = false;

	if (inflateInit2(z, WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	while (!done) {
		size_t produced = 0;
		int r = make_room(&out, &cap, out_len, len, max);

		if (r)
			return r;
		r = inflate_step(z, end, out + out_len, cap - out_len, &produced, &done);
		out_len += produced;
		if (r)
			return r;
	}
	if (out_len > max)
		return -EFBIG;
	*ret_len = out_len;
	*ret = take_ptr(out);
	return 0;
}

uint32_t gzip_unpacked_bytes(const void *data, size_t len)
{
	const uint8_t *end = (const uint8_t *)data + len;

	/* RFC 1952, ISIZE: little endian. */
	return (uint32_t)end[-4] | (uint32_t)end[-3] << 8 | (uint32_t)end[-2] << 16 |
	       (uint32_t)end[-1] << 24;
}
