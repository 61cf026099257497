// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/dwarf/ranges.h"

#include <dwarf.h>

/* Where the list with number @index begins: an array of offsets precedes the lists. */
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

/* One pair of .debug_ranges. Return: false at the end of the list. */
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

/* One entry of .debug_rnglists; it may be empty. Return: false at the end. */
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
	/* What is code is known from the program's own file, not from a split one. */
	const struct debug_file *program = u->skeleton ? u->skeleton->file : u->file;

	while (next_any(it, ret)) {
		if (!debug_spend(u->file, 1))
			return false;
		if (ret->start < ret->end && debug_file_is_code(program, ret->start))
			return true;
	}
	return false;
}
