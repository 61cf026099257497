/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: readable function names for one address. Demangles linkage names, and
 * uses the ELF symbol where DWARF has no name.
 */
#ifndef LB_DECODE_ELF_NAMES_H
#define LB_DECODE_ELF_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "decode/frame.h"

struct elf_names; /* scratch for one chain at a time */

#define ELF_NAMES_MAX_FUNCTION 1024 /* bytes with the NUL; longer names end in "..." */
#define ELF_NAMES_MAX_SYSTEM   4096 /* a longer mangled name is left out */

/* NULL: out of memory. */
struct elf_names *elf_names_new(void);
void elf_names_free(struct elf_names *n);
DEFINE_CLEANUP(struct elf_names, elf_names_free);

/**
 * Sets the symbol of the next chain, without its version ("memcpy@@GLIBC_2.14").
 * @name  borrowed during the call; NULL: there is none
 * @plt   the address is in a stub that jumps to @name: shown as "memcpy@plt"
 */
void elf_names_symbol(struct elf_names *n, const char *name, bool plt);

/**
 * Makes the names of a chain readable, and completes its outermost function from the
 * symbol. An empty chain becomes the symbol's own frame, if there is a symbol.
 *
 * @nr   frames in @chain (0: @chain may be NULL), set to those returned; a chain
 *       deeper than FRAMES_MAX_INLINE loses its middle
 * Return: frames valid until the next call; their strings, except function names, are
 * those of @chain.
 */
struct frame *elf_names_chain(struct elf_names *n, const struct frame *chain, size_t *nr);

/* ---- Demangling of C++, Rust legacy and v0: libiberty's, with limits ---- */

/**
 * Writes the readable form of @name into @buf (cut with "..." when it does not
 * fit) and returns @buf, or @name itself when it is not a mangled name or is too
 * costly to demangle.
 */
const char *demangle(const char *name, char *buf, size_t size);

#endif
