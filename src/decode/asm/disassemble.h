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

enum disassembled_flow {
	FLOW_ON, /* to the next instruction, or nowhere (a return, a trap) */
	FLOW_JUMP, /* conditional or not */
	FLOW_CALL,
	NR_FLOWS,
};

#define DISASSEMBLED_TEXT_BYTES \
	192 /* capstone's mnemonic and operands at their longest */

struct disassembled {
	size_t size_bytes; /* at least 1 */
	enum disassembled_flow flow;
	bool has_target; /* where a jump or call goes is in the instruction */
	uint64_t target; /* 0 without one */
	/* "mov eax, dword ptr [rdi]"; ".byte 0x06" for what is no instruction */
	char text[DISASSEMBLED_TEXT_BYTES];
};

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
 * What is no instruction, or does not end within @len, is one byte of x86 and up
 * to four of AArch64.
 */
void disassembler_next(struct disassembler *d, const uint8_t *bytes, size_t len,
		       uint64_t address, struct disassembled *ret);

#endif
