/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes jitdumps record by record, valid or not. */
#ifndef LB_TESTS_SYMBOLIZE_JIT_DUMP_H
#define LB_TESTS_SYMBOLIZE_JIT_DUMP_H

#include <stdint.h>
#include <string.h>

#include "base/wire.h"

#define DUMP_PAD_V8 0xdeadbeefu

struct dump_entry {
	uint64_t ip;
	uint32_t line, column;
	const char *file;
	size_t lost; /* number of garbage bytes at the start of the name */
};

static inline void dump_raw(struct wire_writer *d, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		wire_put_u8(d, ((const uint8_t *)bytes)[i]);
}

static inline void dump_header(struct wire_writer *d, uint32_t pad, uint64_t flags)
{
	wire_put_u32(d, 0x4a695444);
	wire_put_u32(d, 1);
	wire_put_u32(d, 40);
	wire_put_u32(d, 62);
	wire_put_u32(d, pad);
	wire_put_u32(d, 4711);
	wire_put_u64(d, 1);
	wire_put_u64(d, flags);
}

/* Begins a record; dump_end() writes its size. Return: the record's offset. */
static inline size_t dump_begin(struct wire_writer *d, uint32_t id, uint64_t time_ns)
{
	size_t off = d->len;

	wire_put_u32(d, id);
	wire_put_u32(d, 0);
	wire_put_u64(d, time_ns);
	return off;
}

static inline void dump_set_u32(struct wire_writer *d, size_t off, uint32_t v)
{
	memcpy(d->data + off, &v, sizeof(v));
}

static inline void dump_end(struct wire_writer *d, size_t off)
{
	dump_set_u32(d, off + 4, (uint32_t)(d->len - off));
}

static inline size_t dump_load(struct wire_writer *d, uint64_t time_ns, uint64_t ip,
			       uint64_t size, uint64_t index, const char *name)
{
	size_t off = dump_begin(d, 0, time_ns);

	wire_put_u32(d, 4711);
	wire_put_u32(d, 4711);
	wire_put_u64(d, ip);
	wire_put_u64(d, ip);
	wire_put_u64(d, size);
	wire_put_u64(d, index);
	dump_raw(d, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size && i < 64; i++)
		wire_put_u8(d, 0xcc);
	dump_end(d, off);
	return off;
}

static inline size_t dump_move(struct wire_writer *d, uint64_t time_ns, uint64_t old_ip,
			       uint64_t new_ip, uint64_t size, uint64_t index)
{
	size_t off = dump_begin(d, 1, time_ns);

	wire_put_u32(d, 4711);
	wire_put_u32(d, 4711);
	wire_put_u64(d, new_ip);
	wire_put_u64(d, old_ip);
	wire_put_u64(d, new_ip);
	wire_put_u64(d, size);
	wire_put_u64(d, index);
	dump_end(d, off);
	return off;
}

/* The name as from freed memory: the allocator overwrote its first two words. */
static inline void dump_name(struct wire_writer *d, const struct dump_entry *e)
{
	static const uint8_t freed[16] = {0xbe, 0xa4, 0x01, 0,    0,    0,    0,    0,
					  0x70, 0x9e, 0x33, 0x0f, 0x2f, 0x88, 0xb4, 0xf4};
	size_t len = strlen(e->file);
	size_t lost = e->lost < len ? e->lost : len;

	dump_raw(d, freed, lost);
	dump_raw(d, e->file + lost, len - lost + 1);
}

static inline size_t dump_debug(struct wire_writer *d, uint64_t time_ns, uint64_t ip,
				const struct dump_entry *entries, size_t nr)
{
	size_t off = dump_begin(d, 2, time_ns);

	wire_put_u64(d, ip);
	wire_put_u64(d, nr);
	for (size_t i = 0; i < nr; i++) {
		wire_put_u64(d, entries[i].ip);
		wire_put_u32(d, entries[i].line);
		wire_put_u32(d, entries[i].column);
		dump_name(d, &entries[i]);
	}
	while ((d->len - off) % 8)
		wire_put_u8(d, 0);
	dump_end(d, off);
	return off;
}

static inline void dump_close(struct wire_writer *d, uint64_t time_ns)
{
	dump_end(d, dump_begin(d, 3, time_ns));
}

/* A record of any id with @len bytes of payload. */
static inline void dump_other(struct wire_writer *d, uint32_t id, uint64_t time_ns,
			      size_t len)
{
	size_t off = dump_begin(d, id, time_ns);

	for (size_t i = 0; i < len; i++)
		wire_put_u8(d, (uint8_t)i);
	dump_end(d, off);
}

#endif
