// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/unit.h"

#include <dwarf.h>
#include <errno.h>

#include "base/log.h"
#include "base/vec.h"

/* The rest of a DWARF 5 header: what stands behind depends on the type of unit. */
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

/* Where the tables begin when the root does not say: behind a header of their own. */
static void default_bases(struct unit *u)
{
	bool wide = u->widths.offset_size == 8;

	if (u->widths.version < 5)
		return;
	u->str_offsets_base = wide ? 16 : 8;
	u->addr_base = wide ? 16 : 8;
	u->rnglists_base = wide ? 20 : 12;
}

int unit_read_header(struct debug_file *file, uint64_t off, struct unit *u)
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
	u->widths.version = (uint8_t)cursor_u16(&c);
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

int unit_read_root(struct unit *u)
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
	size_t low = 0, high;
	int r = unit_index(f);

	if (r < 0)
		return r;
	high = f->nr_units;
	while (low < high) { /* the first unit that begins behind @off */
		size_t mid = low + (high - low) / 2;

		if (f->units[mid] <= off)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return -EBADMSG;
	r = unit_read(f, f->units[low - 1], ret);
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
