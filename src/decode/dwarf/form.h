/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attribute values (DWARF 5, 7.5.5 and 7.5.6): read as they stand, and given a
 * meaning when somebody asks, as the bases of a unit may come after their use.
 */
#ifndef LB_DECODE_DWARF_FORM_H
#define LB_DECODE_DWARF_FORM_H

#include <stdbool.h>
#include <stdint.h>

#include "decode/dwarf/abbrev.h"

struct unit;

/* As it stands in the DIE. form 0: the attribute is not there. */
struct form_value {
	uint16_t form;
	uint64_t u; /* number, offset, index, or length of a block */
	const uint8_t *block; /* block or text; borrowed */
};

/** Bytes that a value of @form takes, or ABBREV_VARIABLE. */
uint8_t form_fixed_size(uint16_t form, struct form_widths widths);

/** Reads one value; unknown forms fail the cursor. */
void form_read(struct cursor *c, const struct abbrev_attr *attr,
	       struct form_widths widths, struct form_value *ret);

/** Reads past one value. */
void form_skip(struct cursor *c, const struct abbrev_attr *attr,
	       struct form_widths widths);

/** Reads past the values of a whole DIE. */
void form_skip_all(struct cursor *c, const struct abbrev_attr *attrs,
		   const struct abbrev *abbrev, struct form_widths widths);

/** Is it an address (else a high_pc is a distance)? */
bool form_is_address(uint16_t form);

/** Return: false when the address table does not have it. */
bool form_address(const struct unit *unit, const struct form_value *v, uint64_t *ret);

/**
 * Borrowed from a section; "" when it is no text or lies outside. NULL when it
 * is in the file that dwz made, and that file is not there.
 */
const char *form_string(const struct unit *unit, const struct form_value *v);

/** A plain number; negative ones and others are UINT64_MAX. */
uint64_t form_number(const struct form_value *v);

#endif
