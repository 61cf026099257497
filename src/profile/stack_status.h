/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far the walk of a sample's user stack came: enum lb_stack_status, by name. */
#ifndef LB_PROFILE_STACK_STATUS_H
#define LB_PROFILE_STACK_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "lineburn.h"

/** Stable name ("bad-fp"), for files; that of "complete" for numbers out of range. */
const char *stack_status_name(uint32_t status);
/** The status of that name, or LB_NR_STACK_STATUS. */
uint32_t stack_status_from_name(const char *name);
/** Are frames missing that a complete walk would have had? */
bool stack_status_is_incomplete(uint32_t status);

#endif
