/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer of every decoder: for each requested address, in order, a chain of
 * frames and a miss. Built in the worker (any decoder), read in the collector,
 * which trusts none of it. Strings and chains are deduplicated.
 */
#ifndef LB_DECODE_ANSWER_H
#define LB_DECODE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "base/strpool.h"
#include "base/wire.h"
#include "decode/frame.h"

/* ---- worker's side ---- */

struct answer_writer; /* heap */

/* @nr_addresses: number of addresses in the request. NULL: out of memory. */
struct answer_writer *answer_writer_new(size_t nr_addresses);
void answer_writer_free(struct answer_writer *a);
DEFINE_CLEANUP(struct answer_writer, answer_writer_free);

/**
 * Sets the answer for address @i, in any order; a later call for the same @i replaces
 * it. @frames are innermost first and copied; @nr may be 0. Addresses without an answer
 * read as {no frames, MISS_NO_SYMBOLS}. @vaddr is the address in the file, 0 if none.
 *
 * @miss is made to agree with @frames: MISS_NONE exactly if frames[0] has a line
 * (MISS_NONE without one becomes MISS_NO_LINE, or MISS_NO_SYMBOLS if @nr is 0). Strings
 * may be NULL and are cut at 64 KiB. Of more than FRAMES_MAX_INLINE frames the middle
 * ones are dropped; all but the innermost and the outermost one, if the answer would have
 * more than ANSWER_MAX_FRAMES.
 */
void answer_set(struct answer_writer *a, size_t i, uint64_t vaddr, enum miss miss,
		const struct frame *frames, size_t nr);

/* Frames of all different chains; of what is beyond, each chain has two at most. */
#define ANSWER_MAX_FRAMES (2u << 20)

/**
 * Adds the code of a sampled function. Copied; strings may be NULL. Left out if it
 * exceeds the limits of frame.h, or ANSWER_MAX_CODE_BYTES together with the code added
 * before.
 */
void answer_add_code(struct answer_writer *a, const struct code *code);

#define ANSWER_MAX_CODE_BYTES (16u << 20) /* rows and machine code of one answer */

/** Serialises into @out. */
void answer_write(const struct answer_writer *a, struct wire_writer *out);

/* ---- collector's side ---- */

struct answer {
	uint64_t vaddr;
	enum miss miss;
	const struct frame *frames; /* into answers.frames */
	size_t nr_frames;
};

struct answers {
	struct answer *items; /* one per requested address */
	size_t nr;
	struct frame *frames;
	size_t nr_frames;
	struct code *codes; /* rows and bytes are in code_rows and code_bytes */
	size_t nr_codes;
	struct code_row *code_rows;
	uint8_t *code_bytes;
};

/**
 * Reads what answer_write() wrote, and nothing after it in @r. Strings are interned in
 * @pool, even if the message later turns out to be malformed. Counts are checked
 * against the bytes left in @r before memory is allocated.
 * Return: 0, -EBADMSG when malformed or not for @nr_addresses, -ENOMEM; then @ret is
 * unchanged. Each answer read has MISS_NONE exactly if it has a line.
 */
int answers_read(struct wire_reader *r, size_t nr_addresses, struct strpool *pool,
		 struct answers *ret);
void answers_deinit(struct answers *a);

/** Returns how many frames are between its innermost and its outermost one. */
static inline size_t answer_nr_middle(const struct answer *a)
{
	return a->nr_frames > 2 ? a->nr_frames - 2 : 0;
}

/** Drops these of all answers. Return: 0, or -ENOMEM with nothing changed. */
int answers_drop_middle(struct answers *a);

/*
 * Reads a count, or 0 with the error set when the rest of the message
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
