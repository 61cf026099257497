/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads untrusted little-endian bytes. Reads past the end give zero and set a sticky
 * error, so a caller checks once, after the last read.
 *
 * The bytes may be those of a mapped file, which its owner changes at any time. So what
 * was checked must not be read again: a number is read once, and a text has a length
 * instead of a NUL. (A file that becomes shorter kills the process, and nothing else.)
 */
#ifndef LB_DECODE_DWARF_CURSOR_H
#define LB_DECODE_DWARF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes borrowed from a section; {NULL, 0} when there is no such section. A text of one
 * has no NUL at its end. */
struct bytes {
	const uint8_t *data;
	uint64_t len;
};

/*
 * The order of the members matters: if p and end were adjacent, gcc 12 would load both
 * as one vector right after p was stored. That stalls; reading call frame information
 * took a quarter longer.
 */
struct cursor {
	const uint8_t *p;
	bool failed; /* read past the end */
	const uint8_t *end;
};

/* Returns a cursor at @off of @b; failed if @off is beyond the end. */
static inline struct cursor cursor_at(struct bytes b, uint64_t off)
{
	static const uint8_t nothing; /* adding to NULL is undefined */

	if (off > b.len || !b.data)
		return (struct cursor){
			.p = &nothing, .end = &nothing, .failed = off > b.len};
	return (struct cursor){.p = b.data + off, .end = b.data + b.len};
}

static inline uint64_t cursor_left(const struct cursor *c)
{
	return (uint64_t)(c->end - c->p);
}

static inline void cursor_fail(struct cursor *c)
{
	c->failed = true;
	c->p = c->end;
}

static inline void cursor_skip(struct cursor *c, uint64_t n)
{
	if (n > cursor_left(c))
		cursor_fail(c);
	else
		c->p += n;
}

/* Returns @v, which the compiler must not read again from where it came from. */
static inline uint64_t cursor_once(uint64_t v)
{
	__asm__("" : "+r"(v));
	return v;
}

/* Reads an unsigned number of @size bytes, 1 to 8. */
static inline uint64_t cursor_uint(struct cursor *c, unsigned int size)
{
	uint64_t v = 0;

	if (size > cursor_left(c)) {
		cursor_fail(c);
		return 0;
	}
	for (unsigned int i = 0; i < size; i++)
		v |= (uint64_t)c->p[i] << (8 * i);
	c->p += size;
	return cursor_once(v);
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	if (c->p == c->end) {
		c->failed = true;
		return 0;
	}
	return (uint8_t)cursor_once(*c->p++);
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	return (uint16_t)cursor_uint(c, 2);
}

/* The version of a header. 0, which is none: it does not fit a byte. */
static inline uint8_t cursor_version(struct cursor *c)
{
	uint16_t version = cursor_u16(c);

	return version <= UINT8_MAX ? (uint8_t)version : 0;
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	return (uint32_t)cursor_uint(c, 4);
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	return cursor_uint(c, 8);
}

/*
 * Reads a LEB128 (DWARF 5, 7.6). Fails on padding beyond what 64 bits need, which no
 * compiler writes, so a number has at most ten bytes.
 */
static inline uint64_t cursor_leb(struct cursor *c, bool is_signed)
{
	unsigned int shift = 0;
	uint64_t v = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && shift < 64);
	if (byte & 0x80)
		cursor_fail(c);
	if (is_signed && (byte & 0x40) && shift < 64)
		v |= UINT64_MAX << shift;
	return v;
}

static inline uint64_t cursor_uleb(struct cursor *c)
{
	return cursor_leb(c, false);
}

static inline int64_t cursor_sleb(struct cursor *c)
{
	return (int64_t)cursor_leb(c, true);
}

/* Returns a cursor over the next @len bytes; if there are fewer, empty and failed. */
static inline struct cursor cursor_block(struct cursor *c, uint64_t len)
{
	const uint8_t *start = c->p;

	if (len > cursor_left(c)) {
		cursor_fail(c);
		return *c;
	}
	c->p += len;
	return (struct cursor){.p = start, .end = c->p};
}

#define CURSOR_MAX_STRING (1u << 20) /* longer names are malformed */

/* Reads a terminated string, borrowed from the bytes; "" when not terminated. */
static inline struct bytes cursor_str(struct cursor *c)
{
	uint64_t left = cursor_left(c);
	size_t max = left < CURSOR_MAX_STRING ? left : CURSOR_MAX_STRING;
	const uint8_t *start = c->p, *nul = max ? memchr(start, 0, max) : NULL;

	if (!nul) {
		cursor_fail(c);
		return (struct bytes){c->p, 0};
	}
	c->p = nul + 1;
	return (struct bytes){start, (uint64_t)(nul - start)};
}

/*
 * Reads the length of what follows: 32 bits, or 64 after an escape (DWARF 5, 7.4).
 * @offset_size  set to 4 or 8: the width of offsets in what follows
 * Reserved values fail.
 */
static inline uint64_t cursor_initial_length(struct cursor *c, uint8_t *offset_size)
{
	uint64_t len = cursor_u32(c);

	*offset_size = 4;
	if (len == 0xffffffff) {
		*offset_size = 8;
		len = cursor_u64(c);
	} else if (len >= 0xfffffff0) {
		cursor_fail(c);
	}
	if (len > cursor_left(c))
		cursor_fail(c);
	return c->failed ? 0 : len;
}

#endif
