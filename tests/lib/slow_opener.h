/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The opener's process, and looks that it is slow at, as in a slow file system. */
#ifndef LB_TESTS_SLOW_OPENER_H
#define LB_TESTS_SLOW_OPENER_H

#include <sys/types.h>

#include "opener/opener.h"

/** Returns the process that looks, the only child of this one that is a worker. */
pid_t slow_opener_pid(void);

/**
 * opener_look_at() while the opener sleeps for 50 ms; it must have been asked before.
 * Frees the results. Return: the look's rc.
 */
int slow_opener_look(int dir, struct tenant who, struct look *look);

#endif
