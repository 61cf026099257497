// SPDX-License-Identifier: GPL-2.0-or-later
#include "opener/bans.h"

#include "base/target_fd.h"

void bans_add(struct bans *b, const struct ban_subject *subject, struct tenant who,
	      int fd, uint64_t stuck, uint64_t now_ns)
{
	struct ban *place = &b->bans[b->next];

	if (b->nr == MAX_BANS)
		target_fd_close(place->fd);
	else
		b->nr++;
	*place = (struct ban){.subject = *subject,
			      .who = who,
			      .fd = fd,
			      .time_ns = now_ns,
			      .stuck = stuck};
	b->next = (b->next + 1) % MAX_BANS;
}

static bool is_same(const struct ban_subject *a, const struct ban_subject *b)
{
	if (a->inode || b->inode)
		return a->inode == b->inode && a->dev == b->dev;
	return a->mount_id == b->mount_id;
}

static bool is_for(const struct ban *ban, struct tenant who)
{
	return ban->subject.inode || tenant_is_same(ban->who, who) ||
	       tenant_is_same(ban->who, TENANT_UNKNOWN) ||
	       tenant_is_same(who, TENANT_UNKNOWN);
}

bool bans_have(const struct bans *b, const struct ban_subject *subject, struct tenant who,
	       uint64_t now_ns, uint64_t ban_ns, bool (*is_stuck)(uint64_t number))
{
	for (size_t i = 0; i < b->nr; i++) {
		const struct ban *ban = &b->bans[i];

		if (is_same(&ban->subject, subject) && is_for(ban, who) &&
		    (now_ns - ban->time_ns < ban_ns || is_stuck(ban->stuck)))
			return true;
	}
	return false;
}

bool bans_have_any(const struct bans *b, uint64_t now_ns, uint64_t ban_ns,
		   bool (*is_stuck)(uint64_t number))
{
	for (size_t i = 0; i < b->nr; i++)
		if (now_ns - b->bans[i].time_ns < ban_ns || is_stuck(b->bans[i].stuck))
			return true;
	return false;
}

void bans_clear(struct bans *b)
{
	for (size_t i = 0; i < b->nr; i++)
		target_fd_close(b->bans[i].fd);
	*b = (struct bans){0};
}
