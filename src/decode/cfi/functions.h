/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: rows, from their machine code, of the functions of an ELF file that have
 * no call frame information: kernels of numeric libraries written in assembly.
 */
#ifndef LB_DECODE_CFI_FUNCTIONS_H
#define LB_DECODE_CFI_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "decode/cfi/cfi.h"
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

/*
 * Rows of a function that has no call frame information, from its machine code: LLVM
 * leaves it out where nothing can throw, which is so of many kernels that Numba compiles.
 * x86-64. Pure; runs in the decoder.
 */

#define CODE_FRAMES_MAX_BYTES (1u << 20) /* of a function; larger ones have no rows */
#define CODE_FRAMES_STEPS     32 /* that an instruction costs: of cfi_read()'s, in time */

/**
 * Adds the rows of the function [@vaddr, @vaddr + @len), ended by {LB_CFA_NONE}, as
 * cfi_read() does. Where its frame cannot be told it is LB_CFA_UNSUPPORTED.
 *
 * @code  need not be relocated
 * Return: 0 or -ENOMEM; without a row when the steps do not suffice.
 */
int code_frames_read(const uint8_t *code, size_t len, uint64_t vaddr,
		     uint64_t *steps_left, struct cfi_rows *rows);

#endif
