/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plain data between the collector and its workers: little-endian, no padding, no
 * pointers. A reader does not trust the writer: past the end every get returns zero and
 * sets `failed`, so it is enough to check that after the last get.
 */
#ifndef LB_BASE_WIRE_H
#define LB_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_writer {
	uint8_t *data; /* heap; owned by the writer until taken */
	size_t len, cap;
	size_t max; /* most bytes; 0 for no limit */
	bool failed; /* out of memory or over @max: later puts are ignored */
};

void wire_writer_deinit(struct wire_writer *w);
void wire_put_u8(struct wire_writer *w, uint8_t v);
void wire_put_u32(struct wire_writer *w, uint32_t v);
void wire_put_u64(struct wire_writer *w, uint64_t v);
/* Length as u32, then the bytes. NULL is empty. */
void wire_put_bytes(struct wire_writer *w, const void *data, size_t len);
void wire_put_str(struct wire_writer *w, const char *s);

struct wire_reader {
	const uint8_t *data; /* borrowed */
	size_t len, pos;
	bool failed; /* read past the end, or a string had a NUL */
};

uint8_t wire_get_u8(struct wire_reader *r);
uint32_t wire_get_u32(struct wire_reader *r);
uint64_t wire_get_u64(struct wire_reader *r);
/* Borrowed from the reader's data; on failure @len is 0 and the result "". */
const void *wire_get_bytes(struct wire_reader *r, size_t *len);
/* Not terminated: use @len. Fails if the text has a NUL. */
const char *wire_get_str(struct wire_reader *r, size_t *len);

#endif
