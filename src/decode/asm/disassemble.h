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
 * Decodes the instruction at the start of @bytes, which the program has at @address.
 *
 * @len  at least 1
 * @ret  its text is valid until the next call
 * What is no instruction, or does not end within @len, is one byte of x86 and up
 * to four of AArch64.
 */
void disassembler_next(struct disassembler *d, const uint8_t *bytes, size_t len,
		       uint64_t address, struct instruction *ret);

#endif
