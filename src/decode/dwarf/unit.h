/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Units: the header and the root DIE, which say where everything else of the
 * unit is (DWARF 5, 7.5.1). Reading one allocates nothing, so a file of any size
 * can be searched for the units that hold some addresses.
 */
#ifndef LB_DECODE_DWARF_UNIT_H
#define LB_DECODE_DWARF_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "decode/dwarf/abbrev.h"
#include "decode/dwarf/file.h"
#include "decode/dwarf/form.h"

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
	bool known; /* its version is one that can be read */
	bool has_dwo_id, has_stmt_list;
	uint64_t dwo_id;
	uint64_t stmt_list; /* in DEBUG_LINE */
	uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
	struct form_value low_pc, high_pc, ranges, comp_dir, dwo_name;
};

/**
 * Reads the header at @off of the file's DEBUG_INFO.
 * Return: 0 (also when it is of an unknown version: only off, end, known), or
 * -EBADMSG when nothing behind @off can be found.
 */
int unit_read_header(struct debug_file *file, uint64_t off, struct unit *ret);

/** Reads the root DIE's attributes, after the header. Return: 0 or -EBADMSG. */
int unit_read_root(struct unit *unit);

/** Header and root of the unit at @off; unknown versions are -EBADMSG. */
int unit_read(struct debug_file *file, uint64_t off, struct unit *ret);

/** Fills file->units. Return: 0 (see units_damaged) or -ENOMEM. */
int unit_index(struct debug_file *file);

/**
 * Reads the unit that holds the DIE at @off; needs no unit_index() before.
 * Return: 0, -EBADMSG, -ENOMEM.
 */
int unit_find(struct debug_file *file, uint64_t off, struct unit *ret);

/** Entry @index of the address table. Return: false when there is none. */
bool unit_indexed_address(const struct unit *unit, uint64_t index, uint64_t *ret);

/** The root's low_pc, which range lists start from; 0 if it has none. */
uint64_t unit_base_address(const struct unit *unit);

#endif
