// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/user_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/user.h"
#include "base/vec.h"

#define MAX_USERS   65536
#define MAX_WAIT_MS 1000 /* drains wait as long */

void user_names_deinit(struct user_names *users)
{
	for (size_t i = 0; i < users->nr; i++)
		free(users->items[i].name);
	free(users->items);
	hashmap_deinit(&users->index);
	*users = (struct user_names){0};
}

int user_names_serve(void *ctx, const struct broker_message *request,
		     struct broker_message *reply)
{
	struct user user;
	uid_t uid;
	int rc;

	(void)ctx;
	reply->len = sizeof(user.name);
	if (request->len != sizeof(uid))
		return -EBADMSG;
	memcpy(&uid, request->data, sizeof(uid));
	rc = user_by_uid(uid, MAX_WAIT_MS, &user);
	if (!rc)
		strcpy(reply->data, user.name);
	return rc;
}

/* A collector may not execute anything. */
static int ask(uid_t uid, struct user *ret)
{
	struct broker_message request = {.data = &uid, .len = sizeof(uid)};
	struct broker_message reply = {.data = ret->name, .len = sizeof(ret->name)};
	int rc;

	if (!broker_is_there(BROKER_HELPERS))
		return user_by_uid(uid, MAX_WAIT_MS, ret);
	rc = broker_ask(BROKER_HELPERS, BROKER_NAME_USER, &request, &reply);
	ret->name[sizeof(ret->name) - 1] = '\0';
	return rc;
}

static const char *name_of(struct user_names *users, struct strpool *pool, uid_t uid,
			   bool is_ours)
{
	struct user user = {.uid = uid};
	char number[16];
	int rc = is_ours && !users->asks_no_more ? ask(uid, &user) : -ENOENT;

	if (rc == -ETIMEDOUT) {
		users->asks_no_more = true;
		log_warning("getent(1) does not name user %u within a second: from now "
			    "on, users have numbers; look at /etc/nsswitch.conf",
			    (unsigned int)uid);
	}
	if (!rc && *user.name)
		return strpool_add(pool, user.name);
	snprintf(number, sizeof(number), "%u", (unsigned int)uid);
	return strpool_add(pool, number);
}

static bool user_eq(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct user_names *)ctx)->items[item].uid == *(const uid_t *)key;
}

const char *user_names_find(struct user_names *users, struct strpool *pool, uid_t uid,
			    bool is_ours)
{
	uint64_t hash = hash_u64(0, uid);
	_cleanup_free_ char *copy = NULL;
	uint32_t item;
	const char *name;

	if (!is_ours)
		return name_of(users, pool, uid, false);
	item = hashmap_get(&users->index, hash, user_eq, &uid, users);
	if (item != HASHMAP_NONE)
		return strpool_add(pool, users->items[item].name);
	name = name_of(users, pool, uid, true);
	copy = strdup(name);
	if (copy &&
	    !vec_grow(&users->items, &users->cap, users->nr + 1, sizeof(*users->items),
		      MAX_USERS) &&
	    !hashmap_add(&users->index, hash, (uint32_t)users->nr))
		users->items[users->nr++] = (struct user_name){uid, take_ptr(copy)};
	return name;
}
