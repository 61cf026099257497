// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/broker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "worker/message.h"

/* Most time until a broker is ready, for what it began to send, and until it has ended. */
#define BEGIN_NS INT64_C(10000000000)
#define REST_NS  INT64_C(10000000000)
#define END_NS   INT64_C(2000000000)

/* In a broker: its socket and what it keeps, beside the standard streams. */
#define SOCKET_FD 3
#define KEPT_FD   4

static struct broker {
	pid_t pid; /* 0: never begun */
	int sock; /* -1: it has ended */
	int answer_ms; /* of its config */
	bool is_late; /* an answer is due that nobody waits for any more */
} brokers[NR_BROKER_KINDS] = {{.sock = -1}, {.sock = -1}};

/* Of the process before it became a broker. */
static sigset_t caller_mask;
static bool is_broker;

/* ---- the broker's side ---- */

static int recv_request(uint32_t *ret_op, struct broker_message *ret,
			struct message_fds *fds)
{
	struct message m;
	int rc = message_recv(SOCKET_FD, &m, fds, MESSAGE_NO_DEADLINE);

	if (rc)
		return rc;
	if (m.type != MESSAGE_REQUEST || m.len > BROKER_MAX_BYTES ||
	    fds->nr > BROKER_MAX_FDS || fds->nr != m.nr_fds)
		return -EBADMSG;
	*ret_op = m.value;
	ret->len = m.len;
	ret->nr_fds = fds->nr;
	memcpy(ret->fds, fds->fd, fds->nr * sizeof(*fds->fd));
	return message_recv_payload(SOCKET_FD, ret->data, m.len, MESSAGE_NO_DEADLINE);
}

/* Return: 0, or an error after which it must not serve. */
static int serve_one(const struct broker_config *config)
{
	static _Alignas(max_align_t) char in[BROKER_MAX_BYTES], out[BROKER_MAX_BYTES];
	struct broker_message request = {.data = in}, reply = {.data = out};
	struct message_fds fds = {.nr = 0};
	struct message m = {.type = MESSAGE_REPLY};
	uint32_t op;
	int rc = recv_request(&op, &request, &fds);

	if (!rc) {
		memset(out, 0, sizeof(out));
		rc = op < NR_BROKER_OPS && config->ops[op]
			     ? config->ops[op](config->ctx, &request, &reply)
			     : -ENOSYS;
		m.value = (uint32_t)-rc;
		m.len = (uint32_t)reply.len;
		m.nr_fds = (uint32_t)reply.nr_fds;
		rc = message_send(SOCKET_FD, &m, reply.data, reply.fds,
				  MESSAGE_NO_DEADLINE);
	}
	for (size_t i = 0; i < reply.nr_fds; i++)
		close(reply.fds[i]);
	message_fds_close(&fds);
	return rc;
}

/* Closes all but these two, and gives them their numbers; @kept -1: none. */
static int move_fds(int sock, int *kept)
{
	int high[2] = {fcntl(sock, F_DUPFD_CLOEXEC, KEPT_FD + 1), -1};

	if (*kept >= 0)
		high[1] = fcntl(*kept, F_DUPFD_CLOEXEC, KEPT_FD + 1);
	if (dup3(high[0], SOCKET_FD, O_CLOEXEC) < 0)
		return -errno;
	if (*kept >= 0)
		*kept = dup3(high[1], KEPT_FD, O_CLOEXEC);
	/* Among them the collector's end of the other broker's socket. */
	closefrom(*kept < 0 ? KEPT_FD : KEPT_FD + 1);
	return 0;
}

_Noreturn static void serve(const struct broker_config *config, int sock)
{
	int none = -1;

	const struct message ready = {.type = MESSAGE_READY};

	is_broker = true;
	prctl(PR_SET_NAME, config->name, 0, 0, 0);
	if (move_fds(sock, config->kept_fd ? config->kept_fd : &none))
		_exit(EXIT_FAILED);
	io_keep_names();
	if (message_send(SOCKET_FD, &ready, NULL, NULL, MESSAGE_NO_DEADLINE))
		_exit(EXIT_FAILED);
	for (int i = 0; i < NR_BROKER_KINDS; i++)
		brokers[i] = (struct broker){.sock = -1};
	if (capabilities_keep(config->capabilities, config->passes_on) ||
	    (config->passes_on && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))
		_exit(EXIT_FAILED);
	if (config->begin)
		config->begin(config->ctx);
	while (!serve_one(config))
		;
	_exit(EXIT_OK);
}

/* ---- the collector's side ---- */

/*
 * Until it has looked up its own names (io_keep_names()) somebody may hold its directory in
 * /proc: better no recording than one that does not end.
 */
static int wait_until_ready(pid_t pid, int sock, struct error *err)
{
	struct message m;

	if (!message_recv(sock, &m, NULL, message_clock_ns() + BEGIN_NS) &&
	    m.type == MESSAGE_READY)
		return 0;
	kill(pid, SIGKILL);
	return error_set(err, -ETIMEDOUT,
			 "another process of lineburn does not begin; see with \"ps -e\" "
			 "whether /proc answers, and start lineburn again");
}

int broker_begin(enum broker_kind kind, const struct broker_config *config,
		 struct error *err)
{
	struct broker *b = &brokers[kind];
	sigset_t all;
	int sv[2], rc = 0;

	assert(!b->pid);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return error_set(err, -errno, "cannot make a socket: %m");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &caller_mask);
	fflush(NULL);
	b->pid = fork();
	if (!b->pid)
		serve(config, sv[1]);
	if (b->pid < 0)
		rc = error_set(err, -errno, "cannot start another process: %m");
	sigprocmask(SIG_SETMASK, &caller_mask, NULL);
	close(sv[1]);
	if (!rc)
		rc = wait_until_ready(b->pid, sv[0], err);
	if (rc) {
		close(sv[0]);
		b->pid = 0;
		return rc;
	}
	b->sock = sv[0];
	b->answer_ms = config->answer_ms;
	return 0;
}

/* Who may be late may have got stuck, beyond SIGKILL. */
static void end_one(const struct broker *b)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int64_t deadline_ns = b->answer_ms ? message_clock_ns() + END_NS
					   : MESSAGE_NO_DEADLINE;
	int flags = b->answer_ms ? WNOHANG : 0;
	pid_t pid;

	while ((pid = waitpid(b->pid, NULL, flags)) == 0 || (pid < 0 && errno == EINTR)) {
		if (message_clock_ns() >= deadline_ns) {
			kill(b->pid, SIGKILL);
			return;
		}
		if (!pid)
			nanosleep(&pause, NULL);
	}
}

void broker_end(void)
{
	for (int i = 0; i < NR_BROKER_KINDS; i++) {
		struct broker *b = &brokers[i];

		cleanup_closep(&b->sock);
		if (b->pid)
			end_one(b);
		*b = (struct broker){.sock = -1};
	}
}

bool broker_is_there(enum broker_kind kind)
{
	return brokers[kind].pid;
}

pid_t broker_pid(enum broker_kind kind)
{
	return brokers[kind].pid;
}

uint64_t broker_cpu_ns(void)
{
	uint64_t sum_ns = 0;

	for (int i = 0; i < NR_BROKER_KINDS; i++) {
		struct timespec used;
		clockid_t clock;

		if (brokers[i].pid && !clock_getcpuclockid(brokers[i].pid, &clock) &&
		    !clock_gettime(clock, &used))
			sum_ns += (uint64_t)used.tv_sec * 1000000000 +
				  (uint64_t)used.tv_nsec;
	}
	return sum_ns;
}

static int recv_reply(int sock, struct broker_message *ret, int64_t deadline_ns,
		      int *ret_rc)
{
	struct message_fds fds;
	struct message m;
	int rc = message_recv(sock, &m, &fds, deadline_ns);

	if (rc)
		return rc;
	if (m.type != MESSAGE_REPLY || m.len != (ret ? ret->len : 0) ||
	    fds.nr > (ret ? BROKER_MAX_FDS : 0)) {
		message_fds_close(&fds);
		return -EBADMSG;
	}
	*ret_rc = -(int)m.value;
	if (!ret)
		return 0;
	ret->nr_fds = fds.nr;
	memcpy(ret->fds, fds.fd, fds.nr * sizeof(*fds.fd));
	return message_recv_payload(sock, ret->data, ret->len, deadline_ns);
}

/* Return: 0, -EAGAIN: what is due has not come yet, or another negative errno. */
static int drop_late_answer(struct broker *b)
{
	static char unused[BROKER_MAX_BYTES];
	struct message_fds fds;
	struct message m;
	int64_t deadline_ns;
	int rc;

	if (!b->is_late)
		return 0;
	if (message_wait(b->sock, POLLIN, message_clock_ns()))
		return -EAGAIN;
	deadline_ns = message_clock_ns() + REST_NS;
	rc = message_recv(b->sock, &m, &fds, deadline_ns);
	message_fds_close(&fds);
	if (!rc && m.len > sizeof(unused))
		rc = -EBADMSG;
	if (!rc)
		rc = message_recv_payload(b->sock, unused, m.len, deadline_ns);
	b->is_late = rc;
	return rc;
}

/* Return: 0, -EAGAIN: it is late, or another negative errno. */
static int wait_for_answer(struct broker *b)
{
	if (!b->answer_ms ||
	    message_wait(b->sock, POLLIN,
			 message_clock_ns() + b->answer_ms * INT64_C(1000000)) !=
		    -ETIMEDOUT)
		return 0;
	b->is_late = true;
	log_warning("the process that starts helpers for lineburn has not answered for "
		    "%d s: until it does, new code has no names",
		    b->answer_ms / 1000);
	return -EAGAIN;
}

int broker_ask(enum broker_kind kind, enum broker_op op,
	       const struct broker_message *request, struct broker_message *reply)
{
	static const struct broker_message empty;
	struct broker *b = &brokers[kind];
	const struct broker_message *r = request ? request : &empty;
	const struct message m = {.type = MESSAGE_REQUEST,
				  .value = op,
				  .len = (uint32_t)r->len,
				  .nr_fds = (uint32_t)r->nr_fds};
	int64_t deadline_ns;
	int rc, answer = 0;

	if (reply)
		reply->nr_fds = 0;
	if (b->sock < 0)
		return -EPIPE;
	rc = drop_late_answer(b);
	deadline_ns = b->answer_ms ? message_clock_ns() + REST_NS : MESSAGE_NO_DEADLINE;
	if (!rc)
		rc = message_send(b->sock, &m, r->data, r->fds, deadline_ns);
	if (!rc)
		rc = wait_for_answer(b);
	if (rc == -EAGAIN)
		return rc;
	deadline_ns = b->answer_ms ? message_clock_ns() + REST_NS : MESSAGE_NO_DEADLINE;
	if (!rc)
		rc = recv_reply(b->sock, reply, deadline_ns, &answer);
	if (!rc)
		return answer;
	log_warning("the process that %s for lineburn does not answer (%s); start "
		    "lineburn again",
		    kind == BROKER_HELPERS ? "starts helpers" : "writes files",
		    strerror(-rc));
	cleanup_closep(&b->sock);
	b->sock = -1;
	return -EPIPE;
}

int broker_put_content(struct broker_message *request, const void *data, size_t len)
{
	int fd = memfd_create("lineburn-content", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	request->nr_fds = 0;
	if (fd < 0)
		return -errno;
	request->fds[request->nr_fds++] = fd;
	return io_write_all(fd, data, len);
}

void broker_drop_content(struct broker_message *request)
{
	if (request->nr_fds)
		close(request->fds[--request->nr_fds]);
}

int broker_map_content(const struct broker_message *request, void **ret,
		       uint64_t *ret_len)
{
	if (!request->nr_fds)
		return -EBADMSG;
	/* What shrinks while it is mapped would end this process. Only a memfd has seals. */
	if (fcntl(request->fds[0], F_ADD_SEALS, F_SEAL_SHRINK))
		return -errno;
	return io_map_file(request->fds[0], SIZE_MAX, ret, ret_len);
}

void broker_leave(void)
{
	for (int i = 0; i < NR_BROKER_KINDS; i++) {
		cleanup_closep(&brokers[i].sock);
		brokers[i] = (struct broker){.sock = -1};
	}
}

void broker_restore_signals(void)
{
	if (is_broker)
		sigprocmask(SIG_SETMASK, &caller_mask, NULL);
}
