// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * On the wire, all little-endian:
 *
 *   u32 nr_strings   { bytes text }
 *   u32 nr_frames    of all chains together
 *   u32 nr_chains    { u8 nr { frame } }         frame: see put_frame()
 *   u32 nr_addresses { u32 chain, u8 miss, u64 vaddr }
 *   codes            see below
 *
 * 2000 addresses in a handful of functions share a few distinct chains, so each
 * address costs 13 bytes.
 */
#include "decode/answer.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/path.h"
#include "base/vec.h"

/* ---- The deduplicated strings of one answer ---- */

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

/*
 * The code of an answer: which lines have machine code. On the wire:
 *
 *   u32 nr_rows       of all codes together
 *   u32 nr_bytes      same
 *   u32 nr_codes      { u64 address, u64 size_bytes, u32 nr_rows, u8 has_bytes,
 *                       { u32 offset, u32 chain } [, u8 * size_bytes] }
 *
 * A row's offset is from the code's address, its chain has one frame.
 */

/* Maximum rows of one answer; they are counted with their size in the collector. */
#define ANSWER_MAX_CODE_ROWS (ANSWER_MAX_CODE_BYTES / sizeof(struct code_row))

struct answer_codes {
	struct answer_row {
		uint32_t offset, chain;
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

#define MAX_TEXT_BYTES (64u << 10) /* longer names are cut by the writer */

static void answer_texts_deinit(struct answer_texts *t)
{
	free(t->items);
	free(t->bytes);
	hashmap_deinit(&t->index);
	*t = (struct answer_texts){0};
}

struct text_key {
	const char *s;
	size_t len;
};

static bool text_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct answer_texts *t = ctx;
	const struct answer_text *text = &t->items[item];
	const struct text_key *want = key;

	return text->len == want->len &&
	       !memcmp(t->bytes + text->offset, want->s, want->len);
}

/* Returns the number of @s, cut at 64 KiB; NULL counts as "". 0 when out of memory. */
static uint32_t answer_texts_add(struct answer_texts *t, const char *s)
{
	struct text_key key = {.s = s ? s : "",
			       .len = s ? strnlen(s, MAX_TEXT_BYTES) : 0};
	uint64_t hash = hash_bytes(0, key.s, key.len);
	uint32_t item = hashmap_get(&t->index, hash, text_eq, &key, t);

	if (item != HASHMAP_NONE)
		return item;
	/* + 1, so that there is an array even if all texts are "". */
	if (vec_grow(&t->bytes, &t->cap_bytes, t->nr_bytes + key.len + 1, 1, 0) ||
	    vec_grow(&t->items, &t->cap, t->nr + 1, sizeof(*t->items),
		     HASHMAP_NONE - 1) ||
	    hashmap_add(&t->index, hash, (uint32_t)t->nr)) {
		t->failed = true;
		return 0;
	}
	memcpy(t->bytes + t->nr_bytes, key.s, key.len);
	t->items[t->nr] = (struct answer_text){.offset = t->nr_bytes, .len = key.len};
	t->nr_bytes += key.len;
	return (uint32_t)t->nr++;
}

/**
 * Writes the used texts, numbered in array order.
 *
 * @numbers  per text: nonzero if used; set to its number on the wire plus one
 */
static void answer_texts_put(const struct answer_texts *t, uint32_t *numbers,
			     struct wire_writer *out)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < t->nr; i++)
		if (numbers[i])
			numbers[i] = ++nr;
	wire_put_u32(out, nr);
	for (size_t i = 0; i < t->nr; i++)
		if (numbers[i])
			wire_put_bytes(out, t->bytes + t->items[i].offset,
				       t->items[i].len);
}

/* ---- worker's side ---- */

static void answer_codes_deinit(struct answer_codes *c)
{
	free(c->rows);
	free(c->bytes);
	free(c->items);
	*c = (struct answer_codes){0};
}

/* Checks what answers_read() requires, so that a bad table does not lose the answer. */
static bool is_sane(const struct code *code)
{
	uint64_t at = code->address;

	if (!code->size_bytes || code->size_bytes > CODE_MAX_BYTES || !code->nr_rows ||
	    code->nr_rows > CODE_MAX_ROWS ||
	    code->address > UINT64_MAX - code->size_bytes)
		return false;
	for (size_t i = 0; i < code->nr_rows; i++) {
		if (code->rows[i].address < at)
			return false;
		at = code->rows[i].address;
	}
	return at <= code->address + code->size_bytes;
}

static bool make_room(struct answer_codes *c, const struct code *code)
{
	size_t used = c->nr_rows * sizeof(struct code_row) + c->nr_bytes;
	size_t more = code->nr_rows * sizeof(struct code_row) +
		      (code->bytes ? code->size_bytes : 0);

	if (more > ANSWER_MAX_CODE_BYTES - used)
		return false;
	if (vec_grow(&c->items, &c->cap, c->nr + 1, sizeof(*c->items), 0) ||
	    vec_grow(&c->rows, &c->cap_rows, c->nr_rows + code->nr_rows, sizeof(*c->rows),
		     0) ||
	    (code->bytes &&
	     vec_grow(&c->bytes, &c->cap_bytes, c->nr_bytes + code->size_bytes, 1, 0)))
		c->failed = true;
	return !c->failed;
}

#define NO_CHAIN UINT32_MAX

/* Minimum size of one item on the wire; limits a count before memory is allocated. */
#define WIRE_FRAME_BYTES  21
#define WIRE_CHAIN_BYTES  (1 + WIRE_FRAME_BYTES) /* chains are never empty */
#define WIRE_ANSWER_BYTES 13
#define WIRE_TEXT_BYTES   4
#define WIRE_ROW_BYTES    8
#define WIRE_CODE_BYTES   21

/* A frame with its strings as numbers. Hashed as bytes: no padding. */
struct flat_frame {
	uint32_t function, system_name, file; /* numbers of texts */
	uint32_t line, start_line;
	uint32_t inlined;
};
_Static_assert(sizeof(struct flat_frame) == 24, "hashed as bytes");

struct chain {
	uint32_t first; /* in writer.frames */
	uint32_t nr; /* 1..FRAMES_MAX_INLINE */
};

struct chain_slot {
	uint64_t vaddr;
	uint32_t chain; /* NO_CHAIN: no frames */
	uint8_t miss;
};

struct answer_writer {
	struct chain_slot *slots;
	size_t nr_slots;
	struct answer_texts texts;
	struct answer_codes codes;
	struct flat_frame *frames;
	size_t nr_frames, cap_frames;
	struct chain *chains;
	size_t nr_chains, cap_chains;
	struct hashmap chain_index;
	bool failed; /* out of memory: answer_write() passes it on */
};

struct answer_writer *answer_writer_new(size_t nr_addresses)
{
	_cleanup_(answer_writer_freep) struct answer_writer *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->slots = calloc(nr_addresses ? nr_addresses : 1, sizeof(*a->slots));
	if (!a->slots)
		return NULL;
	a->nr_slots = nr_addresses;
	for (size_t i = 0; i < nr_addresses; i++)
		a->slots[i] =
			(struct chain_slot){.chain = NO_CHAIN, .miss = MISS_NO_SYMBOLS};
	return take_ptr(a);
}

void answer_writer_free(struct answer_writer *a)
{
	if (!a)
		return;
	free(a->slots);
	answer_texts_deinit(&a->texts);
	answer_codes_deinit(&a->codes);
	free(a->frames);
	free(a->chains);
	hashmap_deinit(&a->chain_index);
	free(a);
}

struct chain_key {
	const struct flat_frame *frames;
	size_t nr;
};

static bool chain_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct answer_writer *a = ctx;
	const struct chain *chain = &a->chains[item];
	const struct chain_key *want = key;

	return chain->nr == want->nr && !memcmp(&a->frames[chain->first], want->frames,
						want->nr * sizeof(*want->frames));
}

static uint32_t chain_add(struct answer_writer *a, const struct flat_frame *frames,
			  size_t nr)
{
	struct chain_key key = {.frames = frames, .nr = nr};
	uint64_t hash = hash_bytes(0, frames, nr * sizeof(*frames));
	uint32_t item = hashmap_get(&a->chain_index, hash, chain_eq, &key, a);

	if (item != HASHMAP_NONE)
		return item;
	if (vec_grow(&a->frames, &a->cap_frames, a->nr_frames + nr, sizeof(*a->frames),
		     UINT32_MAX) ||
	    vec_grow(&a->chains, &a->cap_chains, a->nr_chains + 1, sizeof(*a->chains),
		     NO_CHAIN - 1) ||
	    hashmap_add(&a->chain_index, hash, (uint32_t)a->nr_chains)) {
		a->failed = true;
		return NO_CHAIN;
	}
	memcpy(&a->frames[a->nr_frames], frames, nr * sizeof(*frames));
	a->chains[a->nr_chains] =
		(struct chain){.first = (uint32_t)a->nr_frames, .nr = (uint32_t)nr};
	a->nr_frames += nr;
	return (uint32_t)a->nr_chains++;
}

static struct flat_frame flatten(struct answer_writer *a, const struct frame *f)
{
	char path[PATH_MAX];

	return (struct flat_frame){
		.function = answer_texts_add(&a->texts, f->function),
		.system_name = answer_texts_add(&a->texts, f->system_name),
		.file = answer_texts_add(&a->texts,
					 f->file ? path_clean(f->file, path, sizeof(path))
						 : NULL),
		.line = f->line,
		.start_line = f->start_line,
		.inlined = f->inlined,
	};
}

void answer_set(struct answer_writer *a, size_t i, uint64_t vaddr, enum miss miss,
		const struct frame *frames, size_t nr)
{
	struct flat_frame flat[FRAMES_MAX_INLINE];
	size_t kept = nr < FRAMES_MAX_INLINE ? nr : FRAMES_MAX_INLINE;
	bool has_line = nr && frames[0].line;

	assert(i < a->nr_slots && (unsigned int)miss < NR_MISSES);
	if (has_line)
		miss = MISS_NONE;
	else if (miss == MISS_NONE)
		miss = nr ? MISS_NO_LINE : MISS_NO_SYMBOLS;
	if (kept > 2 && a->nr_frames + kept > ANSWER_MAX_FRAMES)
		kept = 2;
	for (size_t k = 0; k < kept; k++) {
		/* Too deep: keep the innermost and the outermost half. */
		size_t from = k < kept / 2 ? k : nr - kept + k;

		flat[k] = flatten(a, &frames[from]);
	}
	a->slots[i] =
		(struct chain_slot){.vaddr = vaddr,
				    .chain = kept ? chain_add(a, flat, kept) : NO_CHAIN,
				    .miss = (uint8_t)miss};
}

void answer_add_code(struct answer_writer *a, const struct code *code)
{
	struct answer_codes *c = &a->codes;

	if (!is_sane(code) || !make_room(c, code))
		return;
	for (size_t i = 0; i < code->nr_rows; i++) {
		const struct code_row *row = &code->rows[i];
		struct flat_frame flat = flatten(a, &row->frame);

		c->rows[c->nr_rows++] = (struct answer_row){
			.offset = (uint32_t)(row->address - code->address),
			.chain = chain_add(a, &flat, 1),
		};
	}
	if (code->bytes) {
		memcpy(c->bytes + c->nr_bytes, code->bytes, code->size_bytes);
		c->nr_bytes += code->size_bytes;
	}
	c->items[c->nr++] = (struct answer_code){.address = code->address,
						 .size_bytes = (uint32_t)code->size_bytes,
						 .nr_rows = (uint32_t)code->nr_rows,
						 .has_bytes = code->bytes};
}

/*
 * Texts and chains get new numbers when written, because those of replaced answers are
 * not sent. Per item: its number on the wire plus one; 0: not sent.
 */
struct numbering {
	uint32_t *texts, *chains;
	uint32_t nr_chains, nr_frames;
};

static void number_used(const struct answer_writer *a, struct numbering *n)
{
	for (size_t i = 0; i < a->nr_slots; i++)
		if (a->slots[i].chain != NO_CHAIN)
			n->chains[a->slots[i].chain] = 1;
	for (size_t i = 0; i < a->codes.nr_rows; i++)
		n->chains[a->codes.rows[i].chain] = 1;
	for (size_t i = 0; i < a->nr_chains; i++) {
		const struct chain *chain = &a->chains[i];

		if (!n->chains[i])
			continue;
		n->chains[i] = ++n->nr_chains;
		n->nr_frames += chain->nr;
		for (uint32_t k = 0; k < chain->nr; k++) {
			const struct flat_frame *f = &a->frames[chain->first + k];

			n->texts[f->function] = 1;
			n->texts[f->system_name] = 1;
			n->texts[f->file] = 1;
		}
	}
}

static void put_frame(struct wire_writer *out, const struct numbering *n,
		      const struct flat_frame *f)
{
	wire_put_u32(out, n->texts[f->function] - 1);
	wire_put_u32(out, n->texts[f->system_name] - 1);
	wire_put_u32(out, n->texts[f->file] - 1);
	wire_put_u32(out, f->line);
	wire_put_u32(out, f->start_line);
	wire_put_u8(out, (uint8_t)f->inlined);
}

static void put_chains(const struct answer_writer *a, const struct numbering *n,
		       struct wire_writer *out)
{
	wire_put_u32(out, n->nr_frames);
	wire_put_u32(out, n->nr_chains);
	for (size_t i = 0; i < a->nr_chains; i++) {
		if (!n->chains[i])
			continue;
		wire_put_u8(out, (uint8_t)a->chains[i].nr);
		for (uint32_t k = 0; k < a->chains[i].nr; k++)
			put_frame(out, n, &a->frames[a->chains[i].first + k]);
	}
}

static void put_codes(const struct answer_codes *c, const struct numbering *n,
		      struct wire_writer *out)
{
	const struct answer_row *row = c->rows;
	const uint8_t *bytes = c->bytes;

	wire_put_u32(out, (uint32_t)c->nr_rows);
	wire_put_u32(out, (uint32_t)c->nr_bytes);
	wire_put_u32(out, (uint32_t)c->nr);
	for (size_t i = 0; i < c->nr; i++) {
		const struct answer_code *code = &c->items[i];

		wire_put_u64(out, code->address);
		wire_put_u64(out, code->size_bytes);
		wire_put_u32(out, code->nr_rows);
		wire_put_u8(out, code->has_bytes);
		for (const struct answer_row *end = row + code->nr_rows; row < end;
		     row++) {
			wire_put_u32(out, row->offset);
			wire_put_u32(out, n->chains[row->chain] - 1);
		}
		for (uint32_t k = 0; code->has_bytes && k < code->size_bytes; k++)
			wire_put_u8(out, *bytes++);
	}
}

void answer_write(const struct answer_writer *a, struct wire_writer *out)
{
	_cleanup_free_ uint32_t *texts = calloc(a->texts.nr + 1, sizeof(*texts));
	_cleanup_free_ uint32_t *chains = calloc(a->nr_chains + 1, sizeof(*chains));
	struct numbering n = {.texts = texts, .chains = chains};

	if (a->failed || a->texts.failed || a->codes.failed || !texts || !chains) {
		out->failed = true;
		return;
	}
	number_used(a, &n);
	answer_texts_put(&a->texts, texts, out);
	put_chains(a, &n, out);
	wire_put_u32(out, (uint32_t)a->nr_slots);
	for (size_t i = 0; i < a->nr_slots; i++) {
		const struct chain_slot *slot = &a->slots[i];

		wire_put_u32(out, slot->chain == NO_CHAIN ? NO_CHAIN
							  : chains[slot->chain] - 1);
		wire_put_u8(out, slot->miss);
		wire_put_u64(out, slot->vaddr);
	}
	put_codes(&a->codes, &n, out);
}

/* ---- collector's side ---- */

/* State of reading one answer. */
struct reading {
	struct wire_reader *r;
	const char **strings; /* interned; the array is heap */
	size_t nr_strings;
	struct chain *chains; /* heap */
	size_t nr_chains;
	/* Unused rest of the arrays that all codes share. */
	struct code_row *rows;
	size_t nr_rows;
	uint8_t *bytes;
	size_t nr_bytes;
};

static void reading_deinit(struct reading *rd)
{
	free(rd->strings);
	free(rd->chains);
}

/* Reads at most @max strings. Each is of a frame, which has three at most. */
static int read_strings(struct reading *rd, size_t max, struct strpool *pool)
{
	size_t nr = answer_get_count(rd->r, WIRE_TEXT_BYTES + WIRE_FRAME_BYTES / 3, max);

	rd->strings = calloc(nr ? nr : 1, sizeof(*rd->strings));
	if (!rd->strings)
		return -ENOMEM;
	for (; rd->nr_strings < nr; rd->nr_strings++) {
		size_t len;
		const char *s = wire_get_str(rd->r, &len);

		if (rd->r->failed || len > MAX_TEXT_BYTES)
			return -EBADMSG;
		rd->strings[rd->nr_strings] = strpool_add_n(pool, s, len);
	}
	return rd->r->failed ? -EBADMSG : 0;
}

/* Reads the number of a string. Returns the string, or "" with the error set. */
static const char *get_string(struct reading *rd)
{
	uint32_t i = wire_get_u32(rd->r);

	if (i < rd->nr_strings)
		return rd->strings[i];
	rd->r->failed = true;
	return "";
}

static void get_frame(struct reading *rd, struct frame *f)
{
	uint8_t inlined;

	f->function = get_string(rd);
	f->system_name = get_string(rd);
	f->file = get_string(rd);
	f->line = wire_get_u32(rd->r);
	f->start_line = wire_get_u32(rd->r);
	inlined = wire_get_u8(rd->r);
	f->inlined = inlined;
	if (inlined > 1)
		rd->r->failed = true;
}

/* Fills rd->chains and a->frames. @max: number of addresses. */
static int read_chains(struct reading *rd, size_t max, struct answers *a)
{
	struct wire_reader *r = rd->r;
	size_t nr_frames = answer_get_count(
		r, WIRE_FRAME_BYTES, ANSWER_MAX_FRAMES + max * 2 + ANSWER_MAX_CODE_ROWS);
	size_t nr = answer_get_count(r, WIRE_CHAIN_BYTES, max + ANSWER_MAX_CODE_ROWS);

	rd->chains = calloc(nr ? nr : 1, sizeof(*rd->chains));
	a->frames = calloc(nr_frames ? nr_frames : 1, sizeof(*a->frames));
	if (!rd->chains || !a->frames)
		return -ENOMEM;
	for (; rd->nr_chains < nr; rd->nr_chains++) {
		size_t n = wire_get_u8(r);

		if (!n || n > FRAMES_MAX_INLINE || n > nr_frames - a->nr_frames)
			return -EBADMSG;
		rd->chains[rd->nr_chains] = (struct chain){
			.first = (uint32_t)a->nr_frames, .nr = (uint32_t)n};
		for (size_t k = 0; k < n; k++)
			get_frame(rd, &a->frames[a->nr_frames++]);
	}
	return r->failed || a->nr_frames != nr_frames ? -EBADMSG : 0;
}

static int read_items(struct reading *rd, struct answers *a)
{
	for (size_t i = 0; i < a->nr; i++) {
		struct answer *item = &a->items[i];
		uint32_t chain = wire_get_u32(rd->r);
		uint8_t miss = wire_get_u8(rd->r);
		bool has_line = false;

		item->vaddr = wire_get_u64(rd->r);
		if (rd->r->failed || miss >= NR_MISSES)
			return -EBADMSG;
		item->miss = (enum miss)miss;
		if (chain != NO_CHAIN) {
			if (chain >= rd->nr_chains)
				return -EBADMSG;
			item->frames = &a->frames[rd->chains[chain].first];
			item->nr_frames = rd->chains[chain].nr;
			has_line = item->frames[0].line;
		}
		/* The sums of all reports depend on this. */
		if (has_line != (item->miss == MISS_NONE))
			return -EBADMSG;
	}
	return 0;
}

static bool read_rows(struct reading *rd, const struct answers *a,
		      const struct code *code)
{
	uint32_t before = 0;

	for (size_t i = 0; i < code->nr_rows; i++) {
		uint32_t offset = wire_get_u32(rd->r), chain = wire_get_u32(rd->r);

		if (rd->r->failed || chain >= rd->nr_chains || offset < before ||
		    offset > code->size_bytes)
			return false;
		rd->rows[i] = (struct code_row){code->address + offset,
						a->frames[rd->chains[chain].first]};
		before = offset;
	}
	return true;
}

static bool read_code(struct reading *rd, const struct answers *a, struct code *code)
{
	struct wire_reader *r = rd->r;
	uint8_t has_bytes;

	code->address = wire_get_u64(r);
	code->size_bytes = wire_get_u64(r);
	code->nr_rows = wire_get_u32(r);
	has_bytes = wire_get_u8(r);
	if (r->failed || has_bytes > 1 || !code->size_bytes ||
	    code->size_bytes > CODE_MAX_BYTES ||
	    code->address > UINT64_MAX - code->size_bytes || !code->nr_rows ||
	    code->nr_rows > CODE_MAX_ROWS || code->nr_rows > rd->nr_rows ||
	    !read_rows(rd, a, code))
		return false;
	code->rows = rd->rows;
	rd->rows += code->nr_rows;
	rd->nr_rows -= code->nr_rows;
	if (!has_bytes)
		return true;
	if (code->size_bytes > rd->nr_bytes || code->size_bytes > r->len - r->pos)
		return false;
	memcpy(rd->bytes, r->data + r->pos, code->size_bytes);
	code->bytes = rd->bytes;
	r->pos += code->size_bytes;
	rd->bytes += code->size_bytes;
	rd->nr_bytes -= code->size_bytes;
	return true;
}

/** Fills the code members of @ret; the caller frees. Return: 0, -EBADMSG, -ENOMEM. */
static int read_codes(struct reading *rd, struct answers *ret)
{
	size_t nr_codes;

	rd->nr_rows = answer_get_count(rd->r, WIRE_ROW_BYTES, ANSWER_MAX_CODE_ROWS);
	rd->nr_bytes = answer_get_count(rd->r, 1, ANSWER_MAX_CODE_BYTES);
	nr_codes = answer_get_count(rd->r, WIRE_CODE_BYTES, rd->nr_rows);
	if (rd->r->failed)
		return -EBADMSG;
	if (!nr_codes)
		return rd->nr_rows || rd->nr_bytes ? -EBADMSG : 0;
	ret->codes = calloc(nr_codes, sizeof(*ret->codes));
	rd->rows = ret->code_rows = calloc(rd->nr_rows, sizeof(*rd->rows));
	rd->bytes = ret->code_bytes = malloc(rd->nr_bytes ? rd->nr_bytes : 1);
	if (!ret->codes || !rd->rows || !rd->bytes)
		return -ENOMEM;
	for (; ret->nr_codes < nr_codes; ret->nr_codes++)
		if (!read_code(rd, ret, &ret->codes[ret->nr_codes]))
			return -EBADMSG;
	return rd->nr_rows || rd->nr_bytes ? -EBADMSG : 0;
}

int answers_read(struct wire_reader *r, size_t nr_addresses, struct strpool *pool,
		 struct answers *ret)
{
	_cleanup_(answers_deinit) struct answers a = {0};
	_cleanup_(reading_deinit) struct reading rd = {.r = r};
	int rc;

	/* At most one chain per address or row, and three strings per frame. */
	rc = read_strings(
		&rd, (nr_addresses * FRAMES_MAX_INLINE + ANSWER_MAX_CODE_ROWS) * 3, pool);
	if (!rc)
		rc = read_chains(&rd, nr_addresses, &a);
	if (rc)
		return rc;
	if (answer_get_count(r, WIRE_ANSWER_BYTES, nr_addresses) != nr_addresses ||
	    r->failed)
		return -EBADMSG;
	a.items = calloc(nr_addresses ? nr_addresses : 1, sizeof(*a.items));
	if (!a.items)
		return -ENOMEM;
	a.nr = nr_addresses;
	rc = read_items(&rd, &a);
	if (!rc)
		rc = read_codes(&rd, &a);
	if (rc)
		return rc;
	*ret = a;
	a = (struct answers){0};
	return 0;
}

int answers_drop_middle(struct answers *a)
{
	struct frame *kept = calloc(a->nr ? a->nr * 2 : 1, sizeof(*kept));
	size_t nr_kept = 0;

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < a->nr; i++) {
		struct answer *item = &a->items[i];
		const struct frame *frames = item->frames;

		item->frames = &kept[nr_kept];
		if (item->nr_frames)
			kept[nr_kept++] = frames[0];
		if (item->nr_frames > 1)
			kept[nr_kept++] = frames[item->nr_frames - 1];
		item->nr_frames = (size_t)(&kept[nr_kept] - item->frames);
	}
	free(a->frames);
	a->frames = kept;
	a->nr_frames = nr_kept;
	return 0;
}

void answers_deinit(struct answers *a)
{
	free(a->items);
	free(a->frames);
	free(a->codes);
	free(a->code_rows);
	free(a->code_bytes);
	*a = (struct answers){0};
}
