// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbolize/jit/owners.h"

#include <errno.h>
#include <stdlib.h>

int owners_init(struct owners *o, const struct queries *queries)
{
	struct tenancy *items = calloc(queries->nr ? queries->nr : 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < queries->nr; i++)
		items[i] =
			(struct tenancy){.at_first = OWNERS_NONE, .arrived = OWNERS_NONE};
	*o = (struct owners){.queries = queries, .items = items};
	return 0;
}

void owners_deinit(struct owners *o)
{
	free(o->items);
	*o = (struct owners){0};
}

/* Two had it when the first sample was taken: it is the one that came last. */
static void share(struct tenancy *t, uint32_t object, uint64_t from_ns, uint64_t until_ns)
{
	bool is_newer = from_ns > t->at_first_from_ns;
	uint64_t older_until_ns = is_newer ? t->at_first_until_ns : until_ns;
	uint64_t newer_from_ns = is_newer ? from_ns : t->at_first_from_ns;

	/*
	 * One that never ends was left behind. One that ended after the other had come
	 * did not: when it gave way is only known to lie between two walks of the list.
	 */
	if (older_until_ns != UINT64_MAX && older_until_ns > newer_from_ns)
		t->many_arrived = true;
	if (!is_newer)
		return;
	t->at_first = object;
	t->at_first_from_ns = from_ns;
	t->at_first_until_ns = until_ns;
}

static void claim_one(const struct query *q, struct tenancy *t, uint32_t object,
		      uint64_t from_ns, uint64_t until_ns)
{
	if (until_ns <= q->first_ns || from_ns > q->last_ns)
		return;
	if (from_ns <= q->first_ns && t->at_first != OWNERS_NONE) {
		share(t, object, from_ns, until_ns);
	} else if (from_ns <= q->first_ns) {
		t->at_first = object;
		t->at_first_from_ns = from_ns;
		t->at_first_until_ns = until_ns;
	} else {
		t->many_arrived |= t->arrived != OWNERS_NONE;
		if (t->arrived == OWNERS_NONE || from_ns > t->arrived_from_ns) {
			t->arrived = object;
			t->arrived_from_ns = from_ns;
		}
	}
}

int owners_claim(struct owners *o, uint32_t object, uint64_t start_ip, uint64_t end_ip,
		 uint64_t from_ns, uint64_t until_ns)
{
	const struct queries *queries = o->queries;

	for (size_t i = queries_lower_bound(queries, start_ip);
	     i < queries->nr && queries->items[i].ip < end_ip; i++) {
		if (++o->nr_claims > OWNERS_MAX_CLAIMS)
			return -E2BIG;
		claim_one(&queries->items[i], &o->items[i], object, from_ns, until_ns);
	}
	return 0;
}

enum ownership owners_of(const struct owners *o, size_t query, uint32_t *ret_object,
			 uint32_t *ret_next)
{
	const struct tenancy *t = &o->items[query];

	if (t->many_arrived)
		return OWNERSHIP_MANY;
	*ret_object = t->at_first;
	*ret_next = t->arrived;
	if (t->at_first == OWNERS_NONE)
		/*
		 * Nothing was registered when the first sample was taken: what came
		 * meanwhile was there before it was registered, or before it was seen.
		 */
		*ret_object = t->arrived;
	else if (t->arrived != OWNERS_NONE)
		return OWNERSHIP_TWO;
	return *ret_object == OWNERS_NONE ? OWNERSHIP_NONE : OWNERSHIP_ONE;
}
