/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers interned strings in the order they are met; number 0 is "". */
#ifndef LB_PROFILE_STRING_TABLE_H
#define LB_PROFILE_STRING_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"

/* All zeroes is an empty table. */
struct string_table {
	struct hashmap index;
	const char **strings; /* heap array; [0] is unused */
	size_t nr, cap;
	bool failed; /* out of memory; numbers given since are 0 */
};

/** @s is borrowed, interned (told apart by its address), not NULL. */
int64_t string_table_number(struct string_table *t, const char *s);
void string_table_deinit(struct string_table *t);

#endif
