/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The addresses that a DIE covers: low_pc and high_pc, or a list in
 * .debug_ranges (DWARF 3-4) or .debug_rnglists (DWARF 5, 7.25), one by one.
 */
#ifndef LB_DECODE_DWARF_RANGES_H
#define LB_DECODE_DWARF_RANGES_H

#include <stdbool.h>

#include "decode/dwarf/unit.h"

struct pc_ranges {
	const struct unit *unit;
	struct cursor list;
	uint64_t base;
	struct addr_range single;
	enum {
		PC_RANGES_NONE,
		PC_RANGES_SINGLE,
		PC_RANGES_V3,
		PC_RANGES_V5
	} kind;
	bool failed; /* the list is malformed: what came before it was good */
};

/** Any of the values may be absent (form 0). */
void pc_ranges_start(struct pc_ranges *it, const struct unit *unit,
		     const struct form_value *low_pc, const struct form_value *high_pc,
		     const struct form_value *ranges);

/**
 * The next range that is not empty and that lies in code. Return: false at the end.
 */
bool pc_ranges_next(struct pc_ranges *it, struct addr_range *ret);

#endif
