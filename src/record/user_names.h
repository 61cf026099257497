/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cached names of users, because a look-up may execute a program and need the network.
 * Anybody who may take uids from /etc/subuid can have samples under thousands of them, so
 * look-ups of a pass take a limited time, and the order decides who has a name:
 *
 * - users of /etc/passwd, which is read once for all of them;
 * - others, those with most samples first;
 * - uids of /etc/subuid, which seldom have names.
 *
 * Whose turn does not come has a number in this pass, and is looked up in the next one. Who
 * has no name is looked up again after ten minutes.
 */
#ifndef LB_RECORD_USER_NAMES_H
#define LB_RECORD_USER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hashmap.h"
#include "base/strpool.h"
#include "worker/broker.h"

/* Time for the look-ups of a pass. The last one may take longer, a second at most. */
#define USER_NAMES_PASS_NS UINT64_C(200000000)

/* Zero-initialised: empty, and the time is used up. */
struct user_names {
	struct user_name {
		uid_t uid;
		char *name; /* heap: outlives the profile */
		bool is_number; /* it had no name when it was looked up */
	} * items;
	size_t nr, cap;
	struct hashmap index;
	uint64_t numbers_ns; /* when the first of those was added; 0: there is none */
	struct wanted_user {
		uid_t uid;
		bool is_in_range; /* of /etc/subuid */
		uint64_t nr_samples;
	} * wanted; /* heap */
	size_t nr_wanted, cap_wanted, next_wanted;
	bool is_ordered; /* the wanted */
	uint64_t left_ns; /* of this pass */
	bool has_unasked; /* a user has a number for want of time; the caller resets it */
	bool asks_no_more; /* an answer took too long */
};

void user_names_deinit(struct user_names *users);

/** Begins a pass, with new time. */
void user_names_begin_pass(struct user_names *users);

/** Requests the name of a user of our user namespace. */
void user_names_want(struct user_names *users, uid_t uid, uint64_t nr_samples);

/**
 * Looks up one of the requested names.
 * Return: whether there are more, and time for them; otherwise no request is left.
 */
bool user_names_step(struct user_names *users);

/**
 * Finds the name of a user, who is looked up if nobody has requested it and there is time.
 *
 * @is_ours  the uid is one of our user namespace: in another one it may belong to another
 *           user, or to none
 * Return: in @pool: the name, or the number.
 */
const char *user_names_find(struct user_names *users, struct strpool *pool, uid_t uid,
			    bool is_ours);

/** Serves BROKER_NAME_USER, for user_names_step(). */
broker_fn user_names_serve;

#endif
