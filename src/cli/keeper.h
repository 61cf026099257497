/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A broker that keeps root's rights while a viewer gives them up for good (reading.h). It
 * looks at no byte of a profile. Upon request it does what the command line asked for
 * and what needs these rights: it writes the finished output, and opens files that the
 * user allowed. A viewer that was taken over can have no other file written or opened.
 */
#ifndef LB_CLI_KEEPER_H
#define LB_CLI_KEEPER_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/source.h"
#include "base/error.h"
#include "base/io.h"

/* Borrowed by the broker for its life. */
struct keeper_config {
	/* Writes the output; NULL: there is none. Is called in the broker. */
	int (*finish)(void *ctx, const void *data, size_t len, struct error *err);
	void *ctx;
	int *kept_fd; /* that finish() needs: see struct broker_config; NULL: none */
	/* Which files it opens: all, or those below the NEW of a rule. */
	bool opens_all;
	const struct source_path_rule *rules;
	size_t nr_rules;
};

/**
 * Begins BROKER_OUTPUT; broker_end() ends it. Call it before pager_open(), whose pipe it
 * would keep open.
 * Return: 0 or -errno with a message.
 */
int keeper_begin(const struct keeper_config *config, struct error *err);

/** Has the broker call finish(). Return: its result, or -errno with a message. */
int keeper_finish(const void *data, size_t len, struct error *err);

/** For struct file_opener: the broker opens a file as the rules allow (struct keeper_config). */
int keeper_open(void *unused, const char *path, struct stat *ret_st);

#endif
