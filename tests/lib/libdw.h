/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libdw's answers to the questions that decode/dwarf answers: the reference of its
 * tests. Everything comes from libdw's own functions, but for the rules of
 * decode/dwarf/dwarf.h, which are applied to libdw's values: the narrowest unit has an
 * address, one without ranges only what is left, and code without a line has that of
 * the call, else the line before.
 */
#ifndef LB_TESTS_LIBDW_H
#define LB_TESTS_LIBDW_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/frame.h"

#define LIBDW_MAX_FRAMES 512

struct libdw_range {
	uint64_t start, end;
	size_t unit;
	bool is_last; /* the unit gives no ranges, and gets what no other one claims */
};

struct libdw_file {
	Dwarf *dw;
	int fd;
	struct libdw_unit {
		Dwarf_Die root; /* has the line table */
		Dwarf_Die dies; /* the same, or the root of the split unit */
	} * units;
	size_t nr_units, cap_units;
	struct libdw_range *ranges; /* of the units' code, in the order of the units */
	size_t nr_ranges, cap_ranges;
	struct libdw_range *code; /* sections that can have code; unit is 0 */
	size_t nr_code, cap_code;
	char **paths; /* strings of answers */
	size_t nr_paths, cap_paths;
};

/* Innermost first. Strings as in struct frame, valid until libdw_close(). */
struct libdw_answer {
	bool had_no_line; /* the row has line 0 */
	size_t nr; /* all frames, also those that FRAMES_MAX_INLINE leaves out */
	struct frame frames[LIBDW_MAX_FRAMES];
};

/* Return: whether libdw finds units in it. Call libdw_close() in either case. */
bool libdw_open(const char *path, struct libdw_file *ret);
void libdw_close(struct libdw_file *f);

/* @ret  nr 0: libdw knows nothing of @vaddr */
void libdw_resolve(struct libdw_file *f, uint64_t vaddr, struct libdw_answer *ret);

#endif
