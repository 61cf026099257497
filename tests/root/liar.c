// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lineburn, whose helpers lie, as if they were taken over: each serves its requests honestly, but what
 * it sends is changed on the way. All else is the real program.
 *
 * The file "lies" in the folder where it is started: KIND LIE UNTIL
 *   KIND   opener, reader, decoder or any: whose helpers lie
 *   LIE    a name of the table below, or any: a quick one, or the truth, each time
 *   UNTIL  CLOCK_MONOTONIC, in seconds: they are honest from then on
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "worker/message.h"
#include "worker/sandbox.h"

int lineburn_main(int argc, char **argv);
#define main lineburn_main
#include "main.c"
#undef main

#define MOST_MORE     65536 /* bytes that are added to an answer */
#define NR_SURPLUS    64
#define NEEDS_AT_ONCE 6000 /* more than a call may have */

int __real_message_send(int sock, const struct message *m, const void *payload,
			const int *fds, int64_t deadline_ns);
int __wrap_message_send(int sock, const struct message *m, const void *payload,
			const int *fds, int64_t deadline_ns);
int __real_sandbox_enter(const struct sandbox_config *config);
int __wrap_sandbox_enter(const struct sandbox_config *config);

static bool is_helper, is_liar;
static char kind_of_lies[16], lie_to_tell[16];
static int64_t until_ns;
/* Descriptors of nothing that anybody asks for; the test looks for them. */
static int surplus[NR_SURPLUS];

/* An answer that was served, to be changed. */
struct answer {
	struct message m;
	const void *payload;
	const int *fds;
	int64_t deadline_ns;
};

static uint32_t any_below(uint32_t end)
{
	uint32_t number = 0;

	(void)!getrandom(&number, sizeof(number), 0);
	return number % end;
}

static int send_it(const struct answer *a)
{
	return __real_message_send(WORKER_SOCKET_FD, &a->m, a->payload, a->fds,
				   a->deadline_ns);
}

/* Any bytes, without a message around them. */
static void send_bytes(const void *bytes, size_t len)
{
	struct iovec iov = {.iov_base = (void *)bytes, .iov_len = len};
	const struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (len && sendmsg(WORKER_SOCKET_FD, &msg, MSG_NOSIGNAL) < 0)
		_exit(1);
}

/* Waits for messages that do not come, as long as the helper lives. */
static _Noreturn void wait_for_ever(void)
{
	struct message m;

	while (!message_recv(WORKER_SOCKET_FD, &m, NULL, MESSAGE_NO_DEADLINE))
		;
	_exit(0);
}

/* ---- lies: each sends something, or does not return ---- */

static int send_cut(struct answer *a)
{
	a->m.len = any_below(a->m.len + 1);
	return send_it(a);
}

static int send_longer(struct answer *a)
{
	uint32_t more = 1 + any_below(MOST_MORE);
	_cleanup_free_ uint8_t *bytes = malloc((size_t)a->m.len + more);

	if (!bytes)
		return -ENOMEM;
	if (a->m.len)
		memcpy(bytes, a->payload, a->m.len);
	(void)!getrandom(bytes + a->m.len, more, 0);
	a->payload = bytes;
	a->m.len += more;
	return send_it(a);
}

/* A copy of the payload, to be changed; 4 bytes at least. */
static uint8_t *copy(struct answer *a)
{
	uint8_t *bytes = calloc(1, (size_t)a->m.len + 4);

	if (!bytes)
		_exit(1);
	if (a->m.len)
		memcpy(bytes, a->payload, a->m.len);
	a->payload = bytes;
	return bytes;
}

/* Numbers, of which many are counts and lengths, become others. */
static int send_counts(struct answer *a)
{
	static const uint32_t numbers[] = {0,          1,          0xff,      0xffff,
					   0x7fffffff, 0x80000000, UINT32_MAX};
	_cleanup_free_ uint8_t *bytes = copy(a);

	for (uint32_t i = 0; i < 3 && a->m.len >= 4; i++)
		/* More often at the begin, where the counts are. */
		memcpy(bytes + any_below(any_below(a->m.len - 3) + 1),
		       &numbers[any_below(ARRAY_SIZE(numbers))], sizeof(*numbers));
	return send_it(a);
}

static int send_flipped(struct answer *a)
{
	_cleanup_free_ uint8_t *bytes = copy(a);

	for (uint32_t i = 0; i < 8 && a->m.len; i++)
		bytes[any_below(a->m.len)] ^= (uint8_t)(1u << any_below(8));
	return send_it(a);
}

static int send_random(struct answer *a)
{
	_cleanup_free_ uint8_t *bytes = copy(a);

	(void)!getrandom(bytes, a->m.len, 0);
	return send_it(a);
}

/* The announced length is not that of what follows. */
static int send_other_length(struct answer *a)
{
	static const uint32_t lengths[] = {256u << 20, (256u << 20) + 1, UINT32_MAX, 0};
	const struct message m = {.type = a->m.type,
				  .len = lengths[any_below(ARRAY_SIZE(lengths))]};

	send_bytes(&m, sizeof(m));
	send_bytes(a->payload, a->m.len);
	wait_for_ever();
}

/* More descriptors than asked for, fewer, others, or another number than announced. */
static int send_descriptors(struct answer *a)
{
	static uint32_t used;
	int fds[WORKER_MAX_FDS];
	uint32_t how = any_below(4);

	if (used + WORKER_MAX_FDS > NR_SURPLUS || how == 0) {
		a->m.nr_fds = 0;
	} else if (how == 1) {
		a->m.nr_fds = WORKER_MAX_FDS + 1 + any_below(1000);
		send_bytes(&a->m, sizeof(a->m));
		send_bytes(a->payload, a->m.len);
		return 0;
	} else {
		uint32_t nr = how == 2 ? WORKER_MAX_FDS : a->m.nr_fds + 1;

		for (uint32_t i = 0; i < nr && i < WORKER_MAX_FDS; i++)
			fds[i] = surplus[used++];
		a->m.nr_fds = nr < WORKER_MAX_FDS ? nr : WORKER_MAX_FDS;
		a->fds = fds;
	}
	return send_it(a);
}

static int send_error(struct answer *a)
{
	static const uint32_t errors[] = {0, 1, 2, 11, 12, 4095, 4096, UINT32_MAX};

	a->m = (struct message){.type = MESSAGE_FAILED,
				.value = errors[any_below(ARRAY_SIZE(errors))]};
	return send_it(a);
}

static int send_other_type(struct answer *a)
{
	static const uint32_t types[] = {MESSAGE_START,       MESSAGE_READY,
					 MESSAGE_REQUEST,     MESSAGE_FAILED,
					 MESSAGE_NEED_ANSWER, 0};

	a->m.type = types[any_below(ARRAY_SIZE(types))];
	return send_it(a);
}

static int send_twice(struct answer *a)
{
	int rc = send_it(a);

	a->m.nr_fds = 0;
	return rc ? rc : send_it(a);
}

/* Asks for files that no file needs, again and again, and for more than are answered. */
static int send_needs(struct answer *a)
{
	uint8_t what[512];
	struct message_fds fds;
	struct message m;

	for (uint32_t i = any_below(2) ? NEEDS_AT_ONCE : any_below(50); i > 0; i--) {
		m = (struct message){.type = MESSAGE_NEED,
				     .len = any_below(sizeof(what))};
		(void)!getrandom(what, sizeof(what), 0);
		/* The first byte is the kind of what is needed. */
		what[0] = (uint8_t)any_below(8);
		if (__real_message_send(WORKER_SOCKET_FD, &m, what, NULL,
					MESSAGE_NO_DEADLINE) ||
		    message_recv(WORKER_SOCKET_FD, &m, &fds, MESSAGE_NO_DEADLINE))
			_exit(1);
		message_fds_close(&fds);
	}
	return send_it(a);
}

static int send_half(struct answer *a)
{
	send_bytes(&a->m, sizeof(a->m));
	send_bytes(a->payload, a->m.len / 2);
	wait_for_ever();
}

static int send_late(struct answer *a)
{
	(void)a;
	wait_for_ever();
}

static int send_nothing(struct answer *a)
{
	(void)a;
	_exit(0);
}

static int send_truth(struct answer *a)
{
	return send_it(a);
}

static const struct lie {
	const char *name;
	int (*tell)(struct answer *a);
} lies[] = {
	{"none", send_truth},
	{"cut", send_cut},
	{"longer", send_longer},
	{"counts", send_counts},
	{"flipped", send_flipped},
	{"random", send_random},
	{"descriptors", send_descriptors},
	{"error", send_error},
	{"type", send_other_type},
	{"twice", send_twice},
	{"death", send_nothing},
#define NR_QUICK 11
	/* The answer is late, so that what was asked about is not looked at again. */
	{"length", send_other_length},
	{"needs", send_needs},
	{"half", send_half},
	{"late", send_late},
};

static int (*which_lie(void))(struct answer *a)
{
	if (!strcmp(lie_to_tell, "any"))
		return lies[any_below(2) ? any_below(NR_QUICK) : 0].tell;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++)
		if (!strcmp(lies[i].name, lie_to_tell))
			return lies[i].tell;
	_exit(2);
}

int __wrap_message_send(int sock, const struct message *m, const void *payload,
			const int *fds, int64_t deadline_ns)
{
	struct answer a = {
		.m = *m, .payload = payload, .fds = fds, .deadline_ns = deadline_ns};

	if (!is_liar || (m->type != MESSAGE_REPLY && m->type != MESSAGE_FAILED) ||
	    message_clock_ns() >= until_ns)
		return __real_message_send(sock, m, payload, fds, deadline_ns);
	return which_lie()(&a);
}

int __wrap_sandbox_enter(const struct sandbox_config *config)
{
	static const char *const kinds[] = {[WORKER_DECODER] = "decoder",
					    [WORKER_READER] = "reader",
					    [WORKER_OPENER] = "opener"};

	is_liar = is_helper && (!strcmp(kind_of_lies, "any") ||
				!strcmp(kind_of_lies, kinds[config->kind]));
	return __real_sandbox_enter(config);
}

/* Before the helper locks itself down. */
static void prepare_to_lie(void)
{
	FILE *file = fopen("lies", "r");
	double until_s;

	if (!file ||
	    fscanf(file, "%15s %15s %lf", kind_of_lies, lie_to_tell, &until_s) != 3)
		_exit(2);
	fclose(file);
	until_ns = (int64_t)(until_s * 1e9);
	for (int i = 0; i < NR_SURPLUS; i++)
		surplus[i] = memfd_create("surplus", MFD_CLOEXEC);
	is_helper = true;
}

int main(int argc, char **argv)
{
	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		prepare_to_lie();
	return lineburn_main(argc, argv);
}
