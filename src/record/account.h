/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fills in what a profile has in addition to its samples: target, machine, losses,
 * cost, warnings.
 */
#ifndef LB_RECORD_ACCOUNT_H
#define LB_RECORD_ACCOUNT_H

#include <stdint.h>

#include "profile/profile.h"
#include "record/intake.h"
#include "record/naming.h"
#include "record/window_files.h"

/* The part of a recording that one profile covers. */
struct window {
	/* CLOCK_MONOTONIC; begin 0: since sampling started */
	uint64_t begin_ns, end_ns;
	/*
	 * Same clock: all samples up to this time are named. It is earlier than end_ns,
	 * which is taken after the kernel has waited for all BPF programs: some samples
	 * before end_ns belong to the next window.
	 */
	uint64_t named_ns;
	int64_t begin_wall_ns, end_wall_ns; /* CLOCK_REALTIME */
	struct sampler_totals totals; /* at the window's end */
	uint64_t rows_dropped; /* same; counts samples since the recording began */
	struct window_id id; /* of its file; number 0: not written yet */
	char note[256]; /* what happened to earlier windows; "": nothing to report */
};

/* Sums of what earlier windows have reported. */
struct account {
	struct profile_losses told_losses; /* of all earlier windows */
	struct profile_cost told_cost;
};

/**
 * Fills in the extra and the times of the profile that @n builds, for the window @w,
 * which has ended; w->totals and rows_dropped were read at its end. Losses and costs
 * count from the end of the previous window.
 */
void account_fill(const struct account *a, const struct window *w, struct intake *in,
		  struct naming *n);

/**
 * Ends the window of @p, which was written or lost: the next window counts from here.
 */
void account_end_window(struct account *a, const struct profile *p);

/**
 * Subtracts @told, the sum of what earlier windows reported, from @now. No result is
 * below 0. Ticks are missed only where more were due than ran, by more than the error of
 * the due ones. Pure.
 */
void losses_since(const struct profile_losses *told, const struct profile_losses *now,
		  struct profile_losses *ret);

/** The same for the cost; peak and bytes are copied from @now. */
void cost_since(const struct profile_cost *told, const struct profile_cost *now,
		struct profile_cost *ret);

#endif
