// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * 50 workers of a service run the same modules, with the same file names, qualified
 * names and line tables. So these are deduplicated and reference-counted. A code object
 * of one image then takes a few hundred bytes.
 */
#include "process/interp_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "decode/requests.h"

/* Cost of a code object without its texts: its item and its slot, arrays half full. */
#define CODE_BYTES (2 * (sizeof(struct interp_code) + 2 * sizeof(struct hashmap_slot)))
#define TEXT_BYTES                    \
	(sizeof(struct stored_text) + \
	 2 * (sizeof(struct stored_text *) + 2 * sizeof(struct hashmap_slot)))

struct stored_text {
	uint64_t hash;
	uint32_t number; /* in the store */
	uint32_t nr_refs;
	uint32_t len;
	struct tenant tenant; /* of the image that had it first */
	uint8_t bytes[];
};

/* ---- texts ---- */

int interp_store_new(uint64_t max_bytes, struct interp_store **ret)
{
	struct interp_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->max_bytes = max_bytes;
	*ret = s;
	return 0;
}

void interp_store_free(struct interp_store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->stats.nr_texts; i++)
		free(s->texts[i]);
	free(s->texts);
	hashmap_deinit(&s->by_content);
	quota_deinit(&s->quota);
	free(s);
}

void interp_store_share(struct interp_store *s)
{
	s->quota = (struct quota){.what = "bytes of names of Python",
				  .loss = "some of its functions in Python have no names",
				  .max = s->max_bytes};
}

/* Reserves @bytes. Return: false, counted, if there is no room. */
static bool take_room(struct interp_store *s, struct tenant who, uint64_t bytes)
{
	if (bytes > s->max_bytes - s->stats.nr_bytes) {
		quota_refuse_full(&s->quota, who, bytes);
	} else if (quota_take(&s->quota, who, bytes)) {
		s->stats.nr_bytes += bytes;
		return true;
	}
	s->stats.nr_refused++;
	return false;
}

static void give_room(struct interp_store *s, struct tenant who, uint64_t bytes)
{
	s->stats.nr_bytes -= bytes;
	quota_give(&s->quota, who, bytes);
}

struct text_content {
	const uint8_t *bytes;
	uint32_t len;
};

static bool content_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct stored_text *text = ((const struct interp_store *)ctx)->texts[item];
	const struct text_content *want = key;

	return text->len == want->len && !memcmp(text->bytes, want->bytes, want->len);
}

/* Adds a text without a reference. NULL: no memory. */
static struct stored_text *add_text(struct interp_store *s, struct tenant who,
				    const struct text_content *content, uint64_t hash)
{
	_cleanup_free_ struct stored_text *text = malloc(sizeof(*text) + content->len);
	uint32_t number = (uint32_t)s->stats.nr_texts;

	if (!text ||
	    vec_grow(&s->texts, &s->cap_texts, s->stats.nr_texts + 1,
		     sizeof(struct stored_text *), HASHMAP_NONE - 1) ||
	    hashmap_add(&s->by_content, hash, number))
		return NULL;
	*text = (struct stored_text){
		.hash = hash, .number = number, .len = content->len, .tenant = who};
	memcpy(text->bytes, content->bytes, content->len);
	s->texts[s->stats.nr_texts++] = text;
	return take_ptr(text);
}

/*
 * Sets @ret to the store's copy of @from and takes a reference. An empty text needs
 * none. Return: 0, -ENOSPC or -ENOMEM; then @ret has no bytes.
 */
static int hold_text(struct interp_store *s, struct tenant who,
		     const struct interp_text *from, struct interp_text *ret)
{
	struct text_content content = {.bytes = from->bytes, .len = from->len};
	struct stored_text *text;
	uint64_t hash;
	uint32_t item;

	*ret = (struct interp_text){.is_cut = from->is_cut};
	if (!from->bytes || !from->len)
		return 0;
	hash = hash_bytes(0, content.bytes, content.len);
	item = hashmap_get(&s->by_content, hash, content_eq, &content, s);
	if (item == HASHMAP_NONE && !take_room(s, who, TEXT_BYTES + content.len))
		return -ENOSPC;
	text = item == HASHMAP_NONE ? add_text(s, who, &content, hash) : s->texts[item];
	if (!text) {
		give_room(s, who, TEXT_BYTES + content.len);
		return -ENOMEM;
	}
	text->nr_refs++;
	*ret = *from;
	ret->bytes = text->bytes;
	return 0;
}

static void drop_text(struct interp_store *s, struct interp_text *t)
{
	struct stored_text *text, *last;

	if (!t->bytes)
		return;
	text = (struct stored_text *)(t->bytes - offsetof(struct stored_text, bytes));
	*t = (struct interp_text){0};
	if (--text->nr_refs)
		return;
	hashmap_remove(&s->by_content, text->hash, text->number);
	last = s->texts[--s->stats.nr_texts];
	if (last != text) {
		/* Removing first makes room: the re-add cannot fail. */
		hashmap_remove(&s->by_content, last->hash, last->number);
		last->number = text->number;
		s->texts[last->number] = last;
		hashmap_add(&s->by_content, last->hash, last->number);
	}
	give_room(s, text->tenant, TEXT_BYTES + text->len);
	free(text);
}

/* ---- code objects ---- */

static void drop_texts(struct interp_store *s, struct interp_code *code)
{
	drop_text(s, &code->file);
	drop_text(s, &code->name);
	drop_text(s, &code->table);
}

void interp_codes_charge(struct interp_codes *c, struct tenant who)
{
	if (c->store) {
		quota_give(&c->store->quota, c->tenant, c->nr * CODE_BYTES);
		quota_add(&c->store->quota, who, c->nr * CODE_BYTES);
	}
	c->tenant = who;
}

void interp_codes_deinit(struct interp_codes *c)
{
	for (size_t i = 0; i < c->nr; i++)
		drop_texts(c->store, &c->items[i]);
	if (c->store)
		give_room(c->store, c->tenant, c->nr * CODE_BYTES);
	free(c->items);
	hashmap_deinit(&c->by_id);
	*c = (struct interp_codes){0};
}

static uint64_t hash_id(uint64_t code_id)
{
	return hash_u64(0, code_id);
}

static bool id_eq(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct interp_codes *)ctx)->items[item].code_id ==
	       *(const uint64_t *)key;
}

static struct interp_code *find(const struct interp_codes *c, uint64_t code_id)
{
	uint32_t i = hashmap_get(&c->by_id, hash_id(code_id), id_eq, &code_id, c);

	return i == HASHMAP_NONE ? NULL : &c->items[i];
}

const struct interp_code *interp_codes_find(const struct interp_codes *c,
					    uint64_t code_id)
{
	return find(c, code_id);
}

static void set_cut(struct interp_codes *c, struct interp_code *code, bool is_cut)
{
	c->nr_cut += is_cut;
	c->nr_cut -= code->is_cut;
	code->is_cut = is_cut;
}

static bool has_cut_text(const struct interp_code *code)
{
	return code->file.is_cut || code->name.is_cut || code->table.is_cut;
}

/*
 * Replaces a cut text with a longer version of it. A complete text is never replaced.
 */
static void improve_text(const struct interp_codes *c, struct interp_text *known,
			 const struct interp_text *other)
{
	struct interp_text held;

	if (!known->is_cut || (other->is_cut && other->len <= known->len) ||
	    hold_text(c->store, c->tenant, other, &held))
		return;
	drop_text(c->store, known);
	*known = held;
}

static void improve(struct interp_codes *c, struct interp_code *known,
		    const struct interp_code *other)
{
	improve_text(c, &known->file, &other->file);
	improve_text(c, &known->name, &other->name);
	improve_text(c, &known->table, &other->table);
}

static bool is_same(const struct interp_code *a, const struct interp_code *b)
{
	return a->table_addr == b->table_addr && a->first_line == b->first_line &&
	       a->code_addr == b->code_addr;
}

static int append(struct interp_codes *c, const struct interp_code *from)
{
	struct interp_store *s = c->store;
	struct interp_code code = *from;
	int err;

	code.file = code.name = code.table = (struct interp_text){0};
	err = vec_grow(&c->items, &c->cap, c->nr + 1, sizeof(code), INTERP_MAX_CODES);
	if (err)
		return err;
	if (!take_room(s, c->tenant, CODE_BYTES))
		return -ENOSPC;
	err = hold_text(s, c->tenant, &from->file, &code.file);
	if (!err)
		err = hold_text(s, c->tenant, &from->name, &code.name);
	if (!err)
		err = hold_text(s, c->tenant, &from->table, &code.table);
	if (!err)
		err = hashmap_add(&c->by_id, hash_id(code.code_id), (uint32_t)c->nr);
	if (err) {
		drop_texts(s, &code);
		give_room(s, c->tenant, CODE_BYTES);
		return err;
	}
	code.is_cut = false;
	c->items[c->nr] = code;
	set_cut(c, &c->items[c->nr++], has_cut_text(&code));
	return 0;
}

/* ---- records of the kernel ---- */

static bool is_width(uint8_t width)
{
	return width == 1 || width == 2 || width == 4;
}

/*
 * Reads a name of @chars characters, which is cut if it did not fit. Return: false:
 * malformed.
 */
static bool take_name(const uint8_t *bytes, uint32_t chars, uint8_t width,
		      struct interp_text *ret)
{
	uint32_t max;

	*ret = (struct interp_text){.is_cut = true};
	if (!width) /* the kernel could not read it; a later sample may */
		return true;
	if (!is_width(width))
		return false;
	max = LB_INTERP_TEXT_BYTES / width;
	*ret = (struct interp_text){.bytes = bytes,
				    .len = (chars < max ? chars : max) * width,
				    .width = width,
				    .is_cut = chars > max};
	return true;
}

static bool take_record(const struct lb_interp_code *record, size_t size_bytes,
			struct interp_code *ret)
{
	const size_t head_bytes = offsetof(struct lb_interp_code, table);

	if (size_bytes < head_bytes || record->table_copied > size_bytes - head_bytes ||
	    record->table_copied > LB_INTERP_TABLE_BYTES ||
	    record->table_copied > record->table_bytes ||
	    record->code_id >> LB_FRAME_ID_BITS)
		return false;
	*ret = (struct interp_code){.code_id = record->code_id,
				    .code_addr = record->code_addr,
				    .table_addr = record->table_addr,
				    .version = record->version,
				    .first_line = record->first_line};
	ret->table = (struct interp_text){.bytes = record->table,
					  .len = record->table_copied,
					  .width = 1,
					  .is_cut = record->table_copied <
						    record->table_bytes};
	return take_name(record->file, record->file_chars, record->file_width,
			 &ret->file) &&
	       take_name(record->name, record->name_chars, record->name_width,
			 &ret->name);
}

int interp_codes_add(struct interp_codes *c, struct interp_store *s,
		     const struct lb_interp_code *record, size_t size_bytes)
{
	struct interp_code code, *known;
	int err;

	if (!take_record(record, size_bytes, &code))
		return -EINVAL;
	c->store = s;
	known = find(c, code.code_id);
	if (known) {
		if (!known->is_cut || !is_same(known, &code))
			return 0;
		improve(c, known, &code);
		set_cut(c, known, has_cut_text(known));
		return 0;
	}
	err = append(c, &code);
	c->nr_lost += err != 0;
	return err;
}

/* Checks a length, which is untrusted. One that could not be read has none, nor a width. */
static bool is_sane(const struct interp_text *t, uint32_t max)
{
	return !t->len || (t->len <= max && is_width(t->width) && !(t->len % t->width));
}

void interp_codes_give_up(struct interp_codes *c, uint64_t code_id)
{
	struct interp_code *known = find(c, code_id);

	if (known)
		set_cut(c, known, false);
}

void interp_codes_give_up_all(struct interp_codes *c)
{
	for (size_t i = 0; i < c->nr && c->nr_cut; i++)
		set_cut(c, &c->items[i], false);
}

void interp_codes_complete(struct interp_codes *c, const struct interp_code *whole)
{
	struct interp_code *known = find(c, whole->code_id);

	if (known && is_same(known, whole) &&
	    is_sane(&whole->file, INTERP_MAX_TEXT_BYTES) &&
	    is_sane(&whole->name, INTERP_MAX_TEXT_BYTES) &&
	    is_sane(&whole->table, INTERP_MAX_TABLE_BYTES) && whole->table.width <= 1)
		improve(c, known, whole);
	interp_codes_give_up(c, whole->code_id);
}
