// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/quota.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"

#define PARTS 4

void quota_deinit(struct quota *q)
{
	free(q->accounts);
	hashmap_deinit(&q->index);
}

static uint64_t hash_of(struct tenant who)
{
	return hash_u64(hash_u64(0, who.container), who.uid);
}

static bool account_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct quota *q = ctx;

	return tenant_is_same(q->accounts[item].tenant, *(const struct tenant *)key);
}

static struct quota_account *find(const struct quota *q, struct tenant who)
{
	uint32_t item = hashmap_get(&q->index, hash_of(who), account_eq, &who, q);

	return item == HASHMAP_NONE ? NULL : &q->accounts[item];
}

/* NULL: out of memory. */
static struct quota_account *find_or_add(struct quota *q, struct tenant who)
{
	struct quota_account *known = find(q, who);

	if (known)
		return known;
	if (vec_grow(&q->accounts, &q->cap_accounts, q->nr_accounts + 1,
		     sizeof(*q->accounts), 0) ||
	    hashmap_add(&q->index, hash_of(who), (uint32_t)q->nr_accounts))
		return NULL;
	q->accounts[q->nr_accounts] = (struct quota_account){.tenant = who};
	return &q->accounts[q->nr_accounts++];
}

/* Containers come and go, so an account without a figure is dropped. */
static void drop_if_empty(struct quota *q, struct quota_account *a)
{
	struct quota_account *last = &q->accounts[q->nr_accounts - 1];
	uint32_t item = (uint32_t)(a - q->accounts);

	if (a->nr || a->nr_refused)
		return;
	hashmap_remove(&q->index, hash_of(a->tenant), item);
	q->nr_accounts--;
	if (a == last)
		return;
	/* Removing first makes room: the re-add cannot fail. */
	hashmap_remove(&q->index, hash_of(last->tenant), (uint32_t)q->nr_accounts);
	*a = *last;
	hashmap_add(&q->index, hash_of(a->tenant), item);
}

void payers_add(struct payers *p, struct tenant who)
{
	for (size_t i = 0; i < p->nr; i++)
		if (tenant_is_same(p->items[i], who))
			return;
	if (!p->nr)
		return; /* nobody pays: it stays so */
	if (p->nr == PAYERS_MAX || tenant_is_same(who, (struct tenant){0}))
		p->nr = 0;
	else
		p->items[p->nr++] = who;
}

static bool pays(const struct quota *q, struct tenant who)
{
	return q->max && (who.container || who.uid);
}

static void count_refused(struct quota_account *a, uint64_t nr)
{
	a->nr_in_round += nr;
	if (a->nr_in_round <= a->nr_worst)
		return;
	a->nr_refused += a->nr_in_round - a->nr_worst;
	a->nr_worst = a->nr_in_round;
}

void quota_begin_round(struct quota *q)
{
	for (size_t i = 0; i < q->nr_accounts; i++)
		q->accounts[i].nr_in_round = 0;
}

bool quota_take(struct quota *q, struct tenant who, uint64_t nr)
{
	struct quota_account *a;

	if (!pays(q, who))
		return true;
	a = find_or_add(q, who);
	if (!a)
		return false;
	if (a->nr + nr > q->max / PARTS) {
		count_refused(a, nr);
		return false;
	}
	a->nr += nr;
	return true;
}

bool quota_has_room(const struct quota *q, struct tenant who, uint64_t nr)
{
	const struct quota_account *a = pays(q, who) ? find(q, who) : NULL;

	return !pays(q, who) || (a ? a->nr : 0) + nr <= q->max / PARTS;
}

/* Returns who has room, else the first. */
static struct tenant choose(const struct quota *q, const struct payers *payers,
			    uint64_t nr)
{
	for (size_t i = 0; i < payers->nr; i++)
		if (quota_has_room(q, payers->items[i], nr))
			return payers->items[i];
	return payers->nr ? payers->items[0] : (struct tenant){0};
}

bool quota_take_any(struct quota *q, const struct payers *payers, uint64_t nr,
		    struct tenant *ret)
{
	*ret = choose(q, payers, nr);
	return quota_take(q, *ret, nr);
}

void quota_add(struct quota *q, struct tenant who, uint64_t nr)
{
	struct quota_account *a = pays(q, who) ? find_or_add(q, who) : NULL;

	if (a)
		a->nr += nr;
}

void quota_add_any(struct quota *q, const struct payers *payers, uint64_t nr)
{
	quota_add(q, choose(q, payers, nr), nr);
}

bool quota_refuse(struct quota *q, struct tenant who, uint64_t nr)
{
	struct quota_account *a = pays(q, who) ? find_or_add(q, who) : NULL;

	if (a)
		count_refused(a, nr);
	return pays(q, who);
}

void quota_refuse_full(struct quota *q, struct tenant who, uint64_t nr)
{
	struct quota_account *a = pays(q, who) ? find_or_add(q, who) : NULL;

	if (!a)
		return;
	count_refused(a, nr);
	a->met_full = true;
}

bool quota_met_full(const struct quota *q, struct tenant who)
{
	const struct quota_account *a = pays(q, who) ? find(q, who) : NULL;

	return a && a->met_full;
}

void quota_give(struct quota *q, struct tenant who, uint64_t nr)
{
	struct quota_account *a = pays(q, who) ? find(q, who) : NULL;

	if (!a)
		return;
	/* Less was counted if memory was short. */
	a->nr -= nr < a->nr ? nr : a->nr;
	drop_if_empty(q, a);
}

bool quota_is_over(const struct quota *q, struct tenant who)
{
	const struct quota_account *a = pays(q, who) ? find(q, who) : NULL;

	return a && a->nr > q->max / PARTS;
}

bool quota_is_half_used(const struct quota *q, struct tenant who)
{
	const struct quota_account *a = pays(q, who) ? find(q, who) : NULL;

	return a && a->nr > q->max / PARTS / 2;
}

bool quota_are_over(const struct quota *q, const struct payers *payers)
{
	for (size_t i = 0; i < payers->nr; i++)
		if (!quota_is_over(q, payers->items[i]))
			return false;
	return payers->nr;
}

bool quota_is_any_over(const struct quota *q)
{
	for (size_t i = 0; i < q->nr_accounts; i++)
		if (q->accounts[i].nr > q->max / PARTS)
			return true;
	return false;
}

void quota_each_refused(struct quota *q, quota_refused_fn fn, void *ctx)
{
	for (size_t i = q->nr_accounts; i--;) {
		struct quota_account *a = &q->accounts[i];

		if (!a->nr_refused)
			continue;
		fn(ctx, q, a->tenant, a->nr_refused);
		a->nr_refused = 0;
		a->met_full = false;
		drop_if_empty(q, a);
	}
}
