/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the FDEs of an .eh_frame are, by the address of their functions: the table of
 * .eh_frame_hdr (LSB 5.0, 10.6.2). What it says is hostile, and only leads to entries.
 */
#ifndef LB_DECODE_CFI_INDEX_H
#define LB_DECODE_CFI_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeroes: there is no table. */
struct cfi_index {
	const uint8_t
		*entries; /* borrowed; nr * {s32 function, s32 FDE}, both from vaddr on */
	size_t nr;
	uint64_t vaddr; /* of the .eh_frame_hdr */
	uint64_t frames_vaddr; /* of the .eh_frame */
};

/**
 * @bytes of an .eh_frame_hdr
 * Return: false when they are none. It may have no table: nr is 0 then.
 */
bool cfi_index_open(const uint8_t *bytes, size_t len, uint64_t vaddr,
		    struct cfi_index *ret);

/** The last entry whose function begins at or below @vaddr, or 0. */
size_t cfi_index_find(const struct cfi_index *index, uint64_t vaddr);

/** Of entry @i < nr: where its function begins, and where its FDE is. */
uint64_t cfi_index_function(const struct cfi_index *index, size_t i);
uint64_t cfi_index_fde(const struct cfi_index *index, size_t i);

#endif
