// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/query.h"

#include <errno.h>
#include <stdlib.h>

#define WIRE_QUERY_BYTES 24

static int by_ip(const void *a, const void *b)
{
	const struct query *qa = a, *qb = b;

	return qa->ip < qb->ip ? -1 : qa->ip > qb->ip;
}

int queries_read(struct wire_reader *r, struct queries *ret)
{
	size_t nr = wire_get_u32(r);
	struct queries q = {0};

	if (r->failed || nr > (r->len - r->pos) / WIRE_QUERY_BYTES)
		return -EBADMSG;
	q.items = calloc(nr ? nr : 1, sizeof(*q.items));
	if (!q.items)
		return -ENOMEM;
	q.nr = nr;
	for (size_t i = 0; i < nr; i++) {
		q.items[i].ip = wire_get_u64(r);
		q.items[i].first_ns = wire_get_u64(r);
		q.items[i].last_ns = wire_get_u64(r);
		q.items[i].index = i;
	}
	qsort(q.items, q.nr, sizeof(*q.items), by_ip);
	*ret = q;
	return 0;
}

void queries_deinit(struct queries *q)
{
	free(q->items);
	*q = (struct queries){0};
}

size_t queries_lower_bound(const struct queries *q, uint64_t ip)
{
	size_t low = 0, high = q->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (q->items[mid].ip < ip)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void query_claim(struct query *q, const struct claim *c)
{
	if (c->by_ns <= q->first_ns) {
		if (!q->has_before || c->by_ns >= q->before.by_ns)
			q->before = *c;
		q->has_before = true;
	} else if (c->after_ns >= q->last_ns) {
		if (!q->has_after || c->after_ns < q->after.after_ns)
			q->after = *c;
		q->has_after = true;
	} else {
		if (q->has_during) {
			q->during_many = true;
			q->during_differ |= c->name != q->during.name;
		}
		if (!q->has_during || c->by_ns >= q->during.by_ns)
			q->during = *c;
		q->has_during = true;
	}
}

int queries_claim(struct queries *q, const struct claim *c, uint64_t size_bytes)
{
	for (size_t i = queries_lower_bound(q, c->start_ip);
	     i < q->nr && q->items[i].ip - c->start_ip < size_bytes; i++) {
		if (++q->nr_claims > QUERY_MAX_CLAIMS)
			return -E2BIG;
		query_claim(&q->items[i], c);
	}
	return 0;
}

enum owner query_owner(const struct query *q, struct claim *ret)
{
	/* Something older that has left the address is no owner. */
	bool has_before = q->has_before && q->before.name;

	if (q->has_during) {
		if (q->during_differ ||
		    (has_before && q->before.name != q->during.name) || !q->during.name)
			return OWNER_AMBIGUOUS;
		*ret = has_before ? q->before : q->during;
		return has_before || q->during_many ? OWNER_SAME_NAME : OWNER_ONE;
	}
	if (has_before) {
		*ret = q->before;
		return OWNER_ONE;
	}
	if (!q->has_before && q->has_after && q->after.name) {
		*ret = q->after;
		return OWNER_ONE;
	}
	return OWNER_NONE;
}
