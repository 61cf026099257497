// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/quota.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"

#define PARTS 4

void quota_deinit(struct quota *q)
{
	free(q->users);
	hashmap_deinit(&q->index);
}

static bool user_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct quota *q = ctx;

	return q->users[item].uid == *(const uint32_t *)key;
}

static struct quota_user *find(struct quota *q, uint32_t uid)
{
	uint32_t item = hashmap_find(&q->index, hash_u64(0, uid), user_eq, &uid, q);

	return item == HASHMAP_NONE ? NULL : &q->users[item];
}

/* A user stays in the list; there are far fewer users than places. */
static struct quota_user *add(struct quota *q, uint32_t uid)
{
	if (vec_grow(&q->users, &q->cap_users, q->nr_users + 1, sizeof(*q->users), 0) ||
	    hashmap_add(&q->index, hash_u64(0, uid), (uint32_t)q->nr_users))
		return NULL;
	q->users[q->nr_users] = (struct quota_user){.uid = uid};
	return &q->users[q->nr_users++];
}

bool quota_take(struct quota *q, uint32_t uid, uint64_t nr)
{
	struct quota_user *user = find(q, uid);

	if (!user)
		user = add(q, uid);
	if (!user || (uid && q->max && user->nr + nr > q->max / PARTS))
		return false;
	user->nr += nr;
	return true;
}

void quota_give(struct quota *q, uint32_t uid, uint64_t nr)
{
	struct quota_user *user = find(q, uid);

	assert(user && user->nr >= nr);
	user->nr -= nr;
}
