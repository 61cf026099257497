/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the function, and the calls inlined into it, that hold an address. One walk
 * over the DIEs of a unit serves all addresses; only DIEs that hold one of them are
 * kept.
 */
#ifndef LB_DECODE_DWARF_SCOPE_H
#define LB_DECODE_DWARF_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strpool.h"
#include "decode/dwarf/line.h"
#include "decode/dwarf/unit.h"

/*
 * Names of functions: the DIE with the code often only refers to the DIE with the name
 * (abstract origin, specification), in this unit, in another one, or in a dwz file.
 */

#define FUNCTION_MAX_HOPS 16 /* references followed; more are a cycle */

struct function {
	const char *name, *linkage_name; /* "" not known; in scopes.names */
	uint32_t decl_line; /* 0: not known */
	struct debug_file *file; /* of the declaration, the last DIE */
	uint64_t unit_off, die_off;
};

/*
 * Qualified names, "ns::Class::method": gcc gives no linkage name to functions that
 * other files cannot call, and DW_AT_name is the last part only. The other parts are
 * the names of the DIEs around the declaration. Only a walk from the start of its unit
 * finds these, so all names of a unit are looked up together.
 */

#define QUALIFY_MAX_DEPTH 256 /* of DIEs around a declaration; deeper: not qualified */
#define QUALIFY_MAX_BYTES 4096 /* of a name; longer: not qualified */

struct unqualified_name {
	struct debug_file *file; /* with unit_off: the unit of the declaration */
	uint64_t unit_off, die_off;
	const char *name;
	const char **ret; /* set to the full name, unless it is the same */
};

/*
 * Iterates over the ranges of addresses that a DIE covers: low_pc and high_pc, or a
 * list in .debug_ranges (DWARF 3-4) or .debug_rnglists (DWARF 5, 7.25).
 */

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
	bool failed; /* the list is malformed; the ranges before that are valid */
};

/** Any of the values may be absent (form 0). */
void pc_ranges_start(struct pc_ranges *it, const struct unit *unit,
		     const struct form_value *low_pc, const struct form_value *high_pc,
		     const struct form_value *ranges);

/** Finds the next range that is not empty and is in code. Return: false at the end. */
bool pc_ranges_next(struct pc_ranges *it, struct addr_range *ret);

#define SCOPE_MAX       (1u << 20) /* per unit; beyond, addresses keep outer scopes */
#define SCOPE_MAX_DEPTH 1024 /* nesting of DIEs; deeper ones are ignored */

struct scope {
	uint64_t die_off; /* in DEBUG_INFO of the unit */
	uint32_t parent; /* the scope it was inlined into; 0: it is a function */
	uint32_t call_file, call_line; /* of an inlined one; line 0: not known */
	struct function function;
};

/* Of a name: an answer has no longer ones (answer.h). Any number of DIEs refer to one. */
#define SCOPE_MAX_NAME       (64u << 10)
#define SCOPE_MAX_NAME_BYTES (64u << 20) /* of one unit; more: out of memory */

/* Item 0 stands for "none". */
struct scopes {
	struct scope *items;
	size_t nr, cap;
	/* Ranges of functions that hold a hit with wants_code. */
	struct scope_range {
		uint64_t start, end;
		uint32_t scope;
	} * ranges;
	size_t nr_ranges, cap_ranges;
	/* Copies: a file may change while it is mapped. Equal names are one pointer. */
	struct strpool *names;
};

void scopes_deinit(struct scopes *s);

/** Fills the names of all scopes. Return: 0 or -ENOMEM. */
int scopes_name(struct scopes *s, const struct unit *unit, struct abbrev_cache *abbrevs);

/**
 * Sets hit.scope of every hit that is in a function of @unit.
 *
 * @hits  ascending vaddr; scope 0
 * @ret   all zeroes before the first call; replaced
 * Return: 0, -EBADMSG (malformed DIEs; what was found before them counts), -ENOMEM.
 */
int scopes_find(const struct unit *unit, struct abbrev_cache *abbrevs,
		struct address_hit *hits, size_t nr, struct scopes *ret);

/**
 * Like scopes_find(), for hits in one function, whose DIE at @die_off scopes_find() has
 * found: walks only the DIEs in it. Adds its scopes to @scopes, even if they are there
 * already, without names and ranges.
 */
int scopes_find_in(const struct unit *unit, struct abbrev_cache *abbrevs,
		   uint64_t die_off, struct address_hit *hits, size_t nr,
		   struct scopes *scopes);

#endif
