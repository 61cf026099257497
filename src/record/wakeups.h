/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for descriptors, signals and time-outs for the recorder. */
#ifndef LB_RECORD_WAKEUPS_H
#define LB_RECORD_WAKEUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct wakeups;

/* Kinds of wakeups; bits of a set. */
enum wakeup {
	WAKEUP_SIGNAL = 1 << 0,
	WAKEUP_SAMPLER = 1 << 1, /* first samples, requests of the kernel side */
	WAKEUP_EVENTS = 1 << 2, /* of tasks, targets, JITs */
	WAKEUP_WRITER = 1 << 3, /* the file writer is done */
	WAKEUP_DECODER = 1 << 4, /* naming can continue */
};

/**
 * Blocks the signals it watches: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and 2,
 * SIGCHLD.
 */
int wakeups_new(struct wakeups **ret, struct error *err);
void wakeups_free(struct wakeups *w);
DEFINE_CLEANUP(struct wakeups, wakeups_free);

#define WAKEUPS_MAX_FDS 8

/** Adds a descriptor. @fd is borrowed; -1: ignored. At most WAKEUPS_MAX_FDS. */
int wakeups_watch(struct wakeups *w, int fd, enum wakeup kind, struct error *err);

/**
 * Watches a descriptor for @events (POLLIN, POLLOUT) until its next wakeup, or until it
 * is closed. wakeups_wait_but() ignores it.
 */
void wakeups_watch_once(struct wakeups *w, int fd, short events, enum wakeup kind);

/** Waits for a wakeup. Return: the set of pending ones; 0: time-out. */
unsigned int wakeups_wait(struct wakeups *w, uint64_t timeout_ns);

/** The same, but ignores wakeups of @kind. */
unsigned int wakeups_wait_but(struct wakeups *w, enum wakeup kind, uint64_t timeout_ns);

/**
 * Waits for a signal, or for @events of @fd, and for nothing else: for the time when
 * sampling has ended.
 */
void wakeups_wait_for_signal(struct wakeups *w, int fd, short events,
			     uint64_t timeout_ns);

/**
 * Does a signal wait that ends a recording: SIGINT, SIGTERM or SIGQUIT? It stays pending.
 * For the time before wakeups_wait().
 */
bool wakeups_end_is_pending(void);

struct wakeup_signal {
	int number;
	bool is_from_somebody; /* sent with kill(2), not by the terminal */
};

/** Takes the next pending signal. Return: false when there is none. */
bool wakeups_take_signal(struct wakeups *w, struct wakeup_signal *ret);

/** Drops the pending signals. */
void wakeups_drop_signals(struct wakeups *w);

/**
 * Drops pending signals, and unblocks SIGINT, SIGTERM and SIGQUIT, so that Ctrl-C ends
 * lineburn at once.
 */
void wakeups_let_signals_kill(struct wakeups *w);
/** The same, and SIGHUP. */
void wakeups_let_hangup_kill(struct wakeups *w);

#endif
