/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts call frame information (DWARF 5, 6.4; .eh_frame: LSB 5.0, 10.6) to unwind
 * rows: how to find the caller from each address. x86-64 only: other machines use frame
 * pointers. Pure; runs in the decoder.
 */
#ifndef LB_DECODE_CFI_CFI_H
#define LB_DECODE_CFI_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/cfi/rows.h"

/* One section, as it would be in memory. */
struct cfi_section {
	const uint8_t *bytes; /* borrowed */
	size_t len;
	uint64_t vaddr; /* of bytes[0] */
	uint64_t text_vaddr, data_vaddr; /* bases of DW_EH_PE_textrel and datarel */
	bool is_debug_frame; /* .debug_frame: other CIE ids and pointers */
};

/**
 * Adds the rows of all FDEs that overlap [lo, hi). Call cfi_rows_finish() after the last
 * section. Where two FDEs cover an address the later one wins.
 *
 * @steps_left  budget of instructions and entries, decremented; at 0 the result is
 *              cut
 * Return: 0 or -ENOMEM. Malformed entries are skipped and counted.
 */
int cfi_read(const struct cfi_section *section, uint64_t lo, uint64_t hi,
	     uint64_t *steps_left, struct cfi_rows *rows);

/* ---- The index of FDEs in .eh_frame_hdr (LSB 5.0, 10.6.2). Hostile. ---- */

/* All zeroes: there is no table. */
struct cfi_index {
	/* Borrowed; nr * {s32 function, s32 FDE}, both relative to vaddr. */
	const uint8_t *entries;
	size_t nr;
	uint64_t vaddr; /* of the .eh_frame_hdr */
	uint64_t frames_vaddr; /* of the .eh_frame */
};

/**
 * @bytes of an .eh_frame_hdr
 * Return: false when they are not one. Without a table nr is 0.
 */
bool cfi_index_open(const uint8_t *bytes, size_t len, uint64_t vaddr,
		    struct cfi_index *ret);

/**
 * Like cfi_read(), but finds the FDEs by @index: the cost depends on the functions in
 * [lo, hi), not on the section. Misses a function inside another one.
 */
int cfi_read_indexed(const struct cfi_section *section, const struct cfi_index *index,
		     uint64_t lo, uint64_t hi, uint64_t *steps_left,
		     struct cfi_rows *rows);

#endif
