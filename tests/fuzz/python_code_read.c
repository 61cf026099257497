// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code objects read of a process (here: this one) whose memory the input describes: a
 * struct lb_interp, u8 count, count times {u16 offset of a code object, u16 of its line
 * table, u32 first line}, then the memory. Words in it that are below 64 KiB are offsets
 * into it.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/wire.h"
#include "decode/requests.h"
#include "lineburn_unwind.h"
#include "lib/cost.h"

#define CODE_BYTES   8
#define MEMORY_BYTES 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 80};

static _Alignas(4096) uint8_t memory[MEMORY_BYTES];

static uint64_t address_of(uint64_t offset)
{
	return (uintptr_t)memory + offset;
}

static void fill_memory(const uint8_t *data, size_t size)
{
	memset(memory, 0, sizeof(memory));
	memcpy(memory, data, size < sizeof(memory) ? size : sizeof(memory));
	for (size_t i = 0; i + sizeof(uint64_t) <= sizeof(memory);
	     i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, memory + i, sizeof(word));
		if (!word || word > UINT16_MAX)
			continue;
		word = address_of(word);
		memcpy(memory + i, &word, sizeof(word));
	}
}

/* Each code object of the reply: was it read, then three texts. */
static void check_reply(const struct wire_writer *reply, size_t nr)
{
	struct wire_reader r = {.data = reply->data, .len = reply->len};

	for (size_t i = 0; i < nr; i++) {
		assert(wire_get_u8(&r) <= 1);
		for (size_t text = 0; text < 3; text++) {
			uint8_t width = wire_get_u8(&r), is_cut = wire_get_u8(&r);
			size_t len;

			wire_get_bytes(&r, &len);
			assert(width <= 4 && is_cut <= 1 && (!width || len % width == 0));
		}
	}
	assert(!r.failed && r.pos == r.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t head = sizeof(struct lb_interp) + 1;
	struct wire_writer request = {0}, reply = {0};
	struct wire_reader reader;
	size_t nr;
	int rc;

	if (size < head)
		return -1;
	nr = data[head - 1];
	if (nr > (size - head) / CODE_BYTES)
		nr = (size - head) / CODE_BYTES;
	fill_memory(data + head + nr * CODE_BYTES, size - head - nr * CODE_BYTES);
	wire_put_u32(&request, (uint32_t)getpid());
	wire_put_bytes(&request, data, sizeof(struct lb_interp));
	wire_put_u32(&request, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++) {
		const uint8_t *code = data + head + i * CODE_BYTES;
		uint16_t at, table;
		uint32_t line;

		memcpy(&at, code, sizeof(at));
		memcpy(&table, code + 2, sizeof(table));
		memcpy(&line, code + 4, sizeof(line));
		wire_put_u64(&request, address_of(at % MEMORY_BYTES));
		wire_put_u64(&request, address_of(table % MEMORY_BYTES));
		wire_put_u32(&request, line);
	}
	reader = (struct wire_reader){.data = request.data, .len = request.len};
	rc = python_code_read_serve(NULL, &reader, NULL, 0, &reply);
	assert(!rc || rc == -EBADMSG || rc == -EINVAL);
	if (!rc)
		check_reply(&reply, nr);
	wire_writer_deinit(&request);
	wire_writer_deinit(&reply);
	return 0;
}
