// SPDX-License-Identifier: GPL-2.0-or-later
/* The child: no rights, one socket, one request after the other. */
#include "worker/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "worker/message.h"
#include "worker/sandbox.h"
#include "worker/worker.h"

#define CMDLINE_MAX 4096

struct worker_call {
	int socket;
};

int worker_need(struct worker_call *call, const void *what, size_t len)
{
	struct message m;
	int fd;

	if (message_send(call->socket, MESSAGE_NEED, 0, what, len, NULL, 0, UINT64_MAX) ||
	    message_receive(call->socket, sizeof(uint32_t), UINT64_MAX, &m))
		_exit(1); /* the collector is gone */
	if (m.type != MESSAGE_GIVEN)
		_exit(1);
	fd = m.nr_fds ? m.fds[0] : -ENOENT;
	if (m.nr_fds) {
		m.fds[0] = m.fds[m.nr_fds - 1];
		m.nr_fds--;
	}
	message_deinit(&m);
	return fd;
}

static int serve_one(int socket, const worker_op *ops, size_t nr_ops)
{
	struct worker_call call = {.socket = socket};
	struct wire_writer reply = {.max = WORKER_MAX_REPLY_BYTES - sizeof(uint32_t)};
	struct wire_reader request;
	struct message m;
	uint32_t op;
	int rc = message_receive(socket, WORKER_MAX_REQUEST_BYTES + sizeof(op),
				 UINT64_MAX, &m);

	if (rc)
		return rc;
	request = (struct wire_reader){.data = m.data, .len = m.len};
	op = wire_get_u32(&request);
	if (m.type != MESSAGE_REQUEST || request.failed || op >= nr_ops)
		rc = -EINVAL;
	else
		rc = ops[op](&call, &request, m.fds, m.nr_fds, &reply);
	if (!rc && reply.failed)
		rc = -ENOBUFS;
	rc = message_send(socket, MESSAGE_REPLY, rc ? (uint32_t)-rc : 0, reply.data,
			  rc ? 0 : reply.len, NULL, 0, UINT64_MAX);
	wire_writer_deinit(&reply);
	message_deinit(&m);
	return rc;
}

/* The limits come as argv[1] and argv[2]: main() hands over without them. */
static int read_limits(struct sandbox_config *config)
{
	_cleanup_free_ char *text = NULL;
	const char *words[3] = {NULL};
	size_t len, nr = 0;
	int rc = io_read_file("/proc/self/cmdline", CMDLINE_MAX, &text, &len);

	if (rc)
		return rc;
	for (size_t i = 0; i < len && nr < 3; i++)
		if (!i || !text[i - 1])
			words[nr++] = text + i;
	if (nr < 3)
		return -EINVAL;
	config->max_data_bytes = strtoull(words[1], NULL, 10);
	config->cpu_seconds = (unsigned int)strtoul(words[2], NULL, 10);
	return 0;
}

int worker_main(const worker_op *ops, size_t nr_ops)
{
	struct sandbox_config config;

	if (read_limits(&config) || sandbox_enter(&config))
		_exit(1);
	while (!serve_one(SERVE_SOCKET_FD, ops, nr_ops))
		;
	_exit(0);
}
