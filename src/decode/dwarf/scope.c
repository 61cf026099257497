// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/scope.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "decode/dwarf/unit.h"

/* Sets a name, unless it is known: the DIE with the code is read first and wins. */
static void take_name(struct strpool *names, const struct unit *unit,
		      const struct form_value *v, const char **ret)
{
	struct bytes name;

	if (**ret)
		return;
	name = form_string(unit, v, SCOPE_MAX_NAME);
	if (!name.data)
		unit->file->context->stats.nr_dwz_missing++;
	else if (debug_spend(unit->file, name.len))
		*ret = strpool_add_n(names, (const char *)name.data, name.len);
}

static void take_attr(struct strpool *names, const struct unit *unit, uint16_t attr,
		      const struct form_value *v, struct function *ret,
		      struct form_value *next)
{
	uint64_t line;

	switch (attr) {
	case DW_AT_name:
		take_name(names, unit, v, &ret->name);
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		take_name(names, unit, v, &ret->linkage_name);
		break;
	case DW_AT_decl_line:
		line = form_number(v);
		if (!ret->decl_line && line <= UINT32_MAX)
			ret->decl_line = (uint32_t)line;
		break;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		*next = *v;
		break;
	}
}

/* Reads one DIE. Return: 0 (@next.form 0: it was the last one), -EBADMSG, -ENOMEM. */
static int read_one(struct strpool *names, const struct unit *unit, uint64_t off,
		    struct abbrev_cache *abbrevs, struct function *ret,
		    struct form_value *next)
{
	struct bytes info = debug_file_section(unit->file, DEBUG_INFO);
	struct cursor c = cursor_at((struct bytes){info.data, unit->end}, off);
	const struct abbrev_table *table;
	const struct abbrev *abbrev;
	struct form_value value;
	int r;

	*next = (struct form_value){0};
	r = abbrev_cache_get(abbrevs, unit->file, unit->abbrev_off, unit->widths, &table);
	if (r < 0)
		return r;
	abbrev = abbrev_find(table, cursor_uleb(&c));
	if (!abbrev)
		return -EBADMSG;
	for (uint32_t i = 0; i < abbrev->nr_attrs && !c.failed; i++) {
		const struct abbrev_attr *attr = &table->attrs[abbrev->first_attr + i];

		form_read(&c, attr, unit->widths, &value);
		take_attr(names, unit, attr->name, &value, ret, next);
	}
	/* Any number of functions can refer to one DIE. */
	if (!debug_spend(unit->file, (uint64_t)(c.p - info.data) - off))
		return -EBADMSG;
	return c.failed ? -EBADMSG : 0;
}

/* Finds the DIE to which @ref refers. Sets @unit to its unit, @off to its offset. */
static int follow(struct unit *unit, const struct form_value *ref, uint64_t *off)
{
	struct debug_file *file = unit->file;

	switch (ref->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		*off = unit->off + ref->u;
		return *off >= unit->root_off && *off < unit->end ? 0 : -EBADMSG;
	case DW_FORM_ref_addr:
		*off = ref->u;
		if (*off >= unit->root_off && *off < unit->end)
			return 0;
		return unit_find(file, *off, unit);
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		*off = ref->u;
		file = companion_alt(file);
		if (file)
			return unit_find(file, *off, unit);
		unit->file->context->stats.nr_dwz_missing++;
		return -EBADMSG;
	default: /* DW_FORM_ref_sig8 names a type */
		return -EBADMSG;
	}
}

/**
 * Reads the function whose DIE is at @off, and the DIEs to which it refers. What cannot
 * be read stays "" or 0; names in a dwz file that was not found are counted.
 * Return: 0 or -ENOMEM.
 */
static int function_read(struct strpool *names, const struct unit *unit, uint64_t off,
			 struct abbrev_cache *abbrevs, struct function *ret)
{
	struct unit at = *unit;
	struct form_value next;
	int r = 0;

	*ret = (struct function){.name = "", .linkage_name = ""};
	for (int hop = 0; hop < FUNCTION_MAX_HOPS; hop++) {
		r = read_one(names, &at, off, abbrevs, ret, &next);
		ret->file = at.file;
		ret->unit_off = at.off;
		ret->die_off = off;
		if (r < 0 || !next.form || !debug_spend(at.file, 16))
			break;
		r = follow(&at, &next, &off);
		if (r < 0)
			break;
	}
	return r == -ENOMEM ? r : 0;
}

struct qualify_walk {
	struct strpool *names;
	const struct unit *unit;
	struct abbrev_cache *abbrevs;
	const struct abbrev_table *table;
	struct bytes bytes; /* DEBUG_INFO up to the unit's end */
	struct {
		uint64_t off;
		uint16_t tag;
	} around[QUALIFY_MAX_DEPTH];
	size_t depth;
};

static int compare_items(const void *a, const void *b)
{
	const struct unqualified_name *x = a, *y = b;

	if (x->file != y->file)
		return (uintptr_t)x->file > (uintptr_t)y->file ? 1 : -1;
	if (x->unit_off != y->unit_off)
		return x->unit_off > y->unit_off ? 1 : -1;
	return (x->die_off > y->die_off) - (x->die_off < y->die_off);
}

static const char *name_at(const struct qualify_walk *w, uint64_t off)
{
	struct function named = {.name = "", .linkage_name = ""};
	struct form_value next;

	read_one(w->names, w->unit, off, w->abbrevs, &named, &next);
	return named.name;
}

static bool is_qualifier(uint16_t tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* Returns the part of the item's name from DIE number @i around it; NULL: none. */
static const char *part_around(const struct qualify_walk *w, size_t i,
			       const struct unqualified_name *item)
{
	const char *name;

	if (!is_qualifier(w->around[i].tag))
		return NULL;
	name = name_at(w, w->around[i].off);
	if (*name)
		return name;
	if (w->around[i].tag == DW_TAG_namespace)
		return "(anonymous namespace)";
	return strcmp(item->name, "operator()") ? "(anonymous)" : "{lambda}";
}

/* Sets the item's full name, from the DIEs around it, when the walk is at its DIE. */
static void qualify(const struct qualify_walk *w, const struct unqualified_name *item)
{
	char name[QUALIFY_MAX_BYTES];
	size_t len = 0, part_len;

	for (size_t i = 0; i < w->depth; i++) {
		const char *part = part_around(w, i, item);

		if (!part)
			continue;
		part_len = strlen(part);
		if (part_len + 3 > sizeof(name) - len)
			return;
		memcpy(name + len, part, part_len);
		memcpy(name + len + part_len, "::", 2);
		len += part_len + 2;
	}
	part_len = strlen(item->name);
	if (!len || part_len + 1 > sizeof(name) - len)
		return;
	memcpy(name + len, item->name, part_len + 1);
	*item->ret = strpool_add(w->names, name);
}

/* Walks the unit until all of its items, in ascending order, were passed. */
static void walk_unit(struct qualify_walk *w, const struct unqualified_name *items,
		      size_t nr)
{
	struct cursor c = cursor_at(w->bytes, w->unit->root_off);
	size_t next = 0, level = 0;

	while (next < nr && c.p < c.end) {
		uint64_t off = (uint64_t)(c.p - w->bytes.data);
		uint64_t code = cursor_uleb(&c);
		const struct abbrev *abbrev;

		for (; next < nr && items[next].die_off <= off; next++) {
			if (items[next].die_off == off && level <= w->depth)
				qualify(w, &items[next]);
		}
		if (!code) {
			level -= level > 0;
			w->depth = w->depth > level ? level : w->depth;
			continue;
		}
		abbrev = abbrev_find(w->table, code);
		if (!abbrev)
			return;
		form_skip_all(&c, &w->table->attrs[abbrev->first_attr], abbrev,
			      w->unit->widths);
		if (!abbrev->has_children)
			continue;
		if (level == w->depth && w->depth < QUALIFY_MAX_DEPTH) {
			w->around[w->depth].off = off;
			w->around[w->depth++].tag = abbrev->tag;
		}
		level++;
	}
}

static int qualify_unit(struct qualify_walk *w, const struct unqualified_name *items,
			size_t nr, const struct unit *home)
{
	struct unit other;
	int r;

	w->unit = home;
	if (items->file != home->file || items->unit_off != home->off) {
		if (unit_read(items->file, items->unit_off, &other) < 0)
			return 0;
		w->unit = &other;
	}
	if (!debug_spend(w->unit->file, w->unit->end - w->unit->off))
		return 0;
	r = abbrev_cache_get(w->abbrevs, w->unit->file, w->unit->abbrev_off,
			     w->unit->widths, &w->table);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	w->bytes = debug_file_section(w->unit->file, DEBUG_INFO);
	w->bytes.len = w->unit->end;
	w->depth = 0;
	walk_unit(w, items, nr);
	return 0;
}

/**
 * Sets the full names of @items.
 *
 * @items  sorted in place
 * @home   the unit of most of them; it need not be readable by its offset
 * Return: 0 or -ENOMEM.
 */
static int names_qualify(struct strpool *names, struct unqualified_name *items, size_t nr,
			 const struct unit *home, struct abbrev_cache *abbrevs)
{
	_cleanup_free_ struct qualify_walk *w = calloc(1, sizeof(*w));
	int r = 0;

	if (!w)
		return -ENOMEM;
	w->names = names;
	w->abbrevs = abbrevs;
	qsort(items, nr, sizeof(*items), compare_items);
	for (size_t i = 0, end; i < nr && r == 0; i = end) {
		for (end = i + 1; end < nr && items[end].file == items[i].file &&
				  items[end].unit_off == items[i].unit_off;
		     end++)
			;
		r = qualify_unit(w, &items[i], end - i, home);
	}
	return r;
}

/* Finds the start of list number @index, in the array of offsets before the lists. */
static bool indexed_list(const struct unit *u, struct bytes lists, uint64_t index,
			 uint64_t *ret)
{
	uint8_t size = u->widths.offset_size;
	struct cursor c;

	if (index > lists.len)
		return false;
	c = cursor_at(lists, u->rnglists_base + index * size);
	*ret = u->rnglists_base + cursor_uint(&c, size);
	return !c.failed;
}

static void start_list(struct pc_ranges *it, const struct form_value *ranges)
{
	const struct unit *u = it->unit;
	struct debug_file *file = u->file;
	struct bytes lists;
	uint64_t off = ranges->u;

	it->base = unit_base_address(u);
	if (u->widths.version >= 5) {
		it->kind = PC_RANGES_V5;
		lists = debug_file_section(file, DEBUG_RNGLISTS);
		if (ranges->form == DW_FORM_rnglistx &&
		    !indexed_list(u, lists, ranges->u, &off))
			off = UINT64_MAX;
	} else {
		it->kind = PC_RANGES_V3;
		if (u->skeleton) { /* GNU's split DWARF 4 keeps them in the main file */
			file = u->skeleton->file;
			off += u->skeleton->ranges_base;
		}
		lists = debug_file_section(file, DEBUG_RANGES);
	}
	it->list = cursor_at(lists, off);
}

void pc_ranges_start(struct pc_ranges *it, const struct unit *unit,
		     const struct form_value *low_pc, const struct form_value *high_pc,
		     const struct form_value *ranges)
{
	uint64_t low, high;

	*it = (struct pc_ranges){.unit = unit, .kind = PC_RANGES_NONE};
	if (ranges->form) {
		start_list(it, ranges);
		return;
	}
	if (!form_address(unit, low_pc, &low))
		return;
	if (!high_pc->form)
		high = low + 1;
	else if (!form_is_address(high_pc->form))
		high = low + form_number(high_pc);
	else if (!form_address(unit, high_pc, &high))
		return;
	it->kind = PC_RANGES_SINGLE;
	it->single = (struct addr_range){low, high};
}

/* Reads one pair of .debug_ranges. Return: false at the end of the list. */
static bool next_v3(struct pc_ranges *it, struct addr_range *ret)
{
	uint8_t size = it->unit->widths.addr_size;
	uint64_t start = cursor_uint(&it->list, size);
	uint64_t end = cursor_uint(&it->list, size);
	uint64_t select = size == 8 ? UINT64_MAX : UINT32_MAX;

	*ret = (struct addr_range){0, 0};
	if (it->list.failed || (!start && !end))
		return false;
	if (start == select)
		it->base = end;
	else
		*ret = (struct addr_range){it->base + start, it->base + end};
	return true;
}

static uint64_t indexed(struct pc_ranges *it)
{
	uint64_t address = 0;

	if (!unit_indexed_address(it->unit, cursor_uleb(&it->list), &address))
		cursor_fail(&it->list);
	return address;
}

/* Reads one entry of .debug_rnglists; it may be empty. Return: false at the end. */
static bool next_v5(struct pc_ranges *it, struct addr_range *ret)
{
	uint8_t size = it->unit->widths.addr_size;
	uint8_t kind = cursor_u8(&it->list);

	*ret = (struct addr_range){0, 0};
	switch (kind) {
	case DW_RLE_base_addressx:
		it->base = indexed(it);
		break;
	case DW_RLE_startx_endx:
		ret->start = indexed(it);
		ret->end = indexed(it);
		break;
	case DW_RLE_startx_length:
		ret->start = indexed(it);
		ret->end = ret->start + cursor_uleb(&it->list);
		break;
	case DW_RLE_offset_pair:
		ret->start = it->base + cursor_uleb(&it->list);
		ret->end = it->base + cursor_uleb(&it->list);
		break;
	case DW_RLE_base_address:
		it->base = cursor_uint(&it->list, size);
		break;
	case DW_RLE_start_end:
		ret->start = cursor_uint(&it->list, size);
		ret->end = cursor_uint(&it->list, size);
		break;
	case DW_RLE_start_length:
		ret->start = cursor_uint(&it->list, size);
		ret->end = ret->start + cursor_uleb(&it->list);
		break;
	case DW_RLE_end_of_list:
		return false;
	default:
		cursor_fail(&it->list);
	}
	return !it->list.failed;
}

static bool next_any(struct pc_ranges *it, struct addr_range *ret)
{
	bool more = false;

	switch (it->kind) {
	case PC_RANGES_SINGLE:
		*ret = it->single;
		it->kind = PC_RANGES_NONE;
		return true;
	case PC_RANGES_V3:
		more = next_v3(it, ret);
		break;
	case PC_RANGES_V5:
		more = next_v5(it, ret);
		break;
	case PC_RANGES_NONE:
		break;
	}
	it->failed = it->list.failed;
	return more;
}

bool pc_ranges_next(struct pc_ranges *it, struct addr_range *ret)
{
	const struct unit *u = it->unit;
	/* Ranges of code are in the program's own file, not in a split one. */
	const struct debug_file *program = u->skeleton ? u->skeleton->file : u->file;

	while (next_any(it, ret)) {
		if (!debug_spend(u->file, 1))
			return false;
		if (ret->start < ret->end && debug_file_is_code(program, ret->start))
			return true;
	}
	return false;
}

struct scope_walk {
	const struct unit *unit;
	const struct abbrev_table *table;
	struct address_hit *hits;
	size_t nr;
	struct scopes *found;
	struct cursor c;
	uint32_t around[SCOPE_MAX_DEPTH]; /* scope that holds the children of a level */
	size_t depth;
};

void scopes_deinit(struct scopes *s)
{
	strpool_free(s->names);
	free(s->items);
	free(s->ranges);
	*s = (struct scopes){0};
}

/* Attributes of a function or an inlined call. */
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
	for (uint32_t i = 0; i < abbrev->nr_attrs && !w->c.failed; i++) {
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
 * Gives the hits in the DIE's ranges to its scope. An inlined call takes them only from
 * the scope around it, so that a chain is always one path of the tree. Of two functions
 * at one address (folded code), the first gets the hits.
 * Return: the number of the scope, 0 if it has no hits, or -ENOMEM.
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

		for (size_t i = SEARCH_FIRST(k, w->nr, w->hits[k].vaddr >= range.start);
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
	size_t beyond = 0; /* levels deeper than SCOPE_MAX_DEPTH */
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

/*
 * Walks the DIE at @off and those in it.
 * @ret_left  bytes of the unit after the end of the walk
 */
static int find(const struct unit *unit, struct abbrev_cache *abbrevs, uint64_t off,
		struct address_hit *hits, size_t nr, struct scopes *scopes,
		uint64_t *ret_left)
{
	_cleanup_free_ struct scope_walk *w = calloc(1, sizeof(*w));
	struct bytes info = debug_file_section(unit->file, DEBUG_INFO);
	int r;

	if (!w)
		return -ENOMEM;
	w->unit = unit;
	w->hits = hits;
	w->nr = nr;
	w->found = scopes;
	w->c = cursor_at((struct bytes){info.data, unit->end}, off);
	r = abbrev_cache_get(abbrevs, unit->file, unit->abbrev_off, unit->widths,
			     &w->table);
	if (r == 0)
		r = walk(w, info.data);
	*ret_left = cursor_left(&w->c);
	return r;
}

int scopes_find(const struct unit *unit, struct abbrev_cache *abbrevs,
		struct address_hit *hits, size_t nr, struct scopes *ret)
{
	struct scope none = {0};
	uint64_t left;

	ret->nr = ret->nr_ranges = 0;
	if (add_scope(ret, &none) < 0)
		return -ENOMEM;
	if (!debug_spend(unit->file, unit->end - unit->root_off))
		return -EBADMSG;
	return find(unit, abbrevs, unit->root_off, hits, nr, ret, &left);
}

int scopes_find_in(const struct unit *unit, struct abbrev_cache *abbrevs,
		   uint64_t die_off, struct address_hit *hits, size_t nr,
		   struct scopes *scopes)
{
	uint64_t left = UINT64_MAX;
	int r;

	if (!unit->file->context->work_left)
		return -EBADMSG;
	r = find(unit, abbrevs, die_off, hits, nr, scopes, &left);
	if (left < unit->end - die_off)
		debug_spend(unit->file, unit->end - die_off - left);
	return r;
}

int scopes_name(struct scopes *s, const struct unit *unit, struct abbrev_cache *abbrevs)
{
	_cleanup_free_ struct unqualified_name *items = calloc(s->nr + 1, sizeof(*items));
	size_t nr = 0;
	int r;

	s->names = strpool_new(SCOPE_MAX_NAME_BYTES);
	if (!items || !s->names)
		return -ENOMEM;
	for (size_t i = 1; i < s->nr; i++) {
		struct function *f = &s->items[i].function;

		r = function_read(s->names, unit, s->items[i].die_off, abbrevs, f);
		if (r < 0)
			return r;
		if (*f->name && !*f->linkage_name)
			items[nr++] = (struct unqualified_name){
				f->file, f->unit_off, f->die_off, f->name, &f->name};
	}
	r = nr ? names_qualify(s->names, items, nr, unit, abbrevs) : 0;
	return r == 0 && strpool_nr_dropped(s->names) ? -ENOMEM : r;
}
