/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns of thread names, compiled for the kernel side (struct lb_comm_table). They mean
 * what fnmatch(3) says: '*', '?', "[a-z]", '\'. Names have 15 bytes at most.
 */
#ifndef LB_TARGET_COMM_GLOB_H
#define LB_TARGET_COMM_GLOB_H

#include <stdbool.h>

#include "lineburn_filter.h"

/**
 * Adds a pattern to those of @table, which was zeroed before the first. One without
 * special characters that is longer than a name can be means the name that is cut there,
 * as the kernel cuts it.
 *
 * Return: 0; -E2BIG: it needs more than 15 bytes, so nothing can match it, or a "[...]" in
 * it has more than 63; -ENOSPC: there
 * are LB_COMM_PATTERNS already. @table is unchanged then.
 */
int comm_glob_add(struct lb_comm_table *table, const char *pattern, bool excludes);

/** What the kernel side says of a name. @comm is cut at 15 bytes. Return: a mask. */
__u32 comm_glob_match(const struct lb_comm_table *table, const char *comm);

#endif
