// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/message.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"

struct header {
	uint32_t type;
	uint32_t len; /* of what follows, the 4-byte head included */
};

/* Kernel buffers come in this size at most; grown step by step, never by the peer's word. */
#define RECEIVE_STEP (256u * 1024)

void message_deinit(struct message *m)
{
	for (size_t i = 0; i < m->nr_fds; i++)
		close(m->fds[i]);
	free(m->data);
	*m = (struct message){0};
}

uint64_t message_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static int wait_for(int socket, short events, uint64_t deadline_ns)
{
	for (;;) {
		struct pollfd p = {.fd = socket, .events = events};
		uint64_t now = message_clock_ns();
		int timeout_ms = -1, rc;

		if (deadline_ns != UINT64_MAX) {
			uint64_t left_ms;

			if (now >= deadline_ns)
				return -ETIMEDOUT;
			left_ms = (deadline_ns - now) / 1000000 + 1;
			timeout_ms = left_ms < INT_MAX ? (int)left_ms : INT_MAX;
		}
		rc = poll(&p, 1, timeout_ms);
		if (rc > 0)
			return 0;
		if (rc < 0 && errno != EINTR)
			return -errno;
	}
}

static int send_part(int socket, const void *data, size_t len, const int *fds,
		     size_t nr_fds, uint64_t deadline_ns)
{
	const char *p = data;
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * WORKER_MAX_FDS)];
	} control;

	while (len) {
		struct iovec iov = {.iov_base = (void *)p, .iov_len = len};
		struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
		ssize_t n;
		int rc;

		if (nr_fds) {
			struct cmsghdr *c;

			memset(&control, 0, sizeof(control));
			msg.msg_control = &control;
			msg.msg_controllen = CMSG_SPACE(sizeof(int) * nr_fds);
			c = CMSG_FIRSTHDR(&msg);
			c->cmsg_level = SOL_SOCKET;
			c->cmsg_type = SCM_RIGHTS;
			c->cmsg_len = CMSG_LEN(sizeof(int) * nr_fds);
			memcpy(CMSG_DATA(c), fds, sizeof(int) * nr_fds);
		}
		n = sendmsg(socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n < 0) {
			rc = wait_for(socket, POLLOUT, deadline_ns);
			if (rc)
				return rc;
			continue;
		}
		nr_fds = 0; /* they went with the first byte */
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int message_send(int socket, enum message_type type, uint32_t head, const void *data,
		 size_t len, const int *fds, size_t nr_fds, uint64_t deadline_ns)
{
	struct {
		struct header header;
		uint32_t head;
	} start = {.header = {.type = type, .len = (uint32_t)(sizeof(head) + len)},
		   .head = head};
	int rc;

	if (nr_fds > WORKER_MAX_FDS || len > UINT32_MAX - sizeof(head))
		return -EINVAL;
	rc = send_part(socket, &start, sizeof(start), fds, nr_fds, deadline_ns);
	return rc ? rc : send_part(socket, data, len, NULL, 0, deadline_ns);
}

/* Takes descriptors out of a control message; those over the maximum are closed. */
static int take_fds(struct msghdr *msg, struct message *m)
{
	bool surplus = msg->msg_flags & MSG_CTRUNC;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t nr;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		nr = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < nr; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (m->nr_fds < WORKER_MAX_FDS) {
				m->fds[m->nr_fds++] = fd;
			} else {
				close(fd);
				surplus = true;
			}
		}
	}
	return surplus ? -EBADMSG : 0;
}

static int receive_part(int socket, void *data, size_t len, struct message *m,
			uint64_t deadline_ns)
{
	char *p = data;
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * WORKER_MAX_FDS)];
	} control;

	while (len) {
		struct iovec iov = {.iov_base = p, .iov_len = len};
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = &control,
				     .msg_controllen = sizeof(control)};
		int rc = wait_for(socket, POLLIN, deadline_ns);
		ssize_t n;

		if (rc)
			return rc;
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return errno == ECONNRESET ? -EPIPE : -errno;
		if (n == 0)
			return -EPIPE;
		rc = take_fds(&msg, m);
		if (rc)
			return rc;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int message_receive(int socket, size_t max, uint64_t deadline_ns, struct message *ret)
{
	_cleanup_(message_deinit) struct message m = {0};
	struct header header;
	size_t cap = 0;
	int rc = receive_part(socket, &header, sizeof(header), &m, deadline_ns);

	if (rc)
		return rc;
	if (header.len > max)
		return -EBADMSG;
	while (m.len < header.len) {
		size_t step = header.len - m.len;

		if (step > RECEIVE_STEP)
			step = RECEIVE_STEP;
		if (vec_grow(&m.data, &cap, m.len + step, 1, 0))
			return -ENOMEM;
		rc = receive_part(socket, m.data + m.len, step, &m, deadline_ns);
		if (rc)
			return rc;
		m.len += step;
	}
	m.type = header.type;
	*ret = m;
	m = (struct message){0};
	return 0;
}
