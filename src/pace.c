// SPDX-License-Identifier: GPL-2.0-or-later
#include "pace.h"

#include "base/hash.h"

uint64_t pace_rest_ns(struct pace *p, uint64_t now_ns)
{
	const uint64_t burst_ns = PACE_PROMPT_BURST * PACE_PROMPT_NS;

	if (p->spent_ns + burst_ns < now_ns)
		p->spent_ns = now_ns - burst_ns;
	if (p->spent_ns + PACE_PROMPT_NS <= now_ns) {
		p->spent_ns += PACE_PROMPT_NS;
		return 0;
	}
	p->random = hash_number(p->random ^ now_ns);
	return 1 + p->random % (PACE_REST_NS - 1);
}
