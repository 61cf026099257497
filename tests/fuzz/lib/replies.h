/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker whose answers are the input: pieces of {u16 bytes, the bytes}, one for each
 * call. An empty one is none in time; after the last one it dies. It replaces worker/worker.c. Include it in one file of a program.
 */
#ifndef LB_TESTS_FUZZ_REPLIES_H
#define LB_TESTS_FUZZ_REPLIES_H

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "lib/pieces.h"
#include "worker/worker.h"

/* The only worker of the program. */
static struct worker {
	struct pieces replies;
	void *reply; /* heap */
	size_t nr_fds; /* with each reply */
	int access; /* O_RDONLY, or with what else they were opened */
	size_t nr_fds_left; /* of the last one */
} worker;

int worker_new(const struct worker_config *config, struct worker **ret, struct error *err)
{
	(void)config;
	(void)err;
	*ret = &worker;
	return 0;
}

void worker_free(struct worker *w)
{
	if (w)
		free(take_ptr(w->reply));
}

enum worker_answer worker_call(struct worker *w, uint32_t op, const void *request,
			       size_t len, const int *fds, size_t nr_fds,
			       worker_need_fn need, void *need_ctx,
			       unsigned int deadline_ms, struct wire_reader *ret,
			       int *ret_error)
{
	uint16_t bytes;

	(void)op;
	(void)request;
	(void)len;
	(void)fds;
	(void)nr_fds;
	(void)need;
	(void)need_ctx;
	(void)deadline_ms;
	(void)ret_error;
	worker_free(w);
	w->reply = pieces_take(&w->replies, &bytes);
	if (!w->reply)
		return WORKER_DIED;
	if (!bytes)
		return WORKER_DEADLINE;
	w->nr_fds_left = w->nr_fds;
	*ret = (struct wire_reader){.data = w->reply, .len = bytes};
	return WORKER_OK;
}

size_t worker_take_fds(struct worker *w, int *ret, size_t max)
{
	size_t nr = w->nr_fds_left;

	w->nr_fds_left = 0;
	if (nr > max)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		ret[i] = open("/dev/null", (i ? w->access : O_PATH) | O_CLOEXEC);
		assert(ret[i] >= 0);
	}
	return nr;
}

void worker_send(struct worker *w, uint32_t op, const void *request, size_t len,
		 const int *fds, size_t nr_fds, worker_need_fn need, void *need_ctx,
		 unsigned int deadline_ms)
{
	(void)w;
	(void)op;
	(void)request;
	(void)len;
	(void)fds;
	(void)nr_fds;
	(void)need;
	(void)need_ctx;
	(void)deadline_ms;
}

uint64_t worker_begin_ns(const struct worker *w)
{
	(void)w;
	return clock_now_ns();
}

enum worker_answer worker_receive(struct worker *w, struct wire_reader *ret,
				  int *ret_error)
{
	return worker_call(w, 0, NULL, 0, NULL, 0, NULL, NULL, 0, ret, ret_error);
}

void worker_wait(const struct worker *w)
{
	(void)w;
}

bool worker_waits(const struct worker *w, struct worker_wait *ret)
{
	(void)w;
	(void)ret;
	return false;
}

void worker_wait_until(const struct worker *w, int64_t until_ns)
{
	(void)w;
	(void)until_ns;
}

uint64_t worker_slow_ns(const struct worker *w)
{
	(void)w;
	return 0;
}

void worker_trim(struct worker *w)
{
	(void)w;
}

void worker_cancel(struct worker *w)
{
	(void)w;
}

void worker_stats(const struct worker *w, struct worker_stats *ret)
{
	(void)w;
	*ret = (struct worker_stats){0};
}

void worker_serves(struct worker *w, struct tenant who)
{
	(void)w;
	(void)who;
}

void worker_charges_nobody(struct worker *w)
{
	(void)w;
}

uint64_t worker_last_stuck(const struct worker *w)
{
	(void)w;
	return 0;
}

#endif
