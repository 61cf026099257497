// SPDX-License-Identifier: GPL-2.0-or-later
/* Slow work in a separate thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/job.h"

struct waiting {
	int go_fd; /* the work waits until it can be read */
	pthread_t thread;
	sigset_t blocked; /* signals blocked in the work */
};

static int wait_and_answer(void *ctx)
{
	struct waiting *w = ctx;
	eventfd_t value;

	w->thread = pthread_self();
	pthread_sigmask(SIG_BLOCK, NULL, &w->blocked);
	assert_int_equal(eventfd_read(w->go_fd, &value), 0);
	return -42;
}

static bool is_done(const struct job *job, int timeout_ms)
{
	struct pollfd done = {.fd = job_poll_fd(job), .events = POLLIN};
	bool is_readable = poll(&done, 1, timeout_ms) == 1;

	assert_int_equal(job_wait(job, 0), is_readable);
	return is_readable;
}

static void nobody_waits_for_the_work(void **state)
{
	struct waiting waiting = {.go_fd = eventfd(0, EFD_CLOEXEC)};
	struct job *job = NULL;

	(void)state;
	assert_int_equal(job_new(&job, NULL), 0);
	for (int i = 0; i < 100; i++) {
		assert_false(is_done(job, 0));
		assert_false(job_is_started(job));
		job_start(job, wait_and_answer, &waiting);
		assert_false(is_done(job, 0));
		eventfd_write(waiting.go_fd, 1);
		assert_true(is_done(job, 60000));
		assert_true(job_is_started(job));
		assert_int_equal(job_finish(job), -42);
		assert_false(pthread_equal(waiting.thread, pthread_self()));
		assert_true(sigismember(&waiting.blocked, SIGTERM));
	}
	job_free(job);
	close(waiting.go_fd);
}

static int sleep_and_count(void *ctx)
{
	usleep(20000);
	++*(int *)ctx;
	return 7;
}

static void the_work_is_waited_for(void **state)
{
	struct job *job = NULL;
	int nr = 0;

	(void)state;
	assert_int_equal(job_new(&job, NULL), 0);
	job_start(job, sleep_and_count, &nr);
	assert_int_equal(job_finish(job), 7);
	assert_int_equal(nr, 1);
	job_start(job, sleep_and_count, &nr);
	job_free(job);
	assert_int_equal(nr, 2);
}

/* A thread cannot be started: there is no memory for its stack. */
static void the_work_is_done_without_a_thread(void **state)
{
	pthread_attr_t before, huge;
	struct job *job = NULL;
	int nr = 0, nr_at_start;

	(void)state;
	assert_int_equal(job_new(&job, NULL), 0);
	assert_int_equal(pthread_getattr_default_np(&before), 0);
	assert_int_equal(pthread_attr_init(&huge), 0);
	assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 47), 0);
	assert_int_equal(pthread_setattr_default_np(&huge), 0);
	job_start(job, sleep_and_count, &nr);
	nr_at_start = nr;
	assert_int_equal(pthread_setattr_default_np(&before), 0);
	assert_int_equal(nr_at_start, 1); /* done at once */
	assert_true(is_done(job, 0));
	assert_int_equal(job_finish(job), 7);
	job_free(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_waits_for_the_work),
		cmocka_unit_test(the_work_is_waited_for),
		cmocka_unit_test(the_work_is_done_without_a_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
