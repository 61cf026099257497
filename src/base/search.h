/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Binary search in sorted data. */
#ifndef LB_BASE_SEARCH_H
#define LB_BASE_SEARCH_H

#include <stddef.h>

/**
 * Finds the first @i in [0, @nr) for which @is_past is true, or @nr. @is_past is an
 * expression of @i that is false up to some index, and true after it.
 */
#define SEARCH_FIRST(i, nr, is_past)                                            \
	({                                                                      \
		size_t search_low = 0, search_high = (nr);                      \
                                                                                \
		while (search_low < search_high) {                              \
			size_t i = search_low + (search_high - search_low) / 2; \
                                                                                \
			if (is_past)                                            \
				search_high = i;                                \
			else                                                    \
				search_low = i + 1;                             \
		}                                                               \
		search_low;                                                     \
	})

#endif
