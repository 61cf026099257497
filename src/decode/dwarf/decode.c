// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "decode/dwarf/unit.h"
#include "decode/frame.h"

/* One piece in the making. */
struct unfinished_piece {
	struct decoded *d;
	struct code_row *rows;
	struct frame_place *places; /* of rows */
	size_t nr, cap_rows, cap_places;
	uint32_t *shown; /* per scope: number of the last piece with its call, + 1 */
	uint32_t number;
	bool failed; /* over a limit, or out of memory */
};

static bool same_row(const struct code_row *a, const struct code_row *b)
{
	const struct frame *x = &a->frame, *y = &b->frame;

	return x->line == y->line && x->start_line == y->start_line &&
	       !strcmp(x->function, y->function) && !strcmp(x->file, y->file) &&
	       !strcmp(x->system_name, y->system_name);
}

static void add_row(struct unfinished_piece *p, uint64_t vaddr, struct frame_place place)
{
	struct code_row row = {.address = vaddr};

	decoded_frame(p->d, place, &row.frame);
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
static void add_calls(struct unfinished_piece *p, const struct address_hit *hit)
{
	struct frame_place place = {.scope = hit->scope};

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
	const struct frame_place *a = va, *b = vb;
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

static bool same_function(const struct decoded *d, struct frame_place a,
			  struct frame_place b)
{
	a.line = b.line = 0;
	return !compare_places(&a, &b, (void *)d);
}

/* Lines of [first, end) that have code in other parts of the unit. */
static void add_elsewhere(struct unfinished_piece *p, uint64_t vaddr,
			  struct frame_place place, uint32_t first, uint32_t end)
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
static void add_all_elsewhere(struct unfinished_piece *p, uint64_t vaddr)
{
	_cleanup_free_ struct frame_place *places = calloc(p->nr, sizeof(*places));
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

static void make_piece(struct unfinished_piece *p, const struct line_piece *piece)
{
	p->nr = 0;
	p->failed = piece->too_many || !piece->nr_rows;
	for (size_t i = 0; i < piece->nr_rows && !p->failed; i++) {
		const struct address_hit *hit = &p->d->row_hits[piece->first_row + i];

		add_calls(p, hit);
		add_row(p, hit->vaddr, decoded_innermost(p->d, hit));
	}
	if (!p->failed)
		add_all_elsewhere(p, piece->end);
}

void decoded_pieces(struct decoded *d, piece_fn fn, void *ctx)
{
	struct unfinished_piece p = {.d = d};
	struct frame function;

	p.shown = calloc(d->scopes.nr + 1, sizeof(*p.shown));
	for (; p.shown && d->row_hits && p.number < d->rows.nr_pieces; p.number++) {
		const struct line_piece *piece = &d->rows.pieces[p.number];

		make_piece(&p, piece);
		if (p.failed)
			continue;
		decoded_frame(d, (struct frame_place){.scope = piece->scope}, &function);
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

/* Split DWARF: the DIEs are elsewhere, the line table is here. */
static int find_split(struct decoded *d)
{
	int r;

	if (!d->unit.dwo_name.form)
		return 0;
	r = companion_split_unit(&d->unit, &d->dwo, &d->split);
	if (r == -ENOENT) {
		d->split_missing = true;
		d->unit.file->context->stats.nr_dwo_missing++;
		return 0;
	}
	d->has_split = r == 0;
	return r;
}

/* Without its .dwo a skeleton may still hold the inlined calls; it is looked at too. */
static const struct unit *unit_of_scopes(const struct decoded *d)
{
	return d->has_split ? &d->split : &d->unit;
}

/*
 * All addresses at which a row of the functions begins, as hits: the DIEs of these
 * functions are walked once more, for them.
 */
static int find_row_scopes(struct decoded *d)
{
	_cleanup_free_ struct address_hit *hits = NULL;
	struct line_rows *rows = &d->rows;
	int r = 0;

	line_rows_finish(rows);
	if (rows->failed || !rows->nr)
		return 0;
	hits = calloc(rows->nr, sizeof(*hits));
	if (!hits)
		return -ENOMEM;
	for (size_t i = 0; i < rows->nr; i++)
		hits[i] = (struct address_hit){.vaddr = rows->items[i].start,
					       .row_vaddr = rows->items[i].start,
					       .file = rows->items[i].file,
					       .line = rows->items[i].line,
					       .near_file = rows->items[i].near_file,
					       .near_line = rows->items[i].near_line,
					       .has_row = true};
	for (size_t i = 0; i < rows->nr_pieces && r == 0; i++) {
		const struct line_piece *piece = &rows->pieces[i];

		r = scopes_find_in(unit_of_scopes(d), d->abbrevs,
				   d->scopes.items[piece->scope].die_off,
				   hits + piece->first_row, piece->nr_rows, &d->scopes);
	}
	if (r == 0)
		d->row_hits = take_ptr(hits);
	return r;
}

static int find_pieces(struct decoded *d)
{
	const struct scopes *s = &d->scopes;
	int r = 0;

	for (size_t i = 0; i < s->nr_ranges && r == 0; i++)
		if (s->ranges[i].end - s->ranges[i].start <= CODE_MAX_BYTES)
			r = line_rows_add_piece(&d->rows, s->ranges[i].start,
						s->ranges[i].end, s->ranges[i].scope);
	line_rows_start(&d->rows);
	return r;
}

/* Rows and scopes. What breaks off is noted; only -ENOMEM ends it. */
static int find_all(struct decoded *d, struct address_hit *hits, size_t nr)
{
	int no_lines = line_table_open(&d->unit, &d->lines), r;

	if (no_lines == -ENOMEM)
		return no_lines;
	r = find_split(d);
	d->malformed = no_lines == -EBADMSG || r == -EBADMSG;
	if (r != -ENOMEM)
		r = scopes_find(unit_of_scopes(d), d->abbrevs, hits, nr, &d->scopes);
	d->malformed |= r == -EBADMSG;
	if (r != -ENOMEM)
		r = find_pieces(d);
	if (r == -ENOMEM || !d->lines)
		return r == -ENOMEM ? r : 0;
	r = line_table_run(d->lines, hits, nr, d->rows.nr_pieces ? &d->rows : NULL);
	d->malformed |= r == -EBADMSG;
	return find_row_scopes(d) == -ENOMEM ? -ENOMEM : 0;
}

int decoded_init(struct decoded *d, const struct unit *unit, struct abbrev_cache *abbrevs,
		 struct address_hit *hits, size_t nr)
{
	int r;

	memset(d, 0, sizeof(*d));
	d->unit = *unit;
	d->abbrevs = abbrevs;
	r = find_all(d, hits, nr);
	if (r == 0)
		r = scopes_name(&d->scopes, unit_of_scopes(d), abbrevs);
	if (r == -ENOMEM) {
		decoded_deinit(d);
		return r;
	}
	unit->file->context->stats.nr_bad_units += d->malformed;
	return 0;
}

void decoded_deinit(struct decoded *d)
{
	line_table_free(d->lines);
	line_rows_deinit(&d->rows);
	free(d->row_hits);
	scopes_deinit(&d->scopes);
	if (d->dwo)
		abbrev_cache_drop(d->abbrevs, d->dwo);
	debug_file_free(d->dwo);
}

#define NO_FILE UINT32_MAX

struct frame_place decoded_caller(const struct decoded *d, struct frame_place inner)
{
	const struct scope *s = &d->scopes.items[inner.scope];

	return (struct frame_place){s->parent, s->call_file, s->call_line};
}

bool decoded_is_inlined(const struct decoded *d, uint32_t scope)
{
	return scope && d->scopes.items[scope].parent;
}

struct frame_place decoded_innermost(const struct decoded *d,
				     const struct address_hit *hit)
{
	struct frame_place leaf = {hit->scope, hit->file, hit->line}, place = leaf;

	while (!place.line && decoded_is_inlined(d, place.scope))
		place = decoded_caller(d, place);
	if (place.line)
		return place;
	leaf.line = hit->near_line;
	leaf.file = leaf.line || hit->has_row ? hit->near_file : NO_FILE;
	return leaf;
}

void decoded_frame(struct decoded *d, struct frame_place place, struct frame *ret)
{
	const struct scope *s = &d->scopes.items[place.scope];

	*ret = (struct frame){.function = "",
			      .system_name = "",
			      .file = d->lines ? line_table_path(d->lines, place.file)
					       : "",
			      .line = place.line,
			      .inlined = decoded_is_inlined(d, place.scope)};
	if (!place.scope)
		return;
	ret->function = s->full_name ? s->full_name : s->function.name;
	ret->system_name = s->function.linkage_name;
	ret->start_line = s->function.decl_line;
}

static enum miss why_no_line(const struct decoded *d)
{
	const struct debug_context *context = d->unit.file->context;

	if (!context->work_left || context->over_inflated)
		return MISS_DECODER_GAVE_UP;
	if (d->malformed || context->corrupt_section)
		return MISS_BAD_DEBUG_INFO;
	return d->split_missing ? MISS_NO_DWO : MISS_NO_LINE;
}

size_t decoded_frames(struct decoded *d, const struct address_hit *hit,
		      struct frame frames[FRAMES_MAX_INLINE], enum miss *ret_miss)
{
	struct frame_place place = decoded_innermost(d, hit);
	size_t depth = 1, nr = 0;

	*ret_miss = why_no_line(d);
	if (!hit->has_row && !hit->scope)
		return 0;
	for (struct frame_place p = place; decoded_is_inlined(d, p.scope);
	     p = decoded_caller(d, p))
		depth++;
	for (size_t i = 0; i < depth; i++, place = decoded_caller(d, place)) {
		/* Of a deeper chain the middle is lost. */
		if (i >= FRAMES_MAX_INLINE / 2 && depth - i > FRAMES_MAX_INLINE / 2)
			continue;
		decoded_frame(d, place, &frames[nr++]);
	}
	if (frames[0].line)
		*ret_miss = MISS_NONE;
	return nr;
}
