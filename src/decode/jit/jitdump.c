// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A jitdump, version 1, as in tools/perf/Documentation/jitdump-specification.txt of
 * Linux, and as runtimes really write it. Bytes are in host order; the other order is
 * refused by the magic. All of it is pure and reads within [bytes, bytes + len) only,
 * also when the bytes change meanwhile.
 *
 * Two passes, so that memory is O(queries) for a dump of any size. The first goes from
 * record to record; LOADs and MOVEs claim the queries in their ranges (owners.h). It
 * never reads a record's code bytes, so a large part of the file is never read. The
 * second pass reads the DEBUG_INFO of those LOADs that own a query.
 *
 * There is no record for freed code: a newer LOAD at the address wins. Times of a CPU's
 * counter cannot be compared with those of samples. In such a dump all code counts as
 * present at any time, and two functions at one address are ambiguous.
 */
#include "decode/jit/jitdump.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/io.h"
#include "base/search.h"
#include "base/strpool.h"
#include "base/vec.h"
#include "decode/jit/name.h"
#include "decode/requests.h"

struct debug_entry {
	uint64_t ip; /* as written: V8's are 0x40 too high, see line_source_resolve() */
	uint32_t line; /* 1-based; 0: no line from here on (Erlang) */
	uint32_t column; /* V8 only; elsewhere a discriminator */
	const char *file; /* into the bytes, not terminated */
	size_t file_len;
	bool damaged; /* the first 16 bytes of the name (or all) are overwritten */
};

/* Walks the entries of one DEBUG_INFO. */
struct debug_iter {
	const struct jitdump *jd;
	uint64_t pos, end;
	uint64_t nr_left;
	uint64_t low_ip, high_ip; /* entries of this code can be in [low, high] */
	size_t own_file_len; /* of the file in the code's own name; 0 unknown */
	const char *file; /* of the entry before */
	size_t file_len;
	bool damaged;
	bool broken; /* it ended early; the rest is not valid */
};

#define SCRIPTS_MAX (1u << 20) /* files and positions; more are not recovered */

struct scripts;

static void scripts_free(struct scripts *s);
DEFINE_CLEANUP(struct scripts, scripts_free);

struct line_hit {
	uint64_t ip; /* address before any MOVE of the code */
	size_t index; /* for the caller */
	/* The answer. */
	uint32_t line; /* 0: none */
	const char *file; /* as the runtime wrote it; interned; set if line is */
	/* The entry that covers the address, while the record is read. */
	struct debug_entry entry;
	bool has_entry;
};

/* State that all records of one dump share. */
struct line_source {
	const struct jitdump *jd; /* borrowed */
	struct strpool *pool; /* borrowed */
	struct scripts *scripts; /* created at the first damaged name */
	uint64_t nr_bad; /* records with malformed or unrecoverable entries */
};

/*
 * V8's damaged file names. V8 (seen in 11.3, Node 20) writes the name of a script that
 * is not a flat one-byte string from freed memory: the allocator has overwritten the
 * first 16 bytes with two words of its own. Every file of a user is affected, in every
 * entry. But the length is right: the damaged bytes are as long as the name. A name
 * that "ends" too early is recognised by what follows: the next entry would have an
 * address outside of this code. Real input, hot.js in /tmp/d:
 *
 *   40 63 fc 31 b8 7f 00 00  05 00 00 00  0b 00 00 00   ip, line 5, column 11
 *   be a4 01 00 00 00 00 00  70 9e 33 0f 2f 88 b4 f4    was "/tmp/tmp.DeSGfbI"
 *   76 4e 62 2f 68 6f 74 2e  6a 73 00                   "vNb/hot.js\0"
 */

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
#define FREED_BYTES    16 /* overwritten by an allocator in freed memory */
#define MAX_LINE       (1u << 24)

/*
 * How far entries may lie outside of their code: Erlang's first one is in the header
 * before it, V8 adds the size of an ELF header to each.
 */
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

/**
 * @load           the code that @rec describes
 * @own_file_len   length of the file in the code's name, 0 if it has none
 * Return: false when malformed.
 */
static bool debug_iter_init(struct debug_iter *it, const struct jitdump *jd,
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

/* Can a name end before @pos? Is a valid entry, or the end of the record, at @pos? */
static bool fits_behind(const struct debug_iter *it, uint64_t pos)
{
	uint64_t ip;
	uint32_t line;

	if (pos > it->end)
		return false;
	if (!it->nr_left) {
		/* Only padding to a multiple of eight may follow. */
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

/* Takes a damaged name of @len bytes at it->pos, if one can be there. */
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
		it->pos += 2; /* same file as the entry before */
		return true;
	}
	if (!it->jd->is_v8 || fits_behind(it, it->pos + (uint64_t)(nul - name) + 1))
		return take_name(it, (uint64_t)(nul - name), false);
	return next_damaged(it);
}

/** Return: false at the end; it->broken is set if the record is malformed. */
static bool debug_iter_next(struct debug_iter *it, struct debug_entry *ret)
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

/*
 * The full names of files are in the names of the code: "JS:*hot /app/server.js:4:13".
 * Of a damaged name, only its length and what follows its 16th byte (the rest) are
 * left.
 *
 * If the rest has the whole base name, and only one known file has that length and
 * rest, it is that file. Short names ("/app/server.js" has no rest at all) need more:
 * the entry's line and column must be a position that exists in only one of the
 * possible files. Known positions are the starts of functions (in their names), and all
 * positions of baseline code: its DEBUG_INFO never has inlined entries, so they belong
 * to the file in the code's own name.
 */

#define LOST_BYTES 16 /* overwritten bytes of a damaged name */

struct scripts {
	struct strpool *pool;
	const char **paths; /* interned; NULL: of more than one file */
	size_t nr, cap;
	struct hashmap index; /* by rest_hash() or position_hash() */
};

static void scripts_free(struct scripts *s)
{
	if (!s)
		return;
	free(s->paths);
	hashmap_deinit(&s->index);
	free(s);
}

/* Does the rest of a damaged name have the whole base name? */
static bool is_telling(const char *path, size_t len)
{
	return len > LOST_BYTES && memchr(path + LOST_BYTES, '/', len - LOST_BYTES);
}

/* What is left of a damaged name. Two with the same hash, which is keyed, count as one. */
static uint64_t rest_hash(const char *name, size_t len)
{
	size_t lost = len < LOST_BYTES ? len : LOST_BYTES;

	return hash_bytes(len, name + lost, len - lost);
}

static uint64_t position_hash(uint64_t rest, uint32_t line, uint32_t column)
{
	return hash_u64(rest, (uint64_t)line << 32 | column);
}

/* Without memory or room, the file is not recovered. */
static void add_path(struct scripts *s, const char *path, uint64_t hash)
{
	uint32_t i = hashmap_get(&s->index, hash, NULL, NULL, NULL);

	if (i != HASHMAP_NONE) {
		if (s->paths[i] != path)
			s->paths[i] = NULL;
		return;
	}
	if (!vec_grow(&s->paths, &s->cap, s->nr + 1, sizeof(*s->paths), SCRIPTS_MAX) &&
	    !hashmap_add(&s->index, hash, (uint32_t)s->nr))
		s->paths[s->nr++] = path;
}

static void add_load(struct scripts *s, const struct jitdump *jd,
		     const struct record_load *load, const struct record *debug)
{
	struct debug_entry entry;
	struct debug_iter it;
	struct jit_name name;
	const char *path;
	uint64_t rest;

	jit_name_split(load->name, load->name_len, &name);
	if (!name.file_len)
		return;
	path = strpool_add_n(s->pool, name.file, name.file_len);
	if (strlen(path) != name.file_len) /* no room for it, or it has just changed */
		return;
	rest = rest_hash(path, name.file_len);
	if (is_telling(path, name.file_len)) {
		add_path(s, path, rest);
		return;
	}
	add_path(s, path, position_hash(rest, name.start_line, name.start_column));
	if (!name.bytecode_positions || !debug->size ||
	    !debug_iter_init(&it, jd, debug, load, name.file_len))
		return;
	while (debug_iter_next(&it, &entry))
		if (entry.damaged && entry.file_len == name.file_len)
			add_path(s, path, position_hash(rest, entry.line, entry.column));
}

/**
 * Reads the whole dump once. @pool is borrowed and gets the paths.
 * Return: NULL when out of memory.
 */
static struct scripts *scripts_new(const struct jitdump *jd, struct strpool *pool)
{
	struct scripts *s = calloc(1, sizeof(*s));
	struct record rec, debug = {0};
	struct record_load load;
	uint64_t off = jd->first_off;

	if (!s)
		return NULL;
	s->pool = pool;
	while (jitdump_next(jd, &off, &rec) == RECORD_OK) {
		if (rec.id == RECORD_DEBUG_INFO) {
			debug = rec;
		} else if (rec.id == RECORD_LOAD) {
			if (record_load(jd, &rec, &load))
				add_load(s, jd, &load, &debug);
			debug = (struct record){0};
		}
	}
	return s;
}

/** Returns the file (as V8 wrote it, interned) of a damaged entry, or NULL. */
static const char *scripts_find(const struct scripts *s, const struct debug_entry *entry)
{
	uint64_t hash = rest_hash(entry->file, entry->file_len);
	uint32_t i;

	if (!is_telling(entry->file, entry->file_len))
		hash = position_hash(hash, entry->line, entry->column);
	i = hashmap_get(&s->index, hash, NULL, NULL, NULL);
	return i == HASHMAP_NONE ? NULL : s->paths[i];
}

/*
 * An address has the line of the entry with the greatest address at or below it. Before
 * the first entry there is no line: in some runtimes a prologue has no entry, and the
 * function's start line is known anyway.
 *
 * - V8 adds 0x40, the size of an ELF header, to each entry's address, because "perf
 *   inject" puts one before the code (its constant is kElfHeaderSize; seen in all 25
 *   records of Node 20: the first entry of optimised code, the function's own start, is
 *   at 0x40). No other runtime does. The shift is subtracted if all entries are at 0x40
 *   or above; outside of V8's dumps only if the entries do not fit the code without it.
 * - V8's baseline code (names "JS:^f") has a DEBUG_INFO whose "addresses" are offsets
 *   in the bytecode: for hot.js exactly those that --print-bytecode lists (0, 2, 4, 6,
 *   11, 14 ...), where the machine code is six times as long. As addresses they would
 *   give wrong lines, so this code has no lines.
 * - Entries of inlined functions have the line and file of the inlined code. The frame
 *   gets them, with the name of the outer function: a jitdump names no other.
 */

#define V8_SHIFT       0x40 /* sizeof(Elf64_Ehdr) */
#define MAX_ENTRY_LINE INT32_MAX

static void line_source_deinit(struct line_source *s)
{
	scripts_free(s->scripts);
	s->scripts = NULL;
}

/*
 * Finds by how much the entries' addresses are too high. Reads the record.
 * Return: false when it is malformed.
 */
static bool entry_shift(struct debug_iter it, const struct record_load *load,
			uint64_t *ret)
{
	uint64_t lowest = UINT64_MAX, highest = 0;
	struct debug_entry e;
	bool above;

	while (debug_iter_next(&it, &e)) {
		if (e.ip < lowest)
			lowest = e.ip;
		if (e.line && e.ip > highest)
			highest = e.ip;
	}
	if (it.broken)
		return false;
	above = lowest >= load->start_ip && lowest - load->start_ip >= V8_SHIFT;
	if (!it.jd->is_v8)
		above = above && highest - load->start_ip >= load->size_bytes &&
			highest - load->start_ip - V8_SHIFT < load->size_bytes;
	*ret = above ? V8_SHIFT : 0;
	return true;
}

/*
 * Finds, for each hit, the entry with the greatest address at or below it: stores each
 * entry at the first hit that it covers, then extends it to the hits above, up to one
 * with a better entry.
 */
static void find_entries(struct debug_iter *it, uint64_t shift, struct line_hit *hits,
			 size_t nr)
{
	struct debug_entry e;

	while (debug_iter_next(it, &e)) {
		size_t i;

		e.ip -= e.ip > shift ? shift : e.ip;
		i = SEARCH_FIRST(k, nr, hits[k].ip >= e.ip);
		if (i < nr && (!hits[i].has_entry || e.ip >= hits[i].entry.ip)) {
			hits[i].entry = e;
			hits[i].has_entry = true;
		}
	}
	for (size_t i = 1; i < nr; i++) {
		if (!hits[i - 1].has_entry ||
		    (hits[i].has_entry && hits[i].entry.ip >= hits[i - 1].entry.ip))
			continue;
		hits[i].entry = hits[i - 1].entry;
		hits[i].has_entry = true;
	}
}

/* Return: 1 if the file of a damaged entry is not known, 0, or -ENOMEM. */
static int name_line(struct line_source *s, struct line_hit *hit)
{
	const struct debug_entry *e = &hit->entry;
	const char *file = NULL;

	if (!hit->has_entry || !e->line || e->line > MAX_ENTRY_LINE || !e->file_len)
		return 0;
	if (!e->damaged) {
		size_t len = e->file_len < JIT_NAME_MAX_BYTES ? e->file_len
							      : JIT_NAME_MAX_BYTES;

		file = strpool_add_n(s->pool, e->file, len);
	} else {
		if (!s->scripts)
			s->scripts = scripts_new(s->jd, s->pool);
		if (!s->scripts)
			return -ENOMEM;
		file = scripts_find(s->scripts, e);
	}
	if (!file)
		return 1;
	hit->file = file;
	hit->line = e->line;
	return 0;
}

/**
 * @hits  addresses in @load, ascending; line and file are written
 * Cost: reads the record twice. Return: 0 or -ENOMEM.
 */
static int line_source_resolve(struct line_source *s, const struct record *debug,
			       const struct record_load *load, struct line_hit *hits,
			       size_t nr)
{
	struct debug_iter it;
	struct jit_name name;
	uint64_t shift;
	bool lost = false;

	jit_name_split(load->name, load->name_len, &name);
	if (name.bytecode_positions && s->jd->is_v8)
		return 0;
	if (!debug_iter_init(&it, s->jd, debug, load, name.file_len) ||
	    !entry_shift(it, load, &shift)) {
		s->nr_bad++;
		return 0;
	}
	find_entries(&it, shift, hits, nr);
	for (size_t i = 0; i < nr; i++) {
		int rc = name_line(s, &hits[i]);

		if (rc < 0)
			return rc;
		lost |= rc;
	}
	s->nr_bad += lost;
	return 0;
}

#define MAX_FILE_BYTES (4ull << 30)
#define MAX_POOL_BYTES (64u << 20)
#define MAX_MOVABLE    (1u << 20) /* functions, in dumps that have MOVEs */
#define NO_DEBUG       UINT64_MAX

/* ---- first pass: claims ---- */

/* Code by its index in the dump; kept only if the dump has MOVEs. */
struct movable {
	struct record_load load; /* start_ip: where the code is now */
	uint64_t record_off;
};

struct claiming {
	const struct jitdump *jd;
	struct queries *queries;
	struct strpool *pool;
	bool has_moves;
	struct movable *movables;
	size_t nr_movables, cap_movables;
	struct hashmap by_index; /* the newest movable of an index */
	uint64_t nr_bad;
};

static void claiming_deinit(struct claiming *c)
{
	free(c->movables);
	hashmap_deinit(&c->by_index);
}

static bool index_eq(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct claiming *)ctx)->movables[item].load.code_index ==
	       *(const uint64_t *)key;
}

static struct movable *movable_find(struct claiming *c, uint64_t code_index)
{
	uint32_t i = hashmap_get(&c->by_index, hash_u64(0, code_index), index_eq,
				 &code_index, c);

	return i == HASHMAP_NONE ? NULL : &c->movables[i];
}

static int movable_note(struct claiming *c, const struct movable *m)
{
	struct movable *old = movable_find(c, m->load.code_index);
	int rc;

	if (old) {
		*old = *m;
		return 0;
	}
	rc = vec_grow(&c->movables, &c->cap_movables, c->nr_movables + 1,
		      sizeof(*c->movables), MAX_MOVABLE);
	if (rc)
		return rc == -ENOSPC ? -E2BIG : rc;
	if (hashmap_add(&c->by_index, hash_u64(0, m->load.code_index),
			(uint32_t)c->nr_movables))
		return -ENOMEM;
	c->movables[c->nr_movables++] = *m;
	return 0;
}

static bool is_hit(const struct claiming *c, uint64_t start_ip, uint64_t size_bytes)
{
	size_t i = queries_lower_bound(c->queries, start_ip);

	return i < c->queries->nr && c->queries->items[i].ip - start_ip < size_bytes;
}

/* @name  NULL: the code left the address */
static int claim(struct claiming *c, const struct record *rec, uint64_t start_ip,
		 uint64_t size_bytes, const char *name, uint64_t record_off)
{
	struct claim cl = {
		.name = name,
		.start_ip = start_ip,
		.record_off = record_off,
		.after_ns = c->jd->arch_time ? 0 : rec->time_ns,
		.by_ns = c->jd->arch_time ? UINT64_MAX : rec->time_ns,
	};

	return queries_claim(c->queries, &cl, size_bytes);
}

/* The code is where it is since @rec, its LOAD or a MOVE. */
static int claim_code(struct claiming *c, const struct record *rec,
		      const struct movable *m)
{
	const struct record_load *load = &m->load;

	if (!is_hit(c, load->start_ip, load->size_bytes))
		return 0;
	return claim(c, rec, load->start_ip, load->size_bytes,
		     strpool_add_n(c->pool, load->name, load->name_len), m->record_off);
}

/* @record_off  of its DEBUG_INFO if it has one, else of the LOAD */
static int claim_load(struct claiming *c, const struct record *rec, uint64_t record_off)
{
	struct movable m = {.record_off = record_off};
	int rc;

	if (!record_load(c->jd, rec, &m.load)) {
		c->nr_bad++;
		return 0;
	}
	rc = c->has_moves ? movable_note(c, &m) : 0;
	return rc ? rc : claim_code(c, rec, &m);
}

static int claim_move(struct claiming *c, const struct record *rec)
{
	struct record_move move;
	struct movable *m;
	int rc;

	if (!record_move(c->jd, rec, &move)) {
		c->nr_bad++;
		return 0;
	}
	m = movable_find(c, move.code_index);
	if (!m || m->load.start_ip != move.old_ip ||
	    m->load.size_bytes != move.size_bytes) {
		c->nr_bad++;
		return 0;
	}
	m->load.start_ip = move.new_ip;
	/* The old range first: where both ranges overlap, the later claim wins. */
	rc = claim(c, rec, move.old_ip, move.size_bytes, NULL, 0);
	return rc ? rc : claim_code(c, rec, m);
}

static bool has_moves(const struct jitdump *jd)
{
	uint64_t off = jd->first_off;
	struct record rec;

	while (jitdump_next(jd, &off, &rec) == RECORD_OK)
		if (rec.id == RECORD_MOVE)
			return true;
	return false;
}

static int claim_all(struct claiming *c)
{
	uint64_t off = c->jd->first_off, debug_off = NO_DEBUG;
	enum record_next next;
	struct record rec;
	int rc = 0;

	c->has_moves = has_moves(c->jd);
	while (!rc && (next = jitdump_next(c->jd, &off, &rec)) != RECORD_END) {
		if (next == RECORD_CUT) {
			c->nr_bad++;
			break;
		}
		if (rec.id == RECORD_DEBUG_INFO) {
			debug_off = rec.off;
		} else if (rec.id == RECORD_LOAD) {
			rc = claim_load(c, &rec,
					debug_off == NO_DEBUG ? rec.off : debug_off);
			debug_off = NO_DEBUG;
		} else if (rec.id == RECORD_MOVE) {
			rc = claim_move(c, &rec);
		}
	}
	return rc;
}

/* ---- second pass: lines ---- */

/* A query that has an owner. */
struct owned_query {
	uint64_t record_off;
	uint64_t code_off; /* offset of the address in its code */
	const char *name; /* of the code, interned */
	size_t index; /* of the query */
	bool ambiguous_line; /* the code was replaced by code of the same name */
};

static int by_record(const void *a, const void *b)
{
	const struct owned_query *wa = a, *wb = b;

	if (wa->record_off != wb->record_off)
		return wa->record_off < wb->record_off ? -1 : 1;
	return wa->code_off < wb->code_off ? -1 : wa->code_off > wb->code_off;
}

static size_t decide(const struct queries *queries, struct answer_writer *a,
		     struct owned_query *owned)
{
	size_t nr = 0;

	for (size_t i = 0; i < queries->nr; i++) {
		const struct query *q = &queries->items[i];
		struct claim owner;
		enum owner who = query_owner(q, &owner);

		if (who == OWNER_NONE)
			answer_set(a, q->index, 0, MISS_JIT_UNKNOWN, NULL, 0);
		else if (who == OWNER_AMBIGUOUS)
			answer_set(a, q->index, 0, MISS_AMBIGUOUS_TIME, NULL, 0);
		else
			owned[nr++] = (struct owned_query){
				.record_off = owner.record_off,
				.code_off = q->ip - owner.start_ip,
				.name = owner.name,
				.index = q->index,
				.ambiguous_line = who == OWNER_SAME_NAME};
	}
	return nr;
}

static void answer_hit(struct line_source *s, struct answer_writer *a,
		       const struct owned_query *owned, const struct line_hit *hit)
{
	struct frame frame = jit_name_frame(owned->name, s->pool);
	enum miss miss = MISS_JIT_NO_LINES;

	if (owned->ambiguous_line) {
		miss = MISS_AMBIGUOUS_TIME;
	} else if (hit->line) {
		const char *file = jit_path(s->pool, hit->file, strlen(hit->file));

		/* Inlined code of another file: the start is not in that. */
		if (file != frame.file && *frame.file)
			frame.start_line = 0;
		frame.file = file;
		frame.line = hit->line;
		miss = MISS_NONE;
	}
	answer_set(a, owned->index, 0, miss, &frame, 1);
}

/* Finds the LOAD at @record_off, or the one after the DEBUG_INFO there (*ret_debug). */
static bool load_at(const struct jitdump *jd, uint64_t record_off,
		    struct record_load *ret, struct record *ret_debug)
{
	struct record rec;

	*ret_debug = (struct record){.off = NO_DEBUG};
	while (jitdump_next(jd, &record_off, &rec) == RECORD_OK) {
		if (rec.id == RECORD_LOAD)
			return record_load(jd, &rec, ret);
		if (rec.id == RECORD_DEBUG_INFO)
			*ret_debug = rec;
	}
	return false;
}

/* @owned  all of one record */
static int answer_record(struct line_source *s, struct answer_writer *a,
			 const struct owned_query *owned, struct line_hit *hits,
			 size_t nr)
{
	struct record_load load;
	struct record debug;
	int rc = 0;

	for (size_t i = 0; i < nr; i++)
		hits[i] = (struct line_hit){.index = owned[i].index};
	if (load_at(s->jd, owned[0].record_off, &load, &debug) && debug.off != NO_DEBUG) {
		for (size_t i = 0; i < nr; i++)
			hits[i].ip = load.start_ip + owned[i].code_off;
		rc = line_source_resolve(s, &debug, &load, hits, nr);
	}
	for (size_t i = 0; i < nr && !rc; i++)
		answer_hit(s, a, &owned[i], &hits[i]);
	return rc;
}

int jitdump_resolve(const struct jitdump *jd, struct queries *queries,
		    struct strpool *pool, struct answer_writer *a, uint64_t *ret_nr_bad)
{
	_cleanup_(claiming_deinit) struct claiming c = {
		.jd = jd, .queries = queries, .pool = pool};
	_cleanup_(line_source_deinit) struct line_source s = {.jd = jd, .pool = pool};
	_cleanup_free_ struct owned_query *owned =
		calloc(queries->nr + 1, sizeof(*owned));
	_cleanup_free_ struct line_hit *hits = calloc(queries->nr + 1, sizeof(*hits));
	size_t nr;
	int rc;

	if (!owned || !hits)
		return -ENOMEM;
	rc = claim_all(&c);
	if (rc)
		return rc;
	nr = decide(queries, a, owned);
	qsort(owned, nr, sizeof(*owned), by_record);
	for (size_t i = 0, end; i < nr; i = end) {
		for (end = i + 1;
		     end < nr && owned[end].record_off == owned[i].record_off; end++)
			;
		rc = answer_record(&s, a, &owned[i], hits, end - i);
		if (rc)
			return rc;
	}
	*ret_nr_bad = c.nr_bad + s.nr_bad;
	return 0;
}

/* ---- Serves DECODER_JITDUMP ---- */

static void answer_all(struct answer_writer *a, size_t nr, enum miss miss)
{
	for (size_t i = 0; i < nr; i++)
		answer_set(a, i, 0, miss, NULL, 0);
}

int jitdump_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(answer_writer_freep) struct answer_writer *a = NULL;
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(MAX_POOL_BYTES);
	_cleanup_(queries_deinit) struct queries queries = {0};
	enum miss object_miss = MISS_NONE;
	struct jitdump jd;
	void *bytes = NULL;
	uint64_t len = 0, nr_bad = 0;
	int rc;

	(void)call;
	if (nr_fds < 1)
		return -EINVAL;
	rc = queries_read(request, &queries);
	if (rc)
		return rc;
	a = answer_writer_new(queries.nr);
	if (!pool || !a)
		return -ENOMEM;
	/* If the file's owner truncates it, the worker dies: a counted miss. */
	rc = io_map_file(fds[0], MAX_FILE_BYTES, &bytes, &len);
	if (!rc && !len)
		answer_all(a, queries.nr, MISS_JIT_UNKNOWN); /* nothing written yet */
	else if (!rc && jitdump_open(bytes, len, &jd))
		rc = jitdump_resolve(&jd, &queries, pool, a, &nr_bad);
	else
		rc = -EBADMSG;
	if (bytes)
		munmap(bytes, (size_t)len);
	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		object_miss = MISS_JIT_FILE_REFUSED;
		answer_all(a, queries.nr, object_miss);
	}
	wire_put_u32(reply, object_miss);
	wire_put_u64(reply, nr_bad);
	answer_write(a, reply);
	return reply->failed ? -ENOMEM : 0;
}
