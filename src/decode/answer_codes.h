/* SPDX-License-Identifier: GPL-2.0-or-later */
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
#ifndef LB_DECODE_ANSWER_CODES_H
#define LB_DECODE_ANSWER_CODES_H

#include "decode/answer.h"
#include "decode/answer_texts.h"

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

void answer_codes_deinit(struct answer_codes *c);
void answer_codes_add(struct answer_codes *c, struct answer_texts *texts,
		      const struct code *code);

/** Marks the texts that are used: sets @used of their numbers. */
void answer_codes_mark(const struct answer_codes *c, uint32_t *used);
/** @numbers  as answer_texts_put() left them */
void answer_codes_put(const struct answer_codes *c, const uint32_t *numbers,
		      struct wire_writer *out);

/* ---- collector's side ---- */

/** Fills the members of @ret about code. Return: 0, -EBADMSG, -ENOMEM; then free them. */
int answer_codes_read(struct wire_reader *r, const struct answer_strings *strings,
		      struct answers *ret);

#endif
