/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: finds the function symbols of many addresses. The tables are read once,
 * in file order, and only symbols of wanted addresses are kept, so memory depends on
 * the addresses and not on the file.
 */
#ifndef LB_DECODE_ELF_SYMBOLS_H
#define LB_DECODE_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/elf/binary.h"

struct elf_symbol {
	const char *name; /* borrowed from the binary; NULL: none */
	uint64_t start; /* vaddr */
	uint64_t size; /* 0: a label without a size */
	uint64_t limit; /* end of its section, for a label */
	unsigned int rank; /* among symbols of one range; lower is better */
	unsigned int underscores; /* that the name begins with; same */
};

struct elf_symbol_slot {
	struct elf_symbol covering; /* best sized symbol that holds the address */
	struct elf_symbol label; /* nearest sizeless symbol at or below it */
	uint64_t sized_end; /* highest end of sized symbols that begin at or below it */
};

struct elf_symbols {
	const uint64_t *vaddrs; /* ascending; borrowed */
	size_t nr;
	struct elf_symbol_slot *slots; /* one per address */
	uint64_t budget; /* comparisons left: symbols of hostile tables overlap */
	bool gave_up; /* the budget ran out */
};

#define ELF_SYMBOLS_BUDGET (64u << 20)

/** @vaddrs  ascending, borrowed until deinit. Return: 0 or -ENOMEM. */
int elf_symbols_init(struct elf_symbols *s, const uint64_t *vaddrs, size_t nr);
void elf_symbols_deinit(struct elf_symbols *s);

/**
 * Reads the first table of @type of @b, which must stay open as long as names are used.
 * @type  SHT_SYMTAB or SHT_DYNSYM
 * Return: 0, -ENODATA (no such table), -ENOMEM.
 */
int elf_symbols_read(struct elf_symbols *s, const struct binary *b, uint32_t type);

/** Call it after the last table, before the first elf_symbols_at(). */
void elf_symbols_finish(struct elf_symbols *s);

/**
 * Returns the symbol for vaddrs[@i]: the innermost sized one that covers it, else the
 * nearest label below it, if no sized symbol lies in between; NULL: none.
 */
const struct elf_symbol *elf_symbols_at(const struct elf_symbols *s, size_t i);

/* ---- Decoder side: targets of stubs in the procedure linkage table (PLT) ---- */

/**
 * If vaddrs[i] is in a stub, sets names[i] to the name of the function that the stub
 * jumps to, without "@plt"; leaves the others. x86-64 only; on other machines sets
 * nothing.
 *
 * @names  @nr entries; strings are borrowed from @b
 * Return: 0 or -ENOMEM.
 */
int elf_plt_names(const struct binary *b, const uint64_t *vaddrs, size_t nr,
		  const char **names);

#endif
