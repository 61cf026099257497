// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/search.h"
#include "base/vec.h"

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
	/* Larger numbers are unknown; reading an unknown form fails. */
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

/* Reads a description up to its attributes. Return: false at the end of the table. */
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

/*
 * Values of no bytes (flags, constants) are dropped unless a reader needs them, as are
 * repeated ones: a DIE of one byte could have any number of them.
 * @seen  of this description
 */
static bool is_kept(const struct abbrev_attr *attr, unsigned int *seen)
{
	static const uint16_t needed[] = {DW_AT_high_pc, DW_AT_ranges, DW_AT_decl_line,
					  DW_AT_call_file, DW_AT_call_line};

	if (attr->size)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (attr->name == needed[i] && !(*seen & 1U << i)) {
			*seen |= 1U << i;
			return true;
		}
	return false;
}

static int table_read(struct abbrev_table *t, struct debug_file *file, struct cursor *c)
{
	size_t cap = 0, cap_attrs = 0;
	struct abbrev_attr attr;
	struct abbrev head;
	int r = vec_grow(&t->attrs, &cap_attrs, 1, sizeof(attr), ABBREV_MAX_ATTRS);

	if (r < 0)
		return r;
	while (read_head(c, &head)) {
		unsigned int seen = 0;

		if (!debug_spend(file, 16))
			return -EBADMSG;
		head.first_attr = (uint32_t)t->nr_attrs;
		while (read_attr(c, t->widths, &attr)) {
			if (!debug_spend(file, 1))
				return -EBADMSG;
			if (!is_kept(&attr, &seen))
				continue;
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
	r = table_read(oldest, file, &c);
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
	size_t at;

	if (t->dense)
		return code - 1 < t->nr ? &t->items[code - 1] : NULL;
	at = SEARCH_FIRST(i, t->nr, t->items[i].code >= code);
	return at < t->nr && t->items[at].code == code ? &t->items[at] : NULL;
}

/**
 * Reads only the description of @code, not into the cache: for the root of each unit.
 * At most @max attributes are stored in @attrs.
 * Return: 0, -EBADMSG.
 */
static int abbrev_read_one(struct debug_file *file, uint64_t off,
			   struct form_widths widths, uint64_t code, struct abbrev *ret,
			   struct abbrev_attr *attrs, size_t max)
{
	struct cursor c = cursor_at(debug_file_section(file, DEBUG_ABBREV), off);
	struct abbrev_attr attr;

	while (read_head(&c, ret)) {
		if (!debug_spend(file, 2))
			return -EBADMSG;
		while (read_attr(&c, widths, &attr)) {
			if (!debug_spend(file, 1))
				return -EBADMSG;
			if (ret->nr_attrs < max)
				attrs[ret->nr_attrs] = attr;
			note_attr(ret, &attr);
		}
		if (ret->code == code && !c.failed)
			return ret->nr_attrs <= max ? 0 : -EBADMSG;
	}
	return -EBADMSG;
}

uint8_t form_fixed_size(uint16_t form, struct form_widths w)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return w.addr_size;
	case DW_FORM_ref_addr: /* DWARF 2 made it an address */
		return w.version <= 2 ? w.addr_size : w.offset_size;
	case DW_FORM_sec_offset:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return w.offset_size;
	default:
		return ABBREV_VARIABLE;
	}
}

static void read_block(struct cursor *c, uint64_t len, struct form_value *ret)
{
	ret->u = len;
	ret->block = c->p;
	cursor_skip(c, len);
}

static void read_variable(struct cursor *c, uint16_t form, struct form_value *ret)
{
	struct bytes text;

	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		ret->u = cursor_uleb(c);
		break;
	case DW_FORM_sdata:
		ret->u = (uint64_t)cursor_sleb(c);
		break;
	case DW_FORM_string:
		text = cursor_str(c);
		ret->block = text.data;
		ret->u = text.len;
		break;
	case DW_FORM_block1:
		read_block(c, cursor_u8(c), ret);
		break;
	case DW_FORM_block2:
		read_block(c, cursor_u16(c), ret);
		break;
	case DW_FORM_block4:
		read_block(c, cursor_u32(c), ret);
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		read_block(c, cursor_uleb(c), ret);
		break;
	default:
		cursor_fail(c);
	}
}

void form_read(struct cursor *c, const struct abbrev_attr *attr, struct form_widths w,
	       struct form_value *ret)
{
	uint16_t form = attr->form;
	uint8_t size = attr->size;

	if (form == DW_FORM_indirect) {
		uint64_t real = cursor_uleb(c);

		/* No compiler writes an indirect form of these. */
		if (real > UINT16_MAX || real == DW_FORM_indirect ||
		    real == DW_FORM_implicit_const)
			cursor_fail(c);
		form = (uint16_t)real;
		size = form_fixed_size(form, w);
	}
	*ret = (struct form_value){.form = form};
	if (form == DW_FORM_implicit_const)
		ret->u = (uint64_t)attr->implicit_const;
	else if (form == DW_FORM_flag_present)
		ret->u = 1;
	else if (size == ABBREV_VARIABLE)
		read_variable(c, form, ret);
	else if (size <= 8)
		ret->u = cursor_uint(c, size);
	else
		read_block(c, size, ret);
}

void form_skip(struct cursor *c, const struct abbrev_attr *attr, struct form_widths w)
{
	struct form_value ignored;

	if (attr->size != ABBREV_VARIABLE)
		cursor_skip(c, attr->size);
	else
		form_read(c, attr, w, &ignored);
}

void form_skip_all(struct cursor *c, const struct abbrev_attr *attrs,
		   const struct abbrev *abbrev, struct form_widths w)
{
	if (abbrev->size != UINT32_MAX) {
		cursor_skip(c, abbrev->size);
		return;
	}
	for (uint32_t i = 0; i < abbrev->nr_attrs && !c->failed; i++)
		form_skip(c, &attrs[i], w);
}

bool form_is_address(uint16_t form)
{
	switch (form) {
	case DW_FORM_addr:
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return true;
	default:
		return false;
	}
}

bool form_address(const struct unit *unit, const struct form_value *v, uint64_t *ret)
{
	if (!form_is_address(v->form))
		return false;
	if (v->form != DW_FORM_addr)
		return unit_indexed_address(unit, v->u, ret);
	*ret = v->u;
	return true;
}

static const struct bytes no_string = {(const uint8_t *)"", 0};

static struct bytes string_at(struct debug_file *file, enum debug_section section,
			      uint64_t off, size_t max)
{
	struct cursor c = cursor_at(debug_file_section(file, section), off);
	uint64_t left = cursor_left(&c);
	size_t len = strnlen((const char *)c.p, left < max ? left : max);

	return len < left ? (struct bytes){c.p, len} : no_string;
}

static struct bytes indexed_string(const struct unit *unit, uint64_t index, size_t max)
{
	struct bytes offsets = debug_file_section(unit->file, DEBUG_STR_OFFSETS);
	uint8_t size = unit->widths.offset_size;
	struct cursor c;
	uint64_t off;

	if (index > offsets.len)
		return no_string;
	c = cursor_at(offsets, unit->str_offsets_base + index * size);
	off = cursor_uint(&c, size);
	return c.failed ? no_string : string_at(unit->file, DEBUG_STR, off, max);
}

struct bytes form_string(const struct unit *unit, const struct form_value *v, size_t max)
{
	struct debug_file *alt;

	switch (v->form) {
	case DW_FORM_string:
		return (struct bytes){v->block, v->u < max ? v->u : max};
	case DW_FORM_strp:
		return string_at(unit->file, DEBUG_STR, v->u, max);
	case DW_FORM_line_strp:
		return string_at(unit->file, DEBUG_LINE_STR, v->u, max);
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		alt = companion_alt(unit->file);
		return alt ? string_at(alt, DEBUG_STR, v->u, max) : (struct bytes){0};
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return indexed_string(unit, v->u, max);
	default:
		return no_string;
	}
}

uint64_t form_number(const struct form_value *v)
{
	switch (v->form) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
	case DW_FORM_flag:
	case DW_FORM_flag_present:
	case DW_FORM_sec_offset:
		return v->u;
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
		return (int64_t)v->u < 0 ? UINT64_MAX : v->u;
	default:
		return UINT64_MAX;
	}
}

/* Reads the rest of a DWARF 5 header, which depends on the type of unit. */
static void read_header_5(struct cursor *c, struct unit *u)
{
	u->type = cursor_u8(c);
	u->widths.addr_size = cursor_u8(c);
	u->abbrev_off = cursor_uint(c, u->widths.offset_size);
	if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile) {
		u->dwo_id = cursor_u64(c);
		u->has_dwo_id = true;
	} else if (u->type == DW_UT_type || u->type == DW_UT_split_type) {
		cursor_skip(c, 8 + u->widths.offset_size);
	}
}

/* If the root has no base of a table, the table begins after its header. */
static void default_bases(struct unit *u)
{
	bool wide = u->widths.offset_size == 8;

	if (u->widths.version < 5)
		return;
	u->str_offsets_base = wide ? 16 : 8;
	u->addr_base = wide ? 16 : 8;
	u->rnglists_base = wide ? 20 : 12;
}

/**
 * Reads the header at @off of the file's DEBUG_INFO.
 * Return: 0 (also when it is of an unknown version: only off, end, known), or
 * -EBADMSG when nothing after @off can be found.
 */
static int unit_read_header(struct debug_file *file, uint64_t off, struct unit *u)
{
	struct bytes info = debug_file_section(file, DEBUG_INFO);
	struct cursor c = cursor_at(info, off);
	uint64_t len;

	*u = (struct unit){.file = file, .off = off};
	len = cursor_initial_length(&c, &u->widths.offset_size);
	if (c.failed || !len)
		return -EBADMSG;
	u->end = (uint64_t)(c.p - info.data) + len;
	c.end = c.p + len;
	u->widths.version = cursor_version(&c);
	if (u->widths.version >= 2 && u->widths.version <= 4) {
		u->type = DW_UT_compile;
		u->abbrev_off = cursor_uint(&c, u->widths.offset_size);
		u->widths.addr_size = cursor_u8(&c);
	} else if (u->widths.version == 5) {
		read_header_5(&c, u);
	} else {
		return 0;
	}
	u->root_off = (uint64_t)(c.p - info.data);
	u->known = !c.failed && (u->widths.addr_size == 8 || u->widths.addr_size == 4);
	default_bases(u);
	return 0;
}

static void note_root_attr(struct unit *u, uint16_t name, const struct form_value *v)
{
	switch (name) {
	case DW_AT_low_pc:
		u->low_pc = *v;
		break;
	case DW_AT_high_pc:
		u->high_pc = *v;
		break;
	case DW_AT_ranges:
		u->ranges = *v;
		break;
	case DW_AT_comp_dir:
		u->comp_dir = *v;
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		u->dwo_name = *v;
		break;
	case DW_AT_GNU_dwo_id:
		u->dwo_id = v->u;
		u->has_dwo_id = true;
		break;
	case DW_AT_stmt_list:
		u->stmt_list = v->u;
		u->has_stmt_list = form_number(v) != UINT64_MAX;
		break;
	case DW_AT_str_offsets_base:
		u->str_offsets_base = v->u;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		u->addr_base = v->u;
		break;
	case DW_AT_rnglists_base:
		u->rnglists_base = v->u;
		break;
	case DW_AT_GNU_ranges_base:
		u->ranges_base = v->u;
		break;
	}
}

/** Reads the root DIE's attributes, after the header. Return: 0 or -EBADMSG. */
static int unit_read_root(struct unit *u)
{
	struct bytes info = debug_file_section(u->file, DEBUG_INFO);
	struct cursor c = cursor_at((struct bytes){info.data, u->end}, u->root_off);
	struct abbrev_attr attrs[UNIT_MAX_ROOT_ATTRS];
	struct form_value value;
	struct abbrev abbrev;
	uint64_t code;
	int r;

	code = cursor_uleb(&c);
	if (c.failed || !code)
		return -EBADMSG;
	r = abbrev_read_one(u->file, u->abbrev_off, u->widths, code, &abbrev, attrs,
			    ARRAY_SIZE(attrs));
	if (r < 0)
		return r;
	u->tag = abbrev.tag;
	for (uint32_t i = 0; i < abbrev.nr_attrs; i++) {
		form_read(&c, &attrs[i], u->widths, &value);
		note_root_attr(u, attrs[i].name, &value);
	}
	return c.failed ? -EBADMSG : 0;
}

int unit_read(struct debug_file *file, uint64_t off, struct unit *ret)
{
	int r = unit_read_header(file, off, ret);

	if (r < 0)
		return r;
	return ret->known ? unit_read_root(ret) : -EBADMSG;
}

int unit_index(struct debug_file *f)
{
	struct bytes info = debug_file_section(f, DEBUG_INFO);
	struct unit u;
	int r;

	if (f->units_indexed)
		return 0;
	f->units_indexed = true;
	for (uint64_t off = 0; off < info.len; off = u.end) {
		if (!debug_spend(f, 16) || unit_read_header(f, off, &u) < 0) {
			f->units_damaged = true;
			log_debug("no unit at %#llx of .debug_info, skipping the rest",
				  (unsigned long long)off);
			return 0;
		}
		r = vec_grow(&f->units, &f->cap_units, f->nr_units + 1, sizeof(*f->units),
			     DEBUG_MAX_UNITS);
		if (r == -ENOSPC) {
			f->units_damaged = true;
			return 0;
		}
		if (r < 0)
			return r;
		f->units[f->nr_units++] = off;
	}
	return 0;
}

int unit_find(struct debug_file *f, uint64_t off, struct unit *ret)
{
	int r = unit_index(f);
	size_t above;

	if (r < 0)
		return r;
	above = SEARCH_FIRST(i, f->nr_units, f->units[i] > off);
	if (!above)
		return -EBADMSG;
	r = unit_read(f, f->units[above - 1], ret);
	if (r < 0)
		return r;
	return off >= ret->root_off && off < ret->end ? 0 : -EBADMSG;
}

bool unit_indexed_address(const struct unit *unit, uint64_t index, uint64_t *ret)
{
	const struct unit *owner = unit->skeleton ? unit->skeleton : unit;
	struct bytes table = debug_file_section(owner->file, DEBUG_ADDR);
	struct cursor c;

	if (index > table.len)
		return false;
	c = cursor_at(table, owner->addr_base + index * owner->widths.addr_size);
	*ret = cursor_uint(&c, owner->widths.addr_size);
	return !c.failed;
}

uint64_t unit_base_address(const struct unit *unit)
{
	const struct unit *owner = unit->skeleton ? unit->skeleton : unit;
	uint64_t base;

	return form_address(owner, &owner->low_pc, &base) ? base : 0;
}

/* Requests a file and opens it. Return: 0, -ENOENT, -ENOMEM. */
static int ask(struct debug_context *context, const struct need *need,
	       enum debug_file_kind kind, struct debug_file **ret)
{
	_cleanup_close_ int fd = -1;
	_cleanup_(binary_freep) struct binary *binary = NULL;
	int r;

	if (!context->need)
		return -ENOENT;
	fd = context->need(context->need_ctx, need);
	if (fd < 0)
		return -ENOENT;
	r = binary_open(fd, &binary);
	if (r == 0)
		r = debug_file_open(binary, kind, context, ret);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	take_ptr(binary);
	(*ret)->owns_binary = true;
	return 0;
}

struct debug_file *companion_alt(struct debug_file *f)
{
	_cleanup_(debug_file_freep) struct debug_file *alt = NULL;
	_cleanup_free_ struct need *need = NULL;
	struct bytes name, id;

	if (f->alt_tried)
		return f->alt;
	f->alt_tried = true;
	need = calloc(1, sizeof(*need));
	if (!need || !debug_file_altlink(f, &name, &id) || name.len >= sizeof(need->name))
		return NULL;
	need->kind = NEED_DWZ;
	memcpy(need->build_id, id.data, id.len);
	need->build_id_len = id.len;
	memcpy(need->name, name.data, name.len);
	if (ask(f->context, need, DEBUG_FILE_DWZ, &alt) < 0) {
		log_debug("dwz file %s not found, skipping", need->name);
		return NULL;
	}
	if (alt->binary->build_id_len != need->build_id_len ||
	    memcmp(alt->binary->build_id, need->build_id, need->build_id_len) != 0) {
		log_debug("dwz file %s has another build id, skipping", need->name);
		return NULL;
	}
	f->alt = take_ptr(alt);
	return f->alt;
}

/* Offsets of the parts of one split unit in the sections of a .dwp. */
struct contribution {
	uint64_t info, abbrev, str_offsets, rnglists;
};

static void note_column(struct contribution *ret, uint32_t version, uint32_t id,
			uint32_t off)
{
	/* DWARF 5, table 7.1; GNU's version 2 differs only in unused sections. */
	if (id == DW_SECT_INFO)
		ret->info = off;
	else if (id == DW_SECT_ABBREV)
		ret->abbrev = off;
	else if (id == DW_SECT_STR_OFFSETS)
		ret->str_offsets = off;
	else if (id == DW_SECT_RNGLISTS && version >= 5)
		ret->rnglists = off;
}

/*
 * Returns the row, from 1, of @dwo_id in the open-addressed hash table (DWARF 5,
 * 7.3.5.3); 0: it is not there.
 */
static uint32_t index_row(struct debug_file *dwp, struct bytes index, uint32_t slots,
			  uint64_t dwo_id)
{
	uint64_t mask = slots - 1, slot = dwo_id & mask;
	uint64_t step = ((dwo_id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < slots && debug_spend(dwp, 1); i++) {
		struct cursor hash = cursor_at(index, 16 + 8 * slot);
		struct cursor row = cursor_at(index, 16 + 8ULL * slots + 4 * slot);
		uint64_t found = cursor_u64(&hash);
		uint32_t n = cursor_u32(&row);

		if (!n || hash.failed || row.failed)
			return 0;
		if (found == dwo_id)
			return n;
		slot = (slot + step) & mask;
	}
	return 0;
}

static bool find_contribution(struct debug_file *dwp, uint64_t dwo_id,
			      struct contribution *ret)
{
	struct bytes index = debug_file_section(dwp, DEBUG_CU_INDEX);
	struct cursor c = cursor_at(index, 0), ids, offs;
	uint32_t version = cursor_u32(&c), columns = cursor_u32(&c);
	uint32_t units = cursor_u32(&c), slots = cursor_u32(&c);
	uint64_t tables = 16 + 12ULL * slots;
	uint32_t row;

	if ((version & UINT16_MAX) == 5) /* of DWARF 5, the other half is reserved */
		version = 5;
	if (c.failed || (version != 2 && version != 5) || !slots ||
	    (slots & (slots - 1)) || columns > 16)
		return false;
	row = index_row(dwp, index, slots, dwo_id);
	if (!row || row > units)
		return false;
	ids = cursor_at(index, tables);
	offs = cursor_at(index, tables + 4ULL * columns * row);
	*ret = (struct contribution){0};
	for (uint32_t i = 0; i < columns; i++)
		note_column(ret, version, cursor_u32(&ids), cursor_u32(&offs));
	return !ids.failed && !offs.failed;
}

/* Reads the unit at @at->info as the split unit of @skeleton. */
static bool read_split(struct debug_file *file, const struct contribution *at,
		       const struct unit *skeleton, struct unit *ret)
{
	if (unit_read_header(file, at->info, ret) < 0 || !ret->known)
		return false;
	ret->abbrev_off += at->abbrev;
	ret->str_offsets_base += at->str_offsets;
	ret->rnglists_base += at->rnglists;
	ret->skeleton = skeleton;
	if (ret->type == DW_UT_type || ret->type == DW_UT_split_type ||
	    unit_read_root(ret) < 0)
		return false;
	return ret->has_dwo_id && ret->dwo_id == skeleton->dwo_id;
}

static bool split_from_dwp(const struct unit *skeleton, struct unit *ret)
{
	struct debug_file *file = skeleton->file;
	struct contribution at;
	uint64_t info_bytes;

	if (!file->dwp_tried) {
		_cleanup_free_ struct need *need = calloc(1, sizeof(*need));

		file->dwp_tried = true;
		if (need) {
			need->kind = NEED_DWP;
			(void)ask(file->context, need, DEBUG_FILE_SPLIT, &file->dwp);
		}
	}
	if (!file->dwp || !find_contribution(file->dwp, skeleton->dwo_id, &at))
		return false;
	/* The index has the low 32 bits of offsets. The id tells the unit. */
	info_bytes = debug_file_section(file->dwp, DEBUG_INFO).len;
	for (; at.info < info_bytes; at.info += 1ULL << 32)
		if (read_split(file->dwp, &at, skeleton, ret))
			return true;
	return false;
}

static bool split_from_section(struct debug_file *dwo, const struct unit *skeleton,
			       struct unit *ret)
{
	struct contribution at = {0};

	for (;;) {
		if (read_split(dwo, &at, skeleton, ret))
			return true;
		if (ret->end <= at.info || !debug_spend(dwo, 16))
			return false;
		at.info = ret->end;
	}
}

/* A .dwo has one compile unit, and type units before or after it. */
static bool split_from_dwo(struct debug_file *dwo, const struct unit *skeleton,
			   struct unit *ret)
{
	do {
		if (split_from_section(dwo, skeleton, ret))
			return true;
	} while (debug_spend(dwo, 16) && debug_file_next_info(dwo));
	return false;
}

int companion_split_unit(const struct unit *skeleton, struct debug_file **ret_file,
			 struct unit *ret)
{
	_cleanup_(debug_file_freep) struct debug_file *dwo = NULL;
	_cleanup_free_ struct need *need = NULL;
	struct bytes name, dir;
	int r;

	if (!skeleton->has_dwo_id)
		return -ENOENT;
	if (split_from_dwp(skeleton, ret)) {
		*ret_file = NULL;
		return 0;
	}
	need = calloc(1, sizeof(*need));
	if (!need)
		return -ENOMEM;
	name = form_string(skeleton, &skeleton->dwo_name, sizeof(need->name));
	dir = form_string(skeleton, &skeleton->comp_dir, sizeof(need->comp_dir));
	if (!name.len || name.len >= sizeof(need->name))
		return -ENOENT;
	need->kind = NEED_DWO;
	memcpy(need->name, name.data, name.len);
	if (dir.len && dir.len < sizeof(need->comp_dir))
		memcpy(need->comp_dir, dir.data, dir.len);
	r = ask(skeleton->file->context, need, DEBUG_FILE_SPLIT, &dwo);
	if (r < 0) {
		log_debug("split debug file %s not found, skipping", need->name);
		return r;
	}
	if (!split_from_dwo(dwo, skeleton, ret)) {
		log_debug("split debug file %s is of another build, skipping",
			  need->name);
		return -ENOENT;
	}
	*ret_file = take_ptr(dwo);
	return 0;
}
