// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/wakeup_limit.h"

#include "base/hash.h"

uint64_t wakeup_limit_wait_ns(struct wakeup_limit *p, uint64_t now_ns)
{
	const uint64_t burst_ns = WAKEUP_LIMIT_PROMPT_BURST * WAKEUP_LIMIT_PROMPT_NS;

	if (p->spent_ns + burst_ns < now_ns)
		p->spent_ns = now_ns - burst_ns;
	if (p->spent_ns + WAKEUP_LIMIT_PROMPT_NS <= now_ns) {
		p->spent_ns += WAKEUP_LIMIT_PROMPT_NS;
		return 0;
	}
	p->random = hash_number(p->random ^ now_ns);
	return 1 + p->random % (WAKEUP_LIMIT_REST_NS - 1);
}
