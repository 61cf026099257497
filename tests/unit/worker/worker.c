// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The collector with a worker that misbehaves in every way. This program is its own
 * worker: worker_call() executes it again with argv[0] WORKER_ARGV0.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/target_fd.h"
#include "lib/sanitizer.h"
#include "worker/child.h"
#include "worker/message.h"
#include "worker/worker.h"

/* ---- the worker's side ---- */

enum test_op {
	OP_ECHO, /* replies the request, then the first bytes of each descriptor */
	OP_FAIL, /* -EBADMSG */
	OP_READ_FOREVER, /* blocks in read(2) of fds[0] */
	OP_SPIN, /* uses CPU for ever */
	OP_BURN, /* uses u32 milliseconds of CPU */
	OP_CRASH,
	OP_ABORT,
	OP_ALLOCATE, /* touches memory until malloc fails: -ENOMEM */
	OP_FILL_REPLY, /* puts into the reply until the writer fails */
	OP_SAY, /* sends the request's bytes raw, then waits for ever */
	OP_SAY_AND_LEAVE, /* the same, then exits */
	OP_SAY_SLOWLY, /* replies the request's bytes, one for each byte of fds[0] */
	OP_REPLY_AND_SAY, /* a good reply followed by the request's bytes */
	OP_REPLY_AND_LEAVE, /* a good reply, then exits */
	OP_SEND_FDS, /* a good reply with descriptors attached */
	OP_SEND_FD_AND_HANG, /* the head of a reply with a descriptor, then waits for ever */
	OP_NEED, /* needs a file by the request's bytes; replies its content */
	OP_NEED_MANY, /* needs u32 files; replies how many it got */
	OP_NEED_FOREVER,
	OP_NEED_DEAF, /* needs files for ever, and reads no answer */
	OP_LEAK_FD, /* duplicates fds[0] and leaks it; replies the duplicate */
	OP_PID, /* replies getpid() */
	NR_TEST_OPS,
};

#define OP(name)                                                               \
	static int name(struct worker_call *call, struct wire_reader *request, \
			const int *fds, size_t nr_fds, struct wire_writer *reply)
#define UNUSED ((void)call, (void)request, (void)fds, (void)nr_fds, (void)reply)

static void put_start_of(struct wire_writer *reply, int fd)
{
	char buf[64];
	ssize_t n = pread(fd, buf, sizeof(buf), 0);

	wire_put_bytes(reply, buf, n > 0 ? (size_t)n : 0);
}

OP(op_echo)
{
	UNUSED;
	wire_put_bytes(reply, request->data, request->len);
	wire_put_u32(reply, (uint32_t)nr_fds);
	for (size_t i = 0; i < nr_fds; i++)
		put_start_of(reply, fds[i]);
	return 0;
}

OP(op_fail)
{
	UNUSED;
	return -EBADMSG;
}

OP(op_read_forever)
{
	char byte;

	UNUSED;
	return (int)read(fds[0], &byte, 1);
}

OP(op_spin)
{
	UNUSED;
	for (volatile bool on = true; on;)
		;
	return 0;
}

OP(op_burn)
{
	uint32_t ms = wire_get_u32(request);
	struct timespec used;

	UNUSED;
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < ms);
	return 0;
}

OP(op_crash)
{
	UNUSED;
	*(volatile int *)(uintptr_t)fds[0] = 1; /* a small number is no valid address */
	return 0;
}

OP(op_abort)
{
	UNUSED;
	abort();
}

OP(op_allocate)
{
	UNUSED;
	for (;;) {
		char *p = malloc(1 << 20);

		if (!p)
			return -ENOMEM;
		memset(p, 1, 1 << 20);
		__asm__ volatile("" ::"r"(p) : "memory"); /* not optimised away */
	}
}

OP(op_fill_reply)
{
	static const char block[1 << 16];

	UNUSED;
	while (!reply->failed)
		wire_put_bytes(reply, block, sizeof(block));
	return 0;
}

static void say(const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = send(WORKER_SOCKET_FD, p, len, MSG_NOSIGNAL);

		if (n <= 0)
			_exit(9);
		p += n;
		len -= (size_t)n;
	}
}

OP(op_say)
{
	char byte;

	UNUSED;
	say(request->data, request->len);
	return (int)recv(WORKER_SOCKET_FD, &byte, 1, 0);
}

OP(op_say_and_leave)
{
	UNUSED;
	say(request->data, request->len);
	_exit(0);
}

OP(op_say_slowly)
{
	const struct message m = {.type = MESSAGE_REPLY, .len = (uint32_t)request->len};
	char byte;

	UNUSED;
	for (size_t i = 0; i < sizeof(m) + request->len; i++) {
		if (read(fds[0], &byte, 1) != 1)
			_exit(9);
		say(i < sizeof(m) ? (const uint8_t *)&m + i
				  : request->data + (i - sizeof(m)),
		    1);
	}
	return (int)recv(WORKER_SOCKET_FD, &byte, 1, 0);
}

static void say_reply(void)
{
	const struct message m = {.type = MESSAGE_REPLY};

	say(&m, sizeof(m));
}

OP(op_reply_and_say)
{
	char byte;

	UNUSED;
	say_reply();
	say(request->data, request->len);
	return (int)recv(WORKER_SOCKET_FD, &byte, 1, 0);
}

OP(op_reply_and_leave)
{
	UNUSED;
	say_reply();
	_exit(0);
}

OP(op_send_fd_and_hang)
{
	const struct message m = {.type = MESSAGE_REPLY, .len = 1, .nr_fds = 1};

	UNUSED;
	if (message_send_header(WORKER_SOCKET_FD, &m, fds))
		_exit(9);
	for (;;)
		pause();
}

OP(op_send_fds)
{
	const struct message m = {.type = MESSAGE_REPLY, .len = 4};
	const int many[4] = {0, 0, 0, 0};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(many))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)&m, .iov_len = sizeof(m)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	UNUSED;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(many));
	memcpy(CMSG_DATA(c), many, sizeof(many));
	if (sendmsg(WORKER_SOCKET_FD, &msg, MSG_NOSIGNAL) != sizeof(m))
		_exit(9);
	/* Once with the header, once within the payload. */
	iov = (struct iovec){.iov_base = (void *)"abcd", .iov_len = 4};
	if (sendmsg(WORKER_SOCKET_FD, &msg, MSG_NOSIGNAL) != 4)
		_exit(9);
	/* Not a second reply: a stray message, so the child is replaced. */
	return worker_need(call, "done", 4);
}

OP(op_need)
{
	int fd = worker_need(call, request->data, request->len);

	UNUSED;
	wire_put_u32(reply, (uint32_t)fd == (uint32_t)-ENOENT);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	put_start_of(reply, fd);
	close(fd);
	return 0;
}

OP(op_need_many)
{
	uint32_t nr = wire_get_u32(request), nr_found = 0;

	UNUSED;
	for (uint32_t i = 0; i < nr; i++) {
		int fd = worker_need(call, &i, sizeof(i));

		if (fd >= 0) {
			nr_found++;
			close(fd);
		}
	}
	wire_put_u32(reply, nr_found);
	return 0;
}

OP(op_need_forever)
{
	UNUSED;
	for (volatile bool on = true; on;) {
		int fd = worker_need(call, "more", 4);

		if (fd >= 0)
			close(fd);
	}
	return 0;
}

OP(op_need_deaf)
{
	const struct message m = {.type = MESSAGE_NEED};

	UNUSED;
	for (volatile bool on = true; on;)
		say(&m, sizeof(m));
	return 0;
}

OP(op_leak_fd)
{
	UNUSED;
	wire_put_u32(reply, (uint32_t)fcntl(fds[0], F_DUPFD_CLOEXEC, 0));
	return 0;
}

OP(op_pid)
{
	UNUSED;
	wire_put_u32(reply, (uint32_t)getpid());
	return 0;
}

static const worker_op test_ops[NR_TEST_OPS] = {
	[OP_ECHO] = op_echo,
	[OP_FAIL] = op_fail,
	[OP_READ_FOREVER] = op_read_forever,
	[OP_SPIN] = op_spin,
	[OP_BURN] = op_burn,
	[OP_CRASH] = op_crash,
	[OP_ABORT] = op_abort,
	[OP_ALLOCATE] = op_allocate,
	[OP_FILL_REPLY] = op_fill_reply,
	[OP_SAY] = op_say,
	[OP_SAY_AND_LEAVE] = op_say_and_leave,
	[OP_SAY_SLOWLY] = op_say_slowly,
	[OP_REPLY_AND_SAY] = op_reply_and_say,
	[OP_REPLY_AND_LEAVE] = op_reply_and_leave,
	[OP_SEND_FDS] = op_send_fds,
	[OP_SEND_FD_AND_HANG] = op_send_fd_and_hang,
	[OP_NEED] = op_need,
	[OP_NEED_MANY] = op_need_many,
	[OP_NEED_FOREVER] = op_need_forever,
	[OP_NEED_DEAF] = op_need_deaf,
	[OP_LEAK_FD] = op_leak_fd,
	[OP_PID] = op_pid,
};

/* ---- the collector's side ---- */

#define LONG_MS 60000 /* for sanitizers on a busy machine */

struct fixture {
	short waited_for; /* by receive(): POLLIN, POLLOUT */
	struct worker *w;
	int file; /* contains "file-bytes" */
	int nr_open; /* open descriptors before the worker */
};

static int nr_open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int nr = 0;

	assert_non_null(d);
	while (readdir(d))
		nr++;
	closedir(d);
	return nr;
}

static int set_up_config(void **state, const struct worker_config *config)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct error err;

	assert_non_null(f);
	f->file = memfd_create("file", MFD_CLOEXEC);
	assert_true(f->file >= 0);
	assert_int_equal(write(f->file, "file-bytes", 10), 10);
	f->nr_open = nr_open_fds();
	assert_int_equal(worker_new(config, &f->w, &err), 0);
	*state = f;
	return 0;
}

static int set_up_with(void **state, uint64_t max_data_bytes, unsigned int cpu_seconds)
{
	return set_up_config(state,
			     &(struct worker_config){.max_data_bytes = max_data_bytes,
						     .cpu_seconds = cpu_seconds});
}

static int set_up(void **state)
{
	return set_up_with(state, 0, 0);
}

static int set_up_small(void **state)
{
	return set_up_with(state, 64 << 20, 0);
}

static int set_up_opener(void **state)
{
	return set_up_config(state, &(struct worker_config){.kind = WORKER_OPENER});
}

static int set_up_short(void **state)
{
	return set_up_with(state, 0, 1);
}

/* Whatever the worker did, the collector leaks no descriptor and no zombie. */
static int tear_down(void **state)
{
	struct fixture *f = *state;

	worker_free(f->w);
	/* On a busy machine one takes longer to die than it was waited for. */
	for (int i = 0; i < 6000 && child_nr_undead(); i++)
		usleep(10000);
	assert_int_equal(nr_open_fds(), f->nr_open);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	close(f->file);
	free(f);
	return 0;
}

static enum worker_answer call_op(struct fixture *f, enum test_op op, const void *request,
				  size_t len, unsigned int deadline_ms,
				  struct wire_reader *ret)
{
	struct wire_reader ignored;
	int error;

	return worker_call(f->w, op, request, len, NULL, 0, NULL, NULL, deadline_ms,
			   ret ? ret : &ignored, &error);
}

static void assert_echo_works(struct fixture *f)
{
	struct wire_reader reply;
	size_t len;

	assert_int_equal(call_op(f, OP_ECHO, "ping", 4, LONG_MS, &reply), WORKER_OK);
	assert_memory_equal(wire_get_bytes(&reply, &len), "ping", 4);
	assert_int_equal(len, 4);
	assert_int_equal(wire_get_u32(&reply), 0);
	assert_false(reply.failed);
	assert_int_equal(reply.pos, reply.len);
}

static uint32_t pid_of_child(struct fixture *f)
{
	struct wire_reader reply;

	assert_int_equal(call_op(f, OP_PID, NULL, 0, LONG_MS, &reply), WORKER_OK);
	return wire_get_u32(&reply);
}

/* Until /proc has this state of the child. */
static void wait_for_state(uint32_t pid, char state)
{
	char path[32], text[512], is = 0;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	for (int i = 0; i < 60000 && is != state; i++) {
		FILE *f = fopen(path, "r");
		const char *end = f && fgets(text, sizeof(text), f) ? strrchr(text, ')')
								    : NULL;

		if (f)
			fclose(f);
		is = end && end[1] ? end[2] : 0;
		usleep(1000);
	}
	assert_int_equal(is, state);
}

static struct worker_stats stats_of(struct fixture *f)
{
	struct worker_stats stats;

	worker_stats(f->w, &stats);
	return stats;
}

static void nothing_is_started_before_the_first_call(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(stats_of(f).nr_starts, 0);
	assert_int_equal(nr_open_fds(), f->nr_open);
}

static void bytes_and_descriptors_arrive(void **state)
{
	struct fixture *f = *state;
	int fds[WORKER_MAX_FDS];
	struct wire_reader reply;
	size_t len;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = f->file;
	assert_int_equal(worker_call(f->w, OP_ECHO, "x", 1, fds, ARRAY_SIZE(fds), NULL,
				     NULL, LONG_MS, &reply, NULL),
			 WORKER_OK);
	wire_get_bytes(&reply, &len);
	assert_int_equal(wire_get_u32(&reply), WORKER_MAX_FDS);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		assert_memory_equal(wire_get_bytes(&reply, &len), "file-bytes", 10);
		assert_int_equal(len, 10);
	}
	assert_false(reply.failed);
	/* Descriptors are borrowed: still open. */
	assert_int_equal(fcntl(f->file, F_GETFD), FD_CLOEXEC);
}

/* Larger than the socket buffers, in both directions: partial sends and reads. */
static void large_messages_arrive_whole(void **state)
{
	const size_t size = 6 << 20;
	struct fixture *f = *state;
	uint8_t *sent = malloc(size);
	struct wire_reader reply;
	const uint8_t *got;
	size_t len;

	assert_non_null(sent);
	for (size_t i = 0; i < size; i++)
		sent[i] = (uint8_t)(i * 2654435761u >> 13);
	assert_int_equal(call_op(f, OP_ECHO, sent, size, LONG_MS, &reply), WORKER_OK);
	got = wire_get_bytes(&reply, &len);
	assert_int_equal(len, size);
	assert_memory_equal(got, sent, size);
	free(sent);
	assert_echo_works(f); /* the large buffer was freed */
}

static void requests_beyond_the_limits_are_refused_here(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;
	int error = 0;

	assert_int_equal(worker_call(f->w, OP_ECHO, "", WORKER_MAX_REQUEST_BYTES + 1u,
				     NULL, 0, NULL, NULL, LONG_MS, &reply, &error),
			 WORKER_FAILED);
	assert_int_equal(error, -E2BIG);
	assert_int_equal(worker_call(f->w, OP_ECHO, "", 0, &f->file, WORKER_MAX_FDS + 1,
				     NULL, NULL, LONG_MS, &reply, &error),
			 WORKER_FAILED);
	assert_int_equal(error, -E2BIG);
	assert_int_equal(stats_of(f).nr_starts, 0);
}

static void an_error_of_the_operation_keeps_the_child(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;
	int error = 0;

	assert_int_equal(worker_call(f->w, OP_FAIL, NULL, 0, NULL, 0, NULL, NULL, LONG_MS,
				     &reply, &error),
			 WORKER_FAILED);
	assert_int_equal(error, -EBADMSG);
	assert_int_equal(worker_call(f->w, NR_TEST_OPS, NULL, 0, NULL, 0, NULL, NULL,
				     LONG_MS, &reply, &error),
			 WORKER_FAILED);
	assert_int_equal(error, -ENOSYS);
	assert_echo_works(f);
	assert_int_equal(stats_of(f).nr_starts, 1);
}

static void death_is_an_answer(void **state)
{
	static const enum test_op ops[] = {OP_CRASH, OP_ABORT, OP_SAY_AND_LEAVE};
	struct fixture *f = *state;
	struct wire_reader reply;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		assert_int_equal(worker_call(f->w, ops[i], NULL, 0, &f->file, 1, NULL,
					     NULL, LONG_MS, &reply, NULL),
				 WORKER_DIED);
		assert_echo_works(f);
	}
	assert_int_equal(stats_of(f).nr_died, ARRAY_SIZE(ops));
	assert_int_equal(stats_of(f).nr_starts, ARRAY_SIZE(ops) + 1);
}

static int64_t ms_since(int64_t start_ns)
{
	return (message_clock_ns() - start_ns) / 1000000;
}

static void the_deadline_ends_what_does_not_end(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;
	int pipefd[2];
	int64_t start;

	assert_int_equal(pipe2(pipefd, O_CLOEXEC), 0);
	assert_echo_works(f);
	start = message_clock_ns();
	assert_int_equal(worker_call(f->w, OP_READ_FOREVER, NULL, 0, pipefd, 1, NULL,
				     NULL, 100, &reply, NULL),
			 WORKER_DEADLINE);
	assert_in_range(ms_since(start), 100, 60000);
	assert_int_equal(call_op(f, OP_SPIN, NULL, 0, 100, NULL), WORKER_DEADLINE);
	assert_echo_works(f);
	assert_int_equal(stats_of(f).nr_deadline, 2);
	assert_int_equal(stats_of(f).nr_died, 0);
	/* The killed child no longer holds the pipe's read end. */
	close(pipefd[0]);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(write(pipefd[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	signal(SIGPIPE, SIG_DFL);
	close(pipefd[1]);
}

static void a_child_that_waits_for_ever_is_over_before_its_deadline(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;
	int pipefd[2];
	int64_t start;

	assert_int_equal(pipe2(pipefd, O_CLOEXEC), 0);
	start = message_clock_ns();
	assert_int_equal(worker_call(f->w, OP_READ_FOREVER, NULL, 0, pipefd, 1, NULL,
				     NULL, LONG_MS, &reply, NULL),
			 WORKER_DEADLINE);
	assert_in_range(ms_since(start), 500, LONG_MS / 2);
	close(pipefd[0]);
	close(pipefd[1]);
}

/* Restricts @pid and the returned process, which spins, to one CPU. */
static pid_t share_a_cpu(pid_t pid)
{
	cpu_set_t ours, one;
	pid_t spinner;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
	while (!CPU_ISSET(cpu, &ours))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	spinner = fork();
	assert_true(spinner >= 0);
	if (!spinner) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (volatile bool on = true; on;)
			;
	}
	assert_int_equal(sched_setaffinity(spinner, sizeof(one), &one), 0);
	assert_int_equal(sched_setaffinity(pid, sizeof(one), &one), 0);
	return spinner;
}

/* At nice 10 beside a spinning process the child gets a tenth of the CPU. */
static void time_without_a_cpu_is_not_charged(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;
	pid_t pid = (pid_t)pid_of_child(f), spinner = share_a_cpu(pid);
	uint32_t ms = (uint32_t)(stats_of(f).cpu_ns / 1000000) + 40;
	int64_t start = message_clock_ns();

	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)pid, 10), 0);
	assert_int_equal(call_op(f, OP_BURN, &ms, sizeof(ms), 80, &reply), WORKER_OK);
	assert_true(ms_since(start) > 80);
	/* It still ends after its own CPU time. */
	assert_int_equal(call_op(f, OP_SPIN, NULL, 0, 20, NULL), WORKER_DEADLINE);
	assert_int_equal(stats_of(f).nr_deadline, 1);
	assert_int_equal(stats_of(f).nr_starts, 1);
	kill(spinner, SIGKILL);
	assert_int_equal(waitpid(spinner, NULL, 0), spinner);
}

/*
 * An opener has its CPU time only, too, and it counts how long it ran; but not how long it
 * waited for a CPU, which here is most of the time.
 */
static void an_opener_has_its_cpu_time(void **state)
{
	const uint64_t ms_ns = 1000000;
	struct fixture *f = *state;
	pid_t pid = (pid_t)pid_of_child(f), spinner;
	uint32_t ms = (uint32_t)(stats_of(f).cpu_ns / ms_ns) + 1000;

	assert_int_equal(worker_slow_ns(f->w), 0);
	assert_int_equal(call_op(f, OP_BURN, &ms, sizeof(ms), LONG_MS, NULL), WORKER_OK);
	assert_in_range(worker_slow_ns(f->w), 500 * ms_ns, 1500 * ms_ns);
	spinner = share_a_cpu(pid);
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)pid, 10), 0);
	ms += 60;
	assert_int_equal(call_op(f, OP_BURN, &ms, sizeof(ms), 100, NULL), WORKER_OK);
	assert_in_range(worker_slow_ns(f->w), 0, 150 * ms_ns);
	kill(spinner, SIGKILL);
	assert_int_equal(waitpid(spinner, NULL, 0), spinner);
	/* It would answer, after longer than it may run. */
	ms += 6000;
	assert_int_equal(call_op(f, OP_BURN, &ms, sizeof(ms), 100, NULL),
			 WORKER_DEADLINE);
	assert_true(worker_slow_ns(f->w) >= 95 * ms_ns);
	assert_int_equal(stats_of(f).nr_starts, 1);
}

/* A write to a dead child must not raise SIGPIPE, whose default action would end us. */
static void a_request_to_a_dying_child_raises_no_sigpipe(void **state)
{
	const size_t size = 4 << 20;
	struct fixture *f = *state;
	char *big = calloc(1, size);

	assert_non_null(big);
	for (int i = 0; i < 20; i++) {
		uint32_t pid = pid_of_child(f);

		assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
		/* Whether or not the death is already noticed: no signal, no hang. */
		switch (call_op(f, OP_ECHO, big, size, LONG_MS, NULL)) {
		case WORKER_OK:
		case WORKER_DIED:
			break;
		default:
			fail();
		}
	}
	free(big);
	assert_echo_works(f);
	assert_int_equal(stats_of(f).nr_starts, 21);
}

static void death_between_calls_is_not_charged_to_the_next(void **state)
{
	struct fixture *f = *state;
	uint32_t pid = pid_of_child(f);

	assert_int_equal(call_op(f, OP_REPLY_AND_LEAVE, NULL, 0, LONG_MS, NULL),
			 WORKER_OK);
	wait_for_state(pid, 'Z');
	assert_echo_works(f);
	assert_int_equal(stats_of(f).nr_died, 1);
	assert_int_equal(stats_of(f).nr_starts, 2);

	pid = pid_of_child(f);
	assert_int_equal(call_op(f, OP_REPLY_AND_SAY, "stray", 5, LONG_MS, NULL),
			 WORKER_OK);
	wait_for_state(pid, 'S'); /* it has said it, and waits for a request */
	assert_echo_works(f);
	assert_int_equal(stats_of(f).nr_bad_reply, 1);
	assert_int_equal(stats_of(f).nr_starts, 3);
}

static void memory_is_limited(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;
	enum worker_answer answer;
	int error = 0;

#ifdef HAS_ADDRESS_SANITIZER
	print_message("skipped: AddressSanitizer's shadow does not allow RLIMIT_DATA\n");
	skip();
#endif
	answer = worker_call(f->w, OP_ALLOCATE, NULL, 0, NULL, 0, NULL, NULL, LONG_MS,
			     &reply, &error);
	assert_true(answer == WORKER_DIED ||
		    (answer == WORKER_FAILED && error == -ENOMEM));
	answer = worker_call(f->w, OP_FILL_REPLY, NULL, 0, NULL, 0, NULL, NULL, LONG_MS,
			     &reply, &error);
	assert_true(answer == WORKER_DIED ||
		    (answer == WORKER_FAILED && error == -ENOMEM));
	assert_echo_works(f);
}

static void what_is_no_reply_is_refused(void **state)
{
	static const struct {
		struct message m;
		enum test_op op;
		enum worker_answer answer;
	} cases[] = {
		{{.type = MESSAGE_REPLY, .len = WORKER_MAX_REPLY_BYTES + 1},
		 OP_SAY,
		 WORKER_BAD_REPLY},
		{{.type = MESSAGE_REPLY, .len = UINT32_MAX}, OP_SAY, WORKER_BAD_REPLY},
		{{.type = MESSAGE_REPLY, .nr_fds = 1}, OP_SAY, WORKER_BAD_REPLY},
		{{.type = MESSAGE_REPLY, .nr_fds = WORKER_MAX_FDS + 1},
		 OP_SAY,
		 WORKER_BAD_REPLY},
		{{.type = 0}, OP_SAY, WORKER_BAD_REPLY},
		{{.type = 0x41414141, .len = 4}, OP_SAY, WORKER_BAD_REPLY},
		{{.type = MESSAGE_READY}, OP_SAY, WORKER_BAD_REPLY},
		{{.type = MESSAGE_REQUEST}, OP_SAY, WORKER_BAD_REPLY},
		{{.type = MESSAGE_FAILED, .value = 0}, OP_SAY, WORKER_BAD_REPLY},
		{{.type = MESSAGE_FAILED, .value = 4096}, OP_SAY, WORKER_BAD_REPLY},
		{{.type = MESSAGE_FAILED, .value = 5, .len = 1},
		 OP_SAY,
		 WORKER_BAD_REPLY},
		{{.type = MESSAGE_NEED, .len = WORKER_MAX_NEED_BYTES + 1},
		 OP_SAY,
		 WORKER_BAD_REPLY},
		{{.type = MESSAGE_NEED, .nr_fds = 1}, OP_SAY, WORKER_BAD_REPLY},
		{{.type = MESSAGE_NEED, .len = 100}, OP_SAY_AND_LEAVE, WORKER_DIED},
		{{.type = MESSAGE_REPLY, .len = 100}, OP_SAY_AND_LEAVE, WORKER_DIED},
		{{.type = MESSAGE_REPLY, .len = 100}, OP_SAY, WORKER_DEADLINE},
		/* Announces the maximum and sends nothing. */
		{{.type = MESSAGE_REPLY, .len = WORKER_MAX_REPLY_BYTES},
		 OP_SAY,
		 WORKER_DEADLINE},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum worker_answer answer =
			call_op(f, cases[i].op, &cases[i].m, sizeof(cases[i].m),
				cases[i].answer == WORKER_DEADLINE ? 50 : LONG_MS, NULL);

		if (answer != cases[i].answer)
			fail_msg("case %zu: answer %d", i, answer);
		assert_echo_works(f);
	}
}

static void half_a_header_is_death_or_deadline(void **state)
{
	const struct message m = {.type = MESSAGE_REPLY};
	struct fixture *f = *state;

	assert_int_equal(call_op(f, OP_SAY_AND_LEAVE, &m, 7, LONG_MS, NULL), WORKER_DIED);
	assert_int_equal(call_op(f, OP_SAY, &m, 7, 50, NULL), WORKER_DEADLINE);
	assert_echo_works(f);
}

static int give_file(void *ctx, const void *what, size_t len)
{
	const struct fixture *f = ctx;

	return len == 4 && !memcmp(what, "file", 4) ? dup(f->file) : -1;
}

static int give_file_late(void *ctx, const void *what, size_t len)
{
	usleep(1200000);
	return give_file(ctx, what, len);
}

static void a_child_that_waits_for_us_is_not_stuck(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;

	assert_int_equal(worker_call(f->w, OP_NEED, "id", 2, NULL, 0, give_file_late, f,
				     LONG_MS, &reply, NULL),
			 WORKER_OK);
}

static void a_need_is_answered(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;
	size_t len;

	assert_int_equal(worker_call(f->w, OP_NEED, "file", 4, NULL, 0, give_file, f,
				     LONG_MS, &reply, NULL),
			 WORKER_OK);
	assert_int_equal(wire_get_u32(&reply), 0);
	assert_memory_equal(wire_get_bytes(&reply, &len), "file-bytes", 10);

	/* No file: from the callback, and without a callback. */
	assert_int_equal(worker_call(f->w, OP_NEED, "else", 4, NULL, 0, give_file, f,
				     LONG_MS, &reply, NULL),
			 WORKER_OK);
	assert_int_equal(wire_get_u32(&reply), 1);
	assert_int_equal(call_op(f, OP_NEED, "file", 4, LONG_MS, &reply), WORKER_OK);
	assert_int_equal(wire_get_u32(&reply), 1);
}

struct counter {
	struct fixture *f;
	uint32_t nr;
};

static int count_and_give(void *ctx, const void *what, size_t len)
{
	struct counter *c = ctx;

	(void)what;
	(void)len;
	c->nr++;
	return dup(c->f->file);
}

static void needs_are_counted(void **state)
{
	struct counter c = {.f = *state};
	const uint32_t nr = 5000;
	struct wire_reader reply;

	assert_int_equal(worker_call(c.f->w, OP_NEED_MANY, &nr, sizeof(nr), NULL, 0,
				     count_and_give, &c, LONG_MS, &reply, NULL),
			 WORKER_OK);
	assert_int_equal(wire_get_u32(&reply), 4096);
	assert_int_equal(c.nr, 4096);
	/* The limit is per call. */
	assert_int_equal(worker_call(c.f->w, OP_NEED, "file", 4, NULL, 0, count_and_give,
				     &c, LONG_MS, &reply, NULL),
			 WORKER_OK);
	assert_int_equal(wire_get_u32(&reply), 0);
}

static void endless_needs_meet_the_deadline(void **state)
{
	struct counter c = {.f = *state};
	struct wire_reader reply;

	assert_int_equal(worker_call(c.f->w, OP_NEED_FOREVER, NULL, 0, NULL, 0,
				     count_and_give, &c, 300, &reply, NULL),
			 WORKER_DEADLINE);
	assert_true(c.nr <= 4096);
	assert_echo_works(c.f);
}

/* ---- calls in progress while the caller does other work ---- */

static void send_op(struct fixture *f, enum test_op op, const void *request, size_t len,
		    unsigned int deadline_ms)
{
	worker_send(f->w, op, request, len, &f->file, 1, give_file, f, deadline_ms);
}

/* Receives and waits until the answer. @ret_pieces  number of incomplete receives */
static enum worker_answer receive(struct fixture *f, struct wire_reader *ret,
				  unsigned int *ret_pieces)
{
	enum worker_answer answer;
	struct worker_wait wait;

	*ret_pieces = 0;
	while ((answer = worker_receive(f->w, ret, NULL)) == WORKER_PENDING) {
		if (worker_waits(f->w, &wait)) {
			assert_true(wait.fd >= 0);
			assert_true(wait.deadline_ns > 0);
			f->waited_for |= wait.events;
		}
		worker_wait(f->w);
		++*ret_pieces;
	}
	assert_false(worker_waits(f->w, &wait));
	return answer;
}

static void an_answer_comes_in_pieces(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;
	unsigned int pieces;
	int pipefd[2];

	assert_int_equal(pipe2(pipefd, O_CLOEXEC), 0);
	worker_send(f->w, OP_SAY_SLOWLY, "twenty bytes of text", 20, pipefd, 1, NULL,
		    NULL, LONG_MS);
	for (size_t i = 0; i < sizeof(struct message) + 20; i++) {
		assert_int_equal(worker_receive(f->w, &reply, NULL), WORKER_PENDING);
		assert_int_equal(write(pipefd[1], "x", 1), 1);
		worker_wait(f->w);
	}
	assert_int_equal(receive(f, &reply, &pieces), WORKER_OK);
	close(pipefd[0]);
	close(pipefd[1]);
	assert_int_equal(reply.len, 20);
	assert_memory_equal(reply.data, "twenty bytes of text", 20);
}

static void large_messages_are_moved_in_pieces(void **state)
{
	const size_t size = 32 << 20;
	struct fixture *f = *state;
	uint8_t *sent = malloc(size);
	struct worker_wait wait;
	struct wire_reader reply;
	unsigned int pieces;
	const uint8_t *got;
	size_t len;

	assert_non_null(sent);
	for (size_t i = 0; i < size; i++)
		sent[i] = (uint8_t)(i * 2654435761u >> 13);
	send_op(f, OP_ECHO, sent, size, LONG_MS);
	assert_true(worker_waits(f->w, &wait));
	assert_int_equal(wait.events, POLLOUT);
	assert_int_equal(receive(f, &reply, &pieces), WORKER_OK);
	assert_true(pieces > 2);
	got = wire_get_bytes(&reply, &len);
	assert_int_equal(len, size);
	assert_memory_equal(got, sent, size);
	free(sent);
}

/* A child that works sends nothing; worker_receive() does not wait for it. */
static void a_busy_child_is_not_waited_for(void **state)
{
	struct fixture *f = *state;
	struct worker_wait wait;
	struct wire_reader reply;
	uint32_t ms = 300;

	assert_false(worker_waits(f->w, &wait));
	worker_wait(f->w);
	send_op(f, OP_BURN, &ms, sizeof(ms), LONG_MS);
	assert_int_equal(worker_receive(f->w, &reply, NULL), WORKER_PENDING);
	assert_true(worker_waits(f->w, &wait));
	assert_int_equal(wait.events, POLLIN);
	assert_in_range(wait.deadline_ns, message_clock_ns(),
			message_clock_ns() + LONG_MS * INT64_C(1000000));
	while (worker_receive(f->w, &reply, NULL) == WORKER_PENDING)
		worker_wait(f->w);
	assert_int_equal(reply.len, 0);
	assert_echo_works(f);
	assert_int_equal(stats_of(f).nr_starts, 1);
}

static void death_under_way(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;
	unsigned int pieces;
	uint32_t pid = pid_of_child(f);

	send_op(f, OP_SPIN, NULL, 0, LONG_MS);
	assert_int_equal(worker_receive(f->w, &reply, NULL), WORKER_PENDING);
	assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
	assert_int_equal(receive(f, &reply, &pieces), WORKER_DIED);
	assert_echo_works(f);
	assert_int_equal(stats_of(f).nr_died, 1);
	assert_int_equal(stats_of(f).nr_starts, 2);
}

static void the_deadline_under_way(void **state)
{
	struct fixture *f = *state;
	struct worker_wait wait;
	struct wire_reader reply;
	unsigned int pieces;
	int64_t start;

	assert_echo_works(f);
	start = message_clock_ns();
	send_op(f, OP_SPIN, NULL, 0, 200);
	assert_int_equal(worker_receive(f->w, &reply, NULL), WORKER_PENDING);
	assert_int_equal(receive(f, &reply, &pieces), WORKER_DEADLINE);
	assert_true(ms_since(start) >= 200);
	assert_echo_works(f);
	assert_int_equal(stats_of(f).nr_deadline, 1);
	/* The same if it is checked long after the deadline. */
	send_op(f, OP_SPIN, NULL, 0, 20);
	usleep(100000);
	assert_int_equal(receive(f, &reply, &pieces), WORKER_DEADLINE);
	/* An answer that has arrived counts, even if it is read after the deadline. */
	assert_echo_works(f);
	send_op(f, OP_ECHO, "ping", 4, 20);
	assert_true(worker_waits(f->w, &wait));
	assert_int_equal(poll(&(struct pollfd){.fd = wait.fd, .events = POLLIN}, 1, -1),
			 1);
	usleep(50000);
	assert_int_equal(receive(f, &reply, &pieces), WORKER_OK);
}

static void a_need_under_way_is_answered(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;
	unsigned int pieces;
	size_t len;

	send_op(f, OP_NEED, "file", 4, LONG_MS);
	assert_int_equal(receive(f, &reply, &pieces), WORKER_OK);
	assert_int_equal(wire_get_u32(&reply), 0);
	assert_memory_equal(wire_get_bytes(&reply, &len), "file-bytes", 10);
}

/* A child that does not read our answer delays its call, not the caller. */
static void a_deaf_child_blocks_nobody(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;
	unsigned int pieces;

	send_op(f, OP_NEED_DEAF, NULL, 0, 500);
	assert_int_equal(receive(f, &reply, &pieces), WORKER_DEADLINE);
	/* The caller could go on while its answer was not read. */
	assert_true(f->waited_for & POLLOUT);
	assert_echo_works(f);
}

static void a_call_can_be_cancelled(void **state)
{
	struct fixture *f = *state;
	struct worker_wait wait;

	worker_cancel(f->w); /* no call */
	assert_echo_works(f);
	worker_cancel(f->w);
	assert_echo_works(f);
	assert_int_equal(stats_of(f).nr_starts, 1);
	send_op(f, OP_SPIN, NULL, 0, LONG_MS);
	worker_cancel(f->w);
	assert_false(worker_waits(f->w, &wait));
	assert_echo_works(f);
	assert_int_equal(stats_of(f).nr_starts, 2);
	assert_int_equal(stats_of(f).nr_died + stats_of(f).nr_deadline, 0);
}

/* tear_down() checks that it leaks no descriptor, child or memory. */
static void a_worker_ends_under_way(void **state)
{
	static const struct message need = {.type = MESSAGE_NEED, .len = 100};
	struct fixture *f = *state;
	struct wire_reader reply;

	send_op(f, OP_SAY, &need, sizeof(need), LONG_MS);
	usleep(100000);
	assert_int_equal(worker_receive(f->w, &reply, NULL), WORKER_PENDING);
}

/* Descriptors that a worker sends are never kept by this process. */
static void descriptors_from_a_worker_are_dropped(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;
	int nr;

	assert_echo_works(f);
	nr = nr_open_fds();
	for (int i = 0; i < 3; i++) {
		uint32_t pid = pid_of_child(f);

		assert_int_equal(worker_call(f->w, OP_SEND_FDS, NULL, 0, NULL, 0, NULL,
					     NULL, LONG_MS, &reply, NULL),
				 WORKER_OK);
		assert_memory_equal(reply.data, "abcd", 4);
		assert_int_equal(nr_open_fds(), nr);
		wait_for_state(pid, 'S');
		assert_echo_works(f); /* the need was stray: a new child */
	}
}

static void a_leaking_child_is_replaced(void **state)
{
	struct fixture *f = *state;
	struct wire_reader reply;
	uint32_t last = 0;

	for (int i = 0; i < 600; i++) {
		assert_int_equal(worker_call(f->w, OP_LEAK_FD, NULL, 0, &f->file, 1, NULL,
					     NULL, LONG_MS, &reply, NULL),
				 WORKER_OK);
		last = wire_get_u32(&reply);
		/* The request's descriptors are closed: one is leaked for each call. */
		assert_in_range(last, 4, 520);
	}
	assert_in_range(last, 4, 100);
	assert_int_equal(stats_of(f).nr_starts, 2);
}

static void a_child_serves_512_calls(void **state)
{
	struct fixture *f = *state;
	uint32_t first = pid_of_child(f);

	for (int i = 1; i < 512; i++)
		assert_int_equal(pid_of_child(f), first);
	assert_int_not_equal(pid_of_child(f), first);
	assert_int_equal(stats_of(f).nr_starts, 2);
	assert_int_equal(stats_of(f).nr_calls, 513);
	assert_int_equal(stats_of(f).nr_died, 0);
}

/* A child may use one second of CPU: two calls that use more together do not fail. */
static void the_cpu_limit_never_surprises(void **state)
{
	struct fixture *f = *state;
	uint32_t ms = 600;

	assert_int_equal(call_op(f, OP_BURN, &ms, sizeof(ms), LONG_MS, NULL), WORKER_OK);
	assert_int_equal(call_op(f, OP_BURN, &ms, sizeof(ms), LONG_MS, NULL), WORKER_OK);
	assert_int_equal(stats_of(f).nr_starts, 2);
	assert_int_equal(stats_of(f).nr_died, 0);
	assert_true(stats_of(f).cpu_ns >= 1200 * UINT64_C(1000000));
}

static void the_cpu_limit_ends_a_call_that_reaches_it(void **state)
{
	struct fixture *f = *state;
	int64_t start = message_clock_ns();

	assert_int_equal(call_op(f, OP_SPIN, NULL, 0, 60000, NULL), WORKER_DIED);
	assert_true(ms_since(start) < 30000);
	assert_echo_works(f);
}

/* Some service managers start programs with SIGCHLD ignored. */
static void children_that_the_kernel_reaps_do_no_harm(void **state)
{
	struct fixture *f = *state;

	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < 3; i++) {
		assert_echo_works(f);
		assert_int_equal(call_op(f, OP_ABORT, NULL, 0, LONG_MS, NULL),
				 WORKER_DIED);
	}
	assert_echo_works(f);
	signal(SIGCHLD, SIG_DFL);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Ctrl-C and timers: interrupted system calls continue. */
static void signals_do_not_disturb(void **state)
{
	const struct timespec every_ms = {.tv_nsec = 1000000};
	const struct itimerspec spec = {.it_interval = every_ms, .it_value = every_ms};
	struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART */
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	const size_t size = 2 << 20;
	struct fixture *f = *state;
	char *big = calloc(1, size);
	uint32_t pid;
	timer_t timer;

	assert_non_null(big);
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	pid = pid_of_child(f);
	assert_int_equal(timer_settime(timer, 0, &spec, NULL), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(call_op(f, OP_ECHO, big, size, LONG_MS, NULL),
				 WORKER_OK);
	/* The terminal's signals go to the foreground group, also to the child. */
	assert_int_equal(kill((pid_t)pid, SIGINT), 0);
	assert_int_equal(kill((pid_t)pid, SIGTERM), 0);
	assert_int_equal(kill((pid_t)pid, SIGTSTP), 0);
	assert_int_equal(pid_of_child(f), pid);
	timer_delete(timer);
	free(big);
}

/*
 * The collector may be started with descriptors 0, 1 and 2 closed. Its output must not
 * go to a worker's socket.
 */
static void low_descriptors_may_be_closed(void **state)
{
	struct fixture *f = *state;
	int saved[3];

	fflush(NULL);
	for (int i = 0; i < 3; i++) {
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
		close(i);
	}
	assert_int_equal(call_op(f, OP_ECHO, "ping", 4, LONG_MS, NULL), WORKER_OK);
	for (int i = 0; i < 3; i++) {
		if (saved[i] < 0)
			continue;
		dup2(saved[i], i);
		close(saved[i]);
	}
	assert_echo_works(f);
}

/* The process that closes descriptors of targets stops: each that it gets is stuck. */
static pid_t stop_closer(void)
{
	char path[64];
	int child = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &child), 1);
	fclose(file);
	kill(child, SIGSTOP);
	return child;
}

/*
 * An opener passes a descriptor and gets stuck, so nobody takes it. Its tenant pays for its
 * closing, not the one of the next request.
 */
static void what_nobody_took_is_of_its_tenant(void **state)
{
	const struct worker_config config = {.kind = WORKER_OPENER};
	const struct timespec hand_out = {.tv_nsec = 110000000}, stuck = {.tv_sec = 1};
	const struct tenant alice = {.uid = 1000}, bob = {.uid = 1001};
	struct fixture *f = *state;
	struct wire_reader reply;
	struct worker *w;
	struct error err;
	pid_t closer;

	assert_int_equal(target_fd_begin(&err), 0);
	closer = stop_closer();
	assert_int_equal(worker_new(&config, &w, &err), 0);
	for (int i = 0; i < TARGET_FD_STUCK_MAX; i++) {
		worker_serves(w, alice);
		assert_int_equal(worker_call(w, OP_SEND_FD_AND_HANG, NULL, 0, &f->file, 1,
					     NULL, NULL, 500, &reply, NULL),
				 WORKER_DEADLINE);
		nanosleep(&hand_out, NULL);
		worker_serves(w, bob);
		assert_int_equal(worker_call(w, OP_ECHO, "", 0, NULL, 0, NULL, NULL,
					     LONG_MS, &reply, NULL),
				 WORKER_OK);
	}
	nanosleep(&stuck, NULL);
	nanosleep(&hand_out, NULL);
	assert_false(target_fd_has_room(alice));
	assert_true(target_fd_has_room(bob));
	worker_free(w);
	kill(closer, SIGCONT);
	/* One call gives up after a while, which may be none. */
	for (int i = 0; i < 300 && !waitpid(closer, NULL, __WALL | WNOHANG); i++)
		target_fd_end();
	assert_int_equal(waitpid(closer, NULL, __WALL | WNOHANG), -1);
}

static bool is_hung_up(int fd, int timeout_ms)
{
	struct pollfd end = {.fd = fd};

	return poll(&end, 1, timeout_ms) == 1 && end.revents & POLLHUP;
}

/*
 * An answer comes when its child is killed: its descriptor lies in the socket, and whoever
 * closes that waits for the file system. So the closer does. A pipe tells when its last
 * descriptor is closed.
 */
static void an_answer_that_is_not_read_is_closed_by_the_closer(void **state)
{
	const struct worker_config config = {.kind = WORKER_OPENER};
	struct pollfd answer = {.events = POLLIN};
	struct worker_wait wait;
	struct worker *w;
	struct error err;
	int ends[2];
	pid_t closer;

	(void)state;
	assert_int_equal(target_fd_begin(&err), 0);
	closer = stop_closer();
	assert_int_equal(worker_new(&config, &w, &err), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	worker_send(w, OP_SEND_FD_AND_HANG, NULL, 0, &ends[1], 1, NULL, NULL, LONG_MS);
	close(ends[1]);
	assert_true(worker_waits(w, &wait));
	answer.fd = wait.fd;
	assert_int_equal(poll(&answer, 1, LONG_MS), 1);
	worker_cancel(w);
	while (child_nr_undead())
		usleep(1000);
	assert_false(is_hung_up(ends[0], 0));
	kill(closer, SIGCONT);
	assert_true(is_hung_up(ends[0], LONG_MS));
	assert_int_equal(fcntl(wait.fd, F_GETFD), -1);
	close(ends[0]);
	worker_free(w);
	target_fd_end();
}

/* Without descriptors no child is started and nothing leaks; later it works. */
static void a_start_that_fails_is_an_answer(void **state)
{
	struct fixture *f = *state;
	struct rlimit limit, low;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	for (rlim_t max = (rlim_t)f->nr_open; max < (rlim_t)f->nr_open + 3; max++) {
		low.rlim_cur = max;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
		assert_int_equal(call_op(f, OP_ECHO, "ping", 4, LONG_MS, NULL),
				 WORKER_CANNOT_START);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(stats_of(f).nr_died, 0);
	assert_echo_works(f);
}

#define TEST(name)         cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_WITH(name, s) cmocka_unit_test_setup_teardown(name, s, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_started_before_the_first_call),
		TEST(bytes_and_descriptors_arrive),
		TEST(large_messages_arrive_whole),
		TEST(requests_beyond_the_limits_are_refused_here),
		TEST(an_error_of_the_operation_keeps_the_child),
		TEST(death_is_an_answer),
		TEST(the_deadline_ends_what_does_not_end),
		TEST(a_child_that_waits_for_ever_is_over_before_its_deadline),
		TEST(a_child_that_waits_for_us_is_not_stuck),
		TEST(time_without_a_cpu_is_not_charged),
		TEST_WITH(an_opener_has_its_cpu_time, set_up_opener),
		TEST(a_request_to_a_dying_child_raises_no_sigpipe),
		TEST(death_between_calls_is_not_charged_to_the_next),
		TEST_WITH(memory_is_limited, set_up_small),
		TEST(what_is_no_reply_is_refused),
		TEST(half_a_header_is_death_or_deadline),
		TEST(a_need_is_answered),
		TEST(needs_are_counted),
		TEST(endless_needs_meet_the_deadline),
		TEST(an_answer_comes_in_pieces),
		TEST(large_messages_are_moved_in_pieces),
		TEST(a_busy_child_is_not_waited_for),
		TEST(death_under_way),
		TEST(the_deadline_under_way),
		TEST(a_need_under_way_is_answered),
		TEST(a_deaf_child_blocks_nobody),
		TEST(a_call_can_be_cancelled),
		TEST(a_worker_ends_under_way),
		TEST(descriptors_from_a_worker_are_dropped),
		TEST(a_leaking_child_is_replaced),
		TEST(a_child_serves_512_calls),
		TEST_WITH(the_cpu_limit_never_surprises, set_up_short),
		TEST_WITH(the_cpu_limit_ends_a_call_that_reaches_it, set_up_short),
		TEST(children_that_the_kernel_reaps_do_no_harm),
		TEST(signals_do_not_disturb),
		TEST(low_descriptors_may_be_closed),
		TEST(what_nobody_took_is_of_its_tenant),
		TEST(an_answer_that_is_not_read_is_closed_by_the_closer),
		TEST(a_start_that_fails_is_an_answer),
	};

	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(test_ops, NR_TEST_OPS);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
