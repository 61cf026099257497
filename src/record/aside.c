// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/aside.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>

#include "base/cleanup.h"

struct aside {
	int (*work)(void *ctx);
	void *ctx;
	int done_fd;
	int result;
};

static void *run(void *arg)
{
	struct aside *a = arg;

	a->result = a->work(a->ctx);
	eventfd_write(a->done_fd, 1);
	return NULL;
}

/* One pool of memory for both: a second one would keep what the first could use. */
static int start(struct aside *a, pthread_t *ret)
{
	sigset_t all, before;
	int rc;

	mallopt(M_ARENA_MAX, 1);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(ret, NULL, run, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static bool is_done(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

int aside_run(int (*work)(void *ctx), void *ctx, void (*attend)(void *ctx, int done_fd),
	      void *attend_ctx)
{
	_cleanup_close_ int done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct aside a = {.work = work, .ctx = ctx, .done_fd = done_fd};
	pthread_t thread;

	if (done_fd < 0)
		return work(ctx);
	if (start(&a, &thread)) {
		run(&a);
		attend(attend_ctx, done_fd);
		return a.result;
	}
	do {
		attend(attend_ctx, done_fd);
	} while (!is_done(done_fd));
	pthread_join(thread, NULL);
	return a.result;
}
