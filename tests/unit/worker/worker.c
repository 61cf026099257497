// SPDX-License-Identifier: GPL-2.0-or-later
/* The collector outlives whatever its worker does. This program is both. */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "worker/message.h"
#include "worker/serve.h"

#define PATIENCE_MS 20000 /* more than any call takes that ends by itself */

/* ---- the worker's side ---- */

enum op {
	OP_ECHO,
	OP_SLEEP,
	OP_SPIN,
	OP_ABORT,
	OP_SEGV,
	OP_ALLOCATE,
	OP_MAP,
	OP_FAIL,
	OP_NO_ERRNO,
	OP_GARBAGE,
	OP_TOO_LONG,
	OP_WRONG_TYPE,
	OP_SHORT,
	OP_TRICKLE,
	OP_SEND_FDS,
	OP_NEED,
	OP_NEED_MANY,
	OP_PID,
	OP_READ_FDS,
	OP_CLOSE_SOCKET,
};

static int op_echo(struct worker_call *call, struct wire_reader *request, const int *fds,
		   size_t nr_fds, struct wire_writer *reply)
{
	size_t len;
	const void *text = wire_get_bytes(request, &len);

	(void)call, (void)fds, (void)nr_fds;
	wire_put_bytes(reply, text, len);
	return request->failed ? -EBADMSG : 0;
}

static int op_sleep(struct worker_call *call, struct wire_reader *request, const int *fds,
		    size_t nr_fds, struct wire_writer *reply)
{
	(void)call, (void)request, (void)fds, (void)nr_fds, (void)reply;
	while (poll(NULL, 0, -1) <= 0)
		;
	return 0;
}

static int op_spin(struct worker_call *call, struct wire_reader *request, const int *fds,
		   size_t nr_fds, struct wire_writer *reply)
{
	volatile unsigned int n = 0;

	(void)call, (void)request, (void)fds, (void)nr_fds, (void)reply;
	while (n < UINT32_MAX)
		n += n < UINT32_MAX / 2; /* never gets there */
	return 0;
}

static int op_abort(struct worker_call *call, struct wire_reader *request, const int *fds,
		    size_t nr_fds, struct wire_writer *reply)
{
	(void)call, (void)request, (void)fds, (void)nr_fds, (void)reply;
	abort();
}

static int op_segv(struct worker_call *call, struct wire_reader *request, const int *fds,
		   size_t nr_fds, struct wire_writer *reply)
{
	volatile char *volatile nowhere = (char *)16;

	(void)call, (void)request, (void)fds, (void)nr_fds, (void)reply;
	return *nowhere;
}

static int op_allocate(struct worker_call *call, struct wire_reader *request,
		       const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	size_t got = 0;
	char *p;

	(void)call, (void)request, (void)fds, (void)nr_fds;
	while ((p = malloc(1 << 20))) { /* never freed: the child ends with it */
		memset(p, 1, 1 << 20);
		got++;
	}
	wire_put_u64(reply, got);
	return -ENOMEM;
}

static int op_map(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply)
{
	char *p;

	(void)call, (void)request, (void)fds, (void)nr_fds, (void)reply;
	do {
		p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		*p = 1; /* MAP_FAILED: dies */
	} while (p);
	return 0;
}

static int op_fail(struct worker_call *call, struct wire_reader *request, const int *fds,
		   size_t nr_fds, struct wire_writer *reply)
{
	(void)call, (void)request, (void)fds, (void)nr_fds;
	wire_put_u64(reply, 1); /* not to be seen */
	return -EILSEQ;
}

static int op_no_errno(struct worker_call *call, struct wire_reader *request,
		       const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	(void)call, (void)request, (void)fds, (void)nr_fds, (void)reply;
	return -4096;
}

static void send_raw(const void *data, size_t len)
{
	if (write(SERVE_SOCKET_FD, data, len) != (ssize_t)len)
		abort();
}

static void send_header(uint32_t type, uint32_t len)
{
	uint32_t header[2] = {type, len};

	send_raw(header, sizeof(header));
}

static int op_garbage(struct worker_call *call, struct wire_reader *request,
		      const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	char garbage[4096];

	memset(garbage, 0xa5, sizeof(garbage));
	send_raw(garbage, sizeof(garbage));
	return op_sleep(call, request, fds, nr_fds, reply);
}

static int op_too_long(struct worker_call *call, struct wire_reader *request,
		       const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	send_header(MESSAGE_REPLY, WORKER_MAX_REPLY_BYTES + 1);
	return op_sleep(call, request, fds, nr_fds, reply);
}

static int op_wrong_type(struct worker_call *call, struct wire_reader *request,
			 const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	send_header(MESSAGE_GIVEN, 4);
	send_raw("\0\0\0\0", 4);
	return op_sleep(call, request, fds, nr_fds, reply);
}

/* A reply without even the error code. */
static int op_short(struct worker_call *call, struct wire_reader *request, const int *fds,
		    size_t nr_fds, struct wire_writer *reply)
{
	send_header(MESSAGE_REPLY, 3);
	send_raw("\0\0\0", 3);
	return op_sleep(call, request, fds, nr_fds, reply);
}

static int op_trickle(struct worker_call *call, struct wire_reader *request,
		      const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	(void)call, (void)request, (void)fds, (void)nr_fds, (void)reply;
	send_header(MESSAGE_REPLY, 1 << 20);
	do
		send_raw("x", 1);
	while (poll(NULL, 0, 5) == 0);
	return 0;
}

/* A reply that is right but for the descriptors that come with it. */
static int op_send_fds(struct worker_call *call, struct wire_reader *request,
		       const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	uint32_t bytes[3] = {MESSAGE_REPLY, 4, 0}, nr = wire_get_u32(request);
	struct iovec iov = {.iov_base = bytes, .iov_len = sizeof(bytes)};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * 64)];
	} control = {0};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = CMSG_SPACE(sizeof(int) * nr)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * nr);
	memset(CMSG_DATA(c), 0, sizeof(int) * nr); /* descriptor 0, again and again */
	if (sendmsg(SERVE_SOCKET_FD, &msg, 0) < 0)
		abort();
	return op_sleep(call, request, fds, nr_fds, reply);
}

/* Puts the first byte of the descriptor. */
static void put_first_byte(int fd, struct wire_writer *reply)
{
	char c = '-';

	if (pread(fd, &c, 1, 0) != 1)
		c = '!';
	wire_put_u8(reply, (uint8_t)c);
}

static int op_need(struct worker_call *call, struct wire_reader *request, const int *fds,
		   size_t nr_fds, struct wire_writer *reply)
{
	size_t len;
	const void *what = wire_get_bytes(request, &len);
	int fd = worker_need(call, what, len);

	(void)fds, (void)nr_fds;
	if (fd < 0)
		return fd;
	put_first_byte(fd, reply);
	close(fd);
	return 0;
}

static int op_need_many(struct worker_call *call, struct wire_reader *request,
			const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	uint32_t nr = wire_get_u32(request), given = 0;

	(void)fds, (void)nr_fds;
	for (uint32_t i = 0; i < nr; i++) {
		int fd = worker_need(call, "x", 1);

		if (fd < 0)
			continue;
		given++;
		close(fd);
	}
	wire_put_u32(reply, given);
	return 0;
}

static int op_pid(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply)
{
	(void)call, (void)request, (void)fds, (void)nr_fds;
	wire_put_u32(reply, (uint32_t)getpid());
	return 0;
}

/* The first byte of every descriptor, and how many are open in all. */
static int op_read_fds(struct worker_call *call, struct wire_reader *request,
		       const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	uint32_t nr_open = 0;

	(void)call, (void)request;
	for (int fd = 0; fd < 1024; fd++)
		nr_open += fcntl(fd, F_GETFD) >= 0;
	wire_put_u32(reply, nr_open);
	for (size_t i = 0; i < nr_fds; i++)
		put_first_byte(fds[i], reply);
	return 0;
}

static int op_close_socket(struct worker_call *call, struct wire_reader *request,
			   const int *fds, size_t nr_fds, struct wire_writer *reply)
{
	close(SERVE_SOCKET_FD);
	return op_sleep(call, request, fds, nr_fds, reply);
}

static const worker_op ops[] = {
	[OP_ECHO] = op_echo,
	[OP_SLEEP] = op_sleep,
	[OP_SPIN] = op_spin,
	[OP_ABORT] = op_abort,
	[OP_SEGV] = op_segv,
	[OP_ALLOCATE] = op_allocate,
	[OP_MAP] = op_map,
	[OP_FAIL] = op_fail,
	[OP_NO_ERRNO] = op_no_errno,
	[OP_GARBAGE] = op_garbage,
	[OP_TOO_LONG] = op_too_long,
	[OP_WRONG_TYPE] = op_wrong_type,
	[OP_SHORT] = op_short,
	[OP_TRICKLE] = op_trickle,
	[OP_SEND_FDS] = op_send_fds,
	[OP_NEED] = op_need,
	[OP_NEED_MANY] = op_need_many,
	[OP_PID] = op_pid,
	[OP_READ_FDS] = op_read_fds,
	[OP_CLOSE_SOCKET] = op_close_socket,
};

/* ---- the collector's side ---- */

static struct worker *make(void)
{
	struct worker_config config = {.max_data_bytes = 256 << 20};
	struct worker *w;
	struct error err;

	assert_int_equal(worker_new(&config, &w, &err), 0);
	return w;
}

static enum worker_answer call_op(struct worker *w, enum op op, unsigned int deadline_ms)
{
	struct wire_reader reply;

	return worker_call(w, op, NULL, 0, NULL, 0, NULL, NULL, deadline_ms, &reply,
			   NULL);
}

/* The worker still answers, and rightly. */
static void assert_works(struct worker *w)
{
	_cleanup_(wire_writer_deinit) struct wire_writer request = {0};
	struct wire_reader reply;
	const char *text;
	size_t len;

	wire_put_str(&request, "still here");
	assert_int_equal(worker_call(w, OP_ECHO, request.data, request.len, NULL, 0, NULL,
				     NULL, PATIENCE_MS, &reply, NULL),
			 WORKER_OK);
	text = wire_get_str(&reply, &len);
	assert_int_equal(len, strlen("still here"));
	assert_memory_equal(text, "still here", len);
	assert_false(reply.failed);
	assert_int_equal(reply.pos, reply.len);
}

static pid_t pid_of(struct worker *w)
{
	struct wire_reader reply;

	assert_int_equal(worker_call(w, OP_PID, NULL, 0, NULL, 0, NULL, NULL, PATIENCE_MS,
				     &reply, NULL),
			 WORKER_OK);
	return (pid_t)wire_get_u32(&reply);
}

static size_t count_open(void)
{
	size_t nr = 0;

	for (int fd = 0; fd < 1024; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static int file_with(char c)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &c, 1), 1);
	return fd;
}

static void test_answers(void **state)
{
	_cleanup_(worker_freep) struct worker *w = make();
	struct worker_stats stats;

	(void)state;
	worker_stats(w, &stats);
	assert_int_equal(stats.nr_starts, 0); /* none before it is needed */
	assert_works(w);
	assert_works(w);
	worker_stats(w, &stats);
	assert_int_equal(stats.nr_calls, 2);
	assert_int_equal(stats.nr_starts, 1);
	assert_true(stats.cpu_ns > 0);
}

static void test_large_request(void **state)
{
	const size_t size = 60u << 20;
	_cleanup_(worker_freep) struct worker *w = make();
	_cleanup_(wire_writer_deinit) struct wire_writer request = {0};
	_cleanup_free_ char *bytes = malloc(size);
	struct wire_reader reply;
	const char *back;
	size_t len;

	(void)state;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(i * 2654435761u >> 13);
	wire_put_bytes(&request, bytes, size);
	assert_int_equal(worker_call(w, OP_ECHO, request.data, request.len, NULL, 0, NULL,
				     NULL, PATIENCE_MS, &reply, NULL),
			 WORKER_OK);
	back = wire_get_bytes(&reply, &len);
	assert_int_equal(len, size);
	assert_int_equal(memcmp(back, bytes, size), 0);
}

static void test_refuses_to_send(void **state)
{
	_cleanup_(worker_freep) struct worker *w = make();
	int fds[2 * WORKER_MAX_FDS] = {0};
	struct wire_reader reply;
	struct worker_stats stats;
	int code = 0;

	(void)state;
	assert_works(w);
	assert_int_equal(worker_call(w, OP_ECHO, "", WORKER_MAX_REQUEST_BYTES + 1, NULL,
				     0, NULL, NULL, PATIENCE_MS, &reply, &code),
			 WORKER_FAILED);
	assert_int_equal(code, -E2BIG);
	code = 0;
	assert_int_equal(worker_call(w, OP_READ_FDS, NULL, 0, fds, ARRAY_SIZE(fds), NULL,
				     NULL, PATIENCE_MS, &reply, &code),
			 WORKER_FAILED);
	assert_int_equal(code, -E2BIG);
	assert_works(w);
	worker_stats(w, &stats);
	assert_int_equal(stats.nr_starts, 1); /* the child had no part in it */
	assert_int_equal(stats.nr_died, 0);
}

static void test_op_errors(void **state)
{
	_cleanup_(worker_freep) struct worker *w = make();
	struct wire_reader reply;
	struct worker_stats stats;
	int code = 0;

	(void)state;
	assert_int_equal(worker_call(w, OP_FAIL, NULL, 0, NULL, 0, NULL, NULL,
				     PATIENCE_MS, &reply, &code),
			 WORKER_FAILED);
	assert_int_equal(code, -EILSEQ);
	assert_int_equal(call_op(w, ARRAY_SIZE(ops), PATIENCE_MS), WORKER_FAILED);
	/* A request that the op finds too short. */
	assert_int_equal(worker_call(w, OP_ECHO, "ab", 2, NULL, 0, NULL, NULL,
				     PATIENCE_MS, &reply, &code),
			 WORKER_FAILED);
	assert_int_equal(code, -EBADMSG);
	assert_works(w);
	worker_stats(w, &stats);
	assert_int_equal(stats.nr_starts, 1);
	assert_int_equal(call_op(w, OP_NO_ERRNO, PATIENCE_MS), WORKER_BAD_REPLY);
	assert_works(w);
}

static void test_crashes(void **state)
{
	static const enum op crashes[] = {OP_ABORT, OP_SEGV, OP_CLOSE_SOCKET};
	_cleanup_(worker_freep) struct worker *w = make();
	size_t open_before = count_open();
	struct worker_stats stats;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++) {
		assert_int_equal(call_op(w, crashes[i], PATIENCE_MS), WORKER_DIED);
		assert_int_equal(count_open(), open_before);
		assert_works(w);
		assert_int_equal(count_open(), open_before + 1);
		worker_stats(w, &stats);
		assert_int_equal(stats.nr_died, i + 1);
		assert_int_equal(stats.nr_starts, i + 2);
	}
	assert_int_equal(stats.nr_stuck, 0);
}

static void test_memory_limit(void **state)
{
	_cleanup_(worker_freep) struct worker *w = NULL;
	struct wire_reader reply;
	int code = 0;

	(void)state;
#if defined(__SANITIZE_ADDRESS__)
	print_message("memory is not limited under AddressSanitizer\n");
	skip();
#endif
	w = make();
	assert_int_equal(worker_call(w, OP_ALLOCATE, NULL, 0, NULL, 0, NULL, NULL,
				     PATIENCE_MS, &reply, &code),
			 WORKER_FAILED);
	assert_int_equal(code, -ENOMEM);
	assert_int_equal(call_op(w, OP_MAP, PATIENCE_MS), WORKER_DIED);
	assert_works(w);
}

static void test_cpu_limit(void **state)
{
	struct worker_config config = {.cpu_seconds = 1};
	_cleanup_(worker_freep) struct worker *w = NULL;
	struct worker_stats stats;
	struct error err;

	(void)state;
	assert_int_equal(worker_new(&config, &w, &err), 0);
	assert_int_equal(call_op(w, OP_SPIN, PATIENCE_MS), WORKER_DIED);
	worker_stats(w, &stats);
	assert_in_range(stats.cpu_ns, 900000000, 3000000000);
	assert_works(w);
}

static void test_bad_replies(void **state)
{
	static const enum op bad[] = {OP_GARBAGE, OP_TOO_LONG, OP_WRONG_TYPE, OP_SHORT};
	_cleanup_(worker_freep) struct worker *w = make();
	struct worker_stats stats;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(call_op(w, bad[i], PATIENCE_MS), WORKER_BAD_REPLY);
		assert_works(w);
		worker_stats(w, &stats);
		assert_int_equal(stats.nr_bad_reply, i + 1);
		assert_int_equal(stats.nr_died, 0);
	}
}

/* What a worker sends along is closed, whether there was room for it or not. */
static void test_sent_descriptors(void **state)
{
	static const uint32_t counts[] = {1, WORKER_MAX_FDS, WORKER_MAX_FDS + 1, 64};
	_cleanup_(worker_freep) struct worker *w = make();
	size_t open_before = count_open();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		_cleanup_(wire_writer_deinit) struct wire_writer request = {0};
		struct wire_reader reply;

		wire_put_u32(&request, counts[i]);
		assert_int_equal(worker_call(w, OP_SEND_FDS, request.data, request.len,
					     NULL, 0, NULL, NULL, PATIENCE_MS, &reply,
					     NULL),
				 WORKER_BAD_REPLY);
		assert_int_equal(count_open(), open_before);
	}
	assert_works(w);
}

/* Never early; late by what starting and stopping a process takes. */
static void test_deadline(void **state)
{
	static const enum op slow[] = {OP_SLEEP, OP_SPIN, OP_TRICKLE};
	_cleanup_(worker_freep) struct worker *w = make();
	struct worker_stats stats;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
		uint64_t start_ns = message_clock_ns(), took_ms;

		assert_int_equal(call_op(w, slow[i], 200), WORKER_DEADLINE);
		took_ms = (message_clock_ns() - start_ns) / 1000000;
		assert_in_range(took_ms, 200, 400);
		worker_stats(w, &stats);
		assert_int_equal(stats.nr_deadline, i + 1);
		assert_works(w);
	}
	/* The longest there is must not be mistaken for none, or for over. */
	assert_int_equal(call_op(w, OP_ABORT, UINT32_MAX), WORKER_DIED);
}

/* ---- needs ---- */

struct giver {
	const char *expected;
	char contents; /* 0: there is none */
	unsigned int nr_asked;
};

static int give(void *ctx, const void *what, size_t len)
{
	struct giver *g = ctx;

	g->nr_asked++;
	assert_int_equal(len, strlen(g->expected));
	assert_memory_equal(what, g->expected, len);
	return g->contents ? file_with(g->contents) : -1;
}

static enum worker_answer ask_for(struct worker *w, const char *what, struct giver *g,
				  struct wire_reader *reply, int *code)
{
	_cleanup_(wire_writer_deinit) struct wire_writer request = {0};

	wire_put_str(&request, what);
	return worker_call(w, OP_NEED, request.data, request.len, NULL, 0,
			   g ? give : NULL, g, PATIENCE_MS, reply, code);
}

static void test_need(void **state)
{
	_cleanup_(worker_freep) struct worker *w = make();
	struct giver g = {.expected = "libc.debug", .contents = 'q'};
	size_t open_before;
	struct wire_reader reply;
	int code = 0;

	(void)state;
	assert_works(w);
	open_before = count_open();
	assert_int_equal(ask_for(w, "libc.debug", &g, &reply, &code), WORKER_OK);
	assert_int_equal(wire_get_u8(&reply), 'q');
	assert_int_equal(g.nr_asked, 1);

	g.contents = 0;
	assert_int_equal(ask_for(w, "libc.debug", &g, &reply, &code), WORKER_FAILED);
	assert_int_equal(code, -ENOENT);
	assert_int_equal(g.nr_asked, 2);

	code = 0;
	assert_int_equal(ask_for(w, "libc.debug", NULL, &reply, &code), WORKER_FAILED);
	assert_int_equal(code, -ENOENT);
	/* Nothing is no question. */
	assert_int_equal(ask_for(w, "", &g, &reply, &code), WORKER_FAILED);
	assert_int_equal(g.nr_asked, 2);
	assert_int_equal(count_open(), open_before); /* what was passed on is closed */
	assert_works(w);
}

static enum worker_answer need_many(struct worker *w, uint32_t nr, struct giver *g,
				    struct wire_reader *reply)
{
	_cleanup_(wire_writer_deinit) struct wire_writer request = {0};

	wire_put_u32(&request, nr);
	return worker_call(w, OP_NEED_MANY, request.data, request.len, NULL, 0, give, g,
			   PATIENCE_MS, reply, NULL);
}

static void test_need_limit(void **state)
{
	_cleanup_(worker_freep) struct worker *w = make();
	struct giver g = {.expected = "x", .contents = 'y'};
	struct wire_reader reply;

	(void)state;
	assert_int_equal(need_many(w, 4096, &g, &reply), WORKER_OK);
	assert_int_equal(wire_get_u32(&reply), 4096);
	g.nr_asked = 0;
	assert_int_equal(need_many(w, 5000, &g, &reply), WORKER_BAD_REPLY);
	assert_int_equal(g.nr_asked, 4096);
	assert_works(w);
}

/* ---- descriptors ---- */

static void test_descriptors(void **state)
{
	_cleanup_(worker_freep) struct worker *w = make();
	struct wire_reader reply;
	int fds[WORKER_MAX_FDS];
	struct worker_stats stats;
	size_t open_before;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = file_with((char)('a' + i));
	assert_works(w);
	open_before = count_open();
	for (int turn = 0; turn < 1000; turn++) {
		assert_int_equal(worker_call(w, OP_READ_FDS, NULL, 0, fds,
					     ARRAY_SIZE(fds), NULL, NULL, PATIENCE_MS,
					     &reply, NULL),
				 WORKER_OK);
		/* 0, 1, 2, the socket and ours: none of the calls before, none else. */
		assert_int_equal(wire_get_u32(&reply), 4 + ARRAY_SIZE(fds));
		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			assert_int_equal(wire_get_u8(&reply), 'a' + i);
		assert_false(reply.failed);
	}
	assert_int_equal(count_open(), open_before);
	worker_stats(w, &stats);
	assert_int_equal(stats.nr_starts, 2); /* a fresh child after some hundreds */
	assert_int_equal(stats.nr_died, 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

/* Descriptors of the collector that lack O_CLOEXEC do not reach the child either. */
static void test_inherits_nothing(void **state)
{
	_cleanup_(worker_freep) struct worker *w = make();
	_cleanup_close_ int low = dup(file_with('l')), high = fcntl(low, F_DUPFD, 700);
	struct wire_reader reply;

	(void)state;
	assert_true(low >= 0 && high >= 700);
	assert_int_equal(worker_call(w, OP_READ_FDS, NULL, 0, NULL, 0, NULL, NULL,
				     PATIENCE_MS, &reply, NULL),
			 WORKER_OK);
	assert_int_equal(wire_get_u32(&reply), 4);
}

static void test_without_standard_streams(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		struct worker_config config = {0};
		struct wire_reader reply;
		struct worker *w;
		struct error err;
		int code = -1;

		for (int fd = 0; fd < 64; fd++)
			close(fd);
		if (!worker_new(&config, &w, &err) &&
		    worker_call(w, OP_READ_FDS, NULL, 0, NULL, 0, NULL, NULL, PATIENCE_MS,
				&reply, NULL) == WORKER_OK)
			code = (int)wire_get_u32(&reply);
		_exit(code);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 4);
}

/* ---- between calls ---- */

static char state_of(pid_t pid)
{
	char path[64], text[256], state = '?';
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f) && strrchr(text, ')'))
		state = strrchr(text, ')')[2];
	return state;
}

static void wait_for_state(pid_t pid, const char *wanted)
{
	for (int i = 0; i < 2000 && !strchr(wanted, state_of(pid)); i++)
		poll(NULL, 0, 1);
	assert_non_null(strchr(wanted, state_of(pid)));
}

static void test_stopped_and_continued(void **state)
{
	_cleanup_(worker_freep) struct worker *w = make();
	pid_t pid = pid_of(w);

	(void)state;
	wait_for_state(pid, "S");
	assert_int_equal(kill(pid, SIGSTOP), 0);
	wait_for_state(pid, "T");
	assert_int_equal(kill(pid, SIGCONT), 0);
	wait_for_state(pid, "S");
	assert_int_equal(pid_of(w), pid);
}

/* The kernel may take an idle child for want of memory: no object is to blame. */
static void test_idle_death(void **state)
{
	_cleanup_(worker_freep) struct worker *w = make();
	pid_t pid = pid_of(w);
	struct worker_stats stats;

	(void)state;
	assert_int_equal(kill(pid, SIGKILL), 0);
	wait_for_state(pid, "Z");
	assert_works(w);
	worker_stats(w, &stats);
	assert_int_equal(stats.nr_died, 0);
	assert_int_equal(stats.nr_starts, 2);
}

/* Ctrl-C goes to the whole process group; the collector decides what it means. */
static void test_ignores_terminal(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
	_cleanup_(worker_freep) struct worker *w = make();
	pid_t pid = pid_of(w);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		assert_int_equal(kill(pid, signals[i]), 0);
	assert_int_equal(pid_of(w), pid);
}

static void test_ends_with_collector(void **state)
{
	int ends[2];
	pid_t collector, child;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	collector = fork();
	if (collector == 0) {
		struct worker *w = make();

		child = pid_of(w);
		if (write(ends[1], &child, sizeof(child)) != sizeof(child))
			_exit(1);
		raise(SIGKILL);
	}
	assert_int_equal(read(ends[0], &child, sizeof(child)), sizeof(child));
	assert_int_equal(waitpid(collector, NULL, 0), collector);
	wait_for_state(child, "?Z"); /* gone, or left for init to reap */
	close(ends[0]);
	close(ends[1]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_large_request),
		cmocka_unit_test(test_refuses_to_send),
		cmocka_unit_test(test_op_errors),
		cmocka_unit_test(test_crashes),
		cmocka_unit_test(test_memory_limit),
		cmocka_unit_test(test_cpu_limit),
		cmocka_unit_test(test_bad_replies),
		cmocka_unit_test(test_sent_descriptors),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_need),
		cmocka_unit_test(test_need_limit),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_inherits_nothing),
		cmocka_unit_test(test_without_standard_streams),
		cmocka_unit_test(test_stopped_and_continued),
		cmocka_unit_test(test_idle_death),
		cmocka_unit_test(test_ignores_terminal),
		cmocka_unit_test(test_ends_with_collector),
	};

	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(ops, ARRAY_SIZE(ops));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
