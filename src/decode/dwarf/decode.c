// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/code.h"
#include "decode/dwarf/companion.h"

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
	_cleanup_free_ struct hit *hits = NULL;
	struct line_rows *rows = &d->rows;
	int r = 0;

	line_rows_finish(rows);
	if (rows->failed || !rows->nr)
		return 0;
	hits = calloc(rows->nr, sizeof(*hits));
	if (!hits)
		return -ENOMEM;
	for (size_t i = 0; i < rows->nr; i++)
		hits[i] = (struct hit){.vaddr = rows->items[i].start,
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
static int find_all(struct decoded *d, struct hit *hits, size_t nr)
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
		 struct hit *hits, size_t nr)
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

struct place decoded_caller(const struct decoded *d, struct place inner)
{
	const struct scope *s = &d->scopes.items[inner.scope];

	return (struct place){s->parent, s->call_file, s->call_line};
}

bool decoded_is_inlined(const struct decoded *d, uint32_t scope)
{
	return scope && d->scopes.items[scope].parent;
}

struct place decoded_innermost(const struct decoded *d, const struct hit *hit)
{
	struct place leaf = {hit->scope, hit->file, hit->line}, place = leaf;

	while (!place.line && decoded_is_inlined(d, place.scope))
		place = decoded_caller(d, place);
	if (place.line)
		return place;
	leaf.line = hit->near_line;
	leaf.file = leaf.line || hit->has_row ? hit->near_file : NO_FILE;
	return leaf;
}

void decoded_frame(struct decoded *d, struct place place, struct frame *ret)
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

size_t decoded_frames(struct decoded *d, const struct hit *hit,
		      struct frame frames[FRAMES_MAX_INLINE], enum miss *ret_miss)
{
	struct place place = decoded_innermost(d, hit);
	size_t depth = 1, nr = 0;

	*ret_miss = why_no_line(d);
	if (!hit->has_row && !hit->scope)
		return 0;
	for (struct place p = place; decoded_is_inlined(d, p.scope);
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
