/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growing arrays with a maximum. */
#ifndef LB_BASE_VEC_H
#define LB_BASE_VEC_H

#include <stddef.h>

/**
 * Makes room for @need items in the heap array at @items (a pointer to the array's
 * pointer), doubling its capacity; new items are zeroed.
 *
 * @cap   capacity in items, updated
 * @max   most items; 0 for no limit
 *
 * Return: 0, -ENOMEM, or -ENOSPC when @need > @max; on failure nothing changed.
 */
int vec_grow(void *items, size_t *cap, size_t need, size_t item_size, size_t max);

#endif
