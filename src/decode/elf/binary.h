/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder side: one ELF file as libelf shows it, with the few facts that every
 * reader needs: identity, loadable segments, sections by name.
 */
#ifndef LB_DECODE_ELF_BINARY_H
#define LB_DECODE_ELF_BINARY_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define BINARY_MAX_BUILD_ID 64
#define BINARY_MAX_LOADS    256 /* PT_LOAD headers read; real files have 2 to 16 */

struct binary_load {
	uint64_t vaddr, file_off;
	uint64_t file_bytes, mem_bytes;
	uint32_t flags; /* PF_* */
};

struct binary {
	Elf *elf;
	uint64_t size_bytes; /* of the whole file */
	uint16_t machine; /* EM_* */
	uint16_t type; /* ET_* */
	bool is_64bit, is_little_endian;
	uint8_t build_id[BINARY_MAX_BUILD_ID];
	size_t build_id_len; /* 0: it has none */
	uint64_t heap_bytes; /* that libelf has at most, without what is decompressed */
	struct binary_load loads[BINARY_MAX_LOADS];
	size_t nr_loads;
};

/**
 * @fd  borrowed until binary_free(), which does not close it
 * Return: 0, -EBADMSG when it is not a usable ELF file, -ENOMEM.
 */
int binary_open(int fd, struct binary **ret);
/** Like binary_open(), for @data, borrowed until binary_free(). */
int binary_open_memory(void *data, size_t len, struct binary **ret);
void binary_free(struct binary *b);
DEFINE_CLEANUP(struct binary, binary_free);

/**
 * Converts a file offset to a vaddr; nothing else does. Where the bytes of two segments
 * share a page of the file, the executable segment wins.
 * Return: false when no segment holds @file_off.
 */
bool binary_file_off_to_vaddr(const struct binary *b, uint64_t file_off,
			      uint64_t *ret_vaddr);

/**
 * Returns the bytes from @vaddr up to the end of its segment, as they are in the file;
 * borrowed. NULL: none are in the file.
 */
const uint8_t *binary_bytes_from(const struct binary *b, uint64_t vaddr, size_t *ret_len);

/** Returns @len bytes at @vaddr, as they are in the file. NULL: not all are. */
const uint8_t *binary_bytes_at(const struct binary *b, uint64_t vaddr, size_t len);

/** Returns the segment that holds @vaddr, executable ones first, or NULL. */
const struct binary_load *binary_load_of(const struct binary *b, uint64_t vaddr);

/** Returns the first section of that name with bytes in this file, or NULL. */
Elf_Scn *binary_section(const struct binary *b, const char *name, GElf_Shdr *ret_shdr);

/** Returns the bytes of a section, as they are in the file; NULL: none. */
const Elf_Data *binary_section_bytes(Elf_Scn *scn);

/**
 * Returns a text of the string table with that index; NULL: there is none, or the table does
 * not end with a NUL, as ELF requires. elf_strptr(3) would search such a table for each text.
 */
const char *binary_string(const struct binary *b, size_t section, uint64_t offset);

/** Returns the decompressed size of a section; 0: it is not compressed. */
uint64_t binary_inflated_size(Elf_Scn *scn, const GElf_Shdr *shdr);

/** Decompresses a section, for elf_getdata(3). Return: false: that failed. */
bool binary_inflate(Elf_Scn *scn, const GElf_Shdr *shdr);

/**
 * Takes @size from @left, which begins as the size of the file: parts of a valid file do
 * not overlap, but a hostile file can list the same bytes any number of times. Return:
 * false: there are not as many left; nothing changed.
 */
bool binary_take_bytes(uint64_t *left, uint64_t size);

/** Does the file itself have DWARF, compressed or not? */
bool binary_has_debug_info(const struct binary *b);

#endif
