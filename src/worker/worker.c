// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "worker/message.h"
#include "worker/serve.h"

#define DEFAULT_DATA_BYTES  (512ULL << 20)
#define DEFAULT_CPU_SECONDS 600
#define CALLS_PER_CHILD     512 /* then a fresh one: RLIMIT_CPU is for its whole life */
#define MAX_NEEDS           4096 /* of one call */

struct worker {
	struct worker_config config;
	pid_t pid; /* 0: no child */
	int socket;
	unsigned int nr_calls; /* of this child */
	struct message reply;
	struct worker_stats stats;
};

int worker_new(const struct worker_config *config, struct worker **ret, struct error *err)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (!w)
		return error_set(err, -ENOMEM, "out of memory");
	w->config = *config;
	if (!w->config.max_data_bytes)
		w->config.max_data_bytes = DEFAULT_DATA_BYTES;
	if (!w->config.cpu_seconds)
		w->config.cpu_seconds = DEFAULT_CPU_SECONDS;
	w->socket = -1;
	*ret = w;
	return 0;
}

/* SIGKILL ends it whatever it does, so the wait is short. */
static void stop_child(struct worker *w)
{
	struct rusage usage;

	if (!w->pid)
		return;
	kill(w->pid, SIGKILL);
	if (wait4(w->pid, NULL, 0, &usage) == w->pid)
		w->stats.cpu_ns +=
			(uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
				1000000000ULL +
			(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) *
				1000ULL;
	close(w->socket);
	w->pid = 0;
	w->socket = -1;
	w->nr_calls = 0;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	stop_child(w);
	message_deinit(&w->reply);
	free(w);
}

/*
 * After fork, before exec: async-signal-safe calls only. Nothing of ours is left
 * to the child but the socket.
 */
_Noreturn static void become_worker(int socket, int exe, char **argv)
{
	char *no_environ[] = {NULL};
	int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	/* Out of the way of each other, then to where worker_main() expects it. */
	socket = fcntl(socket, F_DUPFD, 64);
	exe = fcntl(exe, F_DUPFD_CLOEXEC, 64);
	if (socket < 0 || exe < 0 || dup2(socket, SERVE_SOCKET_FD) < 0)
		_exit(1);
	/* 5.9; every other descriptor of ours is O_CLOEXEC, so this is a second lock. */
	syscall(SYS_close_range, SERVE_SOCKET_FD + 1, (unsigned int)exe - 1, 0);
	syscall(SYS_close_range, (unsigned int)exe + 1, ~0U, 0);
	syscall(SYS_execveat, exe, "", argv, no_environ, AT_EMPTY_PATH);
	_exit(1);
}

static int start_child(struct worker *w)
{
	_cleanup_close_ int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char data_bytes[32], cpu_seconds[32];
	char *argv[] = {(char *)WORKER_ARGV0, data_bytes, cpu_seconds, NULL};
	int sockets[2];

	if (exe < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	snprintf(data_bytes, sizeof(data_bytes), "%llu",
		 (unsigned long long)w->config.max_data_bytes);
	snprintf(cpu_seconds, sizeof(cpu_seconds), "%u", w->config.cpu_seconds);
	w->pid = fork();
	if (w->pid == 0)
		become_worker(sockets[1], exe, argv);
	close(sockets[1]);
	if (w->pid < 0) {
		w->pid = 0;
		close(sockets[0]);
		return -errno;
	}
	w->socket = sockets[0];
	w->stats.nr_starts++;
	return 0;
}

/* Answers what the worker needs. Return: 0 or the error of sending. */
static int give(struct worker *w, worker_need_fn need, void *ctx, const struct message *m,
		uint64_t deadline_ns)
{
	_cleanup_close_ int fd = -1;

	if (need && m->len > sizeof(uint32_t))
		fd = need(ctx, m->data + sizeof(uint32_t), m->len - sizeof(uint32_t));
	return message_send(w->socket, MESSAGE_GIVEN, 0, NULL, 0, &fd, fd >= 0,
			    deadline_ns);
}

static enum worker_answer failure(struct worker *w, int rc)
{
	stop_child(w);
	if (rc == -ETIMEDOUT) {
		w->stats.nr_deadline++;
		return WORKER_DEADLINE;
	}
	if (rc == -EBADMSG) {
		w->stats.nr_bad_reply++;
		return WORKER_BAD_REPLY;
	}
	w->stats.nr_died++;
	return WORKER_DIED;
}

/* Serves the worker's needs until its reply is in w->reply. */
static int converse(struct worker *w, worker_need_fn need, void *need_ctx,
		    uint64_t deadline_ns)
{
	for (unsigned int nr_needs = 0;; nr_needs++) {
		struct message m = {0};
		int rc = message_receive(w->socket, WORKER_MAX_REPLY_BYTES, deadline_ns,
					 &m);

		if (rc)
			return rc;
		if (m.nr_fds || m.len < sizeof(uint32_t))
			rc = -EBADMSG; /* a worker has nothing to give */
		else if (m.type == MESSAGE_REPLY) {
			w->reply = m;
			return 0;
		} else if (m.type == MESSAGE_NEED && nr_needs < MAX_NEEDS) {
			rc = give(w, need, need_ctx, &m, deadline_ns);
		} else {
			rc = -EBADMSG;
		}
		message_deinit(&m);
		if (rc)
			return rc;
	}
}

enum worker_answer worker_call(struct worker *w, uint32_t op, const void *request,
			       size_t len, const int *fds, size_t nr_fds,
			       worker_need_fn need, void *need_ctx,
			       unsigned int deadline_ms, struct wire_reader *ret,
			       int *ret_error)
{
	uint64_t deadline_ns = message_clock_ns() + deadline_ms * 1000000ULL;
	uint32_t code;
	int rc;

	w->stats.nr_calls++;
	message_deinit(&w->reply);
	if (w->nr_calls >= CALLS_PER_CHILD)
		stop_child(w);
	rc = w->pid ? 0 : start_child(w);
	if (rc) {
		log_debug("cannot start a worker: %s", strerror(-rc));
		return WORKER_CANNOT_START;
	}
	w->nr_calls++;
	rc = message_send(w->socket, MESSAGE_REQUEST, op, request, len, fds, nr_fds,
			  deadline_ns);
	if (!rc)
		rc = converse(w, need, need_ctx, deadline_ns);
	if (rc)
		return failure(w, rc);
	memcpy(&code, w->reply.data, sizeof(code));
	if (code) {
		if (ret_error)
			*ret_error = -(int)(code & 0xfff);
		return WORKER_FAILED;
	}
	*ret = (struct wire_reader){.data = w->reply.data + sizeof(code),
				    .len = w->reply.len - sizeof(code)};
	return WORKER_OK;
}

/* Time of a running child, from the clock that the kernel keeps for it. */
static uint64_t running_cpu_ns(const struct worker *w)
{
	struct timespec used;
	clockid_t clock;

	if (!w->pid || clock_getcpuclockid(w->pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return (uint64_t)used.tv_sec * 1000000000ULL + (uint64_t)used.tv_nsec;
}

void worker_stats(const struct worker *w, struct worker_stats *ret)
{
	*ret = w->stats;
	ret->cpu_ns += running_cpu_ns(w);
}
