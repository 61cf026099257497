// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/qualify.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct qualify_walk {
	const struct unit *unit;
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
	const struct unqualified *x = a, *y = b;

	if (x->file != y->file)
		return (uintptr_t)x->file > (uintptr_t)y->file ? 1 : -1;
	if (x->unit_off != y->unit_off)
		return x->unit_off > y->unit_off ? 1 : -1;
	return (x->die_off > y->die_off) - (x->die_off < y->die_off);
}

static const char *name_at(const struct qualify_walk *w, uint64_t off)
{
	struct cursor c = cursor_at(w->bytes, off);
	const struct abbrev *abbrev = abbrev_find(w->table, cursor_uleb(&c));
	struct form_value v;
	const char *name;

	for (uint32_t i = 0; abbrev && i < abbrev->nr_attrs && !c.failed; i++) {
		const struct abbrev_attr *attr = &w->table->attrs[abbrev->first_attr + i];

		form_read(&c, attr, w->unit->widths, &v);
		if (attr->name == DW_AT_name) {
			name = form_string(w->unit, &v);
			return name ? name : "";
		}
	}
	return "";
}

static bool is_qualifier(uint16_t tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* What DIE number @i around the item contributes; NULL: nothing. */
static const char *part_around(const struct qualify_walk *w, size_t i,
			       const struct unqualified *item)
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

/* The walk stands before the item's DIE: names what is around it. */
static int qualify(const struct qualify_walk *w, const struct unqualified *item)
{
	char name[QUALIFY_MAX_BYTES];
	size_t len = 0, part_len;

	for (size_t i = 0; i < w->depth; i++) {
		const char *part = part_around(w, i, item);

		if (!part)
			continue;
		part_len = strlen(part);
		if (part_len + 3 > sizeof(name) - len)
			return 0;
		memcpy(name + len, part, part_len);
		memcpy(name + len + part_len, "::", 2);
		len += part_len + 2;
	}
	part_len = strlen(item->name);
	if (!len || part_len + 1 > sizeof(name) - len)
		return 0;
	memcpy(name + len, item->name, part_len + 1);
	*item->ret = strdup(name);
	return *item->ret ? 0 : -ENOMEM;
}

/* Walks the unit until all of its items, in ascending order, were passed. */
static int walk_unit(struct qualify_walk *w, const struct unqualified *items, size_t nr)
{
	struct cursor c = cursor_at(w->bytes, w->unit->root_off);
	size_t next = 0, level = 0;
	int r;

	while (next < nr && c.p < c.end) {
		uint64_t off = (uint64_t)(c.p - w->bytes.data);
		uint64_t code = cursor_uleb(&c);
		const struct abbrev *abbrev;

		for (; next < nr && items[next].die_off <= off; next++) {
			if (items[next].die_off != off || level > w->depth)
				continue;
			r = qualify(w, &items[next]);
			if (r < 0)
				return r;
		}
		if (!code) {
			level -= level > 0;
			w->depth = w->depth > level ? level : w->depth;
			continue;
		}
		abbrev = abbrev_find(w->table, code);
		if (!abbrev)
			return 0;
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
	return 0;
}

static int qualify_unit(struct qualify_walk *w, const struct unqualified *items,
			size_t nr, const struct unit *home, struct abbrev_cache *abbrevs)
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
	r = abbrev_cache_get(abbrevs, w->unit->file, w->unit->abbrev_off, w->unit->widths,
			     &w->table);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	w->bytes = debug_file_section(w->unit->file, DEBUG_INFO);
	w->bytes.len = w->unit->end;
	w->depth = 0;
	return walk_unit(w, items, nr);
}

int names_qualify(struct unqualified *items, size_t nr, const struct unit *home,
		  struct abbrev_cache *abbrevs)
{
	_cleanup_free_ struct qualify_walk *w = calloc(1, sizeof(*w));
	int r = 0;

	if (!w)
		return -ENOMEM;
	qsort(items, nr, sizeof(*items), compare_items);
	for (size_t i = 0, end; i < nr && r == 0; i = end) {
		for (end = i + 1; end < nr && items[end].file == items[i].file &&
				  items[end].unit_off == items[i].unit_off;
		     end++)
			;
		r = qualify_unit(w, &items[i], end - i, home, abbrevs);
	}
	return r;
}
