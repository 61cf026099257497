/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: machine code as text, one instruction at a time, by capstone.
 * Intel's syntax for x86, ARM's for AArch64.
 */
#ifndef LB_DECODE_ASM_DISASSEMBLE_H
#define LB_DECODE_ASM_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "decode/frame.h"

#define DISASSEMBLED_TEXT_BYTES \
	192 /* capstone's mnemonic and operands at their longest */

struct disassembler;

/**
 * @machine      EM_X86_64, EM_386 or EM_AARCH64
 * @unrelocated  the code was copied before its linker wrote addresses into it:
 *               operands that are 0 where a linker writes are shown as "?"
 * Return: 0, -EOPNOTSUPP (another machine), -ENOMEM.
 */
int disassembler_new(uint16_t machine, bool unrelocated, struct disassembler **ret);
void disassembler_free(struct disassembler *d);
DEFINE_CLEANUP(struct disassembler, disassembler_free);

/**
 * Decodes the instruction at the start of @bytes, which are at @address in the program.
 *
 * @len  at least 1
 * @ret  its text is valid until the next call
 *
 * Bytes that are no complete instruction become data: one byte on x86; on AArch64 four
 * bytes, or one if fewer than four are left.
 */
void disassembler_next(struct disassembler *d, const uint8_t *bytes, size_t len,
		       uint64_t address, struct instruction *ret);

#endif
