/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads one ELF file from its bytes. A JIT registers for debuggers either an object
 * that was never linked (ET_REL), with load addresses in its section headers (sh_addr;
 * written by LLVM's MCJIT and RTDyld, and by LuaJIT), or a linked file. In an object,
 * symbols are relative to their section, and relocations have not been applied. 64-bit,
 * little-endian. Pure; reads within [bytes, bytes + len) only.
 */
#ifndef LB_DECODE_JIT_IMAGE_H
#define LB_DECODE_JIT_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

#define IMAGE_MAX_SECTIONS 65536 /* more is malformed */
#define IMAGE_MAX_CODE     256 /* pieces of code of one image; more are ignored */
#define IMAGE_MAX_SYMBOLS  (1u << 20) /* functions of one image; same */

struct jit_image {
	const uint8_t *bytes; /* borrowed */
	size_t len;
	Elf64_Ehdr header;
	size_t nr_sections; /* all headers are within the bytes */
	size_t names_len; /* of section names; 0: none */
	const char *names; /* the last byte is a NUL */
};

/** Return: false if the bytes are not such a file. Strings point into @bytes. */
bool image_open(const void *bytes, size_t len, struct jit_image *ret);

/** Header of section @i < nr_sections. */
Elf64_Shdr image_section(const struct jit_image *m, size_t i);

/** Bytes of a section; NULL if it has none or they are not all in the image. */
const uint8_t *image_section_bytes(const struct jit_image *m, const Elf64_Shdr *sh);

/** Program header @i. Return: false if there is none, or the table is incomplete. */
bool image_segment(const struct jit_image *m, size_t i, Elf64_Phdr *ret);

/** Name of a section; "" if it has none. */
const char *image_section_name(const struct jit_image *m, const Elf64_Shdr *sh);

/**
 * Applies the relocations of section @section to @copy, a copy of its bytes. Symbols of
 * other images are skipped.
 *
 * @budget  decremented by each relocation: tables of a hostile image may overlap
 * Return: false if one of them cannot be applied.
 */
bool image_relocate(const struct jit_image *m, size_t section, uint8_t *copy,
		    uint64_t *budget);

struct image_code {
	uint64_t start_ip, end_ip; /* run-time addresses */
	const uint8_t *bytes; /* end_ip - start_ip of them; NULL: not in the image */
};

/**
 * Finds the code of the image: executable sections that have an address, else
 * executable segments.
 * Return: the number found, at most IMAGE_MAX_CODE.
 */
size_t image_code(const struct jit_image *m, struct image_code *ret);

/**
 * Finds the first loaded segment with @flags (PF_*) that has [@vaddr, @vaddr + @len) in
 * memory. Return: false if there is none.
 */
bool image_find_load(const struct jit_image *m, uint64_t vaddr, uint64_t len,
		     uint32_t flags, Elf64_Phdr *ret);

/** Returns the @len bytes at @vaddr of such a segment; NULL: not all in the file. */
const uint8_t *image_bytes_at(const struct jit_image *m, uint64_t vaddr, uint64_t len,
			      uint32_t flags);

/* A symbol table and its string table, as they are in the bytes. */
struct image_table {
	const uint8_t *symbols; /* not aligned */
	size_t nr;
	const char *names;
	size_t names_len; /* 0: none */
};

/** The first table of @type, SHT_SYMTAB or SHT_DYNSYM. Return: false: none, or damaged. */
bool image_table_find(const struct jit_image *m, uint32_t type, struct image_table *ret);
/** Symbol @i < t->nr. Inline: some callers look at each of 10^5 symbols. */
static inline Elf64_Sym image_table_symbol(const struct image_table *t, size_t i)
{
	Elf64_Sym sym;

	memcpy(&sym, t->symbols + i * sizeof(sym), sizeof(sym));
	return sym;
}
/** Name of a symbol; "" if it has none. */
const char *image_table_name(const struct image_table *t, const Elf64_Sym *sym);

struct image_symbol {
	uint64_t start_ip, end_ip; /* run-time addresses; end > start */
	const char *name; /* into the bytes, terminated */
	bool weak; /* a copy of a function of another image */
};

/** Functions of .symtab by address, else of .dynsym; heap. */
struct image_symbols {
	struct image_symbol *items;
	size_t nr, cap;
};

/** Return: 0 or -ENOMEM. */
int image_symbols_read(const struct jit_image *m, struct image_symbols *ret);
void image_symbols_deinit(struct image_symbols *s);

/** Returns the last function that begins at or below @ip and covers it, or NULL. */
const struct image_symbol *image_symbols_at(const struct image_symbols *s, uint64_t ip);

/**
 * Makes a copy with relocated debug sections, marked ET_EXEC so that DWARF readers
 * accept it. Code is not relocated: DWARF readers need only its addresses.
 *
 * @ret  heap, m->len bytes
 * Return: 0, -ENODATA (no .debug_info or no .debug_line), -EBADMSG (a relocation that
 * cannot be applied), -ENOMEM.
 */
int image_linked_copy(const struct jit_image *m, uint8_t **ret);

#endif
