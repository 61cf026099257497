/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: special rules for files made by Go (struct cfi_file, is_go). Their
 * .debug_frame does not mark the outermost functions.
 */
#ifndef LB_DECODE_CFI_GO_H
#define LB_DECODE_CFI_GO_H

#include "decode/cfi/file.h"

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
 * Keeps only the rows of those starts, and of places where a function's frame is not set
 * up (yet, or any more): there frame pointers skip the caller. Elsewhere frame pointers
 * are better, see struct cfi_file. Of 1,938 samples of a program that sorts and
 * allocates, half had one frame more than with frame pointers alone; with all rows a
 * third did not leave the stack of systemstack().
 */
void cfi_go_keep(struct cfi_rows *rows);

#endif
