/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind rows: the rule for each address of a text, in order; their message format. */
#ifndef LB_DECODE_CFI_ROWS_H
#define LB_DECODE_CFI_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wire.h"
#include "lineburn_unwind.h"

/* The rule from @vaddr up to the next row. {LB_CFA_NONE}: no function is there. */
struct cfi_row {
	uint64_t vaddr;
	struct lb_unwind_rule rule;
};

struct cfi_stats {
	uint64_t nr_fdes; /* used */
	uint64_t nr_malformed; /* FDEs and CIEs that were skipped */
	bool is_cut; /* the budget ran out */
};

struct cfi_rows {
	struct cfi_row *items; /* by vaddr, no two adjacent rules equal; heap */
	size_t nr, cap;
	struct cfi_stats stats;
};
void cfi_rows_deinit(struct cfi_rows *rows);

#define CFI_MAX_ROWS (8u << 20) /* of one call; libLLVM has 1.5 M */

/**
 * Appends a row; @rows need not be finished.
 *
 * @max  maximum number of rows; 0: no limit
 * Return: as vec_grow()
 */
int cfi_rows_add(struct cfi_rows *rows, uint64_t vaddr, const struct lb_unwind_rule *rule,
		 size_t max);

/** Sorts, marks gaps, and drops rows equal to the one before. */
int cfi_rows_finish(struct cfi_rows *rows);

#define CFI_MAX_PAGES LB_UNWIND_MAX_PAGES /* of one reply; more are left out */

/** Returns the number of rows at or below @vaddr; @rows must be sorted. */
size_t cfi_rows_up_to(const struct cfi_rows *rows, uint64_t vaddr);

/** Returns whether the finished @rows have a rule at @vaddr. */
bool cfi_rows_cover(const struct cfi_rows *rows, uint64_t vaddr);

/**
 * Adds the rows of @below, as cfi_read() left them, where the finished @rows have no
 * rule, and finishes @rows again. Consumes @below. Return: 0 or -ENOMEM.
 */
int cfi_rows_add_below(struct cfi_rows *rows, struct cfi_rows *below);

/*
 * Message format of rows, by pages: u32 nr_rules, nr_rules * {u8 cfa, u8 fp, u32 fp_off
 * (s16), u32 cfa_off (s32)}, u32 nr_pages, nr_pages * {u64 page, u32 nr_rows, nr_rows *
 * {u32: pc_low | rule << 16}}. Rules of a reply are numbered from 0; a page's first row
 * has pc_low 0, and a page without any row but {LB_CFA_NONE} is left out.
 *
 * @bias  vaddr - bias is the address in the object
 * @lo, @hi  vaddrs: pages that begin outside are left out
 */
void cfi_pages_write(const struct cfi_rows *rows, uint64_t bias, uint64_t lo, uint64_t hi,
		     struct wire_writer *w);

#endif
