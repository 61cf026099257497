// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code objects read of a process (here: this one) whose memory the input describes: a
 * layout (NR_LAYOUT times u16, see layout_of), u8 count, count times {u16 offset of a code
 * object, u16 of its line table, u32 first line}, then the memory. A word of it whose
 * highest byte is 0xff is an address in it: the low 16 bits are the offset. What follows
 * the memory is not mapped.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/wire.h"
#include "decode/requests.h"
#include "lineburn_unwind.h"
#include "lib/cost.h"

#define NR_LAYOUT    11
#define CODE_BYTES   8
#define MEMORY_BYTES 4096
/* No more is read at an address, or added to one. */
#define BEHIND_BYTES (INTERP_MAX_TABLE_BYTES + 2 * UINT16_MAX)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Eight bytes may ask for three copies of the whole memory. */
const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 400};

static uint8_t *memory;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	memory = mmap(NULL, MEMORY_BYTES + BEHIND_BYTES, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert(memory != MAP_FAILED);
	assert(!mprotect(memory, MEMORY_BYTES, PROT_READ | PROT_WRITE));
	return 0;
}

static uint64_t address_of(uint64_t offset)
{
	return (uintptr_t)memory + offset;
}

static void fill_memory(const uint8_t *data, size_t size)
{
	memset(memory, 0, MEMORY_BYTES);
	memcpy(memory, data, size < MEMORY_BYTES ? size : MEMORY_BYTES);
	for (size_t i = 0; i < MEMORY_BYTES; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, memory + i, sizeof(word));
		if (word >> 56 != 0xff)
			continue;
		word = address_of(word & UINT16_MAX);
		memcpy(memory + i, &word, sizeof(word));
	}
}

/* The members that the reader uses. The others have no place in the input: it stays right
 * when struct lb_interp changes. */
static struct lb_interp layout_of(const uint8_t *data)
{
	uint16_t v[NR_LAYOUT];

	memcpy(v, data, sizeof(v));
	return (struct lb_interp){
		.version = v[0],
		.code_filename = v[1],
		.code_qualname = v[2],
		.code_linetable = v[3],
		.code_firstlineno = v[4],
		.str_length = v[5],
		.str_state = v[6],
		.str_ascii = v[7],
		.str_wide = v[8],
		.bytes_size = v[9],
		.bytes_data = v[10],
	};
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
	const size_t head = NR_LAYOUT * sizeof(uint16_t) + 1;
	struct wire_writer request = {0}, reply = {0};
	struct wire_reader reader;
	struct lb_interp layout;
	size_t nr;
	int rc;

	if (size < head)
		return -1;
	nr = data[head - 1];
	if (nr > (size - head) / CODE_BYTES)
		nr = (size - head) / CODE_BYTES;
	fill_memory(data + head + nr * CODE_BYTES, size - head - nr * CODE_BYTES);
	wire_put_u32(&request, (uint32_t)getpid());
	layout = layout_of(data);
	wire_put_bytes(&request, &layout, sizeof(layout));
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
