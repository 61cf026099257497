/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that SIGKILL does not end at once, like those that wait for a dead file
 * system: the freezer of cgroup v1 stops them.
 */
#ifndef LB_TESTS_FREEZER_H
#define LB_TESTS_FREEZER_H

#include <stdbool.h>
#include <sys/types.h>

/* Fixtures of cmocka: make a freezer, and thaw and remove it. */
int freezer_set_up(void **state);
int freezer_tear_down(void **state);

/** Returns whether there is one; prints a skip's reason if not. */
bool freezer_is_there(void **state);

/** Returns when the process has stopped. */
void freezer_freeze(pid_t pid);
void freezer_thaw(void);

#endif
