/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The array of distinct unwind rules in the kernel. Rules are never removed. */
#ifndef LB_UNWIND_RULES_H
#define LB_UNWIND_RULES_H

#include <stdint.h>

#include "base/hashmap.h"
#include "lineburn_unwind.h"

struct rules {
	struct lb_unwind_rule *items; /* LB_UNWIND_MAX_RULES of them, mapped */
	uint32_t nr;
	struct hashmap index;
	uint64_t nr_refused; /* over the maximum, or no memory */
};

/** @fd  the kernel's array; borrowed. Return: 0 or -errno. */
int rules_init(struct rules *r, int fd);
void rules_deinit(struct rules *r);

/** Number of @rule; that of {LB_CFA_UNSUPPORTED} when there is no room, counted. */
uint16_t rules_add(struct rules *r, const struct lb_unwind_rule *rule);

#endif
