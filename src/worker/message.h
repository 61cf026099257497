/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages between collector and worker: a header, its payload, descriptors by
 * SCM_RIGHTS on the header's first byte. Both ends are the same executable, so the
 * header is in host byte order; neither end trusts the other's lengths.
 *
 *   collector            worker
 *                 <-     BORN        descriptors of its files in /proc, before it is executed
 *   START         ->                 limits; the worker locks itself down
 *                 <-     READY       (or FAILED: it could not)
 *   REQUEST       ->                 value: the operation
 *                 <-     NEED        any number of times
 *   NEED_ANSWER   ->                 one descriptor, or none
 *                 <-     REPLY       (or FAILED); an opener's may have descriptors
 */
#ifndef LB_WORKER_MESSAGE_H
#define LB_WORKER_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The worker's end of the socket; 0, 1 and 2 are /dev/null, nothing else is open. */
#define WORKER_SOCKET_FD 3

/*
 * argv[0] of a worker. main() (also that of a test program) must start with:
 *   if (!strcmp(argv[0], WORKER_ARGV0)) return worker_main(ops, nr_ops);
 */
#define WORKER_ARGV0          "lineburn-worker"
#define WORKER_MAX_FDS        32 /* descriptors with one message */
#define WORKER_MAX_NEED_BYTES (64u << 10)

enum message_type {
	MESSAGE_START = 0x6c620001, /* payload: struct worker_limits */
	MESSAGE_READY,
	MESSAGE_REQUEST, /* value: the operation */
	MESSAGE_REPLY,
	MESSAGE_FAILED, /* value: an errno, positive */
	MESSAGE_NEED,
	MESSAGE_NEED_ANSWER,
	MESSAGE_BORN, /* value: of enum child_file (worker/child.h), a bit each */
};

struct message {
	uint32_t type; /* enum message_type */
	uint32_t len; /* bytes of payload that follow */
	uint32_t value; /* by type; else 0 */
	uint32_t nr_fds; /* descriptors with this header, at most WORKER_MAX_FDS */
};

struct worker_limits {
	uint64_t max_data_bytes;
	uint32_t cpu_seconds;
	uint32_t parent_pid; /* the worker exits when this is not its parent any more */
	uint32_t kind; /* enum worker_kind */
	uint32_t pad; /* 0 */
};

/* Descriptors received. The owner closes them. */
struct message_fds {
	int fd[WORKER_MAX_FDS];
	size_t nr;
};
void message_fds_close(struct message_fds *fds);

#define MESSAGE_NO_DEADLINE INT64_MAX

/** CLOCK_MONOTONIC in nanoseconds: deadlines are points on this clock. */
int64_t message_clock_ns(void);

/**
 * Sends a whole message. Never raises SIGPIPE.
 *
 * @payload      m->len bytes
 * @fds          m->nr_fds descriptors, borrowed
 * @deadline_ns  MESSAGE_NO_DEADLINE blocks (and calls nothing but sendmsg(2))
 * Return: 0, -EPIPE (the other end is closed), -ETIMEDOUT, or a negative errno. After
 * an error the stream is unusable.
 */
int message_send(int sock, const struct message *m, const void *payload, const int *fds,
		 int64_t deadline_ns);

/** Sends the header of a message with its descriptors, or then its payload; both block. */
int message_send_header(int sock, const struct message *m, const int *fds);
int message_send_payload(int sock, const struct message *m, const void *payload);

/**
 * Receives a header and its descriptors.
 *
 * @fds  NULL: the kernel drops descriptors instead of installing them. Else always
 *       written, also on failure; surplus ones are closed at once. fds->nr may be less
 *       than m->nr_fds (this process is out of descriptors)
 * Return: 0, -ENODATA (closed before the first byte), -EPIPE (closed within),
 * -ETIMEDOUT, -EBADMSG (more descriptors announced than allowed), or a negative errno.
 */
int message_recv(int sock, struct message *ret, struct message_fds *fds,
		 int64_t deadline_ns);

/** Receives exactly @len bytes of payload. Return: as message_recv(). */
int message_recv_payload(int sock, void *buf, size_t len, int64_t deadline_ns);

/*
 * Non-blocking variants: each call sends or receives as much as possible at once, and
 * adds it to *@sent or *@got. Return: 0: call it again while bytes are missing;
 * -EAGAIN: nothing was moved; or an error as above.
 */

/**
 * @sent  bytes of header and payload; 0 at first. Descriptors go with the first byte.
 */
int message_send_some(int sock, const struct message *m, const void *payload,
		      const int *fds, size_t *sent);

/** Waits for @events: POLLIN or POLLOUT. Return: 0, -ETIMEDOUT, or a negative errno. */
int message_wait(int sock, short events, int64_t deadline_ns);

/**
 * From now on, this thread calls @work every MESSAGE_MEANWHILE_MS of message_wait(): what
 * must not wait for an answer. It must send and receive no messages. NULL ends that.
 */
#define MESSAGE_MEANWHILE_MS 10
void message_meanwhile(void (*work)(void *ctx), void *ctx);

/**
 * Receives more of the @len bytes of a header or payload; @got < @len are there.
 * @fds  gets descriptors in addition to those it has; NULL: the kernel drops them
 */
int message_recv_some(int sock, void *buf, size_t len, size_t *got,
		      struct message_fds *fds);

#endif
