/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Warns of tenants who used up their part of a table (base/quota.h). */
#ifndef LB_RECORD_SHARES_H
#define LB_RECORD_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "base/quota.h"

struct intake;
struct naming;
struct process_owner;

/**
 * Adds warnings to the profile that @n builds: who was refused how many places of which
 * table since the last call.
 */
void shares_warn(struct intake *in, struct naming *n);

/**
 * Writes one sentence.
 *
 * @user   name of a tenant who is a user; "": not known
 * @owner  of a process of a tenant that is a container; NULL: it has ended
 */
void shares_sentence(struct tenant who, const char *user,
		     const struct process_owner *owner, const struct quota *q,
		     uint64_t nr_refused, char *ret, size_t size);

#endif
