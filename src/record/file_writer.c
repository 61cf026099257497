// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/file_writer.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>

struct file_writer {
	int (*work)(void *ctx); /* NULL: nothing was started */
	void *ctx;
	int done_fd;
	int result;
	bool has_thread;
	pthread_t thread;
};

int file_writer_new(struct file_writer **ret, struct error *err)
{
	_cleanup_(file_writer_freep) struct file_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return error_set(err, -ENOMEM, "out of memory");
	w->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->done_fd < 0)
		return error_set(err, -errno, "cannot open the event loop: %m");
	*ret = take_ptr(w);
	return 0;
}

void file_writer_free(struct file_writer *w)
{
	if (!w)
		return;
	if (w->work)
		file_writer_finish(w);
	cleanup_closep(&w->done_fd);
	free(w);
}

int file_writer_poll_fd(const struct file_writer *w)
{
	return w->done_fd;
}

static void *run(void *arg)
{
	struct file_writer *w = arg;

	w->result = w->work(w->ctx);
	eventfd_write(w->done_fd, 1);
	return NULL;
}

void file_writer_start(struct file_writer *w, int (*work)(void *ctx), void *ctx)
{
	sigset_t all, before;

	w->work = work;
	w->ctx = ctx;
	/*
	 * One malloc arena for both threads: a second one would keep memory that the
	 * first could use.
	 */
	mallopt(M_ARENA_MAX, 1);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	w->has_thread = !pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!w->has_thread)
		run(w);
}

int file_writer_finish(struct file_writer *w)
{
	eventfd_t nr_done;

	if (w->has_thread)
		pthread_join(w->thread, NULL);
	w->has_thread = false;
	w->work = NULL;
	eventfd_read(w->done_fd, &nr_done);
	return w->result;
}
