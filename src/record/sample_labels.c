// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/sample_labels.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/labels.h"

#define MAX_USERS       65536
#define MAX_ENTRY_BYTES 16384

void user_names_deinit(struct user_names *users)
{
	for (size_t i = 0; i < users->nr; i++)
		free(users->items[i].name);
	free(users->items);
	hashmap_deinit(&users->index);
	*users = (struct user_names){0};
}

static bool user_eq(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct user_names *)ctx)->items[item].uid == *(const uid_t *)key;
}

/* Elsewhere the number means somebody else, or nobody. */
static const char *ask_name(struct strpool *pool, uid_t uid, bool is_ours)
{
	char entry[MAX_ENTRY_BYTES], number[16];
	struct passwd passwd, *found = NULL;

	if (is_ours && !getpwuid_r(uid, &passwd, entry, sizeof(entry), &found) && found &&
	    *passwd.pw_name)
		return strpool_add(pool, passwd.pw_name);
	snprintf(number, sizeof(number), "%u", (unsigned int)uid);
	return strpool_add(pool, number);
}

static const char *user_name_of(struct user_names *users, struct strpool *pool,
				const struct process *process)
{
	uid_t uid = process->uid;
	uint64_t hash = hash_u64(0, uid);
	_cleanup_free_ char *copy = NULL;
	uint32_t item;
	const char *name;

	if (!process->in_our_user_ns)
		return ask_name(pool, uid, false);
	item = hashmap_find(&users->index, hash, user_eq, &uid, users);
	if (item != HASHMAP_NONE)
		return strpool_add(pool, users->items[item].name);
	name = ask_name(pool, uid, true);
	copy = strdup(name);
	if (copy &&
	    !vec_grow(&users->items, &users->cap, users->nr + 1, sizeof(*users->items),
		      MAX_USERS) &&
	    !hashmap_add(&users->index, hash, (uint32_t)users->nr))
		users->items[users->nr++] = (struct user_name){uid, take_ptr(copy)};
	return name;
}

static void add_text(struct profile_label *labels, size_t *nr, const char *key,
		     const char *text)
{
	if (text && *text)
		labels[(*nr)++] =
			(struct profile_label){.key = key, .str = text, .unit = ""};
}

static void add_number(struct profile_label *labels, size_t *nr, const char *key,
		       uint64_t number)
{
	if (number)
		labels[(*nr)++] = (struct profile_label){
			.key = key, .str = "", .num = (int64_t)number, .unit = ""};
}

/*
 * Where it was when it was sampled, if that is known: unless a hierarchy of v1, which may
 * be hidden from us, tells more of the process.
 */
static const struct process_owner *owner_of(const struct row *row)
{
	if (!row->process)
		return row->cgroup;
	return row->cgroup && (row->process->owner.by_v2 || !row->process->owner.cgroup)
		       ? row->cgroup
		       : &row->process->owner;
}

size_t sample_labels(struct user_names *users, struct strpool *pool,
		     const struct row *row, const struct row_stack *stack, bool keep_tid,
		     struct profile_label *labels)
{
	const struct process *process = row->process;
	const struct process_owner *owner = owner_of(row);
	size_t nr = 0;

	add_number(labels, &nr, LABEL_PID, row->tgid);
	add_text(labels, &nr, LABEL_COMM,
		 *stack->comm || !process ? stack->comm : process->comm);
	add_number(labels, &nr, LABEL_TID, keep_tid ? stack->tid : 0);
	/* 1 is the root cgroup: no information. */
	add_number(labels, &nr, LABEL_CGROUP_ID,
		   stack->cgroup_id > 1 ? stack->cgroup_id : 0);
	if (owner) {
		add_text(labels, &nr, LABEL_CGROUP, owner->cgroup);
		add_text(labels, &nr, LABEL_CONTAINER, owner->container);
		add_text(labels, &nr, LABEL_CONTAINER_NAME, owner->container_name);
		add_text(labels, &nr, LABEL_RUNTIME, owner->runtime);
		add_text(labels, &nr, LABEL_POD, owner->pod);
		add_text(labels, &nr, LABEL_UNIT, owner->unit);
	}
	if (!process)
		return nr;
	if (process->ns_tgid != row->tgid)
		add_number(labels, &nr, LABEL_NS_PID, process->ns_tgid);
	if (process->uid != (uid_t)-1)
		add_text(labels, &nr, LABEL_USER, user_name_of(users, pool, process));
	add_text(labels, &nr, LABEL_EXE, process->owner.exe);
	return nr;
}
