/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: builds rows from machine code, for functions of an ELF file without call
 * frame information, such as assembly kernels of numeric libraries.
 */
#ifndef LB_DECODE_CFI_FUNCTIONS_H
#define LB_DECODE_CFI_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/cfi/cfi.h"
#include "decode/cfi/file.h"

/* Part of an executable segment: a page, or all of it. */
struct cfi_piece {
	uint64_t file_off, vaddr, size_bytes;
	bool is_needed;
	bool is_left_out; /* not needed, and some of its code would have to be read */
};

/**
 * Adds rows, made from machine code, of functions that overlap @pieces and have no rule
 * in the finished @rows at their first address in them; finishes @rows again. Code
 * whose frame cannot be determined gets no row, so that the walk uses frame pointers.
 * Functions in pieces that are not needed are not read; these pieces are left out.
 * Code that a signal handler returns to is found without symbols; its rule is
 * {LB_CFA_SIGNAL}.
 *
 * @pieces  ascending by vaddr, disjoint; @rows must be complete in them
 *
 * Return: 0 or -ENOMEM. Cost: a pass over all symbols, and one over code without rules.
 */
int cfi_functions_read(const struct cfi_file *f, struct cfi_piece *pieces,
		       size_t nr_pieces, uint64_t *steps_left, struct cfi_rows *rows);

/*
 * Rows from the machine code of one function: LLVM omits call frame information where
 * nothing can throw, as in many kernels that Numba compiles.
 * x86-64. Pure; runs in the decoder.
 */

#define CODE_FRAMES_MAX_BYTES (1u << 20) /* of a function; larger ones have no rows */
#define CODE_FRAMES_STEPS     32 /* of cfi_read()'s steps, charged per instruction */

/**
 * Adds the rows of the function [@vaddr, @vaddr + @len), ended by {LB_CFA_NONE}, as
 * cfi_read() does. Code whose frame is not known gets LB_CFA_UNSUPPORTED.
 *
 * @code  need not be relocated
 * Return: 0 or -ENOMEM; adds no row when the steps run out.
 */
int code_frames_read(const uint8_t *code, size_t len, uint64_t vaddr,
		     uint64_t *steps_left, struct cfi_rows *rows);

/*
 * Special rules for files made by Go (struct cfi_file, is_go). Their .debug_frame does not
 * mark the outermost functions.
 */

/**
 * Adds {LB_CFA_END} where the process and each thread begin: in runtime.rt0_go and in
 * runtime.clone (Go's src/runtime/asm_amd64.s, sys_linux_amd64.s). Else data above their
 * stacks, such as the number of arguments, would be taken for a return address.
 *
 * @rows  as cfi_read() left them; not finished
 * Return: 0 or -ENOMEM. Cost: a pass over all symbols.
 */
int cfi_go_add_starts(const struct cfi_file *f, uint64_t *steps_left,
		      struct cfi_rows *rows);

/**
 * Keeps only the rows of those starts, and of places where a function's frame is not
 * set up (yet, or any more), because frame pointers would skip the caller there.
 * Elsewhere frame pointers are better, see struct cfi_file. Measured with 1,938 samples
 * of a program that sorts and allocates: half had one frame more than with frame
 * pointers alone; with all rows, a third ended on the stack of systemstack().
 */
void cfi_go_keep(struct cfi_rows *rows);

#endif
