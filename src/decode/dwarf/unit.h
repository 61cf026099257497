/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Units: the header and the root DIE, which tell where everything else of the unit is
 * (DWARF 5, 7.5.1). Reading one allocates nothing, so a file of any size can be
 * searched for the units that hold some addresses.
 */
#ifndef LB_DECODE_DWARF_UNIT_H
#define LB_DECODE_DWARF_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "decode/dwarf/file.h"

/*
 * Abbreviation tables (DWARF 5, 7.5.3): the attributes of DIEs with a given code. The
 * size of a DIE is precomputed, so that an irrelevant DIE is skipped by adding its
 * size.
 */

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
	uint32_t nr_attrs; /* without those of no bytes that nobody needs */
	uint32_t size; /* of all values, or UINT32_MAX when it varies */
	uint16_t tag;
	bool has_children;
	bool has_pc; /* DW_AT_low_pc or DW_AT_ranges */
};

/* Widths of the values of a unit. */
struct form_widths {
	uint8_t version, addr_size, offset_size;
};

struct abbrev_table {
	struct debug_file *file; /* with off and widths, the key */
	uint64_t off;
	struct form_widths widths;
	struct abbrev *items; /* ascending codes */
	size_t nr;
	struct abbrev_attr *attrs;
	size_t nr_attrs;
	bool dense; /* codes are 1, 2, 3 ... */
	uint64_t last_used;
};

/* Tables in the cache; units of one file often share theirs. */
#define ABBREV_CACHE_TABLES 16

struct abbrev_cache {
	struct abbrev_table tables[ABBREV_CACHE_TABLES];
	uint64_t clock;
};

void abbrev_cache_deinit(struct abbrev_cache *cache);
/** Drops the tables of @file, which is about to be freed. */
void abbrev_cache_drop(struct abbrev_cache *cache, const struct debug_file *file);

/**
 * Finds or reads the table at @off of the file's DEBUG_ABBREV. Valid until two more
 * tables of other units are requested (the least recently used one is evicted).
 * Return: 0, -EBADMSG, -ENOMEM.
 */
int abbrev_cache_get(struct abbrev_cache *cache, struct debug_file *file, uint64_t off,
		     struct form_widths widths, const struct abbrev_table **ret);

/** Returns the description of @code; NULL: there is none. */
const struct abbrev *abbrev_find(const struct abbrev_table *table, uint64_t code);

/*
 * Attribute values (DWARF 5, 7.5.5 and 7.5.6). They are read as raw values, and
 * interpreted when used, because the bases of a unit may follow attributes that need
 * them.
 */

struct unit;

/* A raw value of a DIE. form 0: the attribute is absent. */
struct form_value {
	uint16_t form;
	uint64_t u; /* number, offset, index, or length of a block or text */
	const uint8_t *block; /* block or text; borrowed */
};

/** Returns the size of a value of @form, or ABBREV_VARIABLE. */
uint8_t form_fixed_size(uint16_t form, struct form_widths widths);

/** Reads one value; unknown forms fail the cursor. */
void form_read(struct cursor *c, const struct abbrev_attr *attr,
	       struct form_widths widths, struct form_value *ret);

/** Skips one value. */
void form_skip(struct cursor *c, const struct abbrev_attr *attr,
	       struct form_widths widths);

/** Skips the values of a whole DIE. */
void form_skip_all(struct cursor *c, const struct abbrev_attr *attrs,
		   const struct abbrev *abbrev, struct form_widths widths);

/** Is @form an address? Otherwise, a high_pc of it is a length. */
bool form_is_address(uint16_t form);

/** Gets an address. Return: false: not an address, or not in the address table. */
bool form_address(const struct unit *unit, const struct form_value *v, uint64_t *ret);

/**
 * Returns a string, borrowed from a section; "" if it is no string or is outside of the
 * section; {NULL, 0} if it is in a dwz file that was not found.
 * @max  bytes, no more are read; a longer string is cut
 */
struct bytes form_string(const struct unit *unit, const struct form_value *v, size_t max);

/** Returns a number; UINT64_MAX if it is negative or @v is not a number. */
uint64_t form_number(const struct form_value *v);

#define UNIT_MAX_ROOT_ATTRS 64

struct unit {
	struct debug_file *file;
	const struct unit *skeleton; /* of a split unit; NULL otherwise */
	uint64_t off, end; /* in DEBUG_INFO */
	uint64_t root_off;
	uint64_t abbrev_off;
	struct form_widths widths;
	uint8_t type; /* DW_UT_* */
	uint16_t tag; /* of the root */
	bool known; /* its version is supported */
	bool has_dwo_id, has_stmt_list;
	uint64_t dwo_id;
	uint64_t stmt_list; /* in DEBUG_LINE */
	uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
	struct form_value low_pc, high_pc, ranges, comp_dir, dwo_name;
};

/** Reads header and root of the unit at @off; unknown versions are -EBADMSG. */
int unit_read(struct debug_file *file, uint64_t off, struct unit *ret);

/** Fills file->units. Return: 0 (see units_damaged) or -ENOMEM. */
int unit_index(struct debug_file *file);

/**
 * Reads the unit that holds the DIE at @off; needs no unit_index() before.
 * Return: 0, -EBADMSG, -ENOMEM.
 */
int unit_find(struct debug_file *file, uint64_t off, struct unit *ret);

/** Gets entry @index of the address table. Return: false when there is none. */
bool unit_indexed_address(const struct unit *unit, uint64_t index, uint64_t *ret);

/** Returns the root's low_pc, the base of range lists; 0 if it has none. */
uint64_t unit_base_address(const struct unit *unit);

/*
 * Other files that hold a part of a file's debug information: dwz files, with parts
 * that several programs share, and split DWARF (.dwo, or many of them in one .dwp).
 * They are requested by name and verified: a build id or a dwo id has to match.
 */

/** Returns the dwz file, requested once; owned by @file. NULL: none, or not found. */
struct debug_file *companion_alt(struct debug_file *file);

/**
 * Finds the split unit of @skeleton, which must outlive it. The caller frees @ret_file
 * (a .dwo) after use; NULL: the unit is in a .dwp, which @skeleton->file keeps.
 *
 * Return: 0, -ENOENT (not found, or of another build), -ENOMEM.
 */
int companion_split_unit(const struct unit *skeleton, struct debug_file **ret_file,
			 struct unit *ret);

#endif
