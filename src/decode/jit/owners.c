// SPDX-License-Identifier: GPL-2.0-or-later
#include "decode/jit/owners.h"

#include <errno.h>
#include <stdlib.h>

#include "base/search.h"

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
	return SEARCH_FIRST(i, q->nr, q->items[i].ip >= ip);
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
	/* A claim without a name ends the older code: no owner. */
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

int owners_init(struct owners *o, const struct queries *queries)
{
	struct address_history *items =
		calloc(queries->nr ? queries->nr : 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < queries->nr; i++)
		items[i] = (struct address_history){.at_first = OWNERS_NONE,
						    .arrived = OWNERS_NONE,
						    .any = OWNERS_NONE};
	*o = (struct owners){.queries = queries, .items = items};
	return 0;
}

void owners_deinit(struct owners *o)
{
	free(o->items);
	*o = (struct owners){0};
}

/* Returns the time from which on the object was certainly there. */
static uint64_t seen_ns(const struct owner_time *time)
{
	return time->seen_ns > time->from_ns ? time->seen_ns : time->from_ns;
}

/* Two objects had the address at the first sample: the newer one owns it. */
static void share(struct address_history *t, uint32_t object,
		  const struct owner_time *time)
{
	const struct owner_time *had = &t->at_first_time;
	bool is_newer = time->from_ns > had->from_ns;
	const struct owner_time *older = is_newer ? had : time;
	const struct owner_time *newer = is_newer ? time : had;

	/*
	 * If the older object has no end time, the newer one replaced it. If it ended
	 * after the newer one was registered, the time of the replacement is only known
	 * to be between two walks of the list.
	 */
	if (older->until_ns != UINT64_MAX && older->until_ns > newer->from_ns)
		t->many_arrived = true;
	/*
	 * Two objects seen by one walk are ordered by the list. Being seen by an
	 * earlier walk does not give an order.
	 */
	if (seen_ns(older) > newer->from_ns &&
	    (older->from_ns != newer->from_ns || seen_ns(older) != seen_ns(newer)))
		t->is_unordered = true;
	if (!is_newer)
		return;
	t->at_first = object;
	t->at_first_time = *time;
}

static void claim_one(const struct query *q, struct address_history *t, uint32_t object,
		      const struct owner_time *time)
{
	if (time->until_ns <= q->first_ns || time->from_ns > q->last_ns)
		return;
	if (time->from_ns <= q->first_ns && t->at_first != OWNERS_NONE) {
		share(t, object, time);
	} else if (time->from_ns <= q->first_ns) {
		t->at_first = object;
		t->at_first_time = *time;
	} else {
		t->many_arrived |= t->arrived != OWNERS_NONE;
		if (t->arrived == OWNERS_NONE || time->from_ns > t->arrived_from_ns) {
			t->arrived = object;
			t->arrived_from_ns = time->from_ns;
		}
	}
}

/* Notes what matters if walks have seen some of the objects. */
static void compare_one(const struct owners *o, const struct query *q,
			struct address_history *t, uint32_t object,
			const struct owner_time *time)
{
	if (t->any == OWNERS_NONE)
		t->any = object;
	if (!t->differ)
		t->differ = !o->same(o->ctx, t->any, object, q->ip);
	t->has_gone |= time->until_ns != UINT64_MAX;
	if (!time->seen_ns)
		return;
	t->has_walked = true;
	t->is_early |= q->first_ns < time->seen_ns && q->last_ns >= time->from_ns;
	/* It came or went while the address was sampled. */
	t->many_arrived |= (time->from_ns > q->first_ns && time->from_ns <= q->last_ns) ||
			   (time->until_ns > q->first_ns && time->until_ns <= q->last_ns);
}

int owners_claim(struct owners *o, uint32_t object, uint64_t start_ip, uint64_t end_ip,
		 const struct owner_time *time)
{
	const struct queries *queries = o->queries;

	for (size_t i = queries_lower_bound(queries, start_ip);
	     i < queries->nr && queries->items[i].ip < end_ip; i++) {
		const struct query *q = &queries->items[i];

		if (++o->nr_claims > OWNERS_MAX_CLAIMS)
			return -E2BIG;
		if (o->same)
			compare_one(o, q, &o->items[i], object, time);
		claim_one(q, &o->items[i], object, time);
	}
	return 0;
}

enum ownership owners_of(const struct owners *o, size_t query, uint32_t *ret_object,
			 uint32_t *ret_next)
{
	const struct address_history *t = &o->items[query];

	if (t->many_arrived || (t->has_walked && t->differ &&
				(t->has_gone || t->is_early || t->is_unordered)))
		return OWNERSHIP_MANY;
	*ret_object = t->at_first;
	*ret_next = t->arrived;
	if (t->at_first == OWNERS_NONE)
		/*
		 * Nothing was registered at the first sample: the object that came
		 * later was there before it was registered, or before a walk saw it.
		 */
		*ret_object = t->arrived;
	else if (t->arrived != OWNERS_NONE)
		return OWNERSHIP_TWO;
	return *ret_object == OWNERS_NONE ? OWNERSHIP_NONE : OWNERSHIP_ONE;
}
