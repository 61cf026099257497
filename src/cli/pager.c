// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launch.h"

static const char *pager_command(void)
{
	const char *pager = getenv("PAGER"), *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !term || !*term || !strcmp(term, "dumb"))
		return NULL;
	if (!pager)
		return "less";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

/* Copies what the pager would have shown, if it cannot be executed. */
static void copy_to_terminal(void)
{
	char buf[4096];
	ssize_t len;

	while ((len = read(STDIN_FILENO, buf, sizeof(buf))) > 0)
		if (write(STDOUT_FILENO, buf, (size_t)len) != len)
			break;
}

/* @pipe  both ends */
_Noreturn static void run_pager(const int *pipe, const char *command,
				const struct launch_user *user)
{
	struct pollfd output = {.fd = pipe[0], .events = POLLIN};

	if (user->is_other &&
	    (setgroups(0, NULL) || setresgid(user->gid, user->gid, user->gid) ||
	     setresuid(user->uid, user->uid, user->uid)))
		_exit(EXIT_FAILURE);
	close(pipe[1]);
	/* There may be an error instead of a listing: then it is not started. */
	while (poll(&output, 1, -1) < 0 && errno == EINTR)
		;
	if (!(output.revents & POLLIN))
		_exit(EXIT_SUCCESS);
	dup2(pipe[0], STDIN_FILENO);
	/* F: no paging of what fits a screen; R: colours; X: it stays on the screen. */
	setenv("LESS", "FRX", false);
	if (!strcmp(command, "less"))
		execlp("less", "less", (char *)NULL);
	else
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	copy_to_terminal();
	_exit(EXIT_SUCCESS);
}

void pager_open(struct pager *ret, bool wanted)
{
	const char *command = wanted ? pager_command() : NULL;
	struct launch_user user;
	int fds[2];

	*ret = (struct pager){.out = stdout};
	if (!command || pipe2(fds, O_CLOEXEC))
		return;
	launch_user_find(&user);
	fflush(NULL);
	ret->pid = fork();
	if (!ret->pid)
		run_pager(fds, command, &user);
	close(fds[0]);
	if (ret->pid > 0)
		ret->out = fdopen(fds[1], "w");
	if (ret->pid < 0 || !ret->out) {
		close(fds[1]);
		*ret = (struct pager){.out = stdout};
	}
}

void pager_begin(const struct pager *p)
{
	if (!p->pid)
		return;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

void pager_close(struct pager *p)
{
	if (!p->pid)
		return;
	fclose(p->out);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*p = (struct pager){.out = stdout};
}
