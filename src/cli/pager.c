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

#include "base/caller.h"
#include "launch/launch.h"
#include "worker/broker.h"

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

	broker_restore_signals();
	caller_restore();
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

/* Return: the process, with the pipe to write to, or -errno. */
static pid_t start_pager(int *ret_fd)
{
	const char *command = pager_command();
	struct launch_user user;
	int fds[2], rc;
	pid_t pid;

	if (!command)
		return -ENOENT;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	launch_user_find(&user);
	fflush(NULL);
	pid = fork();
	if (!pid)
		run_pager(fds, command, &user);
	rc = -errno;
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return rc;
	}
	*ret_fd = fds[1];
	return pid;
}

static void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Of the broker; 0: none. */
static pid_t served_pid;

int pager_serve_open(void *ctx, const struct broker_message *request,
		     struct broker_message *reply)
{
	int fd;

	(void)ctx;
	(void)request;
	served_pid = start_pager(&fd);
	if (served_pid < 0)
		return served_pid;
	reply->fds[reply->nr_fds++] = fd;
	return 0;
}

int pager_serve_close(void *ctx, const struct broker_message *request,
		      struct broker_message *reply)
{
	(void)ctx;
	(void)request;
	(void)reply;
	wait_for(served_pid);
	return 0;
}

static int ask_for_pager(void)
{
	struct broker_message reply = {0};
	int rc = broker_ask(BROKER_OUTPUT, BROKER_OPEN_PAGER, NULL, &reply);

	return reply.nr_fds ? reply.fds[0] : rc ? rc : -EMFILE;
}

void pager_open(struct pager *ret, bool wanted)
{
	int fd = -1;

	*ret = (struct pager){.out = stdout};
	if (!wanted || !pager_command())
		return;
	ret->is_brokers = broker_is_there(BROKER_OUTPUT);
	if (ret->is_brokers)
		fd = ask_for_pager();
	else
		ret->pid = start_pager(&fd);
	if (fd >= 0)
		ret->out = fdopen(fd, "w");
	if (fd < 0 || !ret->out) {
		if (fd >= 0)
			close(fd);
		*ret = (struct pager){.out = stdout};
	}
}

void pager_begin(const struct pager *p)
{
	if (p->out == stdout)
		return;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

void pager_close(struct pager *p)
{
	if (p->out == stdout)
		return;
	fclose(p->out);
	if (p->is_brokers)
		broker_ask(BROKER_OUTPUT, BROKER_CLOSE_PAGER, NULL, NULL);
	else
		wait_for(p->pid);
	*p = (struct pager){.out = stdout};
}
