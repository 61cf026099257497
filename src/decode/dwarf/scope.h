/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which function, and which calls inlined into it, hold an address: one walk over
 * the DIEs of a unit for all addresses at once. Only DIEs that hold one of them
 * are kept.
 */
#ifndef LB_DECODE_DWARF_SCOPE_H
#define LB_DECODE_DWARF_SCOPE_H

#include <stddef.h>
#include <stdint.h>

#include "decode/dwarf/function.h"
#include "decode/dwarf/line.h"
#include "decode/dwarf/unit.h"

#define SCOPE_MAX       (1u << 20) /* kept in one unit; addresses in more keep outer ones */
#define SCOPE_MAX_DEPTH 1024 /* nesting of DIEs; deeper ones are not looked into */

struct scope {
	uint64_t die_off; /* in DEBUG_INFO of the unit */
	uint32_t parent; /* the scope this one was inlined into; 0: it is a function */
	uint32_t call_file, call_line; /* of an inlined one; line 0: not known */
	struct function function;
	char *full_name; /* heap; NULL: function.name is all there is */
};

/* Item 0 stands for "none". */
struct scopes {
	struct scope *items;
	size_t nr, cap;
	/* Of functions, those that hold a hit with wants_code. */
	struct scope_range {
		uint64_t start, end;
		uint32_t scope;
	} * ranges;
	size_t nr_ranges, cap_ranges;
};

void scopes_deinit(struct scopes *s);

/** Fills the names of all scopes. Return: 0 or -ENOMEM. */
int scopes_name(struct scopes *s, const struct unit *unit, struct abbrev_cache *abbrevs);

/**
 * Sets hit.scope of every hit that lies in a function of @unit.
 *
 * @hits  ascending vaddr; scope 0
 * @ret   all zeroes before the first call; replaced
 * Return: 0, -EBADMSG (the DIEs break off; what was found before counts), -ENOMEM.
 */
int scopes_find(const struct unit *unit, struct abbrev_cache *abbrevs, struct hit *hits,
		size_t nr, struct scopes *ret);

/**
 * The same for hits in the function whose DIE is at @die_off, which scopes_find()
 * found: only the DIEs in it are walked. Its scopes are added to @scopes, a second
 * time if need be, without names and ranges.
 */
int scopes_find_in(const struct unit *unit, struct abbrev_cache *abbrevs,
		   uint64_t die_off, struct hit *hits, size_t nr, struct scopes *scopes);

#endif
