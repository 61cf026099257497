// SPDX-License-Identifier: GPL-2.0-or-later
#include "launch/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/caller.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "launch/launch.h"
#include "worker/broker.h"

/* Runs in the child. Return: -errno of what failed. */
static int exec_browser(char *path)
{
	char name[] = "xdg-open";
	char *argv[] = {name, path, NULL};
	int null;

	/* A browser says nothing that belongs among our output. */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) ||
	    dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0)
		return -errno;
	broker_restore_signals();
	caller_restore();
	setsid(); /* Ctrl-C for lineburn is none for the browser */
	execvp(argv[0], argv);
	return -errno;
}

/*
 * The browser is a grandchild, so that it outlives us without becoming a zombie.
 * @failed_fd  receives -errno if it is not executed; closed by a successful exec
 */
_Noreturn static void start_browser(char *path, const struct launch_user *user,
				    int failed_fd)
{
	/* Before the fork: an orphan has no sudo above it, which has the user's PATH. */
	int rc = user->is_other ? launch_become(user) : 0;

	if (rc >= 0) {
		rc = fork();
		if (rc > 0)
			_exit(0);
		rc = rc ? -errno : exec_browser(path);
	}
	if (write(failed_fd, &rc, sizeof(rc)) != sizeof(rc))
		_exit(1);
	_exit(1);
}

/* Return: 0 or -errno. */
static int open_as(char *path, const struct launch_user *user)
{
	int failed[2], code = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(failed, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	pid = fork();
	if (!pid)
		start_browser(path, user, failed[1]);
	if (pid < 0)
		code = -errno;
	close(failed[1]);
	do
		n = read(failed[0], &code, sizeof(code));
	while (n < 0 && errno == EINTR);
	close(failed[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return code;
}

void browser_open(const char *path)
{
	_cleanup_free_ char *absolute = realpath(path, NULL);
	struct launch_user user;
	int rc;

	launch_user_find(&user);
	if (!absolute) {
		log_warning("cannot open %s in a browser: %s", path, strerror(errno));
		return;
	}
	if (!geteuid() && !user.is_other) {
		log_warning("lineburn starts no browser as root: open %s as the user of "
			    "the desktop",
			    absolute);
		return;
	}
	rc = open_as(absolute, &user);
	if (rc == -ENOENT)
		log_warning("there is no xdg-open here, which finds the browser (package "
			    "xdg-utils): open %s yourself",
			    absolute);
	else if (rc == -EACCES)
		log_warning("%s is not readable for %s, whose browser would show it: "
			    "hand it over with chown",
			    absolute, *user.name ? user.name : "this user");
	else if (rc)
		log_warning("cannot start a browser: %s; open %s yourself", strerror(-rc),
			    absolute);
}
