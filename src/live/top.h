/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lineburn top: takes the windows of a running recording, and shows the last of them,
 * in a terminal or as tables on stdout. The recording does not wait for the terminal:
 * a thread draws and reads keys.
 */
#ifndef LB_LIVE_TOP_H
#define LB_LIVE_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "live/board.h"

struct profile;
struct top;

struct top_options {
	double interval_s; /* of a window */
	double last_s; /* that the figures are about */
	bool is_batch; /* tables on stdout */
	uint32_t nr_updates; /* batch: ends after so many; 0: goes on */
	uint32_t nr_rows; /* batch: rows of a table; 0: all */
	enum board_view view; /* that is shown first */
	struct attribution_options attribution;
};

/** Takes over the terminal, unless is_batch. @options is borrowed. */
int top_new(const struct top_options *options, struct top **ret, struct error *err);
/** Gives the terminal back. */
void top_free(struct top *t);
DEFINE_CLEANUP(struct top, top_free);

/**
 * Begins to read keys. q sends this process SIGTERM, which ends the recording. Blocks
 * SIGWINCH in the calling thread.
 */
int top_begin(struct top *t, struct error *err);

/**
 * Call after the recording. Return: 0, or -errno of writing the tables, with a message; a
 * reader who has closed the pipe is no failure.
 */
int top_end(struct top *t, struct error *err);

/* ---- struct window_taker (record/sampling.h); @ctx is the struct top ---- */
void top_take(void *ctx, const struct profile *p, uint64_t tables);
bool top_wants_sources(void *ctx);

#endif
