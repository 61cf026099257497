// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/uid_owners.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/search.h"
#include "base/user.h"
#include "base/vec.h"

#define MAX_USERS  (1 << 20)
#define MAX_RANGES (1 << 20)

static uint64_t hash_name(const char *name)
{
	return hash_bytes(0, name, strlen(name));
}

static void add_user(void *ctx, const struct user *user)
{
	struct uid_owners *o = ctx;

	if (!vec_grow(&o->users, &o->cap_users, o->nr_users + 1, sizeof(*o->users),
		      MAX_USERS))
		o->users[o->nr_users++] = (struct known_user){
			.name = hash_name(user->name), .uid = user->uid};
}

/* @name  or a uid, as in subuid(5) */
static uid_t owner_of(const struct uid_owners *o, const char *name, uid_t first)
{
	uint64_t hash = hash_name(name);
	size_t at = SEARCH_FIRST(i, o->nr_users, o->users[i].name >= hash);
	uint32_t uid;
	char rest;

	if (at < o->nr_users && o->users[at].name == hash)
		return o->users[at].uid;
	return sscanf(name, "%" SCNu32 "%c", &uid, &rest) == 1 ? uid : first;
}

static void add_range(void *ctx, const char *name, uid_t first, uint64_t nr)
{
	struct uid_owners *o = ctx;
	uid_t owner = owner_of(o, name, first);
	uint64_t end = first + nr;

	if (owner && !vec_grow(&o->ranges, &o->cap_ranges, o->nr_ranges + 1,
			       sizeof(*o->ranges), MAX_RANGES))
		o->ranges[o->nr_ranges++] = (struct uid_range){
			.begin = first,
			.end = end < UINT32_MAX ? (uint32_t)end : UINT32_MAX,
			.owner = owner};
}

static int by_name(const void *a, const void *b)
{
	const struct known_user *x = a, *y = b;

	return (x->name > y->name) - (x->name < y->name);
}

static int by_uid(const void *a, const void *b)
{
	const struct known_user *x = a, *y = b;

	return (x->uid > y->uid) - (x->uid < y->uid);
}

static int by_place(const void *a, const void *b)
{
	const struct uid_range *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin > y->begin ? 1 : -1;
	return (x->owner > y->owner) - (x->owner < y->owner);
}

static void order_users(struct uid_owners *o, int (*order)(const void *, const void *))
{
	if (o->nr_users)
		qsort(o->users, o->nr_users, sizeof(*o->users), order);
}

/* What two ranges have in common belongs to the one that begins first. */
static void order_ranges(struct uid_owners *o)
{
	uint32_t end = 0;
	size_t nr = 0;

	if (o->nr_ranges)
		qsort(o->ranges, o->nr_ranges, sizeof(*o->ranges), by_place);
	for (size_t i = 0; i < o->nr_ranges; i++) {
		struct uid_range range = o->ranges[i];

		if (range.begin < end)
			range.begin = end;
		if (range.begin >= range.end)
			continue;
		end = range.end;
		o->ranges[nr++] = range;
	}
	o->nr_ranges = nr;
}

static struct stat facts_of(const char *path)
{
	struct stat st;

	return users_stat(path, &st) ? (struct stat){0} : st;
}

void uid_owners_read(struct uid_owners *o, const char *path)
{
	struct stat st = facts_of(path);

	uid_owners_deinit(o);
	o->path = path;
	o->changed = st.st_mtim;
	o->inode = st.st_ino;
	users_each(add_user, o);
	order_users(o, by_name);
	users_each_range(path, add_range, o);
	order_users(o, by_uid);
	order_ranges(o);
}

void uid_owners_deinit(struct uid_owners *o)
{
	free(o->users);
	free(o->ranges);
	*o = (struct uid_owners){0};
}

void uid_owners_refresh(struct uid_owners *o)
{
	struct stat st;

	if (!o->path)
		return;
	st = facts_of(o->path);
	if (st.st_ino != o->inode || st.st_mtim.tv_sec != o->changed.tv_sec ||
	    st.st_mtim.tv_nsec != o->changed.tv_nsec)
		uid_owners_read(o, o->path);
}

bool uid_owners_find(const struct uid_owners *o, uid_t uid, uid_t *ret)
{
	size_t user = SEARCH_FIRST(i, o->nr_users, o->users[i].uid >= uid);
	size_t past = SEARCH_FIRST(i, o->nr_ranges, o->ranges[i].begin > uid);

	if (user < o->nr_users && o->users[user].uid == uid)
		*ret = uid;
	else if (past && uid < o->ranges[past - 1].end)
		*ret = o->ranges[past - 1].owner;
	else
		return false;
	return true;
}
