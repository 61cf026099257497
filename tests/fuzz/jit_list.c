// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Walks a list in memory that the input describes: a header, then the bytes from BASE
 * on. The memory can have an unmapped hole. It can also change between reads: from a
 * given read on, bytes are copied from one place to another. Or it is memory of a process
 * (this one) that does not change, for the reader's operation.
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/wire.h"
#include "decode/jit/list.h"
#include "decode/requests.h"
#include "lib/cost.h"

#define BASE      UINT64_C(0x10000)
#define MAX_BYTES 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A list that changes is read 8 times, and each of its objects up to 6 times. */
const struct cost_bound cost_bound = {.fixed = 4000000, .per_byte = 150};

struct header {
	uint16_t descriptor_off; /* from BASE */
	uint16_t hole_off, hole_bytes;
	uint16_t max_bytes; /* limit for all objects */
	uint16_t change_at; /* number of the read; then at each change_every-th read */
	uint16_t change_every;
	uint16_t change_from, change_to, change_bytes;
	uint16_t out_of_time_at; /* 0: never */
	uint16_t known_off; /* array of struct list_object */
	uint8_t nr_known;
	uint8_t is_process; /* bit 0; then the holes, changes and limits do not count */
};
_Static_assert(sizeof(struct header) == 24, "no padding: seeds are made by hand");

struct memory {
	struct header h;
	uint8_t bytes[MAX_BYTES];
	size_t len;
	uint64_t nr_reads, nr_found;
};

static void change(struct memory *m)
{
	size_t n = m->h.change_bytes;

	if (m->h.change_from + n <= m->len && m->h.change_to + n <= m->len)
		memmove(m->bytes + m->h.change_to, m->bytes + m->h.change_from, n);
}

static int read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct memory *m = ctx;
	uint64_t off = addr - BASE;

	m->nr_reads++;
	if (m->h.out_of_time_at && m->nr_reads >= m->h.out_of_time_at)
		return -ETIME;
	if (m->nr_reads == m->h.change_at ||
	    (m->h.change_every && m->nr_reads % m->h.change_every == 0))
		change(m);
	if (addr < BASE || off > m->len || len > m->len - off)
		return -EFAULT;
	if (off < (uint64_t)m->h.hole_off + m->h.hole_bytes && off + len > m->h.hole_off)
		return -EFAULT;
	memcpy(buf, m->bytes + off, len);
	return 0;
}

static void check(void *ctx, const struct list_object *o, enum list_state state,
		  const void *bytes)
{
	struct memory *m = ctx;

	m->nr_found++;
	assert(state < NR_LIST_STATES);
	assert((bytes != NULL) == (state == LIST_NEW));
	if (!bytes)
		return;
	assert(o->size_bytes >= LIST_MIN_OBJECT_BYTES &&
	       o->size_bytes <= LIST_MAX_OBJECT_BYTES);
	assert(!memcmp(bytes, "\177ELF", 4));
}

/* ---- of a process ---- */

static void put_request(struct wire_writer *w, const struct list_request *request)
{
	wire_put_u32(w, (uint32_t)getpid());
	wire_put_u64(w, request->descriptor_addr);
	wire_put_u32(w, (uint32_t)request->nr_known);
	for (size_t i = 0; i < request->nr_known; i++) {
		wire_put_u64(w, request->known[i].entry_addr);
		wire_put_u64(w, request->known[i].symfile_addr);
		wire_put_u64(w, request->known[i].size_bytes);
		wire_put_u64(w, request->known[i].ends);
	}
}

static void check_reply(struct memory *m, struct wire_reader *r)
{
	while (wire_get_u32(r) == 1) {
		struct list_object o;
		enum list_state state;
		const void *bytes;
		size_t len;

		o.entry_addr = wire_get_u64(r);
		o.symfile_addr = wire_get_u64(r);
		o.size_bytes = wire_get_u64(r);
		state = wire_get_u32(r);
		bytes = wire_get_bytes(r, &len);
		assert(!r->failed && len == (state == LIST_NEW ? o.size_bytes : 0));
		check(m, &o, state, len ? bytes : NULL);
	}
	assert(wire_get_u32(r) < NR_LIST_WALKS);
	assert(!r->failed && r->pos == r->len);
}

/* The bytes are at the same addresses as without a process. */
static void read_process(struct memory *m, const struct list_request *request)
{
	static void *at;
	struct wire_writer w = {0}, reply = {0};
	struct wire_reader r;

	if (!at)
		at = mmap((void *)BASE, MAX_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert(at == (void *)BASE);
	memset(at, 0, MAX_BYTES);
	memcpy(at, m->bytes, m->len);
	put_request(&w, request);
	r = (struct wire_reader){.data = w.data, .len = w.len};
	assert(!list_serve(NULL, &r, NULL, 0, &reply));
	r = (struct wire_reader){.data = reply.data, .len = reply.len};
	check_reply(m, &r);
	wire_writer_deinit(&w);
	wire_writer_deinit(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory m;
	struct list_object known[256];
	struct list_request request = {
		.known = known, .read = read_memory, .read_ctx = &m};
	enum list_walk result = NR_LIST_WALKS;

	if (size < sizeof(m.h))
		return 0;
	memcpy(&m.h, data, sizeof(m.h));
	m.len = size - sizeof(m.h) < MAX_BYTES ? size - sizeof(m.h) : MAX_BYTES;
	memcpy(m.bytes, data + sizeof(m.h), m.len);
	m.nr_reads = m.nr_found = 0;
	request.descriptor_addr = BASE + m.h.descriptor_off;
	request.max_bytes = m.h.max_bytes;
	for (size_t off = m.h.known_off; request.nr_known < m.h.nr_known;
	     off += sizeof(*known)) {
		if (off + sizeof(*known) > m.len)
			break;
		memcpy(&known[request.nr_known++], m.bytes + off, sizeof(*known));
	}
	if (m.h.is_process & 1) {
		read_process(&m, &request);
		return 0;
	}
	assert(!list_walk(&request, check, &m, &result));
	assert(result < NR_LIST_WALKS);
	/* A read is 32 bytes of a list, or belongs to one entry of a list. */
	assert(m.nr_reads <= UINT64_C(16) * LIST_MAX_TRIES * LIST_MAX_ENTRIES);
	assert(m.nr_found <= UINT64_C(2) * LIST_MAX_TRIES * LIST_MAX_ENTRIES);
	return 0;
}
