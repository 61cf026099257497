// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/rules.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "collect/kmap.h"

#define RULES_BYTES (LB_UNWIND_MAX_RULES * sizeof(struct lb_unwind_rule))

enum {
	RULE_NONE,
	RULE_UNSUPPORTED
};

static uint64_t hash_of(const struct lb_unwind_rule *rule)
{
	return hash_bytes(0, rule, sizeof(*rule));
}

static bool rule_eq(uint32_t item, const void *key, const void *ctx)
{
	return !memcmp(&((const struct rules *)ctx)->items[item], key,
		       sizeof(struct lb_unwind_rule));
}

int rules_init(struct rules *r, int fd)
{
	struct lb_unwind_rule none = {.cfa = LB_CFA_NONE};
	struct lb_unwind_rule unsupported = {.cfa = LB_CFA_UNSUPPORTED};

	*r = (struct rules){.items = kmap_map(fd, RULES_BYTES)};
	if (!r->items)
		return -errno;
	if (rules_add(r, &none) != RULE_NONE ||
	    rules_add(r, &unsupported) != RULE_UNSUPPORTED || r->nr != 2)
		return -ENOMEM;
	return 0;
}

void rules_deinit(struct rules *r)
{
	kmap_unmap(r->items, RULES_BYTES);
	hashmap_deinit(&r->index);
	*r = (struct rules){0};
}

uint16_t rules_add(struct rules *r, const struct lb_unwind_rule *rule)
{
	uint64_t hash = hash_of(rule);
	uint32_t known = hashmap_find(&r->index, hash, rule_eq, rule, r);

	if (known != HASHMAP_NONE)
		return (uint16_t)known;
	if (r->nr == LB_UNWIND_MAX_RULES || hashmap_add(&r->index, hash, r->nr)) {
		r->nr_refused++;
		return RULE_UNSUPPORTED;
	}
	r->items[r->nr] = *rule;
	return (uint16_t)r->nr++;
}
