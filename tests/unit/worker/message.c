// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages on a socket, with too many, too few or unannounced descriptors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "worker/message.h"

struct pair {
	int a, b;
	int nr_open;
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

static int set_up(void **state)
{
	static struct pair pair;
	int sv[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	pair = (struct pair){.a = sv[0], .b = sv[1], .nr_open = nr_open_fds()};
	*state = &pair;
	return 0;
}

static int tear_down(void **state)
{
	const struct pair *p = *state;

	assert_int_equal(nr_open_fds(), p->nr_open);
	close(p->a);
	close(p->b);
	return 0;
}

static int64_t in_ms(int ms)
{
	return message_clock_ns() + ms * INT64_C(1000000);
}

/* Sends the header unchanged with @nr descriptors, whatever it announces. */
static void send_raw(int sock, const struct message *m, size_t nr)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(64 * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)m, .iov_len = sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nr) {
		struct cmsghdr *c;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nr * sizeof(int));
		memset(CMSG_DATA(c), 0, nr * sizeof(int)); /* stdin, repeated */
	}
	assert_int_equal(sendmsg(sock, &msg, 0), sizeof(*m));
}

static void header_payload_and_descriptors_arrive(void **state)
{
	const struct message sent = {
		.type = MESSAGE_REQUEST, .len = 5, .value = 7, .nr_fds = 2};
	const int fds[2] = {STDIN_FILENO, STDOUT_FILENO};
	struct pair *p = *state;
	struct message_fds got_fds;
	struct message got;
	char payload[5];

	assert_int_equal(message_send(p->a, &sent, "hello", fds, in_ms(60000)), 0);
	assert_int_equal(message_recv(p->b, &got, &got_fds, in_ms(60000)), 0);
	assert_memory_equal(&got, &sent, sizeof(sent));
	assert_int_equal(message_recv_payload(p->b, payload, 5, in_ms(60000)), 0);
	assert_memory_equal(payload, "hello", 5);
	assert_int_equal(got_fds.nr, 2);
	assert_int_equal(fcntl(got_fds.fd[0], F_GETFD), FD_CLOEXEC);
	message_fds_close(&got_fds);
	assert_int_equal(got_fds.nr, 0);
}

/* The header arrives in single bytes. */
static void a_header_in_pieces_is_put_together(void **state)
{
	const struct message sent = {.type = MESSAGE_NEED, .len = 3};
	struct pair *p = *state;
	struct message got;

	for (size_t i = 0; i < sizeof(sent); i++)
		assert_int_equal(send(p->a, (const char *)&sent + i, 1, 0), 1);
	assert_int_equal(message_recv(p->b, &got, NULL, in_ms(60000)), 0);
	assert_memory_equal(&got, &sent, sizeof(sent));
}

static void surplus_descriptors_are_closed(void **state)
{
	const struct message m = {.type = MESSAGE_NEED_ANSWER, .nr_fds = 1};
	struct pair *p = *state;
	struct message_fds fds;
	struct message got;

	send_raw(p->a, &m, WORKER_MAX_FDS + 1);
	assert_int_equal(message_recv(p->b, &got, &fds, in_ms(60000)), 0);
	assert_int_equal(fds.nr, WORKER_MAX_FDS);
	message_fds_close(&fds);
	assert_int_equal(nr_open_fds(), p->nr_open);
	/* More than fit: the kernel truncates them (MSG_CTRUNC). */
	send_raw(p->a, &m, 64);
	assert_int_equal(message_recv(p->b, &got, &fds, in_ms(60000)), 0);
	assert_int_equal(fds.nr, WORKER_MAX_FDS);
	message_fds_close(&fds);
}

static void unwanted_descriptors_never_enter(void **state)
{
	const struct message m = {.type = MESSAGE_REPLY};
	struct pair *p = *state;
	struct message got;

	send_raw(p->a, &m, 64);
	assert_int_equal(message_recv(p->b, &got, NULL, in_ms(60000)), 0);
	assert_int_equal(nr_open_fds(), p->nr_open);
}

/* Fewer descriptors are delivered than announced: the caller sees it, none leaks. */
static void descriptors_that_do_not_fit_are_missing(void **state)
{
	const struct message m = {.type = MESSAGE_REQUEST, .nr_fds = 3};
	struct rlimit limit, low;
	struct pair *p = *state;
	struct message_fds fds;
	struct message got;
	int lowest = dup(0);

	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)lowest + 1;
	send_raw(p->a, &m, 3);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(message_recv(p->b, &got, &fds, in_ms(60000)), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(got.nr_fds, 3);
	assert_int_equal(fds.nr, 1);
	message_fds_close(&fds);
}

static void more_than_allowed_is_malformed(void **state)
{
	const struct message m = {.type = MESSAGE_REQUEST, .nr_fds = WORKER_MAX_FDS + 1};
	struct pair *p = *state;
	struct message_fds fds;
	struct message got = {.type = 1};

	send_raw(p->a, &m, 1);
	assert_int_equal(message_recv(p->b, &got, &fds, in_ms(60000)), -EBADMSG);
	assert_int_equal(got.type, 1); /* set on success only */
	assert_int_equal(fds.nr, 1);
	message_fds_close(&fds);
	assert_int_equal(message_send(p->a, &m, NULL, NULL, in_ms(60000)), -EINVAL);
}

static void the_end_is_told_apart(void **state)
{
	const struct message m = {.type = MESSAGE_REPLY, .len = 4};
	struct pair *p = *state;
	struct message got;
	char buf[4];

	send_raw(p->a, &m, 0);
	assert_int_equal(send(p->a, "ab", 2, 0), 2);
	assert_int_equal(send(p->b, "x", 1, 0), 1);
	assert_int_equal(recv(p->a, buf, 1, 0), 1);
	assert_int_equal(shutdown(p->a, SHUT_WR), 0);
	assert_int_equal(message_recv(p->b, &got, NULL, in_ms(60000)), 0);
	assert_int_equal(message_recv_payload(p->b, buf, 4, in_ms(60000)), -EPIPE);
	assert_int_equal(message_recv(p->b, &got, NULL, in_ms(60000)), -ENODATA);
	assert_int_equal(message_recv_payload(p->b, buf, 4, in_ms(60000)), -EPIPE);
	assert_int_equal(message_recv_payload(p->b, buf, 0, in_ms(60000)), 0);
	/* The default action of SIGPIPE would end this program. */
	assert_int_equal(shutdown(p->b, SHUT_WR), 0);
	assert_int_equal(message_send(p->b, &m, "abcd", NULL, in_ms(60000)), -EPIPE);
}

static void deadlines_are_kept(void **state)
{
	static char big[4 << 20];
	const struct message m = {.type = MESSAGE_REQUEST, .len = sizeof(big)};
	struct pair *p = *state;
	struct message got;
	int64_t start = message_clock_ns();

	assert_int_equal(message_recv(p->b, &got, NULL, in_ms(50)), -ETIMEDOUT);
	assert_int_equal(message_send(p->a, &m, big, NULL, in_ms(50)), -ETIMEDOUT);
	assert_true(message_clock_ns() - start >= 100 * 1000000);
	/* A deadline in the past: fails at once. */
	assert_int_equal(message_send(p->a, &m, big, NULL, in_ms(-50)), -ETIMEDOUT);
}

static size_t nr_worked;

static void work_and_answer(void *ctx)
{
	const struct message m = {.type = MESSAGE_READY};
	struct pair *p = ctx;

	if (++nr_worked == 3)
		assert_int_equal(message_send(p->a, &m, NULL, NULL, in_ms(60000)), 0);
}

static void *wait_a_little(void *ctx)
{
	struct pair *p = ctx;

	message_wait(p->b, POLLIN, in_ms(3 * MESSAGE_MEANWHILE_MS));
	return NULL;
}

/* The answer comes only because of the work. */
static void work_goes_on_while_this_thread_waits(void **state)
{
	struct pair *p = *state;
	struct message got;
	pthread_t other;

	message_meanwhile(work_and_answer, p);
	assert_int_equal(pthread_create(&other, NULL, wait_a_little, p), 0);
	pthread_join(other, NULL);
	assert_int_equal(nr_worked, 0);
	assert_int_equal(message_recv(p->b, &got, NULL, in_ms(60000)), 0);
	assert_int_equal(nr_worked, 3);
	assert_int_equal(message_wait(p->b, POLLIN, in_ms(2 * MESSAGE_MEANWHILE_MS)),
			 -ETIMEDOUT);
	/* Waits that are too short for it are one wait. */
	nr_worked = 0;
	for (int i = 0; i < 60000 && nr_worked < 2; i++)
		assert_int_equal(message_wait(p->b, POLLIN, in_ms(1)), -ETIMEDOUT);
	assert_int_equal(nr_worked, 2);
	message_meanwhile(NULL, NULL);
	nr_worked = 0;
	wait_a_little(p);
	assert_int_equal(nr_worked, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(header_payload_and_descriptors_arrive),
		TEST(a_header_in_pieces_is_put_together),
		TEST(surplus_descriptors_are_closed),
		TEST(unwanted_descriptors_never_enter),
		TEST(descriptors_that_do_not_fit_are_missing),
		TEST(more_than_allowed_is_malformed),
		TEST(the_end_is_told_apart),
		TEST(deadlines_are_kept),
		TEST(work_goes_on_while_this_thread_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
