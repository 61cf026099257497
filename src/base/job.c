// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/job.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>

struct job {
	int (*work)(void *ctx); /* NULL: nothing was started */
	void *ctx;
	int done_fd;
	int result;
	bool has_thread;
	pthread_t thread;
};

int job_new(struct job **ret, struct error *err)
{
	_cleanup_(job_freep) struct job *j = calloc(1, sizeof(*j));

	if (!j)
		return error_set(err, -ENOMEM, "out of memory");
	j->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (j->done_fd < 0)
		return error_set(err, -errno, "cannot make an event descriptor: %m");
	*ret = take_ptr(j);
	return 0;
}

void job_free(struct job *j)
{
	if (!j)
		return;
	if (j->work)
		job_finish(j);
	cleanup_closep(&j->done_fd);
	free(j);
}

int job_poll_fd(const struct job *j)
{
	return j->done_fd;
}

static void *run(void *arg)
{
	struct job *j = arg;

	j->result = j->work(j->ctx);
	eventfd_write(j->done_fd, 1);
	return NULL;
}

void job_start(struct job *j, int (*work)(void *ctx), void *ctx)
{
	sigset_t all, before;

	j->work = work;
	j->ctx = ctx;
	/*
	 * One malloc arena for both threads: a second one would keep memory that the
	 * first could use.
	 */
	mallopt(M_ARENA_MAX, 1);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	j->has_thread = !pthread_create(&j->thread, NULL, run, j);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!j->has_thread)
		run(j);
}

bool job_is_started(const struct job *j)
{
	return j->work;
}

bool job_wait(const struct job *j, int timeout_ms)
{
	struct pollfd done = {.fd = j->done_fd, .events = POLLIN};
	int nr;

	if (!j->work)
		return false;
	do
		nr = poll(&done, 1, timeout_ms);
	while (nr < 0 && errno == EINTR);
	return nr == 1;
}

int job_finish(struct job *j)
{
	eventfd_t nr_done;

	if (j->has_thread)
		pthread_join(j->thread, NULL);
	j->has_thread = false;
	j->work = NULL;
	eventfd_read(j->done_fd, &nr_done);
	return j->result;
}
