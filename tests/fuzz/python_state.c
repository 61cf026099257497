// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The search for a Python's thread states in memory that the input describes: u16 version,
 * u64 address of _PyRuntime, then pieces of {u64 address, u16 bytes, the bytes}. Seeds are
 * what the search read of real interpreters.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "decode/python/layout.h"
#include "decode/python/state.h"
#include "lib/cost.h"

#define HEAD_BYTES  10
#define PIECE_BYTES 10 /* before its bytes */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The lists of threads are read up to 8 times. */
const struct cost_bound cost_bound = {.fixed = 1000000, .per_byte = 50};

struct memory {
	const uint8_t *data;
	size_t size;
};

static uint64_t get(const uint8_t *at, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, at, bytes);
	return value;
}

/* Pieces may overlap: the first one that has the address counts. */
static ssize_t read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct memory *m = ctx;
	size_t at = HEAD_BYTES;

	while (m->size - at >= PIECE_BYTES) {
		uint64_t start = get(m->data + at, 8), bytes = get(m->data + at + 8, 2);

		at += PIECE_BYTES;
		if (bytes > m->size - at)
			bytes = m->size - at;
		if (addr >= start && addr - start < bytes) {
			size_t n = bytes - (addr - start);

			if (n > len)
				n = len;
			memcpy(buf, m->data + at + (addr - start), n);
			return (ssize_t)n;
		}
		at += bytes;
	}
	return -EFAULT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory m = {.data = data, .size = size};
	struct python_state_found found;
	struct python_search search = {.read = read_memory, .ctx = &m};
	enum locate_result result;

	if (size < HEAD_BYTES)
		return -1;
	search.version = (uint32_t)get(data, 2);
	search.runtime_addr = get(data + 2, 8);
	result = python_state_search(&search, &found);
	assert(result == LOCATE_FOUND || result == LOCATE_NOT_YET ||
	       result == LOCATE_UNKNOWN);
	if (result == LOCATE_FOUND) {
		assert(python_layout_is_sane(&found.layout));
		assert(found.tls_off >= -PYTHON_BYTES_BELOW &&
		       found.tls_off < PYTHON_BYTES_ABOVE && found.tls_off % 8 == 0);
	}
	return 0;
}
