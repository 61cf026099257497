// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/answer_codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

/* Least bytes of one item on the wire: bounds a count before it is believed. */
#define WIRE_FUNCTION_BYTES 16
#define WIRE_ROW_BYTES      12
#define WIRE_CODE_BYTES     21

/* ---- worker's side ---- */

void answer_codes_deinit(struct answer_codes *c)
{
	free(c->functions);
	hashmap_deinit(&c->function_index);
	free(c->rows);
	free(c->bytes);
	free(c->items);
	*c = (struct answer_codes){0};
}

static bool function_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct answer_codes *c = ctx;

	return !memcmp(&c->functions[item], key, sizeof(c->functions[item]));
}

static uint32_t function_add(struct answer_codes *c, const struct answer_function *f)
{
	uint64_t hash = hash_bytes(0, f, sizeof(*f));
	uint32_t item = hashmap_find(&c->function_index, hash, function_eq, f, c);

	if (item != HASHMAP_NONE)
		return item;
	if (vec_grow(&c->functions, &c->cap_functions, c->nr_functions + 1, sizeof(*f),
		     ANSWER_MAX_CODE_ROWS) ||
	    hashmap_add(&c->function_index, hash, (uint32_t)c->nr_functions)) {
		c->failed = true;
		return 0;
	}
	c->functions[c->nr_functions] = *f;
	return (uint32_t)c->nr_functions++;
}

/* What the reader insists on, so that one bad table does not cost the whole answer. */
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

void answer_codes_add(struct answer_codes *c, struct answer_texts *texts,
		      const struct code *code)
{
	if (!is_sane(code) || !make_room(c, code))
		return;
	for (size_t i = 0; i < code->nr_rows; i++) {
		const struct code_row *row = &code->rows[i];
		struct answer_function f = {
			.name = answer_texts_add(texts, row->function),
			.system_name = answer_texts_add(texts, row->system_name),
			.file = answer_texts_add(texts, row->file),
			.start_line = row->start_line,
		};

		c->rows[c->nr_rows++] = (struct answer_row){
			.offset = (uint32_t)(row->address - code->address),
			.function = function_add(c, &f),
			.line = row->line,
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

void answer_codes_mark(const struct answer_codes *c, uint32_t *used)
{
	for (size_t i = 0; i < c->nr_functions; i++) {
		const struct answer_function *f = &c->functions[i];

		used[f->name] = used[f->system_name] = used[f->file] = 1;
	}
}

void answer_codes_put(const struct answer_codes *c, const uint32_t *numbers,
		      struct wire_writer *out)
{
	const struct answer_row *row = c->rows;
	const uint8_t *bytes = c->bytes;

	wire_put_u32(out, (uint32_t)c->nr_functions);
	for (size_t i = 0; i < c->nr_functions; i++) {
		wire_put_u32(out, numbers[c->functions[i].name] - 1);
		wire_put_u32(out, numbers[c->functions[i].system_name] - 1);
		wire_put_u32(out, numbers[c->functions[i].file] - 1);
		wire_put_u32(out, c->functions[i].start_line);
	}
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
			wire_put_u32(out, row->function);
			wire_put_u32(out, row->line);
		}
		for (uint32_t k = 0; code->has_bytes && k < code->size_bytes; k++)
			wire_put_u8(out, *bytes++);
	}
}

/* ---- collector's side ---- */

/* A function as rows have it: no address, no line. */
static int read_functions(struct wire_reader *r, const struct answer_strings *strings,
			  struct code_row **ret, size_t *ret_nr)
{
	size_t nr = answer_get_count(r, WIRE_FUNCTION_BYTES, ANSWER_MAX_CODE_ROWS);
	_cleanup_free_ struct code_row *items = calloc(nr ? nr : 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		items[i].function = answer_strings_get(strings, r);
		items[i].system_name = answer_strings_get(strings, r);
		items[i].file = answer_strings_get(strings, r);
		items[i].start_line = wire_get_u32(r);
	}
	if (r->failed)
		return -EBADMSG;
	*ret = take_ptr(items);
	*ret_nr = nr;
	return 0;
}

/* What is left of the arrays that all codes share. */
struct room {
	struct code_row *rows;
	size_t nr_rows;
	uint8_t *bytes;
	size_t nr_bytes;
};

static bool read_rows(struct wire_reader *r, const struct code_row *functions,
		      size_t nr_functions, const struct code *code, struct code_row *rows)
{
	uint32_t before = 0;

	for (size_t i = 0; i < code->nr_rows; i++) {
		uint32_t offset = wire_get_u32(r);
		uint32_t function = wire_get_u32(r);
		uint32_t line = wire_get_u32(r);

		if (r->failed || function >= nr_functions || offset < before ||
		    offset > code->size_bytes)
			return false;
		rows[i] = functions[function];
		rows[i].address = code->address + offset;
		rows[i].line = line;
		before = offset;
	}
	return true;
}

static bool read_code(struct wire_reader *r, const struct code_row *functions,
		      size_t nr_functions, struct room *room, struct code *code)
{
	uint8_t has_bytes;

	code->address = wire_get_u64(r);
	code->size_bytes = wire_get_u64(r);
	code->nr_rows = wire_get_u32(r);
	has_bytes = wire_get_u8(r);
	if (r->failed || has_bytes > 1 || !code->size_bytes ||
	    code->size_bytes > CODE_MAX_BYTES ||
	    code->address > UINT64_MAX - code->size_bytes || !code->nr_rows ||
	    code->nr_rows > CODE_MAX_ROWS || code->nr_rows > room->nr_rows ||
	    !read_rows(r, functions, nr_functions, code, room->rows))
		return false;
	code->rows = room->rows;
	room->rows += code->nr_rows;
	room->nr_rows -= code->nr_rows;
	if (!has_bytes)
		return true;
	if (code->size_bytes > room->nr_bytes || code->size_bytes > r->len - r->pos)
		return false;
	memcpy(room->bytes, r->data + r->pos, code->size_bytes);
	code->bytes = room->bytes;
	r->pos += code->size_bytes;
	room->bytes += code->size_bytes;
	room->nr_bytes -= code->size_bytes;
	return true;
}

int answer_codes_read(struct wire_reader *r, const struct answer_strings *strings,
		      struct answers *ret)
{
	_cleanup_free_ struct code_row *functions = NULL;
	size_t nr_functions = 0, nr_codes;
	struct room room;
	int rc = read_functions(r, strings, &functions, &nr_functions);

	if (rc)
		return rc;
	room.nr_rows = answer_get_count(r, WIRE_ROW_BYTES, ANSWER_MAX_CODE_ROWS);
	room.nr_bytes = answer_get_count(r, 1, ANSWER_MAX_CODE_BYTES);
	nr_codes = answer_get_count(r, WIRE_CODE_BYTES, room.nr_rows);
	if (r->failed)
		return -EBADMSG;
	if (!nr_codes)
		return room.nr_rows || room.nr_bytes ? -EBADMSG : 0;
	ret->codes = calloc(nr_codes, sizeof(*ret->codes));
	room.rows = ret->code_rows = calloc(room.nr_rows, sizeof(*room.rows));
	room.bytes = ret->code_bytes = malloc(room.nr_bytes ? room.nr_bytes : 1);
	if (!ret->codes || !room.rows || !room.bytes)
		return -ENOMEM;
	for (; ret->nr_codes < nr_codes; ret->nr_codes++)
		if (!read_code(r, functions, nr_functions, &room,
			       &ret->codes[ret->nr_codes]))
			return -EBADMSG;
	return room.nr_rows || room.nr_bytes ? -EBADMSG : 0;
}
