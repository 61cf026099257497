// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The collector's side: keeps one child, sends it one request at a time, and validates
 * everything it returns. The child is killed after any answer other than a reply or an
 * error of the operation, because its stream cannot be trusted any more.
 */
#include "worker/worker.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/target_fd.h"
#include "worker/child.h"
#include "worker/message.h"

#define DEFAULT_DATA_BYTES   (UINT64_C(512) << 20)
#define DEFAULT_CPU_SECONDS  600
#define MAX_CALLS_PER_CHILD  512 /* limits the cost of leaks and of a fragmented heap */
#define MAX_CALLS_PER_OPENER 65536 /* short ones, without libraries */
#define CALLS_PER_CHECK      64 /* of an opener, of its CPU time; divides their number */
#define MAX_NEEDS_PER_CALL   4096
#define STUCK_WAIT_MS        10 /* readers and openers have little to free when they die */
#define START_MS             10000
#define NO_CPU_NS            INT64_C(10000000000) /* longest extension of a call */
/* 1/20: a child that missed less of its time gets no extension */
#define MISSED_PART       20
#define KEEP_BUFFER_BYTES (1u << 20) /* a larger reply is freed at the next call */

/*
 * A decoder that has not run for so long, and does not wait for a CPU or for us, waits for
 * a file system whose server does not answer. It would only be in the way until its
 * deadline. A slow disk lets it run after each read.
 */
#define STUCK_NS INT64_C(500000000)

/*
 * A call of an opener that takes longer is looked at each time this passes. An answer
 * without disks or servers takes less.
 */
#define SLOW_NS   INT64_C(2000000)

#define STEP_NS   INT64_C(5000000) /* of worker_receive() */

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

enum call_phase {
	CALL_NONE,
	CALL_SENDING, /* the request, or the answer to a need */
	CALL_HEADER, /* receiving */
	CALL_NEED, /* receiving what the child needs */
	CALL_REPLY, /* receiving */
	CALL_OVER, /* the answer waits to be taken */
};

/* One call under way; zero-initialised: none. */
struct call {
	enum call_phase phase;
	struct tenant who; /* of the target that it serves */
	bool can_go_on; /* it paused to return to its caller; the child has more */
	worker_need_fn need;
	void *need_ctx;
	/* limit_ns: time that the call may take */
	int64_t begin_ns, limit_ns, deadline_ns;
	struct child_schedule schedule; /* when it began */
	bool has_schedule;
	struct child_schedule seen; /* at the last look whether it is stuck */
	int64_t look_ns; /* when to look again; INT64_MAX: never */
	/* Of an opener: when it was looked at last, its CPU time then (0: not known). */
	int64_t seen_ns;
	uint64_t seen_cpu_ns;
	int64_t slow_ns; /* worker_slow_ns() */
	unsigned int nr_needs;

	struct message out;
	const void *request; /* borrowed: the payload of the first message */
	size_t sent;
	int need_fd; /* sent with the answer to a need; -1: none */
	struct message_fds fds; /* received with the reply of an opener */

	struct message in;
	uint8_t *what; /* payload of a need; heap */
	size_t got; /* bytes of the header or payload received so far */

	enum worker_answer answer; /* valid in CALL_OVER */
	int error;
};

struct worker {
	struct worker_config config;
	struct child child;
	struct tenant who; /* of the target that is served */
	struct tenant charged; /* for a child that gets stuck */
	uint64_t dead_cpu_ns; /* of children that were reaped */
	uint64_t stuck; /* number of the child that was killed last; 0: it is dead */
	unsigned int nr_child_calls;
	struct call call;
	uint8_t *reply;
	size_t reply_cap;
	struct worker_stats stats;
};

/* Frees what is needed only during a call. */
static void call_free_parts(struct call *call)
{
	free(take_ptr(call->what));
	target_fd_close(call->need_fd);
	call->need_fd = -1;
}

/* Nobody has taken them: the call failed. They are of the target's user. */
static void close_received(struct worker *w)
{
	struct message_fds *fds = &w->call.fds;

	while (fds->nr) {
		target_fd_opened(fds->fd[--fds->nr], w->call.who);
		target_fd_close(fds->fd[fds->nr]);
	}
}

static void kill_child(struct worker *w)
{
	w->stuck = child_kill(&w->child, w->charged,
			      w->config.kind == WORKER_DECODER ? CHILD_KILL_WAIT_MS
							       : STUCK_WAIT_MS,
			      &w->dead_cpu_ns);
}

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
	worker_serves(w, TENANT_UNKNOWN);
	w->call.need_fd = -1;
	*ret = w;
	return 0;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	kill_child(w);
	child_forget_undead(&w->dead_cpu_ns);
	call_free_parts(&w->call);
	close_received(w);
	free(w->reply);
	free(w);
}

void worker_stats(const struct worker *w, struct worker_stats *ret)
{
	*ret = w->stats;
	ret->cpu_ns = w->dead_cpu_ns + child_cpu_ns(&w->child);
}

/* ---- starting ---- */

/* Sends the limits to a new child and waits until it has locked itself down. */
static int send_limits(struct worker *w)
{
	const struct worker_limits limits = {
		.max_data_bytes = w->config.max_data_bytes,
		.cpu_seconds = w->config.cpu_seconds,
		.parent_pid = (uint32_t)child_parent(),
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

	rc = child_spawn(&w->child, &w->dead_cpu_ns);
	if (rc)
		return rc;
	w->stats.nr_starts++;
	w->nr_child_calls = 0;
	rc = send_limits(w);
	if (rc)
		kill_child(w);
	return rc;
}

/*
 * Replaces a child that died or wrote anything since its last answer, so that the next
 * call's object is not blamed for it.
 */
static void drop_stray_child(struct worker *w)
{
	char byte;
	ssize_t n = recv(w->child.sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		w->stats.nr_bad_reply++;
	else
		w->stats.nr_died++;
	kill_child(w);
}

/*
 * Returns whether earlier calls may make this call, or one before the next check, hit the
 * CPU limit. Those of an opener are short: all up to the check take less than half of it.
 */
static bool is_worn_out(const struct worker *w, unsigned int deadline_ms)
{
	uint64_t limit_ns = w->config.cpu_seconds * NS_PER_S;

	if (w->config.kind != WORKER_OPENER)
		return w->nr_child_calls >= MAX_CALLS_PER_CHILD ||
		       child_cpu_ns(&w->child) + deadline_ms * (uint64_t)NS_PER_MS >=
			       limit_ns;
	return !(w->nr_child_calls % CALLS_PER_CHECK) &&
	       (w->nr_child_calls >= MAX_CALLS_PER_OPENER ||
		child_cpu_ns(&w->child) >= limit_ns / 2);
}

static int ensure_child(struct worker *w, unsigned int deadline_ms)
{
	int rc;

	if (w->child.pid)
		drop_stray_child(w);
	if (w->child.pid && w->nr_child_calls && is_worn_out(w, deadline_ms))
		kill_child(w);
	if (w->child.pid)
		return 0;
	rc = start(w);
	if (rc && rc != -EBUSY)
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

/* The buffer is not zeroed, so that unused pages are never touched. */
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

static void receive_next(struct call *call, enum call_phase phase)
{
	call->phase = phase;
	call->got = 0;
}

static void call_over(struct call *call, enum worker_answer answer, int error)
{
	call_free_parts(call);
	call->phase = CALL_OVER;
	call->answer = answer;
	call->error = error;
}

/* @fds  sent with the first byte */
static int send_some(struct worker *w, const int *fds)
{
	struct call *call = &w->call;
	int rc = message_send_some(w->child.sock, &call->out, call->request, fds,
				   &call->sent);

	if (rc || call->sent < sizeof(call->out) + call->out.len)
		return rc;
	target_fd_close(call->need_fd);
	call->need_fd = -1;
	receive_next(call, CALL_HEADER);
	return 0;
}

static int take_header(struct worker *w)
{
	struct call *call = &w->call;
	const struct message *in = &call->in;

	if (call->fds.nr != in->nr_fds ||
	    (in->nr_fds &&
	     (w->config.kind != WORKER_OPENER || in->type != MESSAGE_REPLY)))
		return -EBADMSG;
	switch (in->type) {
	case MESSAGE_NEED:
		if (in->len > WORKER_MAX_NEED_BYTES)
			return -EBADMSG;
		call->what = malloc(in->len + 1);
		receive_next(call, CALL_NEED);
		return call->what ? 0 : -EBADMSG;
	case MESSAGE_FAILED:
		if (in->len || !in->value || in->value > 4095)
			return -EBADMSG;
		call_over(call, WORKER_FAILED, -(int)in->value);
		return 0;
	case MESSAGE_REPLY:
		if (in->len > WORKER_MAX_REPLY_BYTES)
			return -EBADMSG;
		receive_next(call, CALL_REPLY);
		return reserve_reply(w, in->len);
	default:
		return -EBADMSG;
	}
}

/* Answers a need of the child with a descriptor, or with "none". */
static void answer_need(struct call *call)
{
	if (call->need && call->nr_needs < MAX_NEEDS_PER_CALL) {
		call->nr_needs++;
		call->need_fd = call->need(call->need_ctx, call->what, call->in.len);
	}
	free(take_ptr(call->what));
	call->out = (struct message){.type = MESSAGE_NEED_ANSWER,
				     .nr_fds = call->need_fd >= 0};
	call->sent = 0;
	call->phase = CALL_SENDING;
}

/*
 * Receives as much as possible in this phase; enters the next phase when all is there.
 */
static int receive_some(struct worker *w)
{
	struct call *call = &w->call;
	bool is_header = call->phase == CALL_HEADER, is_need = call->phase == CALL_NEED;
	size_t len = is_header ? sizeof(call->in) : call->in.len;
	void *buf = is_header ? (void *)&call->in : is_need ? call->what : w->reply;
	int rc = 0;

	if (call->got < len)
		rc = message_recv_some(
			w->child.sock, buf, len, &call->got,
			is_header && w->config.kind == WORKER_OPENER ? &call->fds : NULL);
	if (rc || call->got < len)
		return rc;
	if (is_header)
		return take_header(w);
	if (is_need)
		answer_need(call);
	else
		call_over(call, WORKER_OK, 0);
	return 0;
}

static short events_of(const struct call *call)
{
	return call->phase == CALL_SENDING ? POLLOUT : POLLIN;
}

/*
 * Adds the time since the last look in which the opener ran, or all of it if it sleeps.
 * Before the first look of a call its CPU time is not known, and what it ran not added:
 * so a call that is not slow costs no look.
 */
static void add_slow(struct worker *w, int64_t now_ns, bool sleeps)
{
	struct call *call = &w->call;
	uint64_t cpu_ns = child_cpu_ns(&w->child);
	int64_t passed_ns = now_ns - call->seen_ns, ran_ns = 0;

	if (call->seen_cpu_ns && cpu_ns > call->seen_cpu_ns)
		ran_ns = (int64_t)(cpu_ns - call->seen_cpu_ns);
	call->slow_ns += sleeps || ran_ns > passed_ns ? passed_ns : ran_ns;
	call->seen_cpu_ns = cpu_ns;
	call->seen_ns = now_ns;
	call->look_ns = now_ns + SLOW_NS;
}

static void look_at_opener(struct worker *w, int64_t now_ns)
{
	add_slow(w, now_ns, !child_is_runnable(&w->child));
}

/*
 * Time that the child has used of its call. While the child is runnable, that is what it
 * ran, because the kernel does not report the wait that is not over yet.
 * Return: false if it is not known.
 */
static bool find_used(struct worker *w, int64_t now_ns, int64_t *ret)
{
	struct call *call = &w->call;
	struct child_schedule s;

	if (w->config.kind == WORKER_OPENER) {
		look_at_opener(w, now_ns);
		*ret = call->slow_ns;
		return true;
	}
	if (!call->has_schedule || !child_schedule(&w->child, &s))
		return false;
	if (child_is_runnable(&w->child))
		*ret = (int64_t)(s.ran_ns - call->schedule.ran_ns);
	else
		*ret = now_ns - call->begin_ns -
		       (int64_t)(s.waited_ns - call->schedule.waited_ns);
	return true;
}

/*
 * At the deadline: has the child used its time? Time in which it was runnable but had
 * no CPU is added to the deadline.
 */
static bool is_time_over(struct worker *w, int64_t now_ns)
{
	struct call *call = &w->call;
	int64_t last_ns = call->begin_ns + call->limit_ns + NO_CPU_NS;
	int64_t used_ns, missed_ns;

	if (now_ns < call->deadline_ns)
		return false;
	if (now_ns >= last_ns || !find_used(w, now_ns, &used_ns))
		return true;
	missed_ns = call->limit_ns - used_ns;
	if (missed_ns < call->limit_ns / MISSED_PART)
		return true;
	call->deadline_ns = now_ns + missed_ns < last_ns ? now_ns + missed_ns : last_ns;
	return false;
}

/* Has a decoder not run at all since the last look, STUCK_NS ago? Looks at an opener. */
static bool is_stuck(struct worker *w, int64_t now_ns)
{
	struct call *call = &w->call;
	struct child_schedule s;
	bool has_run;

	if (now_ns < call->look_ns)
		return false;
	if (w->config.kind == WORKER_OPENER) {
		look_at_opener(w, now_ns);
		return false;
	}
	call->look_ns = INT64_MAX;
	if (!child_schedule(&w->child, &s))
		return false;
	has_run = s.ran_ns != call->seen.ran_ns || s.waited_ns != call->seen.waited_ns ||
		  child_is_runnable(&w->child);
	call->seen = s;
	call->look_ns = now_ns + STUCK_NS;
	return !has_run;
}

/*
 * Sends and receives what is possible now, for a while. Return: 0: the call is over,
 * -EAGAIN, or the error for which it must be given up.
 */
static int make_progress(struct worker *w)
{
	struct call *call = &w->call;
	int64_t begin_ns = message_clock_ns();
	bool moved = false;

	call->can_go_on = false;
	while (call->phase != CALL_OVER) {
		bool is_need = call->phase == CALL_NEED;
		int rc = call->phase == CALL_SENDING ? send_some(w, &call->need_fd)
						     : receive_some(w);
		int64_t now_ns = message_clock_ns();

		if (rc && rc != -EAGAIN)
			return rc;
		/*
		 * Do not check while the reply arrives: all of it may be here already.
		 * Needs are checked, because a child that keeps asking would never make
		 * rc -EAGAIN.
		 */
		if ((rc || is_need) && is_time_over(w, now_ns))
			return -ETIMEDOUT;
		if (rc && !moved && is_stuck(w, now_ns))
			return -ETIMEDOUT;
		/*
		 * Wait for a child that is just sending or receiving: it continues
		 * soon.
		 */
		if (rc && moved && now_ns - begin_ns < STEP_NS) {
			message_wait(w->child.sock, events_of(call), begin_ns + STEP_NS);
			continue;
		}
		if (rc)
			return rc;
		moved = true;
		if (now_ns - begin_ns >= STEP_NS) {
			call->can_go_on = true;
			return -EAGAIN;
		}
	}
	return 0;
}

static void give_up(struct worker *w, enum worker_answer answer)
{
	if (answer == WORKER_DIED)
		w->stats.nr_died++;
	else if (answer == WORKER_DEADLINE)
		w->stats.nr_deadline++;
	else
		w->stats.nr_bad_reply++;
	kill_child(w);
	call_over(&w->call, answer, 0);
}

void worker_send(struct worker *w, uint32_t op, const void *request, size_t len,
		 const int *fds, size_t nr_fds, worker_need_fn need, void *need_ctx,
		 unsigned int deadline_ms)
{
	struct call *call = &w->call;
	int rc;

	assert(call->phase == CALL_NONE);
	worker_trim(w);
	close_received(w);
	*call = (struct call){
		.phase = CALL_SENDING,
		.who = w->who,
		.need = need,
		.need_ctx = need_ctx,
		.out = {.type = MESSAGE_REQUEST,
			.value = op,
			.len = (uint32_t)len,
			.nr_fds = (uint32_t)nr_fds},
		.request = request,
		.need_fd = -1,
	};
	w->stats.nr_calls++;
	if (len > WORKER_MAX_REQUEST_BYTES || nr_fds > WORKER_MAX_FDS) {
		call_over(call, WORKER_FAILED, -E2BIG);
		return;
	}
	if (!child_has_room(w->who)) {
		w->stats.nr_refused++;
		call_over(call, WORKER_REFUSED, 0);
		return;
	}
	if (ensure_child(w, deadline_ms)) {
		call_over(call, WORKER_CANNOT_START, 0);
		return;
	}
	w->nr_child_calls++;
	/* An opener's calls are many and short: it is looked at when one is slow. */
	if (w->config.kind != WORKER_OPENER)
		call->has_schedule = child_schedule(&w->child, &call->schedule);
	call->begin_ns = call->seen_ns = message_clock_ns();
	call->seen = call->schedule;
	call->look_ns = INT64_MAX;
	if (w->config.kind == WORKER_OPENER)
		call->look_ns = call->begin_ns + SLOW_NS;
	else if (w->config.kind == WORKER_DECODER && call->has_schedule)
		call->look_ns = call->begin_ns + STUCK_NS;
	call->limit_ns = deadline_ms * NS_PER_MS;
	call->deadline_ns = call->begin_ns + call->limit_ns;
	do
		rc = send_some(w, fds);
	while (!rc && !call->sent);
	/*
	 * No room for a single byte: the child has not read the previous call
	 * completely.
	 */
	if (rc)
		give_up(w, answer_of(rc));
}

enum worker_answer worker_receive(struct worker *w, struct wire_reader *ret,
				  int *ret_error)
{
	struct call *call = &w->call;
	int rc;

	assert(call->phase != CALL_NONE);
	rc = make_progress(w);
	if (rc == -EAGAIN)
		return WORKER_PENDING;
	if (rc)
		give_up(w, answer_of(rc));
	else if (call->seen_cpu_ns)
		add_slow(w, message_clock_ns(), false);
	call->phase = CALL_NONE;
	if (call->answer == WORKER_FAILED && ret_error)
		*ret_error = call->error;
	if (call->answer == WORKER_OK)
		*ret = (struct wire_reader){.data = w->reply, .len = call->in.len};
	return call->answer;
}

bool worker_waits(const struct worker *w, struct worker_wait *ret)
{
	const struct call *call = &w->call;

	if (call->phase == CALL_NONE || call->phase == CALL_OVER || call->can_go_on)
		return false;
	*ret = (struct worker_wait){
		.fd = w->child.sock,
		.events = events_of(call),
		.deadline_ns = call->deadline_ns < call->look_ns ? call->deadline_ns
								 : call->look_ns,
	};
	return true;
}

void worker_wait(const struct worker *w)
{
	worker_wait_until(w, INT64_MAX);
}

void worker_wait_until(const struct worker *w, int64_t until_ns)
{
	struct worker_wait wait;

	if (!worker_waits(w, &wait))
		return;
	if (wait.deadline_ns < until_ns)
		until_ns = wait.deadline_ns;
	message_wait(wait.fd, wait.events, until_ns);
}

uint64_t worker_begin_ns(const struct worker *w)
{
	return (uint64_t)(w->call.begin_ns ? w->call.begin_ns : message_clock_ns());
}

uint64_t worker_slow_ns(const struct worker *w)
{
	return (uint64_t)w->call.slow_ns;
}

void worker_trim(struct worker *w)
{
	if (w->call.phase != CALL_NONE || w->reply_cap <= KEEP_BUFFER_BYTES)
		return;
	free(take_ptr(w->reply));
	w->reply_cap = 0;
}

void worker_serves(struct worker *w, struct tenant who)
{
	w->who = w->charged = who;
}

void worker_charges_nobody(struct worker *w)
{
	w->charged = TENANT_UNKNOWN;
}

uint64_t worker_last_stuck(const struct worker *w)
{
	return w->stuck;
}

size_t worker_take_fds(struct worker *w, int *ret, size_t max)
{
	struct message_fds *fds = &w->call.fds;
	size_t nr = fds->nr;

	if (nr > max) {
		close_received(w);
		return 0;
	}
	memcpy(ret, fds->fd, nr * sizeof(*ret));
	fds->nr = 0;
	return nr;
}

void worker_cancel(struct worker *w)
{
	struct call *call = &w->call;

	if (call->phase != CALL_NONE && call->phase != CALL_OVER)
		kill_child(w);
	call_free_parts(call);
	call->phase = CALL_NONE;
}

enum worker_answer worker_call(struct worker *w, uint32_t op, const void *request,
			       size_t len, const int *fds, size_t nr_fds,
			       worker_need_fn need, void *need_ctx,
			       unsigned int deadline_ms, struct wire_reader *ret,
			       int *ret_error)
{
	enum worker_answer answer;

	worker_send(w, op, request, len, fds, nr_fds, need, need_ctx, deadline_ms);
	while ((answer = worker_receive(w, ret, ret_error)) == WORKER_PENDING)
		worker_wait(w);
	return answer;
}
