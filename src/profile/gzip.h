/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gzip (RFC 1952) with several members. */
#ifndef LB_PROFILE_GZIP_H
#define LB_PROFILE_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

/* Zero-initialised: a writer without output. gzip_take() returns earlier failures. */
struct gzip_writer {
	z_stream stream;
	bool in_member;
	bool failed; /* out of memory */
	uint8_t *out; /* heap */
	size_t len, cap;
	uint8_t pending[16384]; /* not compressed yet, because small puts are common */
	size_t nr_pending;
};

/** Appends to the current member; begins one if there is none. */
void gzip_put(struct gzip_writer *w, const void *data, size_t len);
void gzip_end_member(struct gzip_writer *w);
/** Ends the member and moves the output to the caller. Return: 0 or -ENOMEM. */
int gzip_take(struct gzip_writer *w, void **ret, size_t *ret_len);
void gzip_writer_deinit(struct gzip_writer *w);

/* Is this the beginning of a gzip file? */
static inline bool gzip_is(const uint8_t *data, size_t len)
{
	return len >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

/**
 * Returns how many bytes the last member unpacks to, by its end (modulo 2^32). @data
 * comes from gzip_take().
 */
uint32_t gzip_unpacked_bytes(const void *data, size_t len);

/*
 * Input that unpacks to more than this many times its size (and more than the slack) is
 * refused early: profiles reach 5 to 20, deflate allows 1032.
 */
#define GZIP_MAX_RATIO   200
#define GZIP_RATIO_SLACK (16u << 20)

/**
 * Unpacks all members into one heap buffer.
 *
 * @max  most bytes unpacked
 * Return: 0, -ENODATA (ends inside a member), -EBADMSG (not gzip, or damaged),
 * -EFBIG (more than @max), -E2BIG (over the ratio), -ENOMEM.
 */
int gzip_inflate(const void *data, size_t len, size_t max, uint8_t **ret,
		 size_t *ret_len);

#endif
