// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/abbrev.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "decode/dwarf/form.h"

static void table_deinit(struct abbrev_table *t)
{
	free(t->items);
	free(t->attrs);
	memset(t, 0, sizeof(*t));
}

void abbrev_cache_deinit(struct abbrev_cache *cache)
{
	for (size_t i = 0; i < ABBREV_CACHE_TABLES; i++)
		table_deinit(&cache->tables[i]);
}

void abbrev_cache_drop(struct abbrev_cache *cache, const struct debug_file *file)
{
	for (size_t i = 0; i < ABBREV_CACHE_TABLES; i++)
		if (cache->tables[i].file == file)
			table_deinit(&cache->tables[i]);
}

/* Reads {name, form}. Return: false at the end of the list. */
static bool read_attr(struct cursor *c, struct form_widths widths,
		      struct abbrev_attr *ret)
{
	uint64_t name = cursor_uleb(c), form = cursor_uleb(c);

	ret->implicit_const = form == DW_FORM_implicit_const ? cursor_sleb(c) : 0;
	if (c->failed || (!name && !form))
		return false;
	/* What does not fit is unknown, and an unknown form fails when it is met. */
	ret->name = name > UINT16_MAX ? 0 : (uint16_t)name;
	ret->form = form > UINT16_MAX ? 0 : (uint16_t)form;
	ret->size = form_fixed_size(ret->form, widths);
	return true;
}

static void note_attr(struct abbrev *a, const struct abbrev_attr *attr)
{
	if (attr->size == ABBREV_VARIABLE || a->size > UINT32_MAX / 2)
		a->size = UINT32_MAX;
	else
		a->size += attr->size;
	if (attr->name == DW_AT_low_pc || attr->name == DW_AT_ranges)
		a->has_pc = true;
	a->nr_attrs++;
}

/* Reads what stands before the attributes. Return: false at the end of the table. */
static bool read_head(struct cursor *c, struct abbrev *ret)
{
	uint64_t tag;

	*ret = (struct abbrev){.code = cursor_uleb(c)};
	if (!ret->code)
		return false;
	tag = cursor_uleb(c);
	ret->tag = tag > UINT16_MAX ? 0 : (uint16_t)tag;
	ret->has_children = cursor_u8(c) != 0;
	return !c->failed;
}

static int compare_codes(const void *a, const void *b)
{
	const struct abbrev *x = a, *y = b;

	return (x->code > y->code) - (x->code < y->code);
}

static void sort_table(struct abbrev_table *t)
{
	bool sorted = true;

	t->dense = true;
	for (size_t i = 0; i < t->nr; i++) {
		t->dense = t->dense && t->items[i].code == i + 1;
		sorted = sorted && (!i || t->items[i - 1].code < t->items[i].code);
	}
	if (!sorted)
		qsort(t->items, t->nr, sizeof(*t->items), compare_codes);
}

static int table_read(struct abbrev_table *t, struct cursor *c)
{
	size_t cap = 0, cap_attrs = 0;
	struct abbrev_attr attr;
	struct abbrev head;
	int r = vec_grow(&t->attrs, &cap_attrs, 1, sizeof(attr), ABBREV_MAX_ATTRS);

	if (r < 0)
		return r;
	while (read_head(c, &head)) {
		head.first_attr = (uint32_t)t->nr_attrs;
		while (read_attr(c, t->widths, &attr)) {
			r = vec_grow(&t->attrs, &cap_attrs, t->nr_attrs + 1, sizeof(attr),
				     ABBREV_MAX_ATTRS);
			if (r < 0)
				return r == -ENOSPC ? -EBADMSG : r;
			t->attrs[t->nr_attrs++] = attr;
			note_attr(&head, &attr);
		}
		r = vec_grow(&t->items, &cap, t->nr + 1, sizeof(head), ABBREV_MAX_CODES);
		if (r < 0)
			return r == -ENOSPC ? -EBADMSG : r;
		t->items[t->nr++] = head;
	}
	if (!t->nr)
		return -EBADMSG;
	sort_table(t);
	return 0;
}

int abbrev_cache_get(struct abbrev_cache *cache, struct debug_file *file, uint64_t off,
		     struct form_widths widths, const struct abbrev_table **ret)
{
	struct abbrev_table *oldest = &cache->tables[0];
	struct cursor c;
	int r;

	for (size_t i = 0; i < ABBREV_CACHE_TABLES; i++) {
		struct abbrev_table *t = &cache->tables[i];

		if (t->file == file && t->off == off &&
		    !memcmp(&t->widths, &widths, sizeof(widths))) {
			t->last_used = ++cache->clock;
			*ret = t;
			return 0;
		}
		if (t->last_used < oldest->last_used)
			oldest = t;
	}
	table_deinit(oldest);
	c = cursor_at(debug_file_section(file, DEBUG_ABBREV), off);
	oldest->widths = widths;
	r = table_read(oldest, &c);
	if (!debug_spend(file, 16 * oldest->nr + oldest->nr_attrs))
		r = r ? r : -EBADMSG;
	if (r < 0) {
		table_deinit(oldest);
		return r;
	}
	oldest->file = file;
	oldest->off = off;
	oldest->last_used = ++cache->clock;
	*ret = oldest;
	return 0;
}

const struct abbrev *abbrev_find(const struct abbrev_table *t, uint64_t code)
{
	size_t low = 0, high = t->nr;

	if (t->dense)
		return code - 1 < t->nr ? &t->items[code - 1] : NULL;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->items[mid].code == code)
			return &t->items[mid];
		if (t->items[mid].code < code)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

int abbrev_read_one(struct debug_file *file, uint64_t off, struct form_widths widths,
		    uint64_t code, struct abbrev *ret, struct abbrev_attr *attrs,
		    size_t max)
{
	struct cursor c = cursor_at(debug_file_section(file, DEBUG_ABBREV), off);
	struct abbrev_attr attr;

	while (read_head(&c, ret)) {
		while (read_attr(&c, widths, &attr)) {
			if (ret->nr_attrs < max)
				attrs[ret->nr_attrs] = attr;
			note_attr(ret, &attr);
		}
		if (!debug_spend(file, 2 + ret->nr_attrs))
			return -EBADMSG;
		if (ret->code == code && !c.failed)
			return ret->nr_attrs <= max ? 0 : -EBADMSG;
	}
	return -EBADMSG;
}
