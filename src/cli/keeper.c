// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/message.h"

struct keeper {
	pid_t pid;
	int sock;
};

/* message.value of a request */
enum keeper_request {
	REQUEST_OPEN, /* payload: the path. Answer: its struct stat, and a descriptor */
	REQUEST_FINISH, /* with a memfd that has the output. Answer: none */
};

/* ---- the child ---- */

/* @payload  of an answer; for a failure it may be a struct error */
static int answer(int sock, int rc, const void *payload, size_t len, int fd)
{
	const struct message m = {
		.type = rc ? MESSAGE_FAILED : MESSAGE_REPLY,
		.len = (uint32_t)len,
		.value = (uint32_t)-rc,
		.nr_fds = fd >= 0,
	};

	return message_send(sock, &m, payload, &fd, MESSAGE_NO_DEADLINE);
}

static int serve_open(int sock, const struct keeper_config *config, const char *path)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!config->opens_all &&
	    !source_path_is_below(config->rules, config->nr_rules, path))
		return answer(sock, -EPERM, NULL, 0, -1);
	fd = io_open_regular(path, &st);
	if (fd < 0)
		return answer(sock, fd, NULL, 0, -1);
	return answer(sock, 0, &st, sizeof(st), fd);
}

/* @fd  from a process that is not trusted */
static int finish(const struct keeper_config *config, int fd, struct error *err)
{
	uint64_t len;
	void *data;
	int rc;

	/* What shrinks while it is mapped would end this process. Only a memfd has seals. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		return error_set(err, -errno, "cannot take the output: %m");
	rc = io_map_file(fd, SIZE_MAX, &data, &len);
	if (rc) {
		errno = -rc;
		return error_set(err, rc, "cannot take the output: %m");
	}
	return config->finish(config->ctx, len ? data : "", len, err);
}

static int serve_finish(int sock, const struct keeper_config *config, int fd)
{
	struct error err = {0};
	int rc = config->finish && fd >= 0 ? finish(config, fd, &err) : -EPERM;

	return answer(sock, rc, rc ? &err : NULL, rc ? sizeof(err) : 0, -1);
}

/* Return: 0, or -errno if there will be no further request. */
static int serve(int sock, const struct keeper_config *config)
{
	char path[PATH_MAX] = "";
	struct message_fds fds;
	struct message m;
	int rc = message_recv(sock, &m, &fds, MESSAGE_NO_DEADLINE);

	if (!rc && m.len >= sizeof(path))
		rc = -EBADMSG;
	if (!rc && m.len)
		rc = message_recv_payload(sock, path, m.len, MESSAGE_NO_DEADLINE);
	if (!rc)
		rc = m.value == REQUEST_OPEN
			     ? serve_open(sock, config, path)
			     : serve_finish(sock, config, fds.nr ? fds.fd[0] : -1);
	message_fds_close(&fds);
	return rc;
}

static _Noreturn void keep(int sock, const struct keeper_config *config)
{
	/* The keys that a pager takes: the viewer then ignores these, too. */
	if (!config->finish) {
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
	}
	while (!serve(sock, config))
		;
	_exit(EXIT_OK);
}

/* ---- the viewer ---- */

int keeper_new(const struct keeper_config *config, struct keeper **ret, struct error *err)
{
	_cleanup_(keeper_freep) struct keeper *k = calloc(1, sizeof(*k));
	int sv[2];

	if (!k)
		return error_set(err, -ENOMEM, "out of memory");
	k->sock = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return error_set(err, -errno, "cannot start a process: %m");
	k->sock = sv[0];
	fflush(NULL);
	k->pid = fork();
	if (!k->pid) {
		close(sv[0]);
		keep(sv[1], config);
	}
	close(sv[1]);
	if (k->pid < 0)
		return error_set(err, -errno, "cannot start a process: %m");
	*ret = take_ptr(k);
	return 0;
}

void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	cleanup_closep(&k->sock);
	if (k->pid > 0)
		while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
			;
	free(k);
}

/*
 * @payload  of the request; @answer of its success, which has @len bytes
 * @ret_fd   descriptor of the answer, -1: none
 * Return: 0, the -errno of the request with @err, if it has one, or -errno if the child
 * does not answer.
 */
static int ask(struct keeper *k, const struct message *request, const void *payload,
	       const int *fds, void *answer, size_t len, int *ret_fd, struct error *err)
{
	struct message_fds got = {.nr = 0};
	struct message m;
	int rc = message_send(k->sock, request, payload, fds, MESSAGE_NO_DEADLINE);

	*ret_fd = -1;
	if (!rc)
		rc = message_recv(k->sock, &m, &got, MESSAGE_NO_DEADLINE);
	if (!rc && m.type == MESSAGE_FAILED) {
		rc = m.len == sizeof(*err) ? message_recv_payload(k->sock, err, m.len,
								  MESSAGE_NO_DEADLINE)
					   : 0;
		return rc ? rc : -(int)m.value;
	}
	if (!rc && len)
		rc = message_recv_payload(k->sock, answer, len, MESSAGE_NO_DEADLINE);
	if (!rc && got.nr) {
		*ret_fd = got.fd[0];
		got.nr = 0;
	}
	message_fds_close(&got);
	return rc;
}

int keeper_finish(struct keeper *k, const void *data, size_t len, struct error *err)
{
	const struct message m = {
		.type = MESSAGE_REQUEST, .value = REQUEST_FINISH, .nr_fds = 1};
	_cleanup_close_ int fd =
		memfd_create("lineburn-output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int unused, rc;

	if (fd < 0)
		return error_set(err, -errno, "cannot keep the output: %m");
	rc = io_write_all(fd, data, len);
	if (rc) {
		errno = -rc;
		return error_set(err, rc, "cannot keep the output: %m");
	}
	err->text[0] = '\0';
	rc = ask(k, &m, NULL, &fd, NULL, 0, &unused, err);
	if (rc && !err->text[0])
		error_set(err, rc, "the process that writes the output was killed");
	return rc;
}

int keeper_open(void *keeper, const char *path, struct stat *ret_st)
{
	const struct message m = {.type = MESSAGE_REQUEST,
				  .len = (uint32_t)strlen(path),
				  .value = REQUEST_OPEN};
	struct error unused;
	int fd, rc;

	if (m.len >= PATH_MAX)
		return -ENAMETOOLONG;
	rc = ask(keeper, &m, path, NULL, ret_st, sizeof(*ret_st), &fd, &unused);
	return rc ? rc : fd;
}
