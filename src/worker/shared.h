/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker that several parts of the recorder use, one call at a time. Nobody waits long:
 * who sends a request waits for its answer until patience_ns, because most answers come
 * within a millisecond. A later answer is taken in a later step of the loop. Tenants share
 * the worker's time (base/time_share.h). Who must have the answer at once makes calls
 * instead, between shared_worker_begin() and shared_worker_end().
 */
#ifndef LB_WORKER_SHARED_H
#define LB_WORKER_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time_share.h"
#include "base/wire.h"
#include "worker/worker.h"

/**
 * Takes the answer. What the request was about may have gone or changed since it was sent:
 * look it up again.
 *
 * @tag    as in the request
 * @reply  valid for WORKER_OK, until return
 */
typedef void shared_worker_take(void *ctx, uint64_t tag, enum worker_answer answer,
				struct wire_reader *reply);

struct shared_request {
	uint32_t op;
	int fd; /* borrowed until return */
	unsigned int deadline_ms;
	/* waits for the answer: as worker_serves(), and pays for the time */
	struct tenant who;
	shared_worker_take *take;
	void *ctx; /* must live until the answer, or shared_worker_deinit() */
	uint64_t tag;
};

struct shared_worker {
	struct worker *worker; /* borrowed */
	struct time_share share;
	/* CLOCK_MONOTONIC: who sends waits until then. Before sampling begins: as long as
	 * the caller likes. */
	uint64_t patience_ns;
	struct shared_request current; /* take NULL: none is under way */
	struct wire_writer content; /* of the current one */
	uint64_t begin_ns;
};

/** @is_shared  the targets are of several tenants */
void shared_worker_init(struct shared_worker *s, struct worker *worker, bool is_shared);
/** Drops the current request; its answer is not taken. */
void shared_worker_deinit(struct shared_worker *s);

/** From now on, who sends waits for an answer, for as long as a step of the loop may take. */
void shared_worker_be_patient(struct shared_worker *s);

static inline bool shared_worker_is_busy(const struct shared_worker *s)
{
	return s->current.take;
}

/**
 * May @who send a request now? If not, the worker is busy, or others are first; it counts
 * as waiting.
 */
bool shared_worker_may_send(struct shared_worker *s, struct tenant who);

/**
 * Sends a request, after shared_worker_may_send(). Waits until patience_ns, so the answer
 * may be taken before return.
 *
 * @content  taken; must not have failed
 */
void shared_worker_send(struct shared_worker *s, const struct shared_request *request,
			struct wire_writer *content);

/**
 * From now on @who, whose turn it is, makes calls (worker_call()) and waits for them.
 * Return: the worker; it serves @who.
 */
struct worker *shared_worker_begin(struct shared_worker *s, struct tenant who);
/** @who has made its calls, and pays for the time, but for @min_ns at least. */
void shared_worker_end(struct shared_worker *s, struct tenant who, uint64_t min_ns);

/** Takes the answer if it is there, without waiting. */
void shared_worker_go_on(struct shared_worker *s);
/** Waits for the answer. */
void shared_worker_finish(struct shared_worker *s);

/** Does shared_worker_go_on() have to wait? See worker_waits(). */
bool shared_worker_waits(const struct shared_worker *s, struct worker_wait *ret);

#endif
