/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the recorder waits for: descriptors, signals, time. */
#ifndef LB_RECORD_WAKEUPS_H
#define LB_RECORD_WAKEUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct wakeups;

/* Kinds of wakeups: a set. */
enum wakeup {
	WAKEUP_SIGNAL = 1 << 0,
	WAKEUP_SAMPLER = 1 << 1, /* first samples and requests of the kernel side */
	WAKEUP_EVENTS = 1 << 2, /* of tasks, targets, JITs */
	WAKEUP_WRITER = 1 << 3, /* it is done */
};

/** Blocks the signals that it watches: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and 2, SIGCHLD. */
int wakeups_new(struct wakeups **ret, struct error *err);
void wakeups_free(struct wakeups *w);
DEFINE_CLEANUP(struct wakeups, wakeups_free);

#define WAKEUPS_MAX_FDS 8

/** @fd is borrowed; -1: there is none. No more than WAKEUPS_MAX_FDS. */
int wakeups_watch(struct wakeups *w, int fd, enum wakeup kind, struct error *err);

/** Waits for the first of them. Return: all that are there; 0: the time is up. */
unsigned int wakeups_wait(struct wakeups *w, uint64_t timeout_ns);

/** The same, but does not wait for those of @kind. */
unsigned int wakeups_wait_but(struct wakeups *w, enum wakeup kind, uint64_t timeout_ns);

struct wakeup_signal {
	int number;
	bool is_from_somebody; /* sent with kill(2), not by the terminal */
};

/** The next signal that came. Return: false: there is none. */
bool wakeups_take_signal(struct wakeups *w, struct wakeup_signal *ret);

/** From now on Ctrl-C and its like end lineburn at once. What came before is forgotten. */
void wakeups_let_signals_kill(struct wakeups *w);

#endif
