/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the FDEs of an .eh_frame by the address of their functions, with the table of
 * .eh_frame_hdr (LSB 5.0, 10.6.2). The table is hostile, and only points to entries.
 */
#ifndef LB_DECODE_CFI_INDEX_H
#define LB_DECODE_CFI_INDEX_H

#include <dwarf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* All zeroes: there is no table. */
struct cfi_index {
	const uint8_t
		*entries; /* borrowed; nr * {s32 function, s32 FDE}, both from vaddr on */
	size_t nr;
	uint64_t vaddr; /* of the .eh_frame_hdr */
	uint64_t frames_vaddr; /* of the .eh_frame */
};

/**
 * @bytes of an .eh_frame_hdr
 * Return: false when they are not one. Without a table nr is 0.
 */
bool cfi_index_open(const uint8_t *bytes, size_t len, uint64_t vaddr,
		    struct cfi_index *ret);

/** Returns the last entry whose function begins at or below @vaddr, or 0. */
size_t cfi_index_find(const struct cfi_index *index, uint64_t vaddr);

/** Return the start of the function, and the address of the FDE, of entry @i < nr. */
uint64_t cfi_index_function(const struct cfi_index *index, size_t i);
uint64_t cfi_index_fde(const struct cfi_index *index, size_t i);

/*
 * Bytes of call frame information, read from front to end, little-endian. Past the end
 * every get returns zero and the error sticks, so a caller checks once, after the last.
 */

struct cfi_bytes {
	const uint8_t *at, *end; /* borrowed */
	bool failed;
};

static inline uint64_t cfi_get_fixed(struct cfi_bytes *b, size_t nr_bytes)
{
	uint64_t v = 0;

	if ((size_t)(b->end - b->at) < nr_bytes) {
		b->at = b->end;
		b->failed = true;
		return 0;
	}
	memcpy(&v, b->at, nr_bytes);
	b->at += nr_bytes;
	return v;
}

static inline uint8_t cfi_get_u8(struct cfi_bytes *b)
{
	if (b->at == b->end) {
		b->failed = true;
		return 0;
	}
	return *b->at++;
}

/*
 * Reads a LEB128 (DWARF 5, 7.6). Fails on padding beyond what 64 bits need, which no
 * compiler writes: so one number costs ten bytes at most.
 */
static inline uint64_t cfi_get_leb(struct cfi_bytes *b, bool is_signed)
{
	unsigned int shift = 0;
	uint64_t v = 0;
	uint8_t byte;

	do {
		byte = cfi_get_u8(b);
		v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && shift < 64);
	if (byte & 0x80)
		b->failed = true;
	if (is_signed && (byte & 0x40) && shift < 64)
		v |= UINT64_MAX << shift;
	return v;
}

static inline uint64_t cfi_get_uleb(struct cfi_bytes *b)
{
	return cfi_get_leb(b, false);
}

static inline int64_t cfi_get_sleb(struct cfi_bytes *b)
{
	return (int64_t)cfi_get_leb(b, true);
}

/* Returns the next @len bytes; fewer, and failed, when they are not all there. */
static inline struct cfi_bytes cfi_get_block(struct cfi_bytes *b, uint64_t len)
{
	struct cfi_bytes block = {.at = b->at, .end = b->end};

	if (len > (size_t)(b->end - b->at)) {
		b->failed = true;
		len = (size_t)(b->end - b->at);
	}
	b->at += len;
	block.end = b->at;
	return block;
}

/* What an encoded pointer (LSB 5.0, 10.5.1) is relative to. */
struct cfi_bases {
	const uint8_t *bytes; /* of which vaddr is the address */
	uint64_t vaddr;
	uint64_t text_vaddr, data_vaddr, function_vaddr;
};

/**
 * @encoding  DW_EH_PE_*. One that needs memory of the running process (indirect) fails.
 * @ret_is_null  the bytes are zero: no address, whatever it is relative to; may be NULL
 */
uint64_t cfi_get_pointer(struct cfi_bytes *b, uint8_t encoding,
			 const struct cfi_bases *bases, bool *ret_is_null);

#endif
