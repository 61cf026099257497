// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slow_opener.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t slow_opener_pid(void)
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

int slow_opener_look(int dir, struct tenant who, struct look *look)
{
	pid_t pid = slow_opener_pid(), child;
	int rc;

	kill(pid, SIGSTOP);
	child = fork();
	if (!child) {
		usleep(50000);
		kill(pid, SIGCONT);
		_exit(0);
	}
	rc = opener_look_at(dir, who, look);
	look_deinit(look);
	waitpid(child, NULL, 0);
	return rc;
}
