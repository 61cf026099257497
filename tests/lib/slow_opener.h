/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The opener's process, and looks that it is slow at, as in a slow file system. Include after
 * cmocka.h. Here and not in a .c file, which would link the opener to all tests.
 */
#ifndef LB_TESTS_SLOW_OPENER_H
#define LB_TESTS_SLOW_OPENER_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/stand_in.h"
#include "opener/opener.h"

/* Returns the process that looks, the only child of this one that is a worker. */
static inline pid_t slow_opener_pid(void)
{
	char path[64];
	int pid = 0;
	FILE *children;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	children = fopen(path, "r");
	assert_non_null(children);
	while (fscanf(children, "%d", &pid) == 1)
		;
	fclose(children);
	assert_true(pid > 0);
	return pid;
}

/*
 * opener_look_at() while the opener sleeps for 50 ms, or for longer if the machine stands
 * still: there is no deadline. It must have been asked before. Frees the results. Return:
 * the look's rc.
 */
static inline int slow_opener_look(int dir, struct tenant who, struct look *look)
{
	const struct sched_param first = {.sched_priority = 1};
	pid_t pid = slow_opener_pid(), child;
	int rc;

	kill(pid, SIGSTOP);
	child = fork();
	if (!child) {
		sched_setscheduler(0, SCHED_FIFO, &first);
		usleep(50000);
		kill(pid, SIGCONT);
		_exit(0);
	}
	stand_in_deadline_ms = 600000;
	rc = opener_look_at(dir, who, look);
	stand_in_deadline_ms = 0;
	look_deinit(look);
	waitpid(child, NULL, 0);
	return rc;
}

/* Looks for @who are late twice, so that none is made any more, until opener_end(). */
static inline void slow_opener_hold(struct tenant who)
{
	struct look look = {.where = LOOK_BELOW, .what = LOOK_FACTS, .name = "."};
	int dir = open("/", O_PATH | O_CLOEXEC);

	assert_true(dir >= 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(opener_look_at(dir, (struct tenant){0}, &look), 0);
		kill(slow_opener_pid(), SIGSTOP);
		assert_int_equal(opener_look_at(dir, who, &look), -ETIMEDOUT);
	}
	assert_int_equal(opener_look_at(dir, who, &look), -EBUSY);
	close(dir);
}

#endif
