// SPDX-License-Identifier: GPL-2.0-or-later
/* The worker's side: locks itself down, then serves one request after another. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "worker/message.h"
#include "worker/sandbox.h"
#include "worker/worker.h"

/* Exit statuses of a worker; only strace shows them. */
enum leave {
	LEAVE_CLOSED = 0,
	LEAVE_NOT_STARTED = 1,
	LEAVE_BAD_MESSAGE = 2,
	LEAVE_NO_MEMORY = 3,
};

struct worker_call {
	struct message_fds fds; /* received with the request */
	struct message_fds reply_fds;
	bool may_wait; /* to close some of these */
};

/*
 * Not exit(): handlers (of sanitizers, for example) would start threads and open files,
 * which the sandbox denies, and there is nothing to flush.
 */
static _Noreturn void leave(enum leave status)
{
	_exit(status);
}

static void send_or_leave(const struct message *m, const void *payload, const int *fds)
{
	if (message_send(WORKER_SOCKET_FD, m, payload, fds, MESSAGE_NO_DEADLINE))
		leave(LEAVE_CLOSED);
}

static void send_failed(int rc)
{
	const struct message m = {.type = MESSAGE_FAILED, .value = (uint32_t)-rc};

	send_or_leave(&m, NULL, NULL);
}

int worker_need(struct worker_call *call, const void *what, size_t len)
{
	struct message m = {.type = MESSAGE_NEED, .len = (uint32_t)len};
	struct message_fds fds;

	(void)call; /* the socket is the same for every call of this process */
	if (len > WORKER_MAX_NEED_BYTES)
		return -ENOENT;
	send_or_leave(&m, what, NULL);
	if (message_recv(WORKER_SOCKET_FD, &m, &fds, MESSAGE_NO_DEADLINE) ||
	    m.type != MESSAGE_NEED_ANSWER || m.len || fds.nr > 1)
		leave(LEAVE_BAD_MESSAGE);
	return fds.nr ? fds.fd[0] : -ENOENT;
}

int worker_reply_fd(struct worker_call *call, int fd, bool may_wait)
{
	struct message_fds *fds = &call->reply_fds;

	if (fds->nr >= ARRAY_SIZE(fds->fd))
		return -EMFILE;
	fds->fd[fds->nr++] = fd;
	call->may_wait |= may_wait;
	return 0;
}

/*
 * Whoever waits for a file system to close its file does so before the answer is complete:
 * later, the next request would be late, and its target be blamed.
 */
static void send_reply(struct worker_call *call, const struct message *m,
		       const void *payload)
{
	if (!call->may_wait || !m->len) {
		send_or_leave(m, payload, call->reply_fds.fd);
		return;
	}
	if (message_send_header(WORKER_SOCKET_FD, m, call->reply_fds.fd))
		leave(LEAVE_CLOSED);
	message_fds_close(&call->reply_fds);
	if (message_send_payload(WORKER_SOCKET_FD, m, payload))
		leave(LEAVE_CLOSED);
}

static int run_op(struct worker_call *call, worker_op op, const void *request, size_t len)
{
	struct wire_reader reader = {.data = request, .len = len};
	struct wire_writer reply = {.max = WORKER_MAX_REPLY_BYTES};
	int rc = op(call, &reader, call->fds.fd, call->fds.nr, &reply);

	/* The writer fails if the reply exceeds the maximum, or memory is exhausted. */
	if (rc >= 0 && reply.failed)
		rc = -ENOMEM;
	message_fds_close(&call->fds);
	if (rc < 0) {
		message_fds_close(&call->reply_fds);
		send_failed(rc);
	} else {
		const struct message m = {.type = MESSAGE_REPLY,
					  .len = (uint32_t)reply.len,
					  .nr_fds = (uint32_t)call->reply_fds.nr};

		send_reply(call, &m, reply.data);
	}
	wire_writer_deinit(&reply);
	return rc;
}

static void serve_one(const worker_op *ops, size_t nr_ops)
{
	_cleanup_free_ void *request = NULL;
	struct worker_call call = {.reply_fds.nr = 0};
	struct message m;
	int rc;

	rc = message_recv(WORKER_SOCKET_FD, &m, &call.fds, MESSAGE_NO_DEADLINE);
	if (rc)
		leave(rc == -ENODATA ? LEAVE_CLOSED : LEAVE_BAD_MESSAGE);
	if (m.type != MESSAGE_REQUEST || m.len > WORKER_MAX_REQUEST_BYTES)
		leave(LEAVE_BAD_MESSAGE);
	request = malloc((size_t)m.len + 1);
	if (!request)
		leave(LEAVE_NO_MEMORY);
	if (message_recv_payload(WORKER_SOCKET_FD, request, m.len, MESSAGE_NO_DEADLINE))
		leave(LEAVE_BAD_MESSAGE);
	if (call.fds.nr != m.nr_fds)
		/* the kernel dropped descriptors that did not fit */
		send_failed(-EMFILE);
	else if (m.value >= nr_ops || !ops[m.value])
		send_failed(-ENOSYS);
	else
		run_op(&call, ops[m.value], request, m.len);
	message_fds_close(&call.fds);
	message_fds_close(&call.reply_fds);
}

/* Return: 0, or an error after which this process must not serve. */
static int lock_down(void)
{
	struct worker_limits limits;
	struct sandbox_config config;
	struct message m;

	if (message_recv(WORKER_SOCKET_FD, &m, NULL, MESSAGE_NO_DEADLINE) ||
	    m.type != MESSAGE_START || m.len != sizeof(limits) ||
	    message_recv_payload(WORKER_SOCKET_FD, &limits, sizeof(limits),
				 MESSAGE_NO_DEADLINE))
		return -EBADMSG;
	if (limits.kind >= NR_WORKER_KINDS)
		return -EBADMSG;
	config = (struct sandbox_config){.kind = (enum worker_kind)limits.kind,
					 .max_data_bytes = limits.max_data_bytes,
					 .cpu_seconds = limits.cpu_seconds};
	/* Before Linux 6.14 ps(1) would show a number, because a descriptor was executed. */
	prctl(PR_SET_NAME, WORKER_ARGV0, 0, 0, 0);
	/*
	 * The parent-death signal is set by sandbox_enter(), because changing the uid
	 * clears it. So the parent may have died before.
	 */
	if ((uint32_t)getppid() != limits.parent_pid)
		return -ESRCH;
	return sandbox_enter(&config);
}

int worker_main(const worker_op *ops, size_t nr_ops)
{
	const struct message ready = {.type = MESSAGE_READY};
	int rc = lock_down();

	if (rc) {
		send_failed(rc);
		leave(LEAVE_NOT_STARTED);
	}
	send_or_leave(&ready, NULL, NULL);
	for (;;)
		serve_one(ops, nr_ops);
}
