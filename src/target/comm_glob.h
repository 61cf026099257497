/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns of thread names, compiled for the kernel side (struct lb_comm_table). Syntax
 * as in fnmatch(3): '*', '?', "[a-z]", '\'. Names have at most 15 bytes.
 */
#ifndef LB_TARGET_COMM_GLOB_H
#define LB_TARGET_COMM_GLOB_H

#include <stdbool.h>

#include "lineburn_filter.h"

/**
 * Adds a pattern to @table, which must be zeroed before the first one. A pattern
 * without special characters that is too long for a name is cut, like the kernel cuts
 * names.
 *
 * Return: 0; -E2BIG: it needs more than 15 bytes, so no name can match, or it has a
 * "[...]" of more than 63; -ENOSPC: @table already has LB_COMM_PATTERNS. On failure
 * @table is unchanged.
 */
int comm_glob_add(struct lb_comm_table *table, const char *pattern, bool excludes);

/** Matches a name as the kernel side does. @comm is cut at 15 bytes. Return: a mask. */
__u32 comm_glob_match(const struct lb_comm_table *table, const char *comm);

#endif
