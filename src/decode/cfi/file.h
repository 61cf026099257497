/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoder side: the code of an ELF file and its call frame information. */
#ifndef LB_DECODE_CFI_FILE_H
#define LB_DECODE_CFI_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/cfi/cfi.h"
#include "decode/elf/binary.h"
#include "decode/jit/image.h"

#define CFI_FILE_MAX_SEGMENTS 64 /* executable ones; real files have 1 to 3 */

/* The part of an executable segment that is in the file. */
struct cfi_segment {
	uint64_t file_off, vaddr;
	uint64_t size_bytes; /* > 0; neither end wraps */
};

struct cfi_file {
	struct binary *binary;
	struct cfi_segment segments[CFI_FILE_MAX_SEGMENTS]; /* disjoint, by file_off */
	size_t nr_segments;
	struct cfi_section section; /* borrowed from binary; len 0: there is none */
	struct cfi_index index; /* of the section; nr 0: there is none */
	/*
	 * Made by Go, whose .debug_frame tracks SP only: neither the FP that each
	 * function with a frame keeps, nor the switch to another stack and back
	 * (systemstack).
	 */
	bool is_go;
};

/**
 * @fd  borrowed until cfi_file_deinit()
 * Return: false when it is no ELF file of a 64-bit x86 machine.
 */
bool cfi_file_open(int fd, struct cfi_file *ret);
void cfi_file_deinit(struct cfi_file *f);

/** Finds .symtab, which has local functions too, else .dynsym. Return: false: neither. */
bool cfi_file_symbols(const struct cfi_file *f, struct image_table *ret);

#endif
