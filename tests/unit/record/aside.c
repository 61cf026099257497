// SPDX-License-Identifier: GPL-2.0-or-later
/* Work beside what must not wait for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "record/aside.h"

struct both {
	int go_fd; /* the work waits until whoever attends says so */
	int nr_attended;
	pthread_t worker, attender;
	sigset_t blocked; /* in the work */
};

static int wait_and_answer(void *ctx)
{
	struct both *b = ctx;
	eventfd_t value;

	b->worker = pthread_self();
	pthread_sigmask(SIG_BLOCK, NULL, &b->blocked);
	assert_int_equal(eventfd_read(b->go_fd, &value), 0);
	return -42;
}

/* Lets the work go on with its third call only: nobody else waits for it. */
static void let_go(void *ctx, int done_fd)
{
	struct both *b = ctx;
	struct pollfd done = {.fd = done_fd, .events = POLLIN};

	b->attender = pthread_self();
	if (++b->nr_attended < 3) {
		assert_int_equal(poll(&done, 1, 0), 0);
		return;
	}
	eventfd_write(b->go_fd, 1);
	assert_int_equal(poll(&done, 1, -1), 1);
}

static void the_work_waits_for_nobody_but_it(void **state)
{
	struct both b = {.go_fd = eventfd(0, EFD_CLOEXEC)};

	(void)state;
	for (int i = 0; i < 100; i++) {
		b.nr_attended = 0;
		assert_int_equal(aside_run(wait_and_answer, &b, let_go, &b), -42);
		assert_int_equal(b.nr_attended, 3);
		assert_true(pthread_equal(b.attender, pthread_self()));
		assert_false(pthread_equal(b.worker, pthread_self()));
		assert_true(sigismember(&b.blocked, SIGTERM));
	}
	close(b.go_fd);
}

static int answer(void *ctx)
{
	++*(int *)ctx;
	return 7;
}

static void wait_for_it(void *ctx, int done_fd)
{
	struct pollfd done = {.fd = done_fd, .events = POLLIN};

	assert_int_equal(poll(&done, 1, -1), 1);
	++*(int *)ctx;
}

/* Neither a descriptor nor a thread is needed for it to be done. */
static void it_is_done_without_descriptors(void **state)
{
	struct rlimit before, none;
	int nr = 0, nr_attended = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(aside_run(answer, &nr, wait_for_it, &nr_attended), 7);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(nr_attended, 0);
	assert_int_equal(aside_run(answer, &nr, wait_for_it, &nr_attended), 7);
	assert_int_equal(nr, 2);
	assert_true(nr_attended > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_work_waits_for_nobody_but_it),
		cmocka_unit_test(it_is_done_without_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
