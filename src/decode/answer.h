/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every decoder answers: for each address asked, in the order asked, a
 * chain of frames and a miss. Built in the worker (any decoder), read in the
 * collector, which trusts none of it. Each distinct string and chain is sent once.
 */
#ifndef LB_DECODE_ANSWER_H
#define LB_DECODE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "base/strpool.h"
#include "base/wire.h"
#include "decode/code.h"
#include "decode/frame.h"

/* ---- worker's side ---- */

struct answer_writer; /* heap */

/* @nr_addresses is how many addresses the request asked. NULL: out of memory. */
struct answer_writer *answer_writer_new(size_t nr_addresses);
void answer_writer_free(struct answer_writer *a);
DEFINE_CLEANUP(struct answer_writer, answer_writer_free);

/**
 * Answers address @i (any order, once each; the last one wins). @frames are
 * innermost first and copied; @nr may be 0. Unanswered addresses read as
 * {no frames, MISS_NO_SYMBOLS}. @vaddr is the address in the file, 0 if none.
 *
 * @miss is made to agree with @frames: MISS_NONE exactly if frames[0] has a line
 * (MISS_NONE without one becomes MISS_NO_LINE, or MISS_NO_SYMBOLS if @nr is 0).
 * Strings may be NULL and are cut at 64 KiB; of more than FRAMES_MAX_INLINE
 * frames the innermost and the outermost half are kept.
 */
void answer_set(struct answer_writer *a, size_t i, uint64_t vaddr, enum miss miss,
		const struct frame *frames, size_t nr);

/**
 * Adds a function that was hit. Copied; strings may be NULL. Over ANSWER_MAX_CODE_BYTES
 * in all, or over the limits of code.h, it is left out.
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
	struct answer *items; /* one per address asked */
	size_t nr;
	struct frame *frames;
	size_t nr_frames;
	struct code *codes; /* rows and bytes are in code_rows and code_bytes */
	size_t nr_codes;
	struct code_row *code_rows;
	uint8_t *code_bytes;
};

/**
 * Reads what answer_write() wrote; what follows it in @r is left there. Strings
 * are interned in @pool (also those of a message found malformed later).
 * Memory: no count is believed beyond what the bytes of @r can hold.
 * Return: 0, -EBADMSG when malformed or not for @nr_addresses, -ENOMEM; then
 * @ret is unchanged. Each answer read has MISS_NONE exactly if it has a line.
 */
int answers_read(struct wire_reader *r, size_t nr_addresses, struct strpool *pool,
		 struct answers *ret);
void answers_deinit(struct answers *a);

/* ---- The strings of one answer, each of which is sent once and referred to by number ---- */

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

/* The number of @s, cut at 64 KiB; NULL counts as "". 0 when out of memory. */
uint32_t answer_texts_add(struct answer_texts *t, const char *s);

/* ---- collector's side ---- */

struct answer_strings {
	const char **items; /* interned; the array is heap */
	size_t nr;
};

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

/*
 * The part of an answer that says which lines have machine code. On the wire:
 *
 *   u32 nr_functions  { u32 function, u32 system_name, u32 file, u32 start_line }
 *   u32 nr_rows       of all codes together
 *   u32 nr_bytes      same
 *   u32 nr_codes      { u64 address, u64 size_bytes, u32 nr_rows, u8 has_bytes,
 *                       { u32 offset, u32 function, u32 line } [, u8 * size_bytes] }
 *
 * Strings are numbers of the answer's texts; a row's offset is from the code's address.
 */

/* Most rows of one answer: they count with what they take in the collector. */
#define ANSWER_MAX_CODE_ROWS (ANSWER_MAX_CODE_BYTES / sizeof(struct code_row))

/* ---- worker's side ---- */

/* What rows say again and again. Hashed as bytes: no padding. */
struct answer_function {
	uint32_t name, system_name, file; /* numbers of texts */
	uint32_t start_line;
};
_Static_assert(sizeof(struct answer_function) == 16, "hashed as bytes");

struct answer_codes {
	struct answer_function *functions;
	size_t nr_functions, cap_functions;
	struct hashmap function_index;
	struct answer_row {
		uint32_t offset, function, line;
	} * rows;
	size_t nr_rows, cap_rows;
	uint8_t *bytes;
	size_t nr_bytes, cap_bytes;
	struct answer_code {
		uint64_t address;
		uint32_t size_bytes, nr_rows;
		bool has_bytes;
	} * items;
	size_t nr, cap;
	bool failed; /* out of memory */
};

/* ---- collector's side ---- */

#endif
