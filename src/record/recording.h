/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of one recording, and what is renewed while it runs. */
#ifndef LB_RECORD_RECORDING_H
#define LB_RECORD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strpool.h"
#include "profile/profile.h"
#include "record/profile_builder.h"
#include "record/sampling.h"
#include "record/session.h"
#include "record/window_files.h"
#include "symbolize/symbolizer.h"
#include "worker/worker.h"

#define POOL_MAX_BYTES (512u << 20) /* of names: of a profile, of what lives on */

/* The part of a recording that one profile tells. */
struct recording_window {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; begin 0: sampling's start */
	/*
	 * Same: all samples up to then are named. Before the end, which is noted when the
	 * kernel has waited for all programs: some of those before it are the next one's.
	 */
	uint64_t named_ns;
	int64_t begin_wall_ns, end_wall_ns; /* CLOCK_REALTIME */
	struct sampler_totals totals; /* at its end */
	struct window_id id; /* of its file; number 0: none was written yet */
	char note[256]; /* what became of earlier ones; "" nothing */
};

/* In order of the pipeline. */
struct recording {
	const struct sampling *config; /* borrowed */
	struct strpool *names; /* of processes and of what addresses are called */
	struct strpool *pool; /* of the profile */
	struct worker *worker;
	struct session session;
	struct symbolizer *symbolizer;
	struct profile *profile;
	struct profile_builder builder;

	struct recording_window window;
	struct window_files files;
	struct profile_losses told_losses; /* of the windows before */
	struct profile_cost told_cost;
	uint64_t nr_counted, nr_files; /* same: samples, files */
	bool is_busy; /* naming and writing: what is drained meanwhile is only kept */
	uint64_t memory_bytes; /* resident, at most; 0: no limit */
	struct recording_size { /* behind the last renewal */
		uint64_t bytes; /* resident */
		uint64_t nr_images, nr_files; /* program images; files, opened or not */
		uint64_t nr_open; /* descriptors for targets */
	} renewed;
	uint64_t names_dropped, addresses_dropped; /* of what was renewed */
	bool said_too_small;
	bool has_output; /* the output's own file was written by us */
};

typedef int (*recording_drained_fn)(void *ctx, struct session *s, uint64_t begin_ns,
				    struct error *err);

/**
 * @r        zeroed; to be deinitialised in either case
 * @drained  session.drained; its ctx is @r
 */
int recording_init(struct recording *r, const struct sampling *o,
		   recording_drained_fn drained, struct error *err);
void recording_deinit(struct recording *r);

/** Drains when it is time, while is_busy. A failure shows in the next drain, too. */
void recording_keep_up(struct recording *r);

/** An empty profile instead of the one there is. Return: 0 or -ENOMEM. */
int recording_begin_profile(struct recording *r, struct error *err);

/** Does it hold so much memory that its profile is to be written and to begin anew? */
bool recording_is_full(const struct recording *r);

/**
 * Between two profiles, when all of the window that ended was named: makes anew what grows with all that ever ran
 * (names, addresses, images of processes that are gone), if it has grown enough.
 */
int recording_renew(struct recording *r, struct error *err);

/* ---- What a profile says beside its samples: target, machine, losses, cost, warnings ---- */

struct recording;

/**
 * Fills in the extra of @r's profile, and its times, for the window that has ended:
 * window.totals are of then. Losses and costs are those since the window before.
 */
void recording_fill_extra(struct recording *r);

/* ---- What is counted from the start of a recording, told of each of its windows ---- */

/**
 * What came since @told, which is the sum of all that was told of earlier windows:
 * each count is what @now has more, never less than nothing; due = sampled + missed.
 * Pure.
 */
void losses_since(const struct profile_losses *told, const struct profile_losses *now,
		  struct profile_losses *ret);

/** @told becomes the sum of it and @window. */
void losses_add(struct profile_losses *told, const struct profile_losses *window);

/** The same for the cost; peak and bytes are those of @now. */
void cost_since(const struct profile_cost *told, const struct profile_cost *now,
		struct profile_cost *ret);
void cost_add(struct profile_cost *told, const struct profile_cost *window);

#endif
