// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* One piece in the making. */
struct piece {
	struct decoded *d;
	struct code_row *rows;
	struct place *places; /* of rows */
	size_t nr, cap_rows, cap_places;
	uint32_t *shown; /* per scope: number of the last piece with its call, + 1 */
	uint32_t number;
	bool failed; /* over a limit, or out of memory */
};

static bool same_row(const struct code_row *a, const struct code_row *b)
{
	return a->line == b->line && a->start_line == b->start_line &&
	       !strcmp(a->function, b->function) && !strcmp(a->file, b->file) &&
	       !strcmp(a->system_name, b->system_name);
}

static void add_row(struct piece *p, uint64_t vaddr, struct place place)
{
	struct code_row row;
	struct frame frame;

	decoded_frame(p->d, place, &frame);
	row = (struct code_row){.address = vaddr,
				.function = frame.function,
				.system_name = frame.system_name,
				.file = frame.file,
				.line = frame.line,
				.start_line = frame.start_line};
	if (p->nr && same_row(&p->rows[p->nr - 1], &row))
		return;
	if (vec_grow(&p->rows, &p->cap_rows, p->nr + 1, sizeof(*p->rows),
		     CODE_MAX_ROWS) ||
	    vec_grow(&p->places, &p->cap_places, p->nr + 1, sizeof(*p->places),
		     CODE_MAX_ROWS) ||
	    !debug_spend(p->d->unit.file, 16)) {
		p->failed = true;
		return;
	}
	p->places[p->nr] = place;
	p->rows[p->nr++] = row;
}

/* The lines of the calls that were inlined here, each once in a piece. */
static void add_calls(struct piece *p, const struct hit *hit)
{
	struct place place = {.scope = hit->scope};

	while (decoded_is_inlined(p->d, place.scope) &&
	       p->shown[place.scope] != p->number + 1) {
		p->shown[place.scope] = p->number + 1;
		place = decoded_caller(p->d, place);
		if (place.line)
			add_row(p, hit->vaddr, place);
	}
}

/* By function as it was written, and line. */
static int compare_places(const void *va, const void *vb, void *ctx)
{
	const struct place *a = va, *b = vb;
	const struct scope *items = ((const struct decoded *)ctx)->scopes.items;
	const struct function *x = &items[a->scope].function;
	const struct function *y = &items[b->scope].function;

	if (x->file != y->file)
		return (uintptr_t)x->file > (uintptr_t)y->file ? 1 : -1;
	if (x->die_off != y->die_off)
		return x->die_off > y->die_off ? 1 : -1;
	if (a->file != b->file)
		return a->file > b->file ? 1 : -1;
	return (a->line > b->line) - (a->line < b->line);
}

static bool same_function(const struct decoded *d, struct place a, struct place b)
{
	a.line = b.line = 0;
	return !compare_places(&a, &b, (void *)d);
}

/* Lines of [first, end) that have code in other parts of the unit. */
static void add_elsewhere(struct piece *p, uint64_t vaddr, struct place place,
			  uint32_t first, uint32_t end)
{
	if (end > LINE_SEEN_MAX_LINE)
		end = LINE_SEEN_MAX_LINE;
	if (first >= end || !debug_spend(p->d->unit.file, end - first))
		return;
	for (uint32_t line = first; line < end && !p->failed; line++) {
		place.line = line;
		if (line_rows_seen(&p->d->rows, place.file, line))
			add_row(p, vaddr, place);
	}
}

/*
 * A line within a function that has no row here can have its code in a part that was
 * split off, in another place where the function was inlined, in a lambda.
 */
static void add_all_elsewhere(struct piece *p, uint64_t vaddr)
{
	_cleanup_free_ struct place *places = calloc(p->nr, sizeof(*places));
	const struct scope *scopes = p->d->scopes.items;
	size_t nr = 0, all = p->nr;

	if (!places) {
		p->failed = true;
		return;
	}
	for (size_t i = 0; i < all; i++)
		if (p->places[i].line)
			places[nr++] = p->places[i];
	qsort_r(places, nr, sizeof(*places), compare_places, p->d);
	for (size_t i = 0; i < nr; i++) {
		uint32_t line = places[i].line, head;

		if (i && same_function(p->d, places[i - 1], places[i])) {
			add_elsewhere(p, vaddr, places[i], places[i - 1].line + 1, line);
			continue;
		}
		head = scopes[places[i].scope].function.decl_line;
		if (head && head < line && line - head <= CODE_MAX_HEAD_LINES)
			add_elsewhere(p, vaddr, places[i], head, line);
	}
}

static void make_piece(struct piece *p, const struct line_piece *piece)
{
	p->nr = 0;
	p->failed = piece->too_many || !piece->nr_rows;
	for (size_t i = 0; i < piece->nr_rows && !p->failed; i++) {
		const struct hit *hit = &p->d->row_hits[piece->first_row + i];

		add_calls(p, hit);
		add_row(p, hit->vaddr, decoded_innermost(p->d, hit));
	}
	if (!p->failed)
		add_all_elsewhere(p, piece->end);
}

void decoded_pieces(struct decoded *d, piece_fn fn, void *ctx)
{
	struct piece p = {.d = d};
	struct frame function;

	p.shown = calloc(d->scopes.nr + 1, sizeof(*p.shown));
	for (; p.shown && d->row_hits && p.number < d->rows.nr_pieces; p.number++) {
		const struct line_piece *piece = &d->rows.pieces[p.number];

		make_piece(&p, piece);
		if (p.failed)
			continue;
		decoded_frame(d, (struct place){.scope = piece->scope}, &function);
		fn(ctx, &function,
		   &(struct code){.address = piece->start,
				  .size_bytes = piece->end - piece->start,
				  .rows = p.rows,
				  .nr_rows = p.nr});
	}
	free(p.shown);
	free(p.rows);
	free(p.places);
}
