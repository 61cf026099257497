// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Addresses -> frames. The addresses are sorted. One pass over the roots of all units
 * finds the unit of each address (the narrowest one, if several claim it). Then the
 * units that are hit are decoded one after another, each for all of its addresses at
 * once, and freed.
 *
 * .debug_aranges is not used: Go and clang do not write it, gcc leaves units out, and
 * the roots have the same information. A unit whose root has no addresses is tried
 * last, for the addresses that no other unit has claimed.
 */
#include "decode/dwarf/dwarf.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/search.h"
#include "base/vec.h"
#include "decode/dwarf/line.h"
#include "decode/dwarf/scope.h"

/* Additional budget of work per address, for following names. */
#define WORK_PER_ADDRESS 8192

struct dwarf_source {
	struct debug_context context;
	struct debug_file *file;
	struct abbrev_cache abbrevs;
	/*
	 * Per unit, where its code begins and ends, so that later requests read only the
	 * roots of units that may have an address of theirs. Heap; NULL: not known of any.
	 */
	struct addr_range *hulls;
	dwarf_code_fn code; /* NULL: not wanted */
	const bool *code_wanted; /* per address; NULL: of all */
};

static const struct addr_range anywhere = {0, UINT64_MAX}, nowhere = {UINT64_MAX, 0};

int dwarf_source_open(struct binary *binary, dwarf_need_fn need, void *ctx,
		      struct dwarf_source **ret)
{
	_cleanup_(dwarf_source_freep) struct dwarf_source *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->context = (struct debug_context){
		.need = need, .need_ctx = ctx, .inflated_left = DEBUG_MAX_INFLATED_BYTES};
	r = debug_file_open(binary, DEBUG_FILE_PROGRAM, &d->context, &d->file);
	if (r < 0)
		return r;
	*ret = take_ptr(d);
	return 0;
}

void dwarf_source_free(struct dwarf_source *d)
{
	if (!d)
		return;
	abbrev_cache_deinit(&d->abbrevs);
	debug_file_free(d->file);
	free(d->hulls);
	free(d);
}

void dwarf_source_stats(const struct dwarf_source *d, struct dwarf_stats *ret)
{
	*ret = d->context.stats;
}

void dwarf_source_restart(struct dwarf_source *d, dwarf_need_fn need, void *ctx)
{
	d->context.need = need;
	d->context.need_ctx = ctx;
	d->context.stats = (struct dwarf_stats){0};
	dwarf_source_want_code(d, NULL, NULL);
	if (d->hulls || !d->file->units_indexed)
		return;
	/* Without memory it is only slower. */
	d->hulls = calloc(d->file->nr_units + 1, sizeof(*d->hulls));
	for (size_t i = 0; d->hulls && i < d->file->nr_units; i++)
		d->hulls[i] = anywhere;
}

bool dwarf_source_is_whole(const struct dwarf_source *d)
{
	const struct debug_context *context = &d->context;
	const struct dwarf_stats *stats = &context->stats;

	return context->work_left && !context->over_inflated &&
	       !context->corrupt_section && !stats->nr_dwo_missing &&
	       !stats->nr_dwz_missing && !stats->nr_bad_units;
}

uint64_t dwarf_source_shrink(struct dwarf_source *d)
{
	abbrev_cache_deinit(&d->abbrevs);
	d->abbrevs = (struct abbrev_cache){0};
	return DEBUG_MAX_INFLATED_BYTES - d->context.inflated_left +
	       debug_file_heap_bytes(d->file) + d->file->nr_units * sizeof(*d->hulls);
}

void dwarf_source_want_code(struct dwarf_source *d, dwarf_code_fn fn, const bool *wanted)
{
	d->code = fn;
	d->code_wanted = wanted;
}

/* ---- one unit, decoded for the addresses in it ---- */

struct decoded {
	struct unit unit;
	struct unit split; /* has the DIEs, if has_split */
	bool has_split, split_missing;
	bool malformed; /* in part; the readable part is used */
	struct debug_file *dwo; /* of split; NULL: nothing to free */
	struct line_table *lines; /* NULL: none */
	struct scopes scopes;
	struct line_rows rows; /* of the functions that were hit */
	bool has_row_scopes; /* the scopes of its rows were found */
	struct abbrev_cache *abbrevs; /* borrowed */
};

/* Finds the unit's split unit, which has its DIEs, but not its line table. */
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

/* Returns the unit with the DIEs: without .dwo the skeleton, which may have some. */
static const struct unit *unit_of_scopes(const struct decoded *d)
{
	return d->has_split ? &d->split : &d->unit;
}

/* Finds the scopes of all rows, by another walk over the DIEs of their functions. */
static int find_row_scopes(struct decoded *d)
{
	struct line_rows *rows = &d->rows;
	int r = 0;

	line_rows_finish(rows);
	if (rows->failed || !rows->nr)
		return 0;
	for (size_t i = 0; i < rows->nr_pieces && r == 0; i++) {
		const struct line_piece *piece = &rows->pieces[i];

		r = scopes_find_in(unit_of_scopes(d), d->abbrevs,
				   d->scopes.items[piece->scope].die_off,
				   rows->items + piece->first_row, piece->nr_rows,
				   &d->scopes);
	}
	d->has_row_scopes = r == 0;
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

/* Finds rows and scopes. Malformed parts set d->malformed; only -ENOMEM is an error. */
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

static void decoded_deinit(struct decoded *d)
{
	line_table_free(d->lines);
	line_rows_deinit(&d->rows);
	scopes_deinit(&d->scopes);
	if (d->dwo)
		abbrev_cache_drop(d->abbrevs, d->dwo);
	debug_file_free(d->dwo);
}

/**
 * Finds the row and the scope of each hit in @unit.
 *
 * @hits  ascending vaddr; with wants_code, also finds all rows of its function
 *        (frame.h); other members are zero
 * @ret   must not move; pass it to decoded_deinit() after success
 * Return: 0 or -ENOMEM.
 */
static int decoded_init(struct decoded *d, const struct unit *unit,
			struct abbrev_cache *abbrevs, struct address_hit *hits, size_t nr)
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

/* ---- frames of a decoded unit ---- */

/* The line of a frame, as numbers of the line table and of the scopes. */
struct frame_place {
	uint32_t scope, file, line;
};

#define NO_FILE UINT32_MAX

/* The call that inlined @inner. */
static struct frame_place decoded_caller(const struct decoded *d,
					 struct frame_place inner)
{
	const struct scope *s = &d->scopes.items[inner.scope];

	return (struct frame_place){s->parent, s->call_file, s->call_line};
}

static bool decoded_is_inlined(const struct decoded *d, uint32_t scope)
{
	return scope && d->scopes.items[scope].parent;
}

/* Returns the innermost frame at @hit, by the rules of decoded_frames(). */
static struct frame_place decoded_innermost(const struct decoded *d,
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

/*
 * Fills in the frame at @place; strings as those of decoded_frames(). Equal names of
 * functions are one pointer, also "".
 */
static void decoded_frame(struct decoded *d, struct frame_place place, struct frame *ret)
{
	static const char none[] = "";
	const struct scope *s = &d->scopes.items[place.scope];

	*ret = (struct frame){.function = none,
			      .system_name = none,
			      .file = d->lines ? line_table_path(d->lines, place.file)
					       : "",
			      .line = place.line,
			      .inlined = decoded_is_inlined(d, place.scope)};
	if (!place.scope)
		return;
	ret->function = *s->function.name ? s->function.name : none;
	ret->system_name = *s->function.linkage_name ? s->function.linkage_name : none;
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

/**
 * Returns the frames at one hit, innermost first, at most FRAMES_MAX_INLINE. Code
 * without a line (line 0: merged or moved) gets the line of the call at which it was
 * inlined, else the line before it.
 *
 * @ret_miss  MISS_NONE exactly if frames[0] has a line
 * Return: their number; 0: the unit does not cover this address. Strings are valid
 * until decoded_deinit().
 */
static size_t decoded_frames(struct decoded *d, const struct address_hit *hit,
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
		/* A deeper chain loses its middle. */
		if (i >= FRAMES_MAX_INLINE / 2 && depth - i > FRAMES_MAX_INLINE / 2)
			continue;
		decoded_frame(d, place, &frames[nr++]);
	}
	if (frames[0].line)
		*ret_miss = MISS_NONE;
	return nr;
}

/* ---- pieces of code of a decoded unit: the line of each part of a function ---- */

/* A declaration farther above the first line of code must be in another file. */
#define CODE_MAX_HEAD_LINES 100

/* A piece under construction. */
struct unfinished_piece {
	struct decoded *d;
	struct code_row *rows;
	struct frame_place *places; /* of rows */
	size_t nr, cap_rows, cap_places;
	uint32_t *shown; /* per scope: number of the last piece with its call, + 1 */
	uint32_t number;
	bool failed; /* over a limit, or out of memory */
};

static bool same_frame(const struct frame *a, const struct frame *b)
{
	return a->line == b->line && a->start_line == b->start_line &&
	       a->function == b->function && a->system_name == b->system_name &&
	       (a->file == b->file || !strcmp(a->file, b->file));
}

static void add_row(struct unfinished_piece *p, uint64_t vaddr, struct frame_place place)
{
	struct frame frame;

	decoded_frame(p->d, place, &frame);
	if (p->nr && same_frame(&p->rows[p->nr - 1].frame, &frame))
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
	p->rows[p->nr++] = (struct code_row){vaddr, frame};
}

/* Adds the lines of the calls that were inlined here, each once per piece. */
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

/* By function in the source, then by line. */
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

/* Adds the lines of [first, end) that have code in other parts of the unit. */
static void add_elsewhere(struct unfinished_piece *p, uint64_t vaddr,
			  struct frame_place place, uint32_t first, uint32_t end)
{
	if (first >= end || !debug_spend(p->d->unit.file, (end - first) / 64 + 1))
		return;
	for (uint32_t line = first; !p->failed; line++) {
		line = line_rows_next_seen(&p->d->rows, place.file, line, end);
		if (line >= end)
			return;
		place.line = line;
		add_row(p, vaddr, place);
	}
}

/*
 * Adds the lines of the piece's functions that have no row here, but code elsewhere: in
 * a part that was split off, in another copy of the inlined function, in a lambda.
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
		const struct address_hit *hit = &p->d->rows.items[piece->first_row + i];

		add_calls(p, hit);
		add_row(p, hit->vaddr, decoded_innermost(p->d, hit));
	}
	if (!p->failed)
		add_all_elsewhere(p, piece->end);
}

/* ---- addresses -> units ---- */

#define UNIT_NONE     UINT32_MAX
#define UNIT_ANSWERED (UINT32_MAX - 1)

/* One requested address. */
struct address_want {
	uint64_t vaddr;
	uint32_t index; /* in the caller's array */
	uint32_t unit; /* number of the unit that holds it */
};

/* One call of dwarf_source_resolve(). */
struct resolve_call {
	struct dwarf_source *d;
	struct address_want *wants;
	size_t nr;
	uint64_t *widths; /* of the range that claimed wants[i] */
	uint32_t *rangeless; /* units whose roots have no addresses */
	size_t nr_rangeless, cap_rangeless;
	bool has_bad_units; /* no one knows which addresses they cover */
	dwarf_found_fn found;
	void *ctx;
};

static void search_deinit(struct resolve_call *s)
{
	free(s->wants);
	free(s->widths);
	free(s->rangeless);
}

static int compare_vaddrs(const void *a, const void *b)
{
	const struct address_want *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static int compare_units(const void *a, const void *b)
{
	const struct address_want *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit > y->unit ? 1 : -1;
	return compare_vaddrs(a, b);
}

static int search_init(struct resolve_call *s, const uint64_t *vaddrs, size_t nr)
{
	s->wants = calloc(nr, sizeof(*s->wants));
	s->widths = calloc(nr, sizeof(*s->widths));
	if (!s->wants || !s->widths)
		return -ENOMEM;
	s->nr = nr;
	for (size_t i = 0; i < nr; i++)
		s->wants[i] = (struct address_want){vaddrs[i], (uint32_t)i, UNIT_NONE};
	qsort(s->wants, nr, sizeof(*s->wants), compare_vaddrs);
	return 0;
}

static void claim(struct resolve_call *s, uint32_t unit, const struct addr_range *range)
{
	size_t low = SEARCH_FIRST(i, s->nr, s->wants[i].vaddr >= range->start);

	for (; low < s->nr && s->wants[low].vaddr < range->end; low++) {
		uint64_t width = range->end - range->start;

		if (!debug_spend(s->d->file, 1))
			return;
		if (s->wants[low].unit != UNIT_NONE && s->widths[low] <= width)
			continue;
		s->wants[low].unit = unit;
		s->widths[low] = width;
	}
}

/* @hull: gets where the code of the unit is, if that is known */
static int claim_unit(struct resolve_call *s, uint32_t number, const struct unit *u,
		      struct addr_range *hull)
{
	bool has_low = u->low_pc.form, has_high = u->high_pc.form;
	struct addr_range range;
	struct pc_ranges it;
	int r;

	/* low_pc alone is the base of range lists, not a range. */
	if (!u->ranges.form && !(has_low && has_high)) {
		if (u->dwo_name.form) /* a skeleton with code has ranges */
			return 0;
		r = vec_grow(&s->rangeless, &s->cap_rangeless, s->nr_rangeless + 1,
			     sizeof(*s->rangeless), DEBUG_MAX_UNITS);
		if (r < 0)
			return r;
		s->rangeless[s->nr_rangeless++] = number;
		return 0;
	}
	*hull = nowhere;
	pc_ranges_start(&it, u, &u->low_pc, &u->high_pc, &u->ranges);
	while (pc_ranges_next(&it, &range)) {
		claim(s, number, &range);
		hull->start = range.start < hull->start ? range.start : hull->start;
		hull->end = range.end > hull->end ? range.end : hull->end;
	}
	return 0;
}

static bool has_want_in(const struct resolve_call *s, const struct addr_range *hull)
{
	size_t low = SEARCH_FIRST(i, s->nr, s->wants[i].vaddr >= hull->start);

	return low < s->nr && s->wants[low].vaddr < hull->end;
}

static int find_units(struct resolve_call *s)
{
	struct debug_file *file = s->d->file;
	struct addr_range *hulls = s->d->hulls, hull;
	struct unit u;
	int r = unit_index(file);

	for (size_t i = 0; i < file->nr_units && r == 0; i++) {
		if (hulls && !has_want_in(s, &hulls[i]))
			continue;
		hull = anywhere;
		if (unit_read(file, file->units[i], &u) < 0) {
			file->context->stats.nr_bad_units++;
			s->has_bad_units = true;
		} else if (u.tag == DW_TAG_compile_unit ||
			   u.tag == DW_TAG_skeleton_unit) {
			r = claim_unit(s, (uint32_t)i, &u, &hull);
		} else {
			hull = nowhere;
		}
		if (hulls)
			hulls[i] = hull;
	}
	return r;
}

/* Answers the addresses that the unit covers; if @claimed, the others, too. */
static void answer(struct resolve_call *s, struct decoded *decoded,
		   const struct address_hit *hits, struct address_want *wants, size_t nr,
		   bool claimed)
{
	struct frame frames[FRAMES_MAX_INLINE];
	size_t nr_frames;
	enum miss miss;

	for (size_t i = 0; i < nr; i++) {
		nr_frames = decoded_frames(decoded, &hits[i], frames, &miss);
		if (!nr_frames && !claimed)
			continue;
		wants[i].unit = UNIT_ANSWERED;
		s->found(s->ctx, wants[i].index, miss, frames, nr_frames);
	}
}

/**
 * Reports the pieces of code of @d, with an address in each. Omits pieces over the limits
 * of decode/frame.h, without memory or beyond the work budget.
 *
 * @wants  of this unit, ascending, as its pieces are
 */
static void report_pieces(const struct resolve_call *s, struct decoded *d,
			  const struct address_want *wants, size_t nr)
{
	struct unfinished_piece p = {.d = d};
	struct frame function;
	size_t next = 0;

	p.shown = calloc(d->scopes.nr + 1, sizeof(*p.shown));
	for (; p.shown && d->has_row_scopes && p.number < d->rows.nr_pieces; p.number++) {
		const struct line_piece *piece = &d->rows.pieces[p.number];

		make_piece(&p, piece);
		while (next < nr && wants[next].vaddr < piece->start)
			next++;
		if (p.failed || next == nr || wants[next].unit != UNIT_ANSWERED)
			continue;
		decoded_frame(d, (struct frame_place){.scope = piece->scope}, &function);
		s->d->code(s->ctx, wants[next].index, &function,
			   &(struct code){.address = piece->start,
					  .size_bytes = piece->end - piece->start,
					  .rows = p.rows,
					  .nr_rows = p.nr});
	}
	free(p.shown);
	free(p.rows);
	free(p.places);
}

static bool wants_code(const struct dwarf_source *d, uint32_t index)
{
	return d->code && (!d->code_wanted || d->code_wanted[index]);
}

/*
 * Decodes one unit for @wants, which it has @claimed or may cover. Those that it
 * answers get UNIT_ANSWERED, others UNIT_NONE.
 */
static int decode(struct resolve_call *s, uint32_t number, struct address_want *wants,
		  size_t nr, bool claimed)
{
	_cleanup_free_ struct address_hit *hits = calloc(nr, sizeof(*hits));
	struct dwarf_source *d = s->d;
	struct decoded decoded;
	struct unit u;
	int r;

	if (!hits)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		hits[i].vaddr = wants[i].vaddr;
		hits[i].wants_code = wants_code(d, wants[i].index);
		wants[i].unit = UNIT_NONE;
	}
	if (unit_read(d->file, d->file->units[number], &u) < 0)
		return 0;
	r = decoded_init(&decoded, &u, &d->abbrevs, hits, nr);
	if (r < 0)
		return r;
	answer(s, &decoded, hits, wants, nr, claimed);
	if (d->code)
		report_pieces(s, &decoded, wants, nr);
	decoded_deinit(&decoded);
	return 0;
}

/* Keeps only the addresses without an answer, sorted. */
static void keep_unanswered(struct resolve_call *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr; i++)
		if (s->wants[i].unit == UNIT_NONE)
			s->wants[nr++] = s->wants[i];
	s->nr = nr;
	qsort(s->wants, nr, sizeof(*s->wants), compare_vaddrs);
}

static int decode_claimed(struct resolve_call *s)
{
	int r = 0;

	qsort(s->wants, s->nr, sizeof(*s->wants), compare_units);
	for (size_t i = 0, end; i < s->nr && r == 0; i = end) {
		uint32_t unit = s->wants[i].unit;

		for (end = i + 1; end < s->nr && s->wants[end].unit == unit; end++)
			;
		if (unit == UNIT_NONE)
			break;
		r = decode(s, unit, &s->wants[i], end - i, true);
	}
	keep_unanswered(s);
	return r;
}

static int decode_rangeless(struct resolve_call *s)
{
	int r = 0;

	for (size_t i = 0; i < s->nr_rangeless && s->nr && r == 0; i++) {
		if (!s->d->context.work_left)
			break;
		r = decode(s, s->rangeless[i], s->wants, s->nr, false);
		keep_unanswered(s);
	}
	return r;
}

static void answer_rest(struct resolve_call *s)
{
	const struct debug_context *context = &s->d->context;
	enum miss miss = MISS_NO_DEBUG_INFO;

	if (!context->work_left || context->over_inflated)
		miss = MISS_DECODER_GAVE_UP;
	else if (context->corrupt_section || s->d->file->units_damaged ||
		 s->has_bad_units)
		miss = MISS_BAD_DEBUG_INFO;
	for (size_t i = 0; i < s->nr; i++)
		s->found(s->ctx, s->wants[i].index, miss, NULL, 0);
}

int dwarf_source_resolve(struct dwarf_source *d, const uint64_t *vaddrs, size_t nr,
			 dwarf_found_fn found, void *ctx)
{
	_cleanup_(search_deinit) struct resolve_call s = {
		.d = d, .found = found, .ctx = ctx};
	int r;

	if (!nr)
		return 0;
	if (nr >= UNIT_NONE)
		return -ENOMEM;
	r = search_init(&s, vaddrs, nr);
	if (r < 0)
		return r;
	d->context.work_left = d->file->work_allowed + WORK_PER_ADDRESS * (uint64_t)nr;
	r = find_units(&s);
	if (r == 0)
		r = decode_claimed(&s);
	if (r == 0)
		r = decode_rangeless(&s);
	if (r < 0)
		return r;
	answer_rest(&s);
	log_debug("debug info: %zu units, %zu of %zu addresses not in any",
		  d->file->nr_units, s.nr, nr);
	return 0;
}

int dwarf_source_rows(struct dwarf_source *d, dwarf_row_fn row, void *ctx)
{
	struct debug_file *file = d->file;
	struct unit u;
	int r;

	d->context.work_left = file->work_allowed;
	r = unit_index(file);
	for (size_t i = 0; i < file->nr_units && r == 0; i++) {
		_cleanup_(line_table_freep) struct line_table *t = NULL;

		if (unit_read(file, file->units[i], &u) < 0)
			continue;
		r = line_table_open(&u, &t);
		if (r == 0)
			r = line_table_rows(t, row, ctx);
		if (r != -ENOMEM)
			r = 0;
	}
	return r;
}
