// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/code_pack.h"

#include <errno.h>
#include <stdlib.h>

/* An id in the file, which counts from 1; 0: none. */
static uint64_t id_of(uint32_t index)
{
	return index == PROFILE_NONE ? 0 : index + UINT64_C(1);
}

static int pack_one(struct arena *arena, const struct profile_code *from,
		    Lineburn__Code *to)
{
	lineburn__code__init(to);
	to->mapping_id = id_of(from->mapping);
	to->address = from->address;
	to->size_bytes = from->size_bytes;
	to->row_offset = arena_alloc(arena, from->nr_rows * sizeof(*to->row_offset));
	to->row_function_id =
		arena_alloc(arena, from->nr_rows * sizeof(*to->row_function_id));
	to->row_line = arena_alloc(arena, from->nr_rows * sizeof(*to->row_line));
	if (!to->row_offset || !to->row_function_id || !to->row_line)
		return -ENOMEM;
	to->n_row_offset = to->n_row_function_id = to->n_row_line = from->nr_rows;
	for (size_t i = 0; i < from->nr_rows; i++) {
		to->row_offset[i] = from->rows[i].address - from->address;
		to->row_function_id[i] = id_of(from->rows[i].function);
		to->row_line[i] = from->rows[i].line;
	}
	to->machine_code.data = from->bytes;
	to->machine_code.len = from->bytes ? from->size_bytes : 0;
	return 0;
}

int code_pack(const struct profile *p, struct arena *arena, Lineburn__Extra *to)
{
	size_t nr = p->extra.nr_codes;
	Lineburn__Code *codes = arena_alloc(arena, nr * sizeof(*codes));

	to->code = arena_alloc(arena, nr * sizeof(*to->code));
	if (!codes || !to->code)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		int r = pack_one(arena, &p->extra.codes[i], &codes[i]);

		if (r)
			return r;
		to->code[i] = &codes[i];
	}
	to->n_code = nr;
	return 0;
}

static uint32_t index_of(uint64_t id, uint32_t (*find)(const void *, uint64_t),
			 const void *ctx)
{
	return id ? find(ctx, id) : PROFILE_NONE;
}

static int unpack_one(struct profile *p, const Lineburn__Code *from,
		      const struct extra_ids *ids)
{
	_cleanup_free_ struct profile_code_row *rows = NULL;
	struct profile_code code = {
		.mapping = index_of(from->mapping_id, ids->mapping, ids->ctx),
		.address = from->address,
		.size_bytes = from->size_bytes,
		.nr_rows = from->n_row_offset};
	int r;

	if (from->n_row_offset != from->n_row_function_id ||
	    from->n_row_offset != from->n_row_line ||
	    (from->machine_code.len && from->machine_code.len != from->size_bytes))
		return -EBADMSG;
	rows = calloc(code.nr_rows + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < code.nr_rows; i++) {
		if (from->row_offset[i] > code.size_bytes)
			return -EBADMSG;
		rows[i].address = code.address + from->row_offset[i];
		rows[i].function =
			index_of(from->row_function_id[i], ids->function, ids->ctx);
		rows[i].line = from->row_line[i];
	}
	code.rows = rows;
	if (from->machine_code.len)
		code.bytes = from->machine_code.data;
	r = profile_add_code(p, &code);
	if (r == -EINVAL)
		return -EBADMSG;
	return r == -ENOSPC ? 0 : r; /* as if it had not been kept */
}

int code_unpack(struct profile *p, const Lineburn__Extra *from,
		const struct extra_ids *ids)
{
	int r = 0;

	for (size_t i = 0; i < from->n_code && !r; i++)
		r = unpack_one(p, from->code[i], ids);
	return r;
}
