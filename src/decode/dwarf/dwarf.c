// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Addresses -> frames. The addresses are sorted; one pass over the roots of all
 * units tells for each address the unit that holds it (the narrowest one, if
 * several claim it); then the units that are hit are decoded one after another,
 * each for all of its addresses at once, and forgotten.
 *
 * .debug_aranges is not used: Go and clang do not write it, gcc leaves units out,
 * and the roots have the same knowledge. A unit whose root names no addresses at
 * all is tried last, for the addresses that nobody claimed.
 */
#include "decode/dwarf/dwarf.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/search.h"
#include "base/vec.h"
#include "decode/dwarf/decode.h"
#include "decode/dwarf/scope.h"

/* Work an address may cost in following names, beyond what files allow. */
#define WORK_PER_ADDRESS 8192

struct dwarf_source {
	struct debug_context context;
	struct debug_file *file;
	struct abbrev_cache abbrevs;
	dwarf_code_fn code; /* NULL: not wanted */
	const bool *code_wanted; /* per address; NULL: of all */
};

static struct dwarf_source *source_new(dwarf_need_fn need, void *ctx)
{
	struct dwarf_source *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->context.need = need;
	d->context.need_ctx = ctx;
	d->context.inflated_left = DEBUG_MAX_INFLATED_BYTES;
	return d;
}

int dwarf_source_open(int fd, dwarf_need_fn need, void *ctx, struct dwarf_source **ret)
{
	_cleanup_(dwarf_source_freep) struct dwarf_source *d = source_new(need, ctx);
	int r;

	if (!d)
		return -ENOMEM;
	r = debug_file_open(fd, DEBUG_FILE_PROGRAM, &d->context, &d->file);
	if (r < 0)
		return r;
	*ret = take_ptr(d);
	return 0;
}

int dwarf_source_open_memory(void *data, size_t len, struct dwarf_source **ret)
{
	_cleanup_(dwarf_source_freep) struct dwarf_source *d = source_new(NULL, NULL);
	int r;

	if (!d)
		return -ENOMEM;
	r = debug_file_open_memory(data, len, &d->context, &d->file);
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
	free(d);
}

void dwarf_source_stats(const struct dwarf_source *d, struct dwarf_stats *ret)
{
	*ret = d->context.stats;
}

void dwarf_source_want_code(struct dwarf_source *d, dwarf_code_fn fn, const bool *wanted)
{
	d->code = fn;
	d->code_wanted = wanted;
}

#define UNIT_NONE     UINT32_MAX
#define UNIT_ANSWERED (UINT32_MAX - 1)

/* One address asked for. */
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
	uint32_t *rangeless; /* units whose roots name no addresses */
	size_t nr_rangeless, cap_rangeless;
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

static int claim_unit(struct resolve_call *s, uint32_t number, const struct unit *u)
{
	bool has_low = u->low_pc.form, has_high = u->high_pc.form;
	struct addr_range range;
	struct pc_ranges it;
	int r;

	/* low_pc alone is what range lists start from, not a range. */
	if (!u->ranges.form && !(has_low && has_high)) {
		if (u->dwo_name.form) /* a skeleton with code would say so */
			return 0;
		r = vec_grow(&s->rangeless, &s->cap_rangeless, s->nr_rangeless + 1,
			     sizeof(*s->rangeless), DEBUG_MAX_UNITS);
		if (r < 0)
			return r;
		s->rangeless[s->nr_rangeless++] = number;
		return 0;
	}
	pc_ranges_start(&it, u, &u->low_pc, &u->high_pc, &u->ranges);
	while (pc_ranges_next(&it, &range))
		claim(s, number, &range);
	return 0;
}

static int find_units(struct resolve_call *s)
{
	struct debug_file *file = s->d->file;
	struct unit u;
	int r = unit_index(file);

	for (size_t i = 0; i < file->nr_units && r == 0; i++) {
		if (unit_read(file, file->units[i], &u) < 0)
			file->context->stats.nr_bad_units++;
		else if (u.tag == DW_TAG_compile_unit || u.tag == DW_TAG_skeleton_unit)
			r = claim_unit(s, (uint32_t)i, &u);
	}
	return r;
}

/*
 * Answers what the decoded unit knows of, and what it claims but does not know.
 */
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

/* Addresses of one unit, ascending, as its pieces of code are. */
struct unit_wants {
	const struct resolve_call *search;
	const struct address_want *items;
	size_t nr, next;
};

static void found_piece(void *ctx, const struct frame *function, const struct code *code)
{
	struct unit_wants *wants = ctx;
	const struct resolve_call *s = wants->search;

	while (wants->next < wants->nr && wants->items[wants->next].vaddr < code->address)
		wants->next++;
	if (wants->next < wants->nr && wants->items[wants->next].unit == UNIT_ANSWERED)
		s->d->code(s->ctx, wants->items[wants->next].index, function, code);
}

static bool wants_code(const struct dwarf_source *d, uint32_t index)
{
	return d->code && (!d->code_wanted || d->code_wanted[index]);
}

/*
 * Decodes one unit for @wants, which it claimed, or might know of. Those that it
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
		decoded_pieces(&decoded, found_piece,
			       &(struct unit_wants){s, wants, nr, 0});
	decoded_deinit(&decoded);
	return 0;
}

/* Moves what has no answer yet to the front, sorted by address. */
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
	else if (context->corrupt_section || s->d->file->units_damaged)
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
