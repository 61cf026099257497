// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/scope.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "decode/dwarf/qualify.h"
#include "decode/dwarf/ranges.h"

struct scope_walk {
	const struct unit *unit;
	const struct abbrev_table *table;
	struct hit *hits;
	size_t nr;
	struct scopes *found;
	struct cursor c;
	uint32_t around[SCOPE_MAX_DEPTH]; /* scope that holds the children of a level */
	size_t depth;
};

void scopes_deinit(struct scopes *s)
{
	for (size_t i = 0; i < s->nr; i++)
		free(s->items[i].full_name);
	free(s->items);
	free(s->ranges);
	*s = (struct scopes){0};
}

/* What a function or an inlined call says about itself. */
struct scope_die {
	struct form_value low_pc, high_pc, ranges;
	uint32_t call_file, call_line;
};

static uint32_t small_number(const struct form_value *v)
{
	uint64_t n = form_number(v);

	return n > UINT32_MAX ? 0 : (uint32_t)n;
}

static void read_die(struct scope_walk *w, const struct abbrev *abbrev,
		     struct scope_die *ret)
{
	const struct abbrev_attr *attrs = &w->table->attrs[abbrev->first_attr];
	struct form_value v;

	*ret = (struct scope_die){0};
	for (uint32_t i = 0; i < abbrev->nr_attrs; i++) {
		switch (attrs[i].name) {
		case DW_AT_low_pc:
			form_read(&w->c, &attrs[i], w->unit->widths, &ret->low_pc);
			break;
		case DW_AT_high_pc:
			form_read(&w->c, &attrs[i], w->unit->widths, &ret->high_pc);
			break;
		case DW_AT_ranges:
			form_read(&w->c, &attrs[i], w->unit->widths, &ret->ranges);
			break;
		case DW_AT_call_file:
			form_read(&w->c, &attrs[i], w->unit->widths, &v);
			ret->call_file = small_number(&v);
			break;
		case DW_AT_call_line:
			form_read(&w->c, &attrs[i], w->unit->widths, &v);
			ret->call_line = small_number(&v);
			break;
		default:
			form_skip(&w->c, &attrs[i], w->unit->widths);
		}
	}
}

static size_t first_at(const struct scope_walk *w, uint64_t vaddr)
{
	size_t low = 0, high = w->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (w->hits[mid].vaddr < vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Return: the number of the new scope, 0 when the table is full, or -ENOMEM. */
static int64_t add_scope(struct scopes *s, const struct scope *scope)
{
	int r = vec_grow(&s->items, &s->cap, s->nr + 1, sizeof(*s->items), SCOPE_MAX);

	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	s->items[s->nr] = *scope;
	return (int64_t)s->nr++;
}

static int keep_range(struct scopes *s, const struct addr_range *range, uint32_t scope)
{
	int r = vec_grow(&s->ranges, &s->cap_ranges, s->nr_ranges + 1, sizeof(*s->ranges),
			 0);

	if (r < 0)
		return r;
	s->ranges[s->nr_ranges++] = (struct scope_range){range->start, range->end, scope};
	return 0;
}

/*
 * Gives the hits in the DIE's ranges to it. An inlined call takes them from the
 * scope around it only, so that a chain is always one path of the tree; of two
 * functions at one address (folded code) the first one has it.
 */
static int64_t claim(struct scope_walk *w, const struct scope_die *die,
		     const struct scope *scope, uint32_t around)
{
	struct addr_range range;
	struct pc_ranges it;
	int64_t number = 0;

	pc_ranges_start(&it, w->unit, &die->low_pc, &die->high_pc, &die->ranges);
	while (pc_ranges_next(&it, &range)) {
		bool wanted = false;

		for (size_t i = first_at(w, range.start);
		     i < w->nr && w->hits[i].vaddr < range.end; i++) {
			if (!debug_spend(w->unit->file, 1))
				return number;
			if (w->hits[i].scope != around &&
			    (scope->parent || w->hits[i].scope))
				continue;
			if (!number)
				number = add_scope(w->found, scope);
			if (number <= 0)
				return number;
			w->hits[i].scope = (uint32_t)number;
			wanted |= w->hits[i].wants_code;
		}
		if (wanted && !scope->parent &&
		    keep_range(w->found, &range, (uint32_t)number))
			return -ENOMEM;
	}
	return number;
}

/* Reads one DIE's values; @around is set to the scope that holds its children. */
static int visit(struct scope_walk *w, const struct abbrev *abbrev, uint64_t off,
		 uint32_t *around)
{
	bool inlined = abbrev->tag == DW_TAG_inlined_subroutine;
	struct scope_die die;
	int64_t number;

	if (!abbrev->has_pc ||
	    !(abbrev->tag == DW_TAG_subprogram || (inlined && *around))) {
		form_skip_all(&w->c, &w->table->attrs[abbrev->first_attr], abbrev,
			      w->unit->widths);
		if (abbrev->tag == DW_TAG_subprogram || inlined)
			*around = 0;
		return 0;
	}
	read_die(w, abbrev, &die);
	if (w->c.failed)
		return 0;
	number = claim(w, &die,
		       &(struct scope){.die_off = off,
				       .parent = inlined ? *around : 0,
				       .call_file = die.call_file,
				       .call_line = die.call_line},
		       *around);
	if (number < 0)
		return (int)number;
	*around = (uint32_t)number;
	return 0;
}

static int walk(struct scope_walk *w, const uint8_t *info)
{
	size_t beyond = 0; /* levels below those that fit */
	int r;

	do {
		uint64_t off = (uint64_t)(w->c.p - info);
		uint64_t code = cursor_uleb(&w->c);
		const struct abbrev *abbrev;
		uint32_t around = w->around[w->depth];

		if (!code) {
			if (beyond)
				beyond--;
			else
				w->depth -= w->depth > 0;
			continue;
		}
		abbrev = abbrev_find(w->table, code);
		if (!abbrev)
			return -EBADMSG;
		r = visit(w, abbrev, off, &around);
		if (r < 0)
			return r;
		if (!abbrev->has_children)
			continue;
		if (w->depth + 1 < SCOPE_MAX_DEPTH && !beyond)
			w->around[++w->depth] = around;
		else
			beyond++;
	} while (w->depth > 0 && w->c.p < w->c.end);
	return w->c.failed ? -EBADMSG : 0;
}

/* Walks the DIE at @off and those in it. */
static int find(struct scope_walk *w, struct abbrev_cache *abbrevs, uint64_t off)
{
	const struct unit *unit = w->unit;
	struct bytes info = debug_file_section(unit->file, DEBUG_INFO);
	int r;

	w->c = cursor_at((struct bytes){info.data, unit->end}, off);
	r = abbrev_cache_get(abbrevs, unit->file, unit->abbrev_off, unit->widths,
			     &w->table);
	return r < 0 ? r : walk(w, info.data);
}

int scopes_find(const struct unit *unit, struct abbrev_cache *abbrevs, struct hit *hits,
		size_t nr, struct scopes *ret)
{
	_cleanup_free_ struct scope_walk *w = calloc(1, sizeof(*w));
	struct scope none = {0};

	ret->nr = ret->nr_ranges = 0;
	if (!w || add_scope(ret, &none) < 0)
		return -ENOMEM;
	if (!debug_spend(unit->file, unit->end - unit->root_off))
		return -EBADMSG;
	w->unit = unit;
	w->hits = hits;
	w->nr = nr;
	w->found = ret;
	return find(w, abbrevs, unit->root_off);
}

int scopes_find_in(const struct unit *unit, struct abbrev_cache *abbrevs,
		   uint64_t die_off, struct hit *hits, size_t nr, struct scopes *scopes)
{
	_cleanup_free_ struct scope_walk *w = calloc(1, sizeof(*w));
	size_t left;
	int r;

	if (!w)
		return -ENOMEM;
	if (!unit->file->context->work_left)
		return -EBADMSG;
	w->unit = unit;
	w->hits = hits;
	w->nr = nr;
	w->found = scopes;
	r = find(w, abbrevs, die_off);
	left = cursor_left(&w->c);
	if (left < unit->end - die_off)
		debug_spend(unit->file, unit->end - die_off - left);
	return r;
}

int scopes_name(struct scopes *s, const struct unit *unit, struct abbrev_cache *abbrevs)
{
	_cleanup_free_ struct unqualified *items = calloc(s->nr + 1, sizeof(*items));
	size_t nr = 0;
	int r;

	if (!items)
		return -ENOMEM;
	for (size_t i = 1; i < s->nr; i++) {
		struct function *f = &s->items[i].function;

		r = function_read(unit, s->items[i].die_off, abbrevs, f);
		if (r < 0)
			return r;
		if (*f->name && !*f->linkage_name)
			items[nr++] = (struct unqualified){f->file, f->unit_off,
							   f->die_off, f->name,
							   &s->items[i].full_name};
	}
	return nr ? names_qualify(items, nr, unit, abbrevs) : 0;
}
