// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbolize/jit/owner.h"

#include <errno.h>
#include <stdlib.h>

#define QUERY_BYTES 24

static int by_ip(const void *a, const void *b)
{
	const struct jit_query *x = a, *y = b;

	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

int jit_queries_read(struct wire_reader *r, struct jit_queries *ret)
{
	size_t nr = wire_get_u32(r);
	struct jit_query *items;

	if (r->failed || nr > (r->len - r->pos) / QUERY_BYTES)
		return -EBADMSG;
	items = calloc(nr ? nr : 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		items[i].ip = wire_get_u64(r);
		items[i].first_ns = wire_get_u64(r);
		items[i].last_ns = wire_get_u64(r);
		items[i].index = i;
	}
	qsort(items, nr, sizeof(*items), by_ip);
	ret->items = items;
	ret->nr = nr;
	return 0;
}

void jit_queries_deinit(struct jit_queries *q)
{
	free(q->items);
	*q = (struct jit_queries){0};
}

size_t jit_queries_from(const struct jit_queries *q, uint64_t start)
{
	size_t low = 0, high = q->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (q->items[middle].ip < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

enum owner_offer owner_offer(const struct jit_query *q, const struct appearance *when,
			     bool accept_late)
{
	if (when->by_ns <= q->first_ns)
		return OWNER_TAKEN;
	if (when->not_before_ns >= q->last_ns)
		return !q->found && accept_late ? OWNER_TAKEN : OWNER_REFUSED;
	return q->found ? OWNER_IN_DOUBT : OWNER_TAKEN;
}
