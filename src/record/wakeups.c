// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/wakeups.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

struct wakeups {
	struct watched_fd {
		int fd;
		enum wakeup kind;
	} fds[WAKEUPS_MAX_FDS];
	size_t nr_fds;
	int signal_fd, epoll_fd;
};

int wakeups_new(struct wakeups **ret, struct error *err)
{
	static const int watched[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
				      SIGUSR1, SIGUSR2, SIGCHLD};
	_cleanup_(wakeups_freep) struct wakeups *w = calloc(1, sizeof(*w));
	sigset_t set;
	int rc;

	if (!w)
		return error_set(err, -ENOMEM, "out of memory");
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	w->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (w->signal_fd < 0 || w->epoll_fd < 0)
		return error_set(err, -errno, "cannot open the event loop: %m");
	rc = wakeups_watch(w, w->signal_fd, WAKEUP_SIGNAL, err);
	if (rc)
		return rc;
	*ret = take_ptr(w);
	return 0;
}

void wakeups_free(struct wakeups *w)
{
	if (!w)
		return;
	cleanup_closep(&w->signal_fd);
	cleanup_closep(&w->epoll_fd);
	free(w);
}

int wakeups_watch(struct wakeups *w, int fd, enum wakeup kind, struct error *err)
{
	struct epoll_event interest = {.events = EPOLLIN, .data.u32 = kind};

	if (fd < 0)
		return 0;
	assert(w->nr_fds < WAKEUPS_MAX_FDS);
	if (epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &interest))
		return error_set(err, -errno, "cannot open the event loop: %m");
	w->fds[w->nr_fds++] = (struct watched_fd){fd, kind};
	return 0;
}

void wakeups_watch_once(struct wakeups *w, int fd, short events, enum wakeup kind)
{
	struct epoll_event interest = {.events = EPOLLONESHOT, .data.u32 = kind};

	interest.events |= events & POLLOUT ? EPOLLOUT : EPOLLIN;
	/* A descriptor that was closed and opened again is not registered: add it. */
	if (epoll_ctl(w->epoll_fd, EPOLL_CTL_MOD, fd, &interest))
		epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &interest);
}

unsigned int wakeups_wait(struct wakeups *w, uint64_t timeout_ns)
{
	struct epoll_event events[WAKEUPS_MAX_FDS + 1];
	uint64_t timeout_ms = (timeout_ns + CLOCK_MS_NS - 1) / CLOCK_MS_NS;
	int nr = epoll_wait(w->epoll_fd, events, ARRAY_SIZE(events), (int)timeout_ms);
	unsigned int ready = 0;

	for (int i = 0; i < nr; i++)
		ready |= events[i].data.u32;
	return ready;
}

unsigned int wakeups_wait_but(struct wakeups *w, enum wakeup kind, uint64_t timeout_ns)
{
	struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / CLOCK_SECOND_NS),
				   .tv_nsec = (long)(timeout_ns % CLOCK_SECOND_NS)};
	struct pollfd fds[WAKEUPS_MAX_FDS];
	unsigned int ready = 0;

	/* poll() ignores a negative descriptor. */
	for (size_t i = 0; i < w->nr_fds; i++)
		fds[i] = (struct pollfd){.fd = w->fds[i].kind == kind ? -1 : w->fds[i].fd,
					 .events = POLLIN};
	if (ppoll(fds, w->nr_fds, &timeout, NULL) <= 0)
		return 0;
	for (size_t i = 0; i < w->nr_fds; i++)
		if (fds[i].revents)
			ready |= w->fds[i].kind;
	return ready;
}

void wakeups_wait_for_signal(struct wakeups *w, int fd, short events, uint64_t timeout_ns)
{
	struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / CLOCK_SECOND_NS),
				   .tv_nsec = (long)(timeout_ns % CLOCK_SECOND_NS)};
	struct pollfd fds[] = {{.fd = w->signal_fd, .events = POLLIN},
			       {.fd = fd, .events = events}};

	ppoll(fds, ARRAY_SIZE(fds), &timeout, NULL);
}

bool wakeups_end_is_pending(void)
{
	sigset_t set;

	return !sigpending(&set) &&
	       (sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1 ||
		sigismember(&set, SIGQUIT) == 1);
}

bool wakeups_take_signal(struct wakeups *w, struct wakeup_signal *ret)
{
	struct signalfd_siginfo info;

	if (read(w->signal_fd, &info, sizeof(info)) != sizeof(info))
		return false;
	*ret = (struct wakeup_signal){
		.number = (int)info.ssi_signo,
		.is_from_somebody = info.ssi_code == SI_USER ||
				    info.ssi_code == SI_QUEUE ||
				    info.ssi_code == SI_TKILL,
	};
	return true;
}

void wakeups_drop_signals(struct wakeups *w)
{
	struct wakeup_signal signal;

	while (wakeups_take_signal(w, &signal))
		;
}

static void unblock(const int *signals, size_t nr)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < nr; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void wakeups_let_signals_kill(struct wakeups *w)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGQUIT};

	wakeups_drop_signals(w);
	unblock(ends, ARRAY_SIZE(ends));
}

void wakeups_let_hangup_kill(struct wakeups *w)
{
	static const int hangup = SIGHUP;

	wakeups_let_signals_kill(w);
	unblock(&hangup, 1);
}
