/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JIT interface of GDB's manual, as one ELF file has it: by .symtab, then .dynsym. Where
 * LLVM is linked statically both are local symbols.
 */
#ifndef LB_DECODE_JIT_INTERFACE_H
#define LB_DECODE_JIT_INTERFACE_H

#include <stdint.h>

/* The descriptor of a process is as far from its function. */
struct jit_interface {
	uint64_t register_off; /* file offset of __jit_debug_register_code */
	uint64_t register_vaddr; /* same as vaddr */
	uint64_t descriptor_vaddr; /* of __jit_debug_descriptor */
};

#endif
