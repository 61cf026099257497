// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/line_rows.h"

#include <stdlib.h>

#include "base/vec.h"
#include "decode/code.h"

void line_rows_deinit(struct line_rows *r)
{
	for (size_t i = 0; i < r->nr_seen; i++)
		free(r->seen[i].bits);
	free(r->seen);
	free(r->items);
	free(r->pieces);
	*r = (struct line_rows){0};
}

int line_rows_add_piece(struct line_rows *r, uint64_t start, uint64_t end, uint32_t scope)
{
	int err = vec_grow(&r->pieces, &r->cap_pieces, r->nr_pieces + 1,
			   sizeof(*r->pieces), 0);

	if (err)
		return err;
	r->pieces[r->nr_pieces++] =
		(struct line_piece){.start = start, .end = end, .scope = scope};
	return 0;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct line_piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start > y->start ? 1 : -1;
	return (x->scope > y->scope) - (x->scope < y->scope);
}

void line_rows_start(struct line_rows *r)
{
	size_t nr = 0;

	if (r->nr_pieces) /* NULL is not to be sorted */
		qsort(r->pieces, r->nr_pieces, sizeof(*r->pieces), compare_pieces);
	for (size_t i = 0; i < r->nr_pieces; i++)
		if (!nr || r->pieces[nr - 1].end <= r->pieces[i].start)
			r->pieces[nr++] = r->pieces[i];
	r->nr_pieces = nr;
}

static bool see(struct line_rows *r, uint32_t file, uint32_t line)
{
	struct line_seen *seen;
	size_t cap;

	if (file >= r->nr_seen) {
		if (vec_grow(&r->seen, &r->cap_seen, (size_t)file + 1, sizeof(*r->seen),
			     0))
			return false;
		r->nr_seen = (size_t)file + 1;
	}
	seen = &r->seen[file];
	cap = seen->cap;
	if (line / 8 >= cap) {
		if (r->seen_bytes + line / 8 > LINE_SEEN_BYTES)
			return true;
		if (vec_grow(&seen->bits, &seen->cap, line / 8 + 1, 1, 0))
			return false;
		r->seen_bytes += seen->cap - cap;
	}
	seen->bits[line / 8] |= (uint8_t)(1u << line % 8);
	return true;
}

/* The first piece that ends behind @vaddr. */
static size_t piece_at(const struct line_rows *r, uint64_t vaddr)
{
	size_t low = 0, high = r->nr_pieces;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->pieces[mid].end <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void keep(struct line_rows *r, struct line_row row, size_t i)
{
	struct line_piece *piece = &r->pieces[i];

	if (piece->too_many)
		return;
	if (piece->nr_rows >= CODE_MAX_ROWS || r->nr >= LINE_ROWS_MAX) {
		piece->too_many = true;
		return;
	}
	if (vec_grow(&r->items, &r->cap, r->nr + 1, sizeof(*r->items), 0)) {
		r->failed = true;
		return;
	}
	if (row.start < piece->start)
		row.start = piece->start;
	row.piece = (uint32_t)i;
	row.order = (uint32_t)r->nr;
	r->items[r->nr++] = row;
	piece->nr_rows++;
}

void line_rows_add(struct line_rows *r, const struct line_row *row, uint64_t end)
{
	size_t i = r->next;

	if (end <= row->start)
		return;
	if (row->line && row->line < LINE_SEEN_MAX_LINE &&
	    row->file < LINE_SEEN_MAX_FILE && !see(r, row->file, row->line))
		r->failed = true;
	/* Rows ascend nearly always: most are at the same place as the one before. */
	if ((i && r->pieces[i - 1].end > row->start) ||
	    (i < r->nr_pieces && r->pieces[i].end <= row->start))
		i = r->next = piece_at(r, row->start);
	for (; i < r->nr_pieces && r->pieces[i].start < end; i++)
		keep(r, *row, i);
}

static int compare_rows(const void *a, const void *b)
{
	const struct line_row *x = a, *y = b;

	if (x->piece != y->piece)
		return x->piece > y->piece ? 1 : -1;
	if (x->start != y->start)
		return x->start > y->start ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

void line_rows_finish(struct line_rows *r)
{
	size_t at = 0;

	if (r->nr)
		qsort(r->items, r->nr, sizeof(*r->items), compare_rows);
	for (size_t i = 0; i < r->nr_pieces; i++) {
		r->pieces[i].first_row = at;
		at += r->pieces[i].nr_rows;
	}
}
