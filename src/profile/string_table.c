// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/string_table.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"

int64_t string_table_number(struct string_table *t, const char *s)
{
	uint64_t hash = hash_pointer(0, s);
	uint32_t item;

	if (!*s)
		return 0;
	item = hashmap_find(&t->index, hash, NULL, NULL, NULL);
	if (item != HASHMAP_NONE)
		return item;
	if (!t->nr)
		t->nr = 1;
	if (t->nr >= HASHMAP_NONE ||
	    vec_grow(&t->strings, &t->cap, t->nr + 1, sizeof(*t->strings), 0) ||
	    hashmap_add(&t->index, hash, (uint32_t)t->nr)) {
		t->failed = true;
		return 0;
	}
	t->strings[t->nr] = s;
	return (int64_t)t->nr++;
}

void string_table_deinit(struct string_table *t)
{
	hashmap_deinit(&t->index);
	free(t->strings);
	*t = (struct string_table){0};
}
