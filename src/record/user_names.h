/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cached names of users, because a look-up may execute a program and need the network. */
#ifndef LB_RECORD_USER_NAMES_H
#define LB_RECORD_USER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/hashmap.h"
#include "base/strpool.h"
#include "worker/broker.h"

/* Zero-initialised: empty. */
struct user_names {
	struct user_name {
		uid_t uid;
		char *name; /* heap: outlives the profile */
	} * items;
	size_t nr, cap;
	struct hashmap index;
	bool asks_no_more; /* an answer took too long */
};

void user_names_deinit(struct user_names *users);

/**
 * Finds the name of a user.
 *
 * @is_ours  the uid is one of our user namespace: in another one it may belong to another
 *           user, or to none
 * Return: in @pool: the name, or the number.
 */
const char *user_names_find(struct user_names *users, struct strpool *pool, uid_t uid,
			    bool is_ours);

/** Serves BROKER_NAME_USER, for user_names_find(). */
broker_fn user_names_serve;

#endif
