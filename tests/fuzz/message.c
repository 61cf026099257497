// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages between collector and worker, with descriptors. First byte: bit 0: which side
 * gets them; bits 1 and 2: the kind of worker. Then what the other side sends: pieces of
 * {u8 descriptors, u16 bytes, the bytes}. No descriptor may be left open, and the
 * collector gets whole answers only.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sanitizer/allocator_interface.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cost.h"
#include "worker/child.h"
#include "worker/sandbox.h"
#include "worker/worker.h"

#define MAX_CALLS   4
#define PIECE_BYTES 3 /* before its bytes */
#define MAX_OPEN    64 /* descriptors that a worker may hold when it leaves */
#define SEND_FDS    18 /* more than WORKER_MAX_FDS */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 5000, .per_byte = 20};

static const uint8_t *input;
static size_t input_size;
static int theirs = -1; /* the other side's end */
static int nothing; /* /dev/null */
static volatile uint8_t sum;

/* ---- the other side ---- */

static void send_piece(const uint8_t *bytes, size_t len, size_t nr_fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(SEND_FDS * sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec iov = {(void *)bytes, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nr_fds) {
		struct cmsghdr *c = &control.align;
		int fds[SEND_FDS];

		for (size_t i = 0; i < nr_fds; i++)
			fds[i] = theirs;
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nr_fds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nr_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nr_fds * sizeof(int));
	}
	sendmsg(theirs, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Says everything, then nothing more. */
static void say(const void *first, size_t first_len)
{
	send_piece(first, first_len, 0);
	while (input_size > PIECE_BYTES) {
		size_t nr_fds = input[0] % (SEND_FDS + 1);
		size_t len = (size_t)(input[1] | input[2] << 8);

		input += PIECE_BYTES;
		input_size -= PIECE_BYTES;
		if (len > input_size)
			len = input_size;
		if (len)
			send_piece(input, len, nr_fds);
		input += len;
		input_size -= len;
	}
	shutdown(theirs, SHUT_WR);
}

/* Makes room for what our side sends next. */
static void hear(void)
{
	static char heard[1 << 16];

	while (recv(theirs, heard, sizeof(heard), MSG_DONTWAIT) > 0)
		;
}

static int sockets(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		abort();
	theirs = pair[1];
	return pair[0];
}

/* Return: the lowest free descriptor, which tells whether one was left open. */
static int lowest_fd(void)
{
	int fd = fcntl(0, F_DUPFD_CLOEXEC, 4);

	close(fd);
	return fd;
}

/* ---- the collector, whose child is this program ---- */

int child_spawn(struct child *ret, uint64_t *cpu_ns)
{
	const struct message ready = {.type = MESSAGE_READY};

	if (theirs >= 0)
		return -EAGAIN; /* once for each input */
	(void)cpu_ns;
	*ret = CHILD_NONE;
	ret->pid = 1;
	ret->sock = sockets();
	say(&ready, sizeof(ready));
	return 0;
}

pid_t child_parent(void)
{
	return getpid();
}

uint64_t child_kill(struct child *child, struct tenant who, int wait_ms, uint64_t *cpu_ns)
{
	(void)who;
	(void)wait_ms;
	(void)cpu_ns;
	if (child->sock >= 0)
		close(child->sock);
	*child = CHILD_NONE;
	return 0;
}

bool child_has_room(struct tenant who)
{
	(void)who;
	return true;
}

bool child_is_undead(uint64_t number)
{
	(void)number;
	return false;
}

size_t child_nr_undead(void)
{
	return 0;
}

void child_forget_undead(const uint64_t *cpu_ns)
{
	(void)cpu_ns;
}

uint64_t child_cpu_ns(const struct child *child)
{
	(void)child;
	return 0;
}

bool child_schedule(const struct child *child, struct child_schedule *ret)
{
	(void)child;
	(void)ret;
	return false;
}

bool child_is_runnable(const struct child *child)
{
	(void)child;
	return false;
}

static int need(void *ctx, const void *what, size_t len)
{
	(void)ctx;
	for (size_t i = 0; i < len; i++)
		sum ^= ((const uint8_t *)what)[i];
	hear();
	return len & 1 ? fcntl(0, F_DUPFD_CLOEXEC, 4) : -1;
}

static void check_answer(struct worker *w, enum worker_answer answer, int error,
			 const struct wire_reader *reply, enum worker_kind kind)
{
	size_t nr;
	int fds[2];

	assert(answer != WORKER_PENDING);
	assert(answer != WORKER_FAILED || (error < 0 && error >= -4095));
	if (answer != WORKER_OK)
		return;
	/* All of it must be there. */
	for (size_t i = 0; i < reply->len; i++)
		sum ^= reply->data[i];
	nr = worker_take_fds(w, fds, 2);
	assert(!nr || kind == WORKER_OPENER);
	while (nr--)
		close(fds[nr]);
}

static void collect(enum worker_kind kind)
{
	const struct worker_config config = {.kind = kind};
	struct worker *w;

	if (worker_new(&config, &w, NULL))
		abort();
	for (int i = 0; i < MAX_CALLS; i++) {
		struct wire_reader reply = {0};
		int error = 0;
		enum worker_answer answer = worker_call(w, 0, "request", 7, &theirs, 0,
							need, NULL, 1000, &reply, &error);

		check_answer(w, answer, error, &reply, kind);
	}
	worker_free(w);
}

/* ---- the worker ---- */

static jmp_buf left;
static bool serves;

#define MAX_KEPT 16
static void *kept[MAX_KEPT]; /* what the worker has not freed when it leaves */

static void on_malloc(const volatile void *at, size_t size)
{
	(void)size;
	for (size_t i = 0; serves && i < MAX_KEPT; i++)
		if (!kept[i]) {
			kept[i] = (void *)at;
			return;
		}
}

static void on_free(const volatile void *at)
{
	for (size_t i = 0; serves && i < MAX_KEPT; i++)
		if (kept[i] == at)
			kept[i] = NULL;
}

_Noreturn void _exit(int status)
{
	if (serves)
		longjmp(left, 1);
	syscall(SYS_exit_group, status);
	__builtin_unreachable();
}

int sandbox_enter(const struct sandbox_config *config)
{
	return config->max_data_bytes ? 0 : -EINVAL;
}

/* Reads all that it was given, asks for a file, and replies with descriptors. */
static int echo(struct worker_call *call, struct wire_reader *request, const int *fds,
		size_t nr_fds, struct wire_writer *reply)
{
	uint8_t first = wire_get_u8(request);

	assert(nr_fds <= WORKER_MAX_FDS);
	for (size_t i = 0; i < nr_fds; i++)
		assert(fcntl(fds[i], F_GETFD) >= 0);
	for (size_t i = 0; i < request->len; i++)
		wire_put_u8(reply, request->data[i]);
	hear();
	if (first & 1) {
		int fd = worker_need(call, request->data, request->len);

		assert(fd >= 0 || fd == -ENOENT);
		if (fd >= 0 && worker_reply_fd(call, fd, fd % 2))
			close(fd);
	}
	return first & 2 ? -EINVAL : 0;
}

static void serve(void)
{
	static const worker_op ops[] = {echo, NULL};
	const struct message start = {.type = MESSAGE_START,
				      .len = sizeof(struct worker_limits)};
	struct worker_limits limits = {.max_data_bytes = 1,
				       .parent_pid = (uint32_t)getppid()};
	uint8_t first[sizeof(start) + sizeof(limits)];
	int ours = sockets();

	dup2(ours, WORKER_SOCKET_FD);
	close(ours);
	memcpy(first, &start, sizeof(start));
	memcpy(first + sizeof(start), &limits, sizeof(limits));
	say(first, sizeof(first));
	serves = true;
	if (!setjmp(left))
		worker_main(ops, sizeof(ops) / sizeof(ops[0]));
	serves = false;
	for (size_t i = 0; i < MAX_KEPT; i++) {
		free(kept[i]);
		kept[i] = NULL;
	}
	/* It stays taken: libFuzzer's own files must not get it. */
	dup2(nothing, WORKER_SOCKET_FD);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(nothing, WORKER_SOCKET_FD);
	__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int before = lowest_fd();

	if (!size)
		return -1;
	input = data + 1;
	input_size = size - 1;
	if (data[0] & 1)
		serve();
	else
		collect(data[0] / 2 % NR_WORKER_KINDS);
	if (theirs >= 0)
		close(theirs);
	theirs = -1;
	/* A worker that leaves closes nothing: the kernel does. */
	if (data[0] & 1)
		close_range((unsigned int)before, (unsigned int)before + MAX_OPEN, 0);
	assert(lowest_fd() == before);
	return 0;
}
