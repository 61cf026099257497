// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The collector's side: keeps one child, sends it one request at a time, and
 * validates all that it returns. Any other answer than a reply or an error of the
 * operation ends the child, because its stream cannot be trusted any more.
 */
#include "worker/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "worker/child.h"
#include "worker/message.h"

#define DEFAULT_DATA_BYTES  (UINT64_C(512) << 20)
#define DEFAULT_CPU_SECONDS 600
#define MAX_CALLS_PER_CHILD 512 /* bounds what a leak or a fragmented heap can cost */
#define MAX_NEEDS_PER_CALL  4096
#define START_MS            10000
#define KEEP_BUFFER_BYTES   (1u << 20) /* a larger reply is freed at the next call */

#define NS_PER_MS           INT64_C(1000000)
#define NS_PER_S            UINT64_C(1000000000)

struct worker {
	struct worker_config config;
	struct child child;
	struct undead undead;
	unsigned int nr_child_calls;
	uint8_t *reply;
	size_t reply_cap;
	struct worker_stats stats;
};

/* One call under way. */
struct call {
	worker_need_fn need;
	void *need_ctx;
	int64_t deadline_ns;
	unsigned int nr_needs;
};

int worker_new(const struct worker_config *config, struct worker **ret, struct error *err)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (!w)
		return error_set(err, -ENOMEM, "out of memory");
	if (config)
		w->config = *config;
	if (!w->config.max_data_bytes)
		w->config.max_data_bytes = DEFAULT_DATA_BYTES;
	if (!w->config.cpu_seconds)
		w->config.cpu_seconds = DEFAULT_CPU_SECONDS;
	w->child = CHILD_NONE;
	*ret = w;
	return 0;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	if (undead_reap(&w->undead))
		child_kill(&w->child, &w->undead);
	undead_deinit(&w->undead);
	free(w->reply);
	free(w);
}

void worker_stats(const struct worker *w, struct worker_stats *ret)
{
	*ret = w->stats;
	ret->cpu_ns = w->undead.cpu_ns + child_cpu_ns(&w->child);
}

/* ---- starting ---- */

/* Tells a fresh child its limits and waits until it has locked itself down. */
static int introduce(struct worker *w)
{
	const struct worker_limits limits = {
		.max_data_bytes = w->config.max_data_bytes,
		.cpu_seconds = w->config.cpu_seconds,
		.parent_pid = (uint32_t)getpid(),
		.kind = w->config.kind,
	};
	const struct message start = {.type = MESSAGE_START, .len = sizeof(limits)};
	int64_t deadline_ns = message_clock_ns() + START_MS * NS_PER_MS;
	struct message m;
	int rc;

	rc = message_send(w->child.sock, &start, &limits, NULL, deadline_ns);
	if (rc)
		return rc;
	rc = message_recv(w->child.sock, &m, NULL, deadline_ns);
	if (rc)
		return rc;
	if (m.type == MESSAGE_FAILED && m.value)
		return -(int)m.value;
	return m.type == MESSAGE_READY && !m.len ? 0 : -EBADMSG;
}

static int start(struct worker *w)
{
	int rc;

	/* One place is kept for the child that is about to be born. */
	if (!undead_reap(&w->undead))
		return -EAGAIN;
	rc = child_spawn(&w->child);
	if (rc)
		return rc;
	w->stats.nr_starts++;
	w->nr_child_calls = 0;
	rc = introduce(w);
	if (rc)
		child_kill(&w->child, &w->undead);
	return rc;
}

/*
 * A child that died or spoke since its last answer is replaced here, so that the
 * object of the next call is not charged with it.
 */
static void drop_astray(struct worker *w)
{
	char byte;
	ssize_t n = recv(w->child.sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		w->stats.nr_bad_reply++;
	else
		w->stats.nr_died++;
	child_kill(&w->child, &w->undead);
}

/* Returns whether this call could hit the CPU limit because of earlier calls. */
static bool is_worn_out(const struct worker *w, unsigned int deadline_ms)
{
	uint64_t limit_ns = w->config.cpu_seconds * NS_PER_S;

	return w->nr_child_calls >= MAX_CALLS_PER_CHILD ||
	       child_cpu_ns(&w->child) + deadline_ms * (uint64_t)NS_PER_MS >= limit_ns;
}

static int ensure_child(struct worker *w, unsigned int deadline_ms)
{
	int rc;

	if (w->child.pid)
		drop_astray(w);
	if (w->child.pid && w->nr_child_calls && is_worn_out(w, deadline_ms))
		child_kill(&w->child, &w->undead);
	if (w->child.pid)
		return 0;
	rc = start(w);
	if (rc)
		log_debug("cannot start a worker: %s, skipping", strerror(-rc));
	return rc;
}

/* ---- one call ---- */

/* Maps an error of the socket to an answer. */
static enum worker_answer answer_of(int rc)
{
	switch (rc) {
	case -ETIMEDOUT:
		return WORKER_DEADLINE;
	case -EPIPE:
	case -ENODATA:
		return WORKER_DIED;
	default:
		return WORKER_BAD_REPLY;
	}
}

static int answer_need(struct worker *w, struct call *call, const struct message *m)
{
	struct message answer = {.type = MESSAGE_NEED_ANSWER};
	_cleanup_free_ uint8_t *what = NULL;
	_cleanup_close_ int fd = -1;
	int rc;

	if (m->len > WORKER_MAX_NEED_BYTES)
		return -EBADMSG;
	what = malloc(m->len + 1);
	if (!what)
		return -EBADMSG;
	rc = message_recv_payload(w->child.sock, what, m->len, call->deadline_ns);
	if (rc)
		return rc;
	if (call->need && call->nr_needs < MAX_NEEDS_PER_CALL) {
		call->nr_needs++;
		fd = call->need(call->need_ctx, what, m->len);
	}
	answer.nr_fds = fd >= 0;
	return message_send(w->child.sock, &answer, NULL, &fd, call->deadline_ns);
}

/* The buffer is not zeroed: pages that never arrive are never touched. */
static int reserve_reply(struct worker *w, size_t len)
{
	uint8_t *bigger;

	if (len <= w->reply_cap)
		return 0;
	bigger = malloc(len);
	if (!bigger)
		return -ENOMEM;
	free(w->reply);
	w->reply = bigger;
	w->reply_cap = len;
	return 0;
}

/* Answers needs until the child has finished. Return: 0 with the last header. */
static int serve_needs(struct worker *w, struct call *call, struct message *ret)
{
	for (;;) {
		int rc = message_recv(w->child.sock, ret, NULL, call->deadline_ns);

		if (rc)
			return rc;
		if (ret->nr_fds)
			return -EBADMSG;
		if (ret->type != MESSAGE_NEED)
			return 0;
		/* A child that never stops asking never lets the socket run dry. */
		if (message_clock_ns() >= call->deadline_ns)
			return -ETIMEDOUT;
		rc = answer_need(w, call, ret);
		if (rc)
			return rc;
	}
}

static int take_answer(struct worker *w, struct call *call, struct message *ret)
{
	int rc = serve_needs(w, call, ret);

	if (rc)
		return rc;
	if (ret->type == MESSAGE_FAILED)
		return ret->len || !ret->value || ret->value > 4095 ? -EBADMSG : 0;
	if (ret->type != MESSAGE_REPLY || ret->len > WORKER_MAX_REPLY_BYTES)
		return -EBADMSG;
	rc = reserve_reply(w, ret->len);
	if (rc)
		return rc;
	return message_recv_payload(w->child.sock, w->reply, ret->len, call->deadline_ns);
}

static enum worker_answer give_up(struct worker *w, enum worker_answer answer)
{
	if (answer == WORKER_DIED)
		w->stats.nr_died++;
	else if (answer == WORKER_DEADLINE)
		w->stats.nr_deadline++;
	else
		w->stats.nr_bad_reply++;
	child_kill(&w->child, &w->undead);
	return answer;
}

enum worker_answer worker_call(struct worker *w, uint32_t op, const void *request,
			       size_t len, const int *fds, size_t nr_fds,
			       worker_need_fn need, void *need_ctx,
			       unsigned int deadline_ms, struct wire_reader *ret,
			       int *ret_error)
{
	struct message m = {.type = MESSAGE_REQUEST, .value = op};
	struct call call = {.need = need, .need_ctx = need_ctx};
	int rc;

	w->stats.nr_calls++;
	if (len > WORKER_MAX_REQUEST_BYTES || nr_fds > WORKER_MAX_FDS) {
		if (ret_error)
			*ret_error = -E2BIG;
		return WORKER_FAILED;
	}
	if (w->reply_cap > KEEP_BUFFER_BYTES) {
		free(take_ptr(w->reply));
		w->reply_cap = 0;
	}
	if (ensure_child(w, deadline_ms))
		return WORKER_CANNOT_START;

	w->nr_child_calls++;
	call.deadline_ns = message_clock_ns() + deadline_ms * NS_PER_MS;
	m.len = (uint32_t)len;
	m.nr_fds = (uint32_t)nr_fds;
	rc = message_send(w->child.sock, &m, request, fds, call.deadline_ns);
	if (!rc)
		rc = take_answer(w, &call, &m);
	if (rc)
		return give_up(w, answer_of(rc));
	if (m.type == MESSAGE_FAILED) {
		if (ret_error)
			*ret_error = -(int)m.value;
		return WORKER_FAILED;
	}
	*ret = (struct wire_reader){.data = w->reply, .len = m.len};
	return WORKER_OK;
}
