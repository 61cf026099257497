/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a function is called: the DIE with the code often only points to the one
 * with the name (abstract origin, specification), in this unit, in another one,
 * or in the file that dwz made.
 */
#ifndef LB_DECODE_DWARF_FUNCTION_H
#define LB_DECODE_DWARF_FUNCTION_H

#include <stdint.h>

#include "decode/dwarf/abbrev.h"
#include "decode/dwarf/unit.h"

#define FUNCTION_MAX_HOPS 16 /* from DIE to DIE; more is a cycle */

struct function {
	const char *name, *linkage_name; /* "" not known; borrowed from sections */
	uint32_t decl_line; /* 0: not known */
	struct debug_file *file; /* where the last DIE is: the declaration */
	uint64_t unit_off, die_off;
};

/**
 * Follows the DIE at @off of @unit. What cannot be read stays "" or 0, and names
 * in a dwz file that is not there are counted.
 * Return: 0 or -ENOMEM.
 */
int function_read(const struct unit *unit, uint64_t off, struct abbrev_cache *abbrevs,
		  struct function *ret);

#endif
