// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/form.h"

#include <dwarf.h>

#include "decode/dwarf/companion.h"
#include "decode/dwarf/unit.h"

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
		ret->block = (const uint8_t *)cursor_str(c);
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

		/* Indirect twice, or with the value in the abbreviation: nobody means it. */
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
	for (uint32_t i = 0; i < abbrev->nr_attrs; i++)
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

static const char *indexed_string(const struct unit *unit, uint64_t index)
{
	struct bytes offsets = debug_file_section(unit->file, DEBUG_STR_OFFSETS);
	uint8_t size = unit->widths.offset_size;
	struct cursor c;
	uint64_t off;

	if (index > offsets.len)
		return "";
	c = cursor_at(offsets, unit->str_offsets_base + index * size);
	off = cursor_uint(&c, size);
	if (c.failed)
		return "";
	return bytes_str(debug_file_section(unit->file, DEBUG_STR), off);
}

const char *form_string(const struct unit *unit, const struct form_value *v)
{
	struct debug_file *alt;

	switch (v->form) {
	case DW_FORM_string:
		return (const char *)v->block;
	case DW_FORM_strp:
		return bytes_str(debug_file_section(unit->file, DEBUG_STR), v->u);
	case DW_FORM_line_strp:
		return bytes_str(debug_file_section(unit->file, DEBUG_LINE_STR), v->u);
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		alt = companion_alt(unit->file);
		return alt ? bytes_str(debug_file_section(alt, DEBUG_STR), v->u) : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return indexed_string(unit, v->u);
	default:
		return "";
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
