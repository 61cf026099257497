/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's memory for rows: slabs of 256 KiB, created on demand, which we write
 * through a mapping. A run of rows never crosses a slab.
 */
#ifndef LB_UNWIND_ROW_SLABS_H
#define LB_UNWIND_ROW_SLABS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lineburn_unwind.h"

struct row_slab;

struct row_slabs {
	int slabs_fd; /* the kernel's array of slabs; borrowed */
	struct row_slab *items; /* heap */
	size_t nr, cap, max;
	bool is_refused; /* the kernel refused another slab: no more are created */
};

/** @max_bytes  of all slabs; less than one slab counts as one */
void row_slabs_init(struct row_slabs *s, int slabs_fd, uint64_t max_bytes);
void row_slabs_deinit(struct row_slabs *s);

/**
 * Copies @nr rows (1..LB_SLAB_ROWS). @ret_first: as in struct lb_unwind_page.
 * Return: 0, or -ENOSPC. A new slab waits for running programs (milliseconds).
 */
int row_slabs_add(struct row_slabs *s, const struct lb_unwind_row *rows, uint32_t nr,
		  uint32_t *ret_first);
/** Frees rows of row_slabs_add() for reuse after row_slabs_grace(). */
void row_slabs_remove(struct row_slabs *s, uint32_t first, uint32_t nr);
void row_slabs_grace(struct row_slabs *s);

/** Creates one more slab, within the limit. Return: 0, -ENOSPC or -errno. */
int row_slabs_grow(struct row_slabs *s);

/**
 * Returns the number of free rows; _left: with slabs still to create and resting rows.
 */
uint64_t row_slabs_nr_free(const struct row_slabs *s);
uint64_t row_slabs_nr_left(const struct row_slabs *s);

#define ROW_SLAB_BYTES ((uint64_t)LB_SLAB_ROWS * sizeof(struct lb_unwind_row))

#endif
