/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names as people write them, "ns::Class::method": gcc gives no linkage name to
 * what other files cannot call, and DW_AT_name is the last part only. The other
 * parts are the names of the DIEs around the declaration, which only a walk from
 * the start of its unit finds; so all names of a unit are asked for together.
 */
#ifndef LB_DECODE_DWARF_QUALIFY_H
#define LB_DECODE_DWARF_QUALIFY_H

#include <stddef.h>
#include <stdint.h>

#include "decode/dwarf/abbrev.h"
#include "decode/dwarf/unit.h"

#define QUALIFY_MAX_DEPTH 256 /* of DIEs around a declaration; deeper: name as it is */
#define QUALIFY_MAX_BYTES 4096 /* of a name; a longer one stays as it is */

struct unqualified {
	struct debug_file *file; /* with unit_off: the unit of the declaration */
	uint64_t unit_off, die_off;
	const char *name; /* borrowed */
	char **ret; /* heap: the full name; left alone when it is the same */
};

/**
 * @items  sorted in place
 * @home   the unit that most of them are in; it need not be readable by its offset
 * Return: 0 or -ENOMEM.
 */
int names_qualify(struct unqualified *items, size_t nr, const struct unit *home,
		  struct abbrev_cache *abbrevs);

#endif
