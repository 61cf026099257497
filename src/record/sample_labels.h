/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sample says of who burned it: labels by the names of profile/labels.h. */
#ifndef LB_RECORD_SAMPLE_LABELS_H
#define LB_RECORD_SAMPLE_LABELS_H

#include "base/hashmap.h"
#include "base/strpool.h"
#include "profile/profile.h"
#include "record/stack_table.h"

#define SAMPLE_LABELS_MAX 13

/* Names of users, asked for once: the system's answer may come over the network. */
struct user_names {
	struct user_name {
		uid_t uid;
		char *name; /* heap: profiles come and go */
	} * items;
	size_t nr, cap;
	struct hashmap index;
};

void user_names_deinit(struct user_names *users);

/**
 * @labels  SAMPLE_LABELS_MAX of them; texts are those of @row, constants, or in @pool
 * Return: how many
 */
size_t sample_labels(struct user_names *users, struct strpool *pool,
		     const struct row *row, const struct row_stack *stack, bool keep_tid,
		     struct profile_label *labels);

#endif
