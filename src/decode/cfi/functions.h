/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: rows, from their machine code, of the functions of an ELF file that have
 * no call frame information: kernels of numeric libraries written in assembly.
 */
#ifndef LB_DECODE_CFI_FUNCTIONS_H
#define LB_DECODE_CFI_FUNCTIONS_H

#include "decode/cfi/file.h"

/* Of the file's addresses: [lo, hi). */
struct cfi_range {
	uint64_t lo, hi;
};

/**
 * Adds rows of functions in @wanted that begin where @rows, which are finished, have none;
 * they are finished again. Where code does not tell the frame there is no row, so frame
 * pointers are followed.
 *
 * @wanted  ascending, disjoint; @rows are those of all functions that touch them, and of
 *          others there need be none
 * Return: 0 or -ENOMEM. Cost: all symbols are looked at.
 */
int cfi_functions_read(const struct cfi_file *f, const struct cfi_range *wanted,
		       size_t nr_wanted, uint64_t *steps_left, struct cfi_rows *rows);

#endif
