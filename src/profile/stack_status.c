// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/stack_status.h"

#include <string.h>

#include "base/cleanup.h"

static const char *const names[] = {
	[LB_STACK_COMPLETE] = "complete",
	[LB_STACK_NO_USER] = "no-user",
	[LB_STACK_TRUNCATED] = "truncated",
	[LB_STACK_BAD_FP] = "bad-fp",
	[LB_STACK_FAULT] = "fault",
	[LB_STACK_NO_REGS] = "no-regs",
	[LB_STACK_LEAF_ONLY] = "leaf-only",
	[LB_STACK_NO_BODY] = "no-body",
	[LB_STACK_NO_MAPPING] = "no-mapping",
	[LB_STACK_NO_TABLE] = "no-table",
	[LB_STACK_UNSUPPORTED] = "unsupported",
	[LB_STACK_BAD_CFA] = "bad-cfa",
	[LB_STACK_32_BIT] = "32-bit",
};
_Static_assert(ARRAY_SIZE(names) == LB_NR_STACK_STATUS, "one name per status");

const char *stack_status_name(uint32_t status)
{
	return names[status < LB_NR_STACK_STATUS ? status : LB_STACK_COMPLETE];
}

uint32_t stack_status_from_name(const char *name)
{
	for (uint32_t i = 0; i < LB_NR_STACK_STATUS; i++)
		if (!strcmp(names[i], name))
			return i;
	return LB_NR_STACK_STATUS;
}

bool stack_status_is_incomplete(uint32_t status)
{
	return status != LB_STACK_COMPLETE && status != LB_STACK_NO_USER &&
	       status < LB_NR_STACK_STATUS;
}
