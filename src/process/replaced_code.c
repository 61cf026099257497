// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/replaced_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"

void replaced_code_deinit(struct replaced_code *c)
{
	free(c->items);
	*c = (struct replaced_code){0};
}

/* Merges items [first, first + nr) and @add into one, which takes the place of first. */
static void merge(struct replaced_code *c, size_t first, size_t nr,
		  struct replaced_range add)
{
	for (size_t i = first; i < first + nr; i++) {
		const struct replaced_range *r = &c->items[i];

		add.start = r->start < add.start ? r->start : add.start;
		add.end = r->end > add.end ? r->end : add.end;
		add.from_ns = r->from_ns < add.from_ns ? r->from_ns : add.from_ns;
		add.until_ns = r->until_ns > add.until_ns ? r->until_ns : add.until_ns;
	}
	c->items[first] = add;
	memmove(&c->items[first + 1], &c->items[first + nr],
		(c->nr - first - nr) * sizeof(*c->items));
	c->nr -= nr - 1;
}

void replaced_code_add(struct replaced_code *c, uint64_t start, uint64_t end,
		       uint64_t from_ns)
{
	size_t first = SEARCH_FIRST(i, c->nr, c->items[i].end > start);
	size_t after = SEARCH_FIRST(i, c->nr, c->items[i].start >= end);
	struct replaced_range add = {start, end, from_ns, UINT64_MAX};

	if (first < after) {
		merge(c, first, after - first, add);
		return;
	}
	if (vec_grow(&c->items, &c->cap, c->nr + 1, sizeof(*c->items),
		     REPLACED_CODE_MAX)) {
		if (c->nr)
			merge(c, first < c->nr ? first : first - 1, 1, add);
		return;
	}
	memmove(&c->items[first + 1], &c->items[first],
		(c->nr - first) * sizeof(*c->items));
	c->items[first] = add;
	c->nr++;
}

void replaced_code_told(struct replaced_code *c, uint64_t now_ns)
{
	for (size_t i = 0; i < c->nr; i++)
		if (c->items[i].until_ns == UINT64_MAX)
			c->items[i].until_ns = now_ns;
}

void replaced_code_forget(struct replaced_code *c, uint64_t before_ns)
{
	size_t nr = 0;

	for (size_t i = 0; i < c->nr; i++)
		if (c->items[i].until_ns > before_ns)
			c->items[nr++] = c->items[i];
	c->nr = nr;
}

bool replaced_code_has(const struct replaced_code *c, uint64_t ip, uint64_t first_ns,
		       uint64_t last_ns)
{
	size_t at = SEARCH_FIRST(i, c->nr, c->items[i].end > ip);
	const struct replaced_range *r;

	if (at == c->nr)
		return false;
	r = &c->items[at];
	return r->start <= ip && r->from_ns <= last_ns && first_ns < r->until_ns;
}
