/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows a listing page by page, if it goes to a terminal. */
#ifndef LB_CLI_PAGER_H
#define LB_CLI_PAGER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "worker/broker.h"

struct pager {
	FILE *out; /* where to write: the pager, or stdout */
	pid_t pid; /* 0: there is none, or it is the broker's */
	bool is_brokers;
};

/**
 * Starts $PAGER, or less(1), if @wanted and stdout is a terminal that can move its
 * cursor. Under sudo it runs as the user who called. Without a pager *@ret is stdout.
 * Until there is output it only waits, so that root may give up its rights in between.
 */
void pager_open(struct pager *ret, bool wanted);

/**
 * Call it before the output. Ignores SIGPIPE, SIGINT and SIGQUIT from then on: the user
 * ends the pager by its keys.
 */
void pager_begin(const struct pager *p);

/** Ends the output, and waits until the user has left the pager. */
void pager_close(struct pager *p);

/* Serve BROKER_OPEN_PAGER, whose reply has the pipe to write to, and _CLOSE_PAGER. */
broker_fn pager_serve_open, pager_serve_close;

#endif
