/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: what is different in a file that Go made (struct cfi_file, is_go). Its
 * .debug_frame says of no function that nobody called it.
 */
#ifndef LB_DECODE_CFI_GO_H
#define LB_DECODE_CFI_GO_H

#include "decode/cfi/file.h"

/**
 * Adds {LB_CFA_END} where the process and each thread begin: in runtime.rt0_go and in
 * runtime.clone (Go's src/runtime/asm_amd64.s, sys_linux_amd64.s). What lies above their
 * stacks, as the number of arguments, would be taken for a return address.
 *
 * @rows  as cfi_read() left them; not finished
 * Return: 0 or -ENOMEM. Cost: all symbols are looked at.
 */
int cfi_go_add_starts(const struct cfi_file *f, uint64_t *steps_left,
		      struct cfi_rows *rows);

/**
 * Leaves of finished rows those of such starts, and those of functions without a frame
 * (yet, or any more): there frame pointers skip the caller. Elsewhere those are better,
 * see struct cfi_file. Of 1,938 samples of a program that sorts and allocates, half had
 * a frame more than by frame pointers alone, and by all rows a third did not get off the
 * stack of systemstack().
 */
void cfi_go_keep(struct cfi_rows *rows);

#endif
