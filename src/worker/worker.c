// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
#define MAX_STUCK           16 /* children that SIGKILL did not end: then no more */
#define KILL_WAIT_MS        500
#define MAX_ERRNO           4095

struct worker {
	struct worker_config config;
	pid_t pid; /* 0: no child */
	int socket;
	unsigned int nr_calls; /* of this child */
	pid_t stuck[MAX_STUCK]; /* killed, but the kernel waits for something in them */
	size_t nr_stuck;
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

/* Takes the dead child's time. Return: false while it lives. */
static bool reap(struct worker *w, pid_t pid)
{
	struct rusage usage;
	pid_t got = wait4(pid, NULL, WNOHANG, &usage);

	if (got == pid)
		w->stats.cpu_ns +=
			(uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
				1000000000ULL +
			(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) *
				1000ULL;
	return got != 0;
}

static void reap_stuck(struct worker *w)
{
	for (size_t i = w->nr_stuck; i-- > 0;)
		if (reap(w, w->stuck[i]))
			w->stuck[i] = w->stuck[--w->nr_stuck];
}

/*
 * A read of a file whose server (FUSE, NFS) does not answer outlives SIGKILL.
 * Who serves it may be a stranger, so the wait has an end.
 */
static void wait_for_death(struct worker *w)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, w->pid, 0);
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	uint64_t end_ns = message_clock_ns() + KILL_WAIT_MS * 1000000ULL;

	while (!reap(w, w->pid)) {
		if (message_clock_ns() >= end_ns) {
			w->stuck[w->nr_stuck++] = w->pid;
			w->stats.nr_stuck++;
			return;
		}
		poll(&p, 1, pidfd < 0 ? 1 : 10);
	}
}

/* There is room in w->stuck: with it full no child is started. */
static void stop_child(struct worker *w)
{
	if (!w->pid)
		return;
	kill(w->pid, SIGKILL);
	wait_for_death(w);
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
	reap_stuck(w);
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
	sigset_t all;
	int null;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Ctrl-C is for the collector, which still wants its answers. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	/* Out of the way of 0 to 3, which are free where we were started without them. */
	socket = fcntl(socket, F_DUPFD_CLOEXEC, SERVE_SOCKET_FD + 1);
	exe = fcntl(exe, F_DUPFD_CLOEXEC, socket + 1);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (socket < 0 || exe < 0 || null < 0)
		_exit(1);
	null = fcntl(null, F_DUPFD_CLOEXEC, exe + 1);
	for (int fd = 0; fd < SERVE_SOCKET_FD; fd++)
		if (dup2(null, fd) < 0)
			_exit(1);
	if (dup2(socket, SERVE_SOCKET_FD) < 0)
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
	int sockets[2], rc;
	pid_t pid;

	reap_stuck(w);
	if (w->nr_stuck == MAX_STUCK)
		return -EBUSY;
	if (exe < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	snprintf(data_bytes, sizeof(data_bytes), "%llu",
		 (unsigned long long)w->config.max_data_bytes);
	snprintf(cpu_seconds, sizeof(cpu_seconds), "%u", w->config.cpu_seconds);
	pid = fork();
	if (pid == 0)
		become_worker(sockets[1], exe, argv);
	rc = pid < 0 ? -errno : 0;
	close(sockets[1]);
	if (rc) {
		close(sockets[0]);
		return rc;
	}
	w->pid = pid;
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

/* The request as a whole, to a child that lives. */
static int send_request(struct worker *w, uint32_t op, const void *request, size_t len,
			const int *fds, size_t nr_fds, uint64_t deadline_ns)
{
	int rc = -EPIPE;

	if (w->nr_calls >= CALLS_PER_CHILD)
		stop_child(w);
	if (w->pid) {
		w->nr_calls++;
		rc = message_send(w->socket, MESSAGE_REQUEST, op, request, len, fds,
				  nr_fds, deadline_ns);
	}
	if (rc != -EPIPE)
		return rc;
	/* None yet, or it died idle: that is not this request's doing. */
	stop_child(w);
	rc = start_child(w);
	if (rc) {
		log_debug("cannot start a worker: %s", strerror(-rc));
		return rc;
	}
	w->nr_calls++;
	return message_send(w->socket, MESSAGE_REQUEST, op, request, len, fds, nr_fds,
			    deadline_ns);
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
	if (len > WORKER_MAX_REQUEST_BYTES || nr_fds > WORKER_MAX_FDS) {
		if (ret_error)
			*ret_error = -E2BIG;
		return WORKER_FAILED;
	}
	rc = send_request(w, op, request, len, fds, nr_fds, deadline_ns);
	if (rc && !w->pid)
		return WORKER_CANNOT_START;
	if (!rc)
		rc = converse(w, need, need_ctx, deadline_ns);
	if (rc)
		return failure(w, rc);
	memcpy(&code, w->reply.data, sizeof(code));
	if (code > MAX_ERRNO)
		return failure(w, -EBADMSG);
	if (code) {
		if (ret_error)
			*ret_error = -(int)code;
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
