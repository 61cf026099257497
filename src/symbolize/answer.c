// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Wire form: u32 nr_strings, strings; u32 nr_frames, frames {u32 function,
 * system_name, file, line, start_line; u8 inlined}; u32 nr_chains, chains
 * {u32 first frame, u32 nr}; u32 nr_addresses, {u64 vaddr, u32 miss, u32 chain}.
 * String 0 is "". Chain NO_CHAIN has no frames.
 */
#include "symbolize/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/vec.h"

#define NO_CHAIN UINT32_MAX

/* Bytes on the wire, so that no count is believed that the rest cannot hold. */
#define STRING_MIN_BYTES 4
#define FRAME_BYTES      21
#define CHAIN_BYTES      8
#define ADDRESS_BYTES    16

struct coded_frame {
	uint32_t function, system_name, file, line, start_line;
	uint32_t inlined;
};

struct chain {
	uint32_t first, nr;
};

struct coded_address {
	uint64_t vaddr;
	uint32_t miss, chain;
};

struct answer_writer {
	struct coded_address *addresses;
	size_t nr_addresses;

	char *text; /* strings, back to back with their NULs */
	size_t text_len, text_cap;
	uint32_t *strings; /* offsets in text */
	size_t nr_strings, cap_strings;
	struct hashmap string_index;

	struct coded_frame *frames;
	size_t nr_frames, cap_frames;
	struct chain *chains;
	size_t nr_chains, cap_chains;
	struct hashmap chain_index;
	bool failed; /* out of memory: answer_write() says so */
};

/* ---- worker's side ---- */

struct answer_writer *answer_writer_new(size_t nr_addresses)
{
	_cleanup_(answer_writer_freep) struct answer_writer *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->addresses = calloc(nr_addresses ? nr_addresses : 1, sizeof(*a->addresses));
	if (!a->addresses)
		return NULL;
	a->nr_addresses = nr_addresses;
	for (size_t i = 0; i < nr_addresses; i++)
		a->addresses[i] = (struct coded_address){.miss = MISS_NO_SYMBOLS,
							 .chain = NO_CHAIN};
	return take_ptr(a);
}

void answer_writer_free(struct answer_writer *a)
{
	if (!a)
		return;
	free(a->addresses);
	free(a->text);
	free(a->strings);
	free(a->frames);
	free(a->chains);
	hashmap_deinit(&a->string_index);
	hashmap_deinit(&a->chain_index);
	free(a);
}

static bool string_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct answer_writer *a = ctx;

	return !strcmp(a->text + a->strings[item], key);
}

/* Number of the string on the wire; 0 is "". */
static uint32_t add_string(struct answer_writer *a, const char *s)
{
	size_t len = s ? strlen(s) : 0;
	uint64_t hash;
	uint32_t item;

	if (!len)
		return 0;
	hash = hash_bytes(0, s, len);
	item = hashmap_find(&a->string_index, hash, string_eq, s, a);
	if (item != HASHMAP_NONE)
		return item + 1;
	if (vec_grow(&a->text, &a->text_cap, a->text_len + len + 1, 1, UINT32_MAX) ||
	    vec_grow(&a->strings, &a->cap_strings, a->nr_strings + 1, sizeof(*a->strings),
		     0) ||
	    hashmap_add(&a->string_index, hash, (uint32_t)a->nr_strings)) {
		a->failed = true;
		return 0;
	}
	memcpy(a->text + a->text_len, s, len + 1);
	a->strings[a->nr_strings++] = (uint32_t)a->text_len;
	a->text_len += len + 1;
	return (uint32_t)a->nr_strings;
}

struct chain_key {
	const struct coded_frame *frames;
	size_t nr;
};

static bool chain_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct answer_writer *a = ctx;
	const struct chain_key *k = key;
	const struct chain *c = &a->chains[item];

	return c->nr == k->nr &&
	       !memcmp(a->frames + c->first, k->frames, k->nr * sizeof(*k->frames));
}

static uint32_t add_chain(struct answer_writer *a, const struct coded_frame *frames,
			  size_t nr)
{
	struct chain_key key = {.frames = frames, .nr = nr};
	uint64_t hash = hash_bytes(0, frames, nr * sizeof(*frames));
	uint32_t item = hashmap_find(&a->chain_index, hash, chain_eq, &key, a);

	if (item != HASHMAP_NONE)
		return item;
	if (vec_grow(&a->frames, &a->cap_frames, a->nr_frames + nr, sizeof(*a->frames),
		     0) ||
	    vec_grow(&a->chains, &a->cap_chains, a->nr_chains + 1, sizeof(*a->chains),
		     0) ||
	    hashmap_add(&a->chain_index, hash, (uint32_t)a->nr_chains)) {
		a->failed = true;
		return NO_CHAIN;
	}
	memcpy(a->frames + a->nr_frames, frames, nr * sizeof(*frames));
	a->chains[a->nr_chains] = (struct chain){(uint32_t)a->nr_frames, (uint32_t)nr};
	a->nr_frames += nr;
	return (uint32_t)a->nr_chains++;
}

void answer_set(struct answer_writer *a, size_t i, uint64_t vaddr, enum miss miss,
		const struct frame *frames, size_t nr)
{
	struct coded_frame coded[FRAMES_MAX_INLINE] = {0};

	if (nr > FRAMES_MAX_INLINE)
		nr = FRAMES_MAX_INLINE;
	for (size_t k = 0; k < nr; k++)
		coded[k] = (struct coded_frame){
			.function = add_string(a, frames[k].function),
			.system_name = add_string(a, frames[k].system_name),
			.file = add_string(a, frames[k].file),
			.line = frames[k].line,
			.start_line = frames[k].start_line,
			.inlined = frames[k].inlined,
		};
	a->addresses[i] = (struct coded_address){
		.vaddr = vaddr,
		.miss = miss,
		.chain = nr ? add_chain(a, coded, nr) : NO_CHAIN,
	};
}

void answer_write(const struct answer_writer *a, struct wire_writer *out)
{
	if (a->failed)
		out->failed = true;
	wire_put_u32(out, (uint32_t)a->nr_strings);
	for (size_t i = 0; i < a->nr_strings; i++)
		wire_put_str(out, a->text + a->strings[i]);
	wire_put_u32(out, (uint32_t)a->nr_frames);
	for (size_t i = 0; i < a->nr_frames; i++) {
		const struct coded_frame *f = &a->frames[i];

		wire_put_u32(out, f->function);
		wire_put_u32(out, f->system_name);
		wire_put_u32(out, f->file);
		wire_put_u32(out, f->line);
		wire_put_u32(out, f->start_line);
		wire_put_u8(out, f->inlined != 0);
	}
	wire_put_u32(out, (uint32_t)a->nr_chains);
	for (size_t i = 0; i < a->nr_chains; i++) {
		wire_put_u32(out, a->chains[i].first);
		wire_put_u32(out, a->chains[i].nr);
	}
	wire_put_u32(out, (uint32_t)a->nr_addresses);
	for (size_t i = 0; i < a->nr_addresses; i++) {
		wire_put_u64(out, a->addresses[i].vaddr);
		wire_put_u32(out, a->addresses[i].miss);
		wire_put_u32(out, a->addresses[i].chain);
	}
}

/* ---- collector's side ---- */

struct reading {
	struct wire_reader *r;
	const char **strings; /* [0] is "" */
	size_t nr_strings;
	struct chain *chains;
	size_t nr_chains;
};

static void reading_deinit(struct reading *in)
{
	free(in->strings);
	free(in->chains);
}

/* A count that the bytes left could hold; else the reader has failed. */
static size_t get_count(struct wire_reader *r, size_t item_bytes)
{
	size_t nr = wire_get_u32(r);

	if (nr > (r->len - r->pos) / item_bytes)
		r->failed = true;
	return r->failed ? 0 : nr;
}

static int read_strings(struct reading *in, struct strpool *pool)
{
	size_t nr = get_count(in->r, STRING_MIN_BYTES);

	in->strings = calloc(nr + 1, sizeof(*in->strings));
	if (!in->strings)
		return -ENOMEM;
	in->nr_strings = nr + 1;
	in->strings[0] = strpool_add(pool, "");
	for (size_t i = 0; i < nr; i++) {
		size_t len;
		const char *s = wire_get_str(in->r, &len);

		if (in->r->failed)
			return -EBADMSG;
		in->strings[i + 1] = strpool_add_n(pool, s, len);
	}
	return in->r->failed ? -EBADMSG : 0;
}

static const char *get_string(struct reading *in)
{
	uint32_t i = wire_get_u32(in->r);

	if (i >= in->nr_strings) {
		in->r->failed = true;
		return "";
	}
	return in->strings[i];
}

static int read_frames(struct reading *in, struct answers *a)
{
	size_t nr = get_count(in->r, FRAME_BYTES);

	a->frames = calloc(nr ? nr : 1, sizeof(*a->frames));
	if (!a->frames)
		return -ENOMEM;
	a->nr_frames = nr;
	for (size_t i = 0; i < nr; i++) {
		a->frames[i].function = get_string(in);
		a->frames[i].system_name = get_string(in);
		a->frames[i].file = get_string(in);
		a->frames[i].line = wire_get_u32(in->r);
		a->frames[i].start_line = wire_get_u32(in->r);
		a->frames[i].inlined = wire_get_u8(in->r);
	}
	return in->r->failed ? -EBADMSG : 0;
}

static int read_chains(struct reading *in, const struct answers *a)
{
	size_t nr = get_count(in->r, CHAIN_BYTES);

	in->chains = calloc(nr ? nr : 1, sizeof(*in->chains));
	if (!in->chains)
		return -ENOMEM;
	in->nr_chains = nr;
	for (size_t i = 0; i < nr; i++) {
		struct chain c = {.first = wire_get_u32(in->r)};

		c.nr = wire_get_u32(in->r);
		if (c.nr > FRAMES_MAX_INLINE || c.first > a->nr_frames ||
		    c.nr > a->nr_frames - c.first)
			return -EBADMSG;
		in->chains[i] = c;
	}
	return in->r->failed ? -EBADMSG : 0;
}

static int read_address(struct reading *in, const struct answers *a, struct answer *ret)
{
	uint32_t miss, chain;

	ret->vaddr = wire_get_u64(in->r);
	miss = wire_get_u32(in->r);
	chain = wire_get_u32(in->r);
	if (in->r->failed || miss >= NR_MISSES ||
	    (chain != NO_CHAIN && chain >= in->nr_chains))
		return -EBADMSG;
	ret->miss = (enum miss)miss;
	if (chain == NO_CHAIN)
		return 0;
	ret->frames = a->frames + in->chains[chain].first;
	ret->nr_frames = in->chains[chain].nr;
	return 0;
}

int answers_read(struct wire_reader *r, size_t nr_addresses, struct strpool *pool,
		 struct answers *ret)
{
	_cleanup_(reading_deinit) struct reading in = {.r = r};
	_cleanup_(answers_deinit) struct answers a = {0};
	int rc = read_strings(&in, pool);

	if (!rc)
		rc = read_frames(&in, &a);
	if (!rc)
		rc = read_chains(&in, &a);
	if (rc)
		return rc;
	if (get_count(r, ADDRESS_BYTES) != nr_addresses || r->failed)
		return -EBADMSG;
	a.items = calloc(nr_addresses ? nr_addresses : 1, sizeof(*a.items));
	if (!a.items)
		return -ENOMEM;
	a.nr = nr_addresses;
	for (size_t i = 0; !rc && i < nr_addresses; i++)
		rc = read_address(&in, &a, &a.items[i]);
	if (rc)
		return rc;
	*ret = a;
	a = (struct answers){0};
	return 0;
}

void answers_deinit(struct answers *a)
{
	free(a->items);
	free(a->frames);
	*a = (struct answers){0};
}
