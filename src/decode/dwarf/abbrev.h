/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Abbreviation tables (DWARF 5, 7.5.3): what a DIE with a given code consists
 * of. Prepared so that a DIE nobody asked about is skipped by adding its size.
 */
#ifndef LB_DECODE_DWARF_ABBREV_H
#define LB_DECODE_DWARF_ABBREV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "decode/dwarf/file.h"

#define ABBREV_MAX_CODES (1u << 18) /* in one table; more is malformed */
#define ABBREV_MAX_ATTRS (1u << 20)
#define ABBREV_VARIABLE  0xff /* size that depends on the bytes of the DIE */

struct abbrev_attr {
	uint16_t name; /* DW_AT_* */
	uint16_t form; /* DW_FORM_* */
	uint8_t size; /* of its value in the DIE, or ABBREV_VARIABLE */
	int64_t implicit_const;
};

struct abbrev {
	uint64_t code;
	uint32_t first_attr; /* into abbrev_table.attrs */
	uint32_t nr_attrs;
	uint32_t size; /* of all values, or UINT32_MAX when it varies */
	uint16_t tag;
	bool has_children;
	bool has_pc; /* DW_AT_low_pc or DW_AT_ranges */
};

/* How wide the values of a unit are. */
struct form_widths {
	uint8_t version, addr_size, offset_size;
};

struct abbrev_table {
	struct debug_file *file; /* the key, with off and widths */
	uint64_t off;
	struct form_widths widths;
	struct abbrev *items; /* ascending codes */
	size_t nr;
	struct abbrev_attr *attrs;
	size_t nr_attrs;
	bool dense; /* codes are 1, 2, 3 ... */
	uint64_t last_used;
};

/* Tables kept: units of one file often share theirs. */
#define ABBREV_CACHE_TABLES 16

struct abbrev_cache {
	struct abbrev_table tables[ABBREV_CACHE_TABLES];
	uint64_t clock;
};

void abbrev_cache_deinit(struct abbrev_cache *cache);
/** Forgets the tables of @file, which is about to be freed. */
void abbrev_cache_drop(struct abbrev_cache *cache, const struct debug_file *file);

/**
 * The table at @off of the file's DEBUG_ABBREV. Valid until two more tables of
 * other units were asked for (the least recently used one goes).
 * Return: 0, -EBADMSG, -ENOMEM.
 */
int abbrev_cache_get(struct abbrev_cache *cache, struct debug_file *file, uint64_t off,
		     struct form_widths widths, const struct abbrev_table **ret);

/** NULL when no DIE has this code. */
const struct abbrev *abbrev_find(const struct abbrev_table *table, uint64_t code);

/**
 * Only the description of @code, without keeping anything: for the root of each
 * unit. At most @max attributes are stored in @attrs.
 * Return: 0, -EBADMSG.
 */
int abbrev_read_one(struct debug_file *file, uint64_t off, struct form_widths widths,
		    uint64_t code, struct abbrev *ret, struct abbrev_attr *attrs,
		    size_t max);

#endif
