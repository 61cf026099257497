// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/user_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/user.h"
#include "base/vec.h"

#define MAX_USERS   65536
#define MAX_WAIT_MS 1000 /* drains wait as long */
/* Numbers stay so long: a server of names may have been away, or the user is new. */
#define NUMBERS_NS (600 * CLOCK_SECOND_NS)

static void forget_names(struct user_names *users)
{
	for (size_t i = 0; i < users->nr; i++)
		free(users->items[i].name);
	free(users->items);
	users->items = NULL;
	users->nr = users->cap = 0;
	users->numbers_ns = 0;
	hashmap_deinit(&users->index);
}

void user_names_deinit(struct user_names *users)
{
	forget_names(users);
	free(users->wanted);
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

static bool user_eq(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct user_names *)ctx)->items[item].uid == *(const uid_t *)key;
}

/* Returns the name or number that is known, or NULL. */
static const char *known(const struct user_names *users, uid_t uid)
{
	uint32_t item =
		hashmap_get(&users->index, hash_u64(0, uid), user_eq, &uid, users);

	return item == HASHMAP_NONE ? NULL : users->items[item].name;
}

/* Not stored when out of memory: looked up again. */
static void add(struct user_names *users, uid_t uid, const char *name, bool is_number)
{
	_cleanup_free_ char *copy = strdup(name);

	if (copy &&
	    !vec_grow(&users->items, &users->cap, users->nr + 1, sizeof(*users->items),
		      MAX_USERS) &&
	    !hashmap_add(&users->index, hash_u64(0, uid), (uint32_t)users->nr))
		users->items[users->nr++] =
			(struct user_name){uid, take_ptr(copy), is_number};
	if (is_number && !users->numbers_ns)
		users->numbers_ns = clock_now_ns();
}

/* They are looked up again. */
static void forget_numbers(struct user_names *users)
{
	size_t nr = 0;

	hashmap_deinit(&users->index);
	users->numbers_ns = 0;
	for (size_t i = 0; i < users->nr; i++) {
		struct user_name user = users->items[i];

		if (user.is_number ||
		    hashmap_add(&users->index, hash_u64(0, user.uid), (uint32_t)nr))
			free(user.name);
		else
			users->items[nr++] = user;
	}
	users->nr = nr;
}

static void write_number(uid_t uid, struct user *ret)
{
	snprintf(ret->name, sizeof(ret->name), "%u", (unsigned int)uid);
}

static bool may_ask(const struct user_names *users)
{
	return users->left_ns && !users->asks_no_more;
}

/* Asks for a user who is not known. @ret  the name, or the number */
static void look_up(struct user_names *users, uid_t uid, struct user *ret)
{
	uint64_t begin_ns = clock_now_ns(), took_ns;
	int rc = ask(uid, ret);
	bool is_number = rc || !*ret->name;

	took_ns = clock_now_ns() - begin_ns;
	users->left_ns -= took_ns < users->left_ns ? took_ns : users->left_ns;
	if (rc == -ETIMEDOUT) {
		users->asks_no_more = true;
		log_warning("getent(1) does not name user %u within a second: from now "
			    "on, users have numbers; look at /etc/nsswitch.conf",
			    (unsigned int)uid);
	}
	if (is_number)
		write_number(uid, ret);
	add(users, uid, ret->name, is_number);
}

/* ---- who is looked up first ---- */

static int by_uid(const void *a, const void *b)
{
	const struct wanted_user *x = a, *y = b;

	return (x->uid > y->uid) - (x->uid < y->uid);
}

static int by_turn(const void *a, const void *b)
{
	const struct wanted_user *x = a, *y = b;

	if (x->is_in_range != y->is_in_range)
		return x->is_in_range ? 1 : -1;
	if (x->nr_samples != y->nr_samples)
		return x->nr_samples < y->nr_samples ? 1 : -1;
	return by_uid(a, b);
}

static void name_local(void *ctx, const struct user *user)
{
	struct user_names *users = ctx;
	struct wanted_user key = {.uid = user->uid};

	if (bsearch(&key, users->wanted, users->nr_wanted, sizeof(key), by_uid) &&
	    !known(users, user->uid))
		add(users, user->uid, user->name, false);
}

static void note_range(void *ctx, const char *owner, uid_t first, uint64_t nr)
{
	struct user_names *users = ctx;
	size_t low = 0, high = users->nr_wanted;

	(void)owner;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (users->wanted[mid].uid < first)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < users->nr_wanted && users->wanted[low].uid - first < nr; low++)
		users->wanted[low].is_in_range = true;
}

/* Adds up the requests for each user. */
static void merge(struct user_names *users)
{
	size_t nr = 0;

	qsort(users->wanted, users->nr_wanted, sizeof(*users->wanted), by_uid);
	for (size_t i = 0; i < users->nr_wanted; i++)
		if (nr && users->wanted[nr - 1].uid == users->wanted[i].uid)
			users->wanted[nr - 1].nr_samples += users->wanted[i].nr_samples;
		else
			users->wanted[nr++] = users->wanted[i];
	users->nr_wanted = nr;
}

static void order(struct user_names *users)
{
	size_t nr = 0;

	merge(users);
	users_each(name_local, users);
	users_each_range("/etc/subuid", note_range, users);
	for (size_t i = 0; i < users->nr_wanted; i++)
		if (!known(users, users->wanted[i].uid))
			users->wanted[nr++] = users->wanted[i];
	users->nr_wanted = nr;
	qsort(users->wanted, nr, sizeof(*users->wanted), by_turn);
	users->is_ordered = true;
}

static void forget_wanted(struct user_names *users)
{
	free(users->wanted);
	users->wanted = NULL;
	users->nr_wanted = users->cap_wanted = users->next_wanted = 0;
	users->is_ordered = false;
}

void user_names_begin_pass(struct user_names *users)
{
	users->left_ns = USER_NAMES_PASS_NS;
	/* A full cache would keep out new users for the rest of the recording. */
	if (users->nr > MAX_USERS / 2)
		forget_names(users);
	else if (users->numbers_ns && clock_now_ns() >= users->numbers_ns + NUMBERS_NS)
		forget_numbers(users);
}

void user_names_want(struct user_names *users, uid_t uid, uint64_t nr_samples)
{
	/* Out of memory: it is looked up when its name is used. */
	if (!known(users, uid) &&
	    !vec_grow(&users->wanted, &users->cap_wanted, users->nr_wanted + 1,
		      sizeof(*users->wanted), 0))
		users->wanted[users->nr_wanted++] =
			(struct wanted_user){.uid = uid, .nr_samples = nr_samples};
}

bool user_names_step(struct user_names *users)
{
	struct user user = {0};

	if (users->nr_wanted && !users->is_ordered)
		order(users);
	if (users->next_wanted < users->nr_wanted && may_ask(users))
		look_up(users, users->wanted[users->next_wanted++].uid, &user);
	if (users->next_wanted < users->nr_wanted && may_ask(users))
		return true;
	forget_wanted(users);
	return false;
}

const char *user_names_find(struct user_names *users, struct strpool *pool, uid_t uid,
			    bool is_ours)
{
	const char *name = is_ours ? known(users, uid) : NULL;
	struct user user = {0};

	if (name)
		return strpool_add(pool, name);
	if (is_ours && may_ask(users)) {
		look_up(users, uid, &user);
	} else {
		write_number(uid, &user);
		users->has_unasked |= is_ours && !users->asks_no_more;
	}
	return strpool_add(pool, user.name);
}
