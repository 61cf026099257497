// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/shared.h"

#include <assert.h>

#include "base/clock.h"

#define BURST_NS UINT64_C(2000000000) /* one request that takes as long as it may */
/* How long a step of the loop may wait: less if strangers choose the files. */
#define PATIENCE_NS        UINT64_C(100000000)
#define PATIENCE_SHARED_NS UINT64_C(20000000)

void shared_worker_init(struct shared_worker *s, struct worker *worker, bool is_shared)
{
	*s = (struct shared_worker){
		.worker = worker,
		.share = {.is_shared = is_shared, .burst_ns = BURST_NS},
	};
}

void shared_worker_deinit(struct shared_worker *s)
{
	if (shared_worker_is_busy(s))
		worker_cancel(s->worker);
	wire_writer_deinit(&s->content);
	s->current.take = NULL;
}

void shared_worker_be_patient(struct shared_worker *s)
{
	s->patience_ns = clock_now_ns() +
			 (s->share.is_shared ? PATIENCE_SHARED_NS : PATIENCE_NS);
}

bool shared_worker_may_send(struct shared_worker *s, struct tenant who)
{
	uint64_t now_ns = clock_now_ns();

	if (!shared_worker_is_busy(s))
		return time_share_may_take(&s->share, who, now_ns);
	time_share_waits(&s->share, who, now_ns);
	return false;
}

/* Takes the answer if it comes until @until_ns. */
static void receive(struct shared_worker *s, uint64_t until_ns)
{
	struct shared_request request = s->current;
	struct wire_reader reply = {0};
	enum worker_answer answer;

	while ((answer = worker_receive(s->worker, &reply, NULL)) == WORKER_PENDING) {
		if (clock_now_ns() >= until_ns)
			return;
		worker_wait_until(s->worker, (int64_t)until_ns);
	}
	wire_writer_deinit(&s->content);
	time_share_took(&s->share, request.who, s->begin_ns, clock_now_ns());
	s->current.take = NULL;
	request.take(request.ctx, request.tag, answer, &reply);
}

void shared_worker_send(struct shared_worker *s, const struct shared_request *request,
			struct wire_writer *content)
{
	assert(!shared_worker_is_busy(s) && !content->failed);
	s->current = *request;
	s->content = *content;
	*content = (struct wire_writer){0};
	worker_serves(s->worker, request->who);
	worker_send(s->worker, request->op, s->content.data, s->content.len, &request->fd,
		    1, NULL, NULL, request->deadline_ms);
	/* The begin of a child is nobody's time. */
	s->begin_ns = worker_begin_ns(s->worker);
	receive(s, s->patience_ns);
}

struct worker *shared_worker_begin(struct shared_worker *s, struct tenant who)
{
	assert(!shared_worker_is_busy(s));
	s->begin_ns = clock_now_ns();
	worker_serves(s->worker, who);
	return s->worker;
}

void shared_worker_end(struct shared_worker *s, struct tenant who, uint64_t min_ns)
{
	uint64_t end_ns = clock_now_ns();

	if (end_ns < s->begin_ns + min_ns)
		end_ns = s->begin_ns + min_ns;
	time_share_took(&s->share, who, s->begin_ns, end_ns);
}

void shared_worker_go_on(struct shared_worker *s)
{
	if (shared_worker_is_busy(s))
		receive(s, 0);
}

void shared_worker_finish(struct shared_worker *s)
{
	if (shared_worker_is_busy(s))
		receive(s, INT64_MAX);
}

bool shared_worker_waits(const struct shared_worker *s, struct worker_wait *ret)
{
	return shared_worker_is_busy(s) && worker_waits(s->worker, ret);
}
