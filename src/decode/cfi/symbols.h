/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoder side: the symbols of an ELF file, and the code that they name. */
#ifndef LB_DECODE_CFI_SYMBOLS_H
#define LB_DECODE_CFI_SYMBOLS_H

#include <elf.h>

#include "decode/cfi/file.h"

/* All of it is borrowed from the file. */
struct cfi_symbols {
	const uint8_t *bytes; /* not aligned */
	size_t nr;
	Elf *elf;
	size_t names; /* section */
};

/** Of .symtab, which has the local functions too, else of .dynsym. Return: is there one? */
bool cfi_symbols_open(const struct cfi_file *f, struct cfi_symbols *ret);

/** @i  < symbols->nr */
Elf64_Sym cfi_symbol(const struct cfi_symbols *symbols, size_t i);

/** Return: borrowed; NULL when the file has none. */
const char *cfi_symbol_name(const struct cfi_symbols *symbols, const Elf64_Sym *sym);

/** The bytes of [vaddr, vaddr + len), or NULL when they are not in the file. */
const uint8_t *cfi_code_at(const struct cfi_file *f, uint64_t vaddr, uint64_t len);

#endif
