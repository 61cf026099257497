// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/hot_code.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "profile/mapping_kind.h"

struct hot_id {
	uint32_t id;
	uint64_t count; /* samples */
};

static int by_id(const void *a, const void *b)
{
	const struct hot_id *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int by_count(const void *a, const void *b)
{
	const struct hot_id *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return by_id(a, b);
}

/* Adds up what has the same id. Return: how many are left. */
static size_t merge(struct hot_id *hot, size_t nr)
{
	size_t kept = 0;

	qsort(hot, nr, sizeof(*hot), by_id);
	for (size_t i = 0; i < nr; i++)
		if (kept && hot[kept - 1].id == hot[i].id)
			hot[kept - 1].count += hot[i].count;
		else
			hot[kept++] = hot[i];
	return kept;
}

void hot_code_want(struct symbolizer *s, const struct stack_table *rows, size_t first,
		   size_t last, const uint32_t *ids)
{
	_cleanup_free_ struct hot_id *hot =
		calloc((last - first) * HOT_CODE_FRAMES + 1, sizeof(*hot));
	size_t nr = 0;

	for (size_t i = first; hot && i < last; i++) {
		const struct row_stack *stack = stack_table_stack(rows, &rows->items[i]);

		ids += stack->nr_kern;
		for (size_t k = 0; k < stack->nr_user && k < HOT_CODE_FRAMES; k++)
			hot[nr++] = (struct hot_id){ids[k], rows->items[i].count};
		ids += stack->nr_user;
	}
	if (!nr)
		return;
	nr = merge(hot, nr);
	qsort(hot, nr, sizeof(*hot), by_count);
	for (size_t i = 0; i < nr && i < HOT_CODE_MAX_ADDRESSES; i++)
		symbolizer_want_code(s, hot[i].id);
}

/* ---- from the symbolizer to the profile ---- */

struct hot_code {
	const struct code *code;
	const struct object *object;
	uint32_t mapping;
	uint64_t count; /* samples */
};

static int by_address(const void *a, const void *b)
{
	const struct hot_code *x = a, *y = b;

	if (x->mapping != y->mapping)
		return x->mapping > y->mapping ? 1 : -1;
	return (x->code->address > y->code->address) -
	       (x->code->address < y->code->address);
}

static int by_heat(const void *a, const void *b)
{
	const struct hot_code *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return by_address(a, b);
}

/* The last one that begins at or before @address, if it reaches so far. */
static struct hot_code *find(struct hot_code *codes, size_t nr, uint32_t mapping,
			     uint64_t address)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (codes[mid].mapping < mapping || (codes[mid].mapping == mapping &&
						     codes[mid].code->address <= address))
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || codes[low - 1].mapping != mapping ||
	    address - codes[low - 1].code->address >= codes[low - 1].code->size_bytes)
		return NULL;
	return &codes[low - 1];
}

/* Charges a sample to the code of the innermost frame with a line, outside the kernel. */
static void heat(const struct profile *p, const struct profile_sample *s,
		 struct hot_code *codes, size_t nr)
{
	for (uint32_t i = 0; i < s->nr_locations; i++) {
		const struct profile_location *l =
			&p->locations[p->sample_locations[s->first_location + i]];
		struct hot_code *code;

		if (l->miss != MISS_NONE || l->mapping == PROFILE_NONE ||
		    code_kind_of(p->mappings[l->mapping].filename) == CODE_KERNEL)
			continue;
		/* All but the leaf are behind a call. */
		code = find(codes, nr, l->mapping, l->address - (i > 0));
		if (code)
			code->count += (uint64_t)profile_value(p, s, p->count_value);
		return;
	}
}

static int add_code(struct profile_builder *f, const struct hot_code *hot)
{
	const struct code *from = hot->code;
	_cleanup_free_ struct profile_code_row *rows =
		calloc(from->nr_rows, sizeof(*rows));
	struct profile_code code = {.mapping = hot->mapping,
				    .address = from->address,
				    .size_bytes = from->size_bytes,
				    .rows = rows,
				    .nr_rows = from->nr_rows,
				    .bytes = (uint8_t *)from->bytes};

	if (!rows)
		return -ENOMEM;
	/* Before functions are added for its sake. */
	if (from->nr_rows * sizeof(*rows) + (from->bytes ? from->size_bytes : 0) >
	    PROFILE_MAX_CODE_BYTES - f->profile->extra.codes_bytes)
		return -ENOSPC;
	for (size_t i = 0; i < from->nr_rows; i++) {
		const struct code_row *row = &from->rows[i];
		struct profile_function function = {
			.name = row->function,
			.system_name = row->system_name,
			.filename = profile_builder_file(f, hot->object, row->file),
			.start_line = row->start_line,
		};

		rows[i] = (struct profile_code_row){
			.address = row->address,
			.function = profile_add_function(f->profile, &function),
			.line = row->line,
		};
	}
	return profile_add_code(f->profile, &code);
}

int profile_builder_add_code(struct profile_builder *f)
{
	size_t nr_all, nr = 0;
	const struct resolved_code *all = symbolizer_codes(f->symbolizer, &nr_all);
	_cleanup_free_ struct hot_code *codes = calloc(nr_all + 1, sizeof(*codes));
	int rc = 0;

	if (!codes)
		return -ENOMEM;
	for (size_t i = 0; i < nr_all; i++) {
		uint32_t mapping = profile_builder_known_mapping(f, all[i].object);

		if (mapping != PROFILE_NONE)
			codes[nr++] = (struct hot_code){&all[i].code, all[i].object,
							mapping, 0};
	}
	qsort(codes, nr, sizeof(*codes), by_address);
	for (size_t i = 0; i < f->profile->nr_samples && nr; i++)
		heat(f->profile, &f->profile->samples[i], codes, nr);
	qsort(codes, nr, sizeof(*codes), by_heat);
	for (size_t i = 0; i < nr && codes[i].count && rc != -ENOMEM; i++)
		rc = add_code(f, &codes[i]);
	return rc == -ENOMEM ? rc : 0;
}
