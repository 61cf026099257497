/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a profile says beside its samples: target, machine, losses, cost, warnings. */
#ifndef LB_RECORD_ACCOUNT_H
#define LB_RECORD_ACCOUNT_H

#include <stdint.h>

#include "profile/profile.h"
#include "record/intake.h"
#include "record/naming.h"
#include "record/window_files.h"

/* The part of a recording that one profile tells. */
struct window {
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

/* What is counted from the start of a recording, told of each of its windows. */
struct account {
	struct profile_losses told_losses; /* of the windows before */
	struct profile_cost told_cost;
};

/**
 * Fills in the extra of the profile that @n builds, and its times, for the window @w that
 * has ended: w->totals are of then. Losses and costs are those since the window before.
 */
void account_fill(const struct account *a, const struct window *w, struct intake *in,
		  struct naming *n);

/** The window of @p was written, or is lost: the next one's counts begin behind it. */
void account_end_window(struct account *a, const struct profile *p);

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
