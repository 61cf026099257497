/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the JIT interface of GDB's manual in an ELF file: by .symtab, then .dynsym. Where
 * LLVM is linked statically its symbols are local.
 */
#ifndef LB_DECODE_JIT_INTERFACE_H
#define LB_DECODE_JIT_INTERFACE_H

#include <stdint.h>

/* Descriptor and function have the same distance in memory as in the file. */
struct jit_interface {
	uint64_t register_off; /* file offset of __jit_debug_register_code */
	uint64_t register_vaddr; /* same as vaddr */
	uint64_t descriptor_vaddr; /* of __jit_debug_descriptor */
};

#endif
