// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/message.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/target_fd.h"

#define NS_PER_MS 1000000

/* Room for one descriptor too many, so that a surplus is seen and closed. */
union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE((WORKER_MAX_FDS + 1) * sizeof(int))];
};

int64_t message_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void message_fds_close(struct message_fds *fds)
{
	for (size_t i = 0; i < fds->nr; i++)
		close(fds->fd[i]);
	fds->nr = 0;
}

static struct {
	void (*work)(void *ctx);
	void *ctx;
	pthread_t thread;
	/* When it is due in a wait, which may be a series of short ones; 0: in none. */
	int64_t due_ns;
} meanwhile;

void message_meanwhile(void (*work)(void *ctx), void *ctx)
{
	meanwhile.work = work;
	meanwhile.ctx = ctx;
	meanwhile.thread = pthread_self();
	meanwhile.due_ns = 0;
}

/* Return: > 0: it is ready; 0: @until_ns is over; -errno */
static int wait_until(int sock, short events, int64_t until_ns)
{
	struct pollfd pfd = {.fd = sock, .events = events};

	for (;;) {
		int64_t left_ms = (until_ns - message_clock_ns()) / NS_PER_MS;
		int rc;

		if (left_ms < 0)
			return 0;
		/*
		 * Round up: with a timeout of 0 the last millisecond would be a busy
		 * loop.
		 */
		rc = poll(&pfd, 1, left_ms < 3600000 ? (int)left_ms + 1 : 3600000);
		if (rc > 0)
			return rc;
		if (rc < 0 && errno != EINTR)
			return -errno;
	}
}

/* Call it only with a deadline: a worker may not poll. */
int message_wait(int sock, short events, int64_t deadline_ns)
{
	bool works = meanwhile.work && pthread_equal(meanwhile.thread, pthread_self());

	for (;;) {
		bool is_last;
		int rc;

		if (works && !meanwhile.due_ns)
			meanwhile.due_ns = message_clock_ns() +
					   MESSAGE_MEANWHILE_MS * NS_PER_MS;
		is_last = !works || meanwhile.due_ns >= deadline_ns;
		rc = wait_until(sock, events, is_last ? deadline_ns : meanwhile.due_ns);
		if (works && (rc || !is_last))
			meanwhile.due_ns = 0;
		if (rc)
			return rc < 0 ? rc : 0;
		if (is_last)
			return -ETIMEDOUT;
		meanwhile.work(meanwhile.ctx);
	}
}

/*
 * Maps an error of sendmsg(2) or recvmsg(2) to a result for the caller; 0: try again.
 */
static int failure(int rc)
{
	if (rc == -EINTR)
		return 0;
	return rc == -ECONNRESET ? -EPIPE : rc;
}

/* Handles error @rc of sendmsg(2) or recvmsg(2). Return: 0: try again. */
static int retry(int rc, int sock, short events, int64_t deadline_ns)
{
	return rc == -EAGAIN ? message_wait(sock, events, deadline_ns) : failure(rc);
}

static int nonblocking(int64_t deadline_ns)
{
	return deadline_ns == MESSAGE_NO_DEADLINE ? 0 : MSG_DONTWAIT;
}

static void attach_fds(struct msghdr *msg, union control *control, const int *fds,
		       size_t nr)
{
	struct cmsghdr *c;

	memset(control, 0, sizeof(*control));
	msg->msg_control = control;
	msg->msg_controllen = CMSG_SPACE(nr * sizeof(int));
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(nr * sizeof(int));
	memcpy(CMSG_DATA(c), fds, nr * sizeof(int));
}

/*
 * One sendmsg(2) of the rest of the message.
 *
 * @payload  NULL: only of its header
 */
static int send_piece(int sock, const struct message *m, const void *payload,
		      const int *fds, int flags, size_t *sent)
{
	size_t skip = *sent < sizeof(*m) ? *sent : sizeof(*m);
	struct iovec iov[2] = {
		{.iov_base = (char *)m + skip, .iov_len = sizeof(*m) - skip}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = payload && m->len ? 2 : 1};
	union control control;
	ssize_t n;

	if (payload && m->len)
		iov[1] = (struct iovec){.iov_base = (char *)payload + (*sent - skip),
					.iov_len = m->len - (*sent - skip)};
	/* Only once: descriptors travel with the first byte. */
	if (!*sent && m->nr_fds)
		attach_fds(&msg, &control, fds, m->nr_fds);
	n = sendmsg(sock, &msg, MSG_NOSIGNAL | flags);
	if (n < 0)
		return -errno;
	*sent += (size_t)n;
	return 0;
}

/* Sends bytes [sent, end) of header and payload. */
static int send_part(int sock, const struct message *m, const void *payload,
		     const int *fds, size_t sent, size_t end, int64_t deadline_ns)
{
	while (sent < end) {
		int rc = send_piece(sock, m, payload, fds, nonblocking(deadline_ns),
				    &sent);

		if (rc)
			rc = retry(rc, sock, POLLOUT, deadline_ns);
		if (rc)
			return rc;
	}
	return 0;
}

int message_send(int sock, const struct message *m, const void *payload, const int *fds,
		 int64_t deadline_ns)
{
	return m->nr_fds > WORKER_MAX_FDS ? -EINVAL
					  : send_part(sock, m, payload, fds, 0,
						      sizeof(*m) + m->len, deadline_ns);
}

int message_send_header(int sock, const struct message *m, const int *fds)
{
	return send_part(sock, m, NULL, fds, 0, sizeof(*m), MESSAGE_NO_DEADLINE);
}

int message_send_payload(int sock, const struct message *m, const void *payload)
{
	return send_part(sock, m, payload, NULL, sizeof(*m), sizeof(*m) + m->len,
			 MESSAGE_NO_DEADLINE);
}

int message_send_some(int sock, const struct message *m, const void *payload,
		      const int *fds, size_t *sent)
{
	return failure(send_piece(sock, m, payload, fds, MSG_DONTWAIT, sent));
}

/* Keeps as many descriptors as fit @fds and closes the rest. */
static void collect_fds(struct msghdr *msg, struct message_fds *fds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t nr;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		nr = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < nr; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (fds->nr < WORKER_MAX_FDS)
				fds->fd[fds->nr++] = fd;
			else
				target_fd_close(fd);
		}
	}
}

/*
 * One recvmsg(2) of the missing bytes. Without @fds there is no room for control data,
 * so the kernel drops descriptors instead of installing them.
 */
static int recv_piece(int sock, void *buf, size_t len, struct message_fds *fds, int flags,
		      size_t *got)
{
	struct iovec iov = {.iov_base = (char *)buf + *got, .iov_len = len - *got};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union control control;
	ssize_t n;

	if (fds) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | flags);
	if (n < 0)
		return -errno;
	if (fds)
		collect_fds(&msg, fds);
	if (!n)
		return *got ? -EPIPE : -ENODATA;
	*got += (size_t)n;
	return 0;
}

/* Receives exactly @len bytes. */
static int recv_exact(int sock, void *buf, size_t len, struct message_fds *fds,
		      int64_t deadline_ns)
{
	size_t got = 0;

	while (got < len) {
		int rc = recv_piece(sock, buf, len, fds, nonblocking(deadline_ns), &got);

		if (rc)
			rc = retry(rc, sock, POLLIN, deadline_ns);
		if (rc)
			return rc;
	}
	return 0;
}

int message_recv_some(int sock, void *buf, size_t len, size_t *got,
		      struct message_fds *fds)
{
	return failure(recv_piece(sock, buf, len, fds, MSG_DONTWAIT, got));
}

int message_recv(int sock, struct message *ret, struct message_fds *fds,
		 int64_t deadline_ns)
{
	struct message m;
	int rc;

	if (fds)
		fds->nr = 0;
	rc = recv_exact(sock, &m, sizeof(m), fds, deadline_ns);
	if (rc)
		return rc;
	if (m.nr_fds > WORKER_MAX_FDS)
		return -EBADMSG;
	*ret = m;
	return 0;
}

int message_recv_payload(int sock, void *buf, size_t len, int64_t deadline_ns)
{
	int rc = recv_exact(sock, buf, len, NULL, deadline_ns);

	return rc == -ENODATA ? -EPIPE : rc;
}
