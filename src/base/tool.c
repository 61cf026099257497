// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/caller.h"
#include "base/capability.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"

#define STATUS_NOT_FOUND 127 /* as sh(1) has it */
/*
 * SIGKILL does not end what waits for a file system that does not answer, or in a folder that
 * a user holds. Such a tool is left as it is until it ends.
 */
#define KILLED_MS 100

_Noreturn static void execute(const struct tool *t, int out)
{
	char *const *argv = (char *const *)t->argv;
	char *no_environ[] = {NULL};
	int nothing = io_open_nothing();
	sigset_t none;

	caller_restore();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
	    dup2(out, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0)
		_exit(EXIT_FAILURE);
	closefrom(STDERR_FILENO + 1);
	if (!t->without_rights)
		execvp(argv[0], argv);
	else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || capabilities_keep(0, false))
		_exit(EXIT_FAILURE);
	else
		execve(argv[0], argv, no_environ);
	_exit(errno == ENOENT ? STATUS_NOT_FOUND : EXIT_FAILURE);
}

/* Return: 0 at the end of the output, -ETIMEDOUT, -EFBIG or -errno. */
static int read_output(const struct tool *t, int fd, char *ret)
{
	uint64_t deadline_ns = clock_now_ns() + (uint64_t)t->timeout_ms * CLOCK_MS_NS;
	size_t len = 0;

	for (;;) {
		struct pollfd pfd = {.fd = fd, .events = POLLIN};
		uint64_t now_ns = clock_now_ns();
		uint64_t left_ns = now_ns < deadline_ns ? deadline_ns - now_ns : 0;
		ssize_t nr;

		if (poll(&pfd, 1, (int)(left_ns / CLOCK_MS_NS)) == 0)
			return -ETIMEDOUT;
		nr = read(fd, ret + len, t->max_bytes + 1 - len);
		if (nr < 0 && errno != EINTR)
			return -errno;
		if (nr == 0) {
			ret[len] = '\0';
			return 0;
		}
		len += nr > 0 ? (size_t)nr : 0;
		if (len > t->max_bytes)
			return -EFBIG;
	}
}

/* Returns whether it has ended by then. */
static bool ends_within(pid_t pid, int max_ms, int *ret_status)
{
	const struct timespec pause = {.tv_nsec = CLOCK_MS_NS};
	uint64_t deadline_ns = clock_now_ns() + (uint64_t)max_ms * CLOCK_MS_NS;

	while (!waitpid(pid, ret_status, WNOHANG)) {
		if (clock_now_ns() >= deadline_ns)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

int tool_read(const struct tool *t, char **ret)
{
	_cleanup_free_ char *text = malloc(t->max_bytes + 1);
	int fds[2], status = 0, rc;
	pid_t pid;

	if (!text)
		return -ENOMEM;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		execute(t, fds[1]);
	rc = pid < 0 ? -errno : 0;
	close(fds[1]);
	if (!rc)
		rc = read_output(t, fds[0], text);
	close(fds[0]);
	if (pid > 0 && !rc && !ends_within(pid, t->timeout_ms, &status))
		rc = -ETIMEDOUT;
	if (pid > 0 && rc) {
		kill(pid, SIGKILL);
		(void)ends_within(pid, KILLED_MS, &status);
	}
	if (rc)
		return rc;
	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_NOT_FOUND)
		return -ENOSYS;
	if (status)
		*text = '\0';
	*ret = take_ptr(text);
	return 0;
}
