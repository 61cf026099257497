// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/time_share.h"

#define PARTS 4
/* Who has not asked for so long does not wait any more. */
#define WAIT_NS UINT64_C(100000000)

/* NULL: he took nothing lately. */
static const struct time_share_user *find(const struct time_share *s, uint32_t uid)
{
	for (size_t i = 0; i < s->nr_users; i++)
		if (s->users[i].uid == uid)
			return &s->users[i];
	return NULL;
}

static struct time_share_user *find_or_add(struct time_share *s, uint32_t uid)
{
	struct time_share_user *user = (struct time_share_user *)find(s, uid);

	if (user)
		return user;
	if (s->nr_users < TIME_SHARE_MAX_USERS) {
		user = &s->users[s->nr_users++];
	} else {
		user = &s->users[0];
		for (size_t i = 1; i < s->nr_users; i++)
			if (s->users[i].paid_ns < user->paid_ns)
				user = &s->users[i];
	}
	*user = (struct time_share_user){.uid = uid};
	return user;
}

static uint64_t owes_ns(const struct time_share_user *user, uint64_t now_ns)
{
	return user->paid_ns > now_ns ? user->paid_ns - now_ns : 0;
}

static bool is_used_up(const struct time_share *s, const struct time_share_user *user,
		       uint64_t now_ns)
{
	return owes_ns(user, now_ns) > (PARTS - 1) * s->burst_ns;
}

/* Does anybody wait who had less? */
static bool others_are_first(const struct time_share *s,
			     const struct time_share_user *user, uint64_t now_ns)
{
	for (size_t i = 0; i < s->nr_users; i++) {
		const struct time_share_user *other = &s->users[i];

		if (other->asked_ns && other->asked_ns + WAIT_NS >= now_ns &&
		    owes_ns(other, now_ns) < owes_ns(user, now_ns))
			return true;
	}
	return false;
}

void time_share_waits(struct time_share *s, uint32_t uid, uint64_t now_ns)
{
	if (s->is_shared)
		find_or_add(s, uid)->asked_ns = now_ns;
}

bool time_share_may_take(struct time_share *s, uint32_t uid, uint64_t now_ns)
{
	struct time_share_user *user;

	if (!s->is_shared)
		return true;
	user = find_or_add(s, uid);
	user->asked_ns = now_ns;
	if (is_used_up(s, user, now_ns) || others_are_first(s, user, now_ns)) {
		s->nr_put_off += !user->is_put_off;
		user->is_put_off = true;
		return false;
	}
	user->is_put_off = false;
	return true;
}

bool time_share_is_used_up(const struct time_share *s, uint32_t uid, uint64_t now_ns)
{
	const struct time_share_user *user = s->is_shared ? find(s, uid) : NULL;

	return user && is_used_up(s, user, now_ns);
}

void time_share_took(struct time_share *s, uint32_t uid, uint64_t begin_ns,
		     uint64_t end_ns)
{
	struct time_share_user *user;

	if (!s->is_shared)
		return;
	user = find_or_add(s, uid);
	user->asked_ns = 0; /* until he asks again */
	if (!uid)
		return;
	if (user->paid_ns < begin_ns)
		user->paid_ns = begin_ns;
	user->paid_ns += PARTS * (end_ns - begin_ns);
}
