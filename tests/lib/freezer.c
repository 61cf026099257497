// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "freezer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static char cgroup[64]; /* of this run only */

static bool write_text(const char *file, const char *text)
{
	_cleanup_close_ int fd = -1;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

int freezer_set_up(void **state)
{
	snprintf(cgroup, sizeof(cgroup), "/sys/fs/cgroup/freezer/lineburn-test-%d",
		 (int)getpid());
	*state = mkdir(cgroup, 0755) ? NULL : cgroup;
	return 0;
}

int freezer_tear_down(void **state)
{
	if (*state) {
		write_text("freezer.state", "THAWED");
		for (int i = 0; i < 6000 && rmdir(cgroup) && errno == EBUSY; i++)
			usleep(10000);
	}
	return 0;
}

static bool state_is(const char *state)
{
	char path[128], text[16] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/freezer.state", cgroup);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return !strncmp(text, state, strlen(state));
}

void freezer_freeze(pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", (int)pid);
	assert_true(write_text("cgroup.procs", text));
	assert_true(write_text("freezer.state", "FROZEN"));
	/* A task that waits for a CPU freezes when it runs. */
	while (!state_is("FROZEN"))
		usleep(1000);
}

void freezer_thaw(void)
{
	assert_true(write_text("freezer.state", "THAWED"));
}

bool freezer_is_there(void **state)
{
	if (!*state)
		print_message("skipped: needs root and the freezer of cgroup v1\n");
	return *state;
}
