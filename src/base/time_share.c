// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/time_share.h"

#define PARTS 4
/* Who has not asked for so long does not wait any more. */
#define WAIT_NS UINT64_C(100000000)

/* NULL: it took nothing lately. */
static const struct time_share_account *find(const struct time_share *s,
					     struct tenant who)
{
	for (size_t i = 0; i < s->nr_accounts; i++)
		if (tenant_is_same(s->accounts[i].tenant, who))
			return &s->accounts[i];
	return NULL;
}

static struct time_share_account *find_or_add(struct time_share *s, struct tenant who)
{
	struct time_share_account *account = (struct time_share_account *)find(s, who);

	if (account)
		return account;
	if (s->nr_accounts < TIME_SHARE_MAX_TENANTS) {
		account = &s->accounts[s->nr_accounts++];
	} else {
		account = &s->accounts[0];
		for (size_t i = 1; i < s->nr_accounts; i++)
			if (s->accounts[i].paid_ns < account->paid_ns)
				account = &s->accounts[i];
	}
	*account = (struct time_share_account){.tenant = who};
	return account;
}

static uint64_t owes_ns(const struct time_share_account *account, uint64_t now_ns)
{
	return account->paid_ns > now_ns ? account->paid_ns - now_ns : 0;
}

static bool is_used_up(const struct time_share *s,
		       const struct time_share_account *account, uint64_t now_ns)
{
	return owes_ns(account, now_ns) > (PARTS - 1) * s->burst_ns;
}

/* Does anybody wait who had less? */
static bool others_are_first(const struct time_share *s,
			     const struct time_share_account *account, uint64_t now_ns)
{
	for (size_t i = 0; i < s->nr_accounts; i++) {
		const struct time_share_account *other = &s->accounts[i];

		if (other->asked_ns && other->asked_ns + WAIT_NS >= now_ns &&
		    owes_ns(other, now_ns) < owes_ns(account, now_ns))
			return true;
	}
	return false;
}

void time_share_waits(struct time_share *s, struct tenant who, uint64_t now_ns)
{
	if (s->is_shared)
		find_or_add(s, who)->asked_ns = now_ns;
}

bool time_share_may_take(struct time_share *s, struct tenant who, uint64_t now_ns)
{
	struct time_share_account *account;

	if (!s->is_shared)
		return true;
	account = find_or_add(s, who);
	if (is_used_up(s, account, now_ns) || others_are_first(s, account, now_ns)) {
		account->asked_ns = now_ns;
		s->nr_put_off += !account->is_put_off;
		account->is_put_off = true;
		return false;
	}
	account->asked_ns = 0; /* it may take none after all */
	account->is_put_off = false;
	return true;
}

bool time_share_is_used_up(const struct time_share *s, struct tenant who, uint64_t now_ns)
{
	const struct time_share_account *account = s->is_shared ? find(s, who) : NULL;

	return account && is_used_up(s, account, now_ns);
}

bool time_share_is_any_used_up(const struct time_share *s, uint64_t now_ns)
{
	for (size_t i = 0; i < s->nr_accounts; i++)
		if (is_used_up(s, &s->accounts[i], now_ns))
			return true;
	return false;
}

void time_share_took(struct time_share *s, struct tenant who, uint64_t begin_ns,
		     uint64_t end_ns)
{
	struct time_share_account *account;

	if (!s->is_shared)
		return;
	account = find_or_add(s, who);
	account->asked_ns = 0; /* until it is refused or waits again */
	if (tenant_is_same(who, (struct tenant){0}))
		return;
	if (account->paid_ns < begin_ns)
		account->paid_ns = begin_ns;
	account->paid_ns += PARTS * (end_ns - begin_ns);
}
