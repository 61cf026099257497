// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * V8's damaged file names. V8 (seen in 11.3, Node 20) writes the name of a script
 * that is not a flat one-byte string from memory it has freed: the allocator has
 * put two words of its own over the first 16 bytes. Every file of a user's own is
 * hit, in every entry. The length is right, though: what is damaged is as long as
 * the name. So a name that "ends" too early is told from what follows: the next
 * entry would have an address outside of this code. Real input, hot.js in /tmp/d:
 *
 *   40 63 fc 31 b8 7f 00 00  05 00 00 00  0b 00 00 00   ip, line 5, column 11
 *   be a4 01 00 00 00 00 00  70 9e 33 0f 2f 88 b4 f4    was "/tmp/tmp.DeSGfbI"
 *   76 4e 62 2f 68 6f 74 2e  6a 73 00                   "vNb/hot.js\0"
 */
#include "decode/jit/record.h"

#include <string.h>

#include "decode/jit/name.h"

#define MAGIC          0x4a695444u /* "JiTD" as a number in the writer's order */
#define VERSION        1
#define V8_PAD         0xdeadbeefu
#define FLAG_ARCH_TIME 1u
#define HEADER_BYTES   40
#define PREFIX_BYTES   16 /* id, size, time */
#define LOAD_BYTES     (PREFIX_BYTES + 40) /* without name and code */
#define MOVE_BYTES     (PREFIX_BYTES + 48)
#define DEBUG_BYTES    (PREFIX_BYTES + 16) /* without entries */
#define ENTRY_BYTES    16 /* without the name */
#define FREED_BYTES    16 /* what an allocator writes over freed memory */
#define MAX_LINE       (1u << 24)

/* How far entries may lie outside of their code: Erlang's first one is in the
 * header before it, V8 adds the size of an ELF header to each. */
#define ENTRY_SLACK_LOW  256
#define ENTRY_SLACK_HIGH 64

static uint32_t u32_at(const struct jitdump *jd, uint64_t off)
{
	uint32_t v;

	memcpy(&v, jd->bytes + off, sizeof(v));
	return v;
}

static uint64_t u64_at(const struct jitdump *jd, uint64_t off)
{
	uint64_t v;

	memcpy(&v, jd->bytes + off, sizeof(v));
	return v;
}

bool jitdump_open(const void *bytes, uint64_t len, struct jitdump *ret)
{
	struct jitdump jd = {.bytes = bytes, .len = len};

	if (len < HEADER_BYTES || u32_at(&jd, 0) != MAGIC || u32_at(&jd, 4) != VERSION)
		return false;
	jd.first_off = u32_at(&jd, 8);
	jd.is_v8 = u32_at(&jd, 16) == V8_PAD;
	jd.arch_time = u64_at(&jd, 32) & FLAG_ARCH_TIME;
	if (jd.first_off < HEADER_BYTES || jd.first_off > len)
		return false;
	*ret = jd;
	return true;
}

enum record_next jitdump_next(const struct jitdump *jd, uint64_t *off, struct record *ret)
{
	uint64_t left = jd->len - *off;

	if (!left)
		return RECORD_END;
	if (left < PREFIX_BYTES)
		return RECORD_CUT;
	ret->off = *off;
	ret->id = u32_at(jd, *off);
	ret->size = u32_at(jd, *off + 4);
	ret->time_ns = u64_at(jd, *off + 8);
	if (ret->size < PREFIX_BYTES || ret->size > left)
		return RECORD_CUT;
	*off += ret->size;
	return RECORD_OK;
}

bool record_load(const struct jitdump *jd, const struct record *rec,
		 struct record_load *ret)
{
	uint64_t name_off = rec->off + LOAD_BYTES;
	const char *name = (const char *)jd->bytes + name_off, *nul;
	struct record_load load;

	if (rec->size <= LOAD_BYTES)
		return false;
	nul = memchr(name, '\0', rec->size - LOAD_BYTES);
	load.start_ip = u64_at(jd, rec->off + PREFIX_BYTES + 16);
	load.size_bytes = u64_at(jd, rec->off + PREFIX_BYTES + 24);
	load.code_index = u64_at(jd, rec->off + PREFIX_BYTES + 32);
	if (!nul || load.start_ip + load.size_bytes < load.start_ip)
		return false;
	load.name = name;
	load.name_len = (size_t)(nul - name);
	if (load.name_len > JIT_NAME_MAX_BYTES)
		load.name_len = JIT_NAME_MAX_BYTES;
	*ret = load;
	return true;
}

bool record_move(const struct jitdump *jd, const struct record *rec,
		 struct record_move *ret)
{
	struct record_move move;

	if (rec->size < MOVE_BYTES)
		return false;
	move.old_ip = u64_at(jd, rec->off + PREFIX_BYTES + 16);
	move.new_ip = u64_at(jd, rec->off + PREFIX_BYTES + 24);
	move.size_bytes = u64_at(jd, rec->off + PREFIX_BYTES + 32);
	move.code_index = u64_at(jd, rec->off + PREFIX_BYTES + 40);
	if (move.old_ip + move.size_bytes < move.old_ip ||
	    move.new_ip + move.size_bytes < move.new_ip)
		return false;
	*ret = move;
	return true;
}

bool debug_iter_init(struct debug_iter *it, const struct jitdump *jd,
		     const struct record *rec, const struct record_load *load,
		     size_t own_file_len)
{
	uint64_t end_ip = load->start_ip + load->size_bytes;

	if (rec->size < DEBUG_BYTES)
		return false;
	*it = (struct debug_iter){
		.jd = jd,
		.pos = rec->off + DEBUG_BYTES,
		.end = rec->off + rec->size,
		.nr_left = u64_at(jd, rec->off + PREFIX_BYTES + 8),
		.low_ip = load->start_ip > ENTRY_SLACK_LOW
				  ? load->start_ip - ENTRY_SLACK_LOW
				  : 0,
		.high_ip = end_ip < UINT64_MAX - ENTRY_SLACK_HIGH
				   ? end_ip + ENTRY_SLACK_HIGH
				   : UINT64_MAX,
		.own_file_len = own_file_len,
		.file = "",
	};
	return true;
}

/* May what follows a name that ends before @pos be what has to follow it? */
static bool fits_behind(const struct debug_iter *it, uint64_t pos)
{
	uint64_t ip;
	uint32_t line;

	if (pos > it->end)
		return false;
	if (!it->nr_left) {
		/* Nothing but padding to a multiple of eight. */
		for (uint64_t i = pos; i < it->end; i++)
			if (it->jd->bytes[i] || it->end - pos > 7)
				return false;
		return true;
	}
	if (it->end - pos < ENTRY_BYTES + 1)
		return false;
	ip = u64_at(it->jd, pos);
	line = u32_at(it->jd, pos + 8);
	return ip >= it->low_ip && ip <= it->high_ip && line < MAX_LINE;
}

static bool take_name(struct debug_iter *it, uint64_t len, bool damaged)
{
	it->file = (const char *)it->jd->bytes + it->pos;
	it->file_len = (size_t)len;
	it->damaged = damaged;
	it->pos += len + 1;
	return true;
}

/* A damaged name of @len bytes at it->pos? */
static bool try_damaged(struct debug_iter *it, uint64_t len)
{
	if (!len || len >= it->end - it->pos || it->jd->bytes[it->pos + len] ||
	    !fits_behind(it, it->pos + len + 1))
		return false;
	return take_name(it, len, true);
}

static bool next_damaged(struct debug_iter *it)
{
	const uint8_t *name = it->jd->bytes + it->pos, *nul;
	uint64_t left = it->end - it->pos;

	if (it->damaged && try_damaged(it, it->file_len))
		return true;
	if (try_damaged(it, it->own_file_len))
		return true;
	if (left <= FREED_BYTES)
		return false;
	nul = memchr(name + FREED_BYTES, '\0', left - FREED_BYTES);
	return nul && try_damaged(it, (uint64_t)(nul - name));
}

static bool next_name(struct debug_iter *it)
{
	const uint8_t *name = it->jd->bytes + it->pos, *nul;
	uint64_t left = it->end - it->pos;

	nul = memchr(name, '\0', left);
	if (!nul)
		return false;
	if (nul - name == 1 && name[0] == 0xff) {
		it->pos += 2; /* the same as before */
		return true;
	}
	if (!it->jd->is_v8 || fits_behind(it, it->pos + (uint64_t)(nul - name) + 1))
		return take_name(it, (uint64_t)(nul - name), false);
	return next_damaged(it);
}

bool debug_iter_next(struct debug_iter *it, struct debug_entry *ret)
{
	if (!it->nr_left || it->broken)
		return false;
	if (it->end - it->pos < ENTRY_BYTES + 1) {
		it->broken = true;
		return false;
	}
	ret->ip = u64_at(it->jd, it->pos);
	ret->line = u32_at(it->jd, it->pos + 8);
	ret->column = u32_at(it->jd, it->pos + 12);
	it->pos += ENTRY_BYTES;
	it->nr_left--;
	if (!next_name(it)) {
		it->broken = true;
		return false;
	}
	ret->file = it->file;
	ret->file_len = it->file_len;
	ret->damaged = it->damaged;
	return true;
}
