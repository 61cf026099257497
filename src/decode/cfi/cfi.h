/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame information (DWARF 5, 6.4; .eh_frame: LSB 5.0, 10.6) -> rows: what to do at
 * each address of a text to come to the caller. x86-64: on other machines frame pointers
 * are followed. Pure; runs in the decoder.
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
 * @steps_left  instructions and entries that may be looked at: taken from; at 0 it is
 *              cut
 * Return: 0 or -ENOMEM. What is malformed is skipped and counted.
 */
int cfi_read(const struct cfi_section *section, uint64_t lo, uint64_t hi,
	     uint64_t *steps_left, struct cfi_rows *rows);

struct cfi_index; /* cfi/index.h */

/**
 * cfi_read() of those FDEs that @index leads to: costs what the functions in [lo, hi)
 * cost, however long the section is. A function of another one's middle is not found.
 */
int cfi_read_indexed(const struct cfi_section *section, const struct cfi_index *index,
		     uint64_t lo, uint64_t hi, uint64_t *steps_left,
		     struct cfi_rows *rows);

#endif
