/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames on the socket between collector and worker: {u32 type, u32 length}, then bytes. */
#ifndef LB_WORKER_MESSAGE_H
#define LB_WORKER_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "worker/worker.h"

enum message_type {
	MESSAGE_REQUEST = 1, /* to the worker: u32 op, then the request's bytes */
	MESSAGE_REPLY, /* from it: u32 positive errno or 0, then the reply's bytes */
	MESSAGE_NEED, /* from it: what it needs */
	MESSAGE_GIVEN, /* to it: no bytes, one descriptor or none */
};

struct message {
	uint32_t type;
	uint8_t *data; /* heap */
	size_t len;
	int fds[WORKER_MAX_FDS]; /* owned by the message */
	size_t nr_fds;
};

/** Closes its descriptors and frees its bytes. */
void message_deinit(struct message *m);

/**
 * Sends a 4-byte @head and @len bytes as one message, with descriptors.
 * @deadline_ns  CLOCK_MONOTONIC; UINT64_MAX: none
 * Return: 0, -ETIMEDOUT, or -errno (-EPIPE: the other end is gone).
 */
int message_send(int socket, enum message_type type, uint32_t head, const void *data,
		 size_t len, const int *fds, size_t nr_fds, uint64_t deadline_ns);

/**
 * Receives one message of at most @max bytes.
 * Return: 0, -ETIMEDOUT, -EPIPE (end of stream), -EBADMSG (too long, or
 * descriptors out of order), -ENOMEM, -errno. *ret is written on success only.
 */
int message_receive(int socket, size_t max, uint64_t deadline_ns, struct message *ret);

/** CLOCK_MONOTONIC in nanoseconds. */
uint64_t message_clock_ns(void);

#endif
