/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats numbers for people. All rounding of the text formats is here. */
#ifndef LB_RENDER_FIGURE_H
#define LB_RENDER_FIGURE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/attribution.h"
#include "lineburn.h"
#include "profile/profile.h"

/* With fewer samples, shares are called rough. */
#define RENDER_FEW_SAMPLES 100

struct figure {
	char text[32];
};

/** Does the profile count CPU samples, rather than, for example, allocated bytes? */
bool counts_samples(const struct attribution *a);

/**
 * Are the counts nanoseconds, because the file of another tool has no number of samples?
 */
bool counts_time(const struct attribution *a);

/** Returns what is counted: "CPU", "alloc_space". It comes from the file: escape it. */
const char *counted_name(const struct attribution *a);

#define NR_HEATS 5

/**
 * Returns the heat of a share, 1 to NR_HEATS (the hottest); 0: it has no share. Each step
 * is about twice the previous one: the few hot lines should stand out, and a line with
 * half the hottest one's share is still hot.
 */
unsigned int figure_heat(double share, double hottest);

/**
 * Returns the share 0..1 of all CPU time; of all samples if the profile has no CPU time.
 */
double share_of(const struct attribution *a, const struct weight *w);

/** "34.9" for 0.349; "<0.1" if it would round to 0.0; "" for 0. */
struct figure figure_percent(double share);

/** "5.02 s", "60.4 s", "312 s", "41 ms". */
struct figure figure_time(uint64_t ns);

/** "812 KB", "34 MB"; 1 MB is 2^20. */
struct figure figure_bytes(uint64_t bytes);

/** "1 sample", "2 samples", "1 process", "2 processes"... */
struct figure figure_count(uint64_t nr, const char *singular, const char *plural);

/** "3067"; "1.00 s" if the counts are nanoseconds. */
struct figure figure_counted(const struct attribution *a, uint64_t nr);

/** "+-0.2 ": the error of the ticks due, in percent of them; "" if they are exact. */
struct figure figure_due_error(const struct profile_losses *l);

/* ---- sums over a whole profile ---- */

struct summary {
	uint64_t lost; /* samples taken but not stored, for any reason */
	uint64_t nr_samples;
	/* samples, by the status of their walk */
	uint64_t by_status[LB_NR_STACK_STATUS];
	uint64_t wall_ns; /* 0: not known */
	uint64_t period_ns; /* CPU time per sample; 0: unknown or varied */
	double lowest_hz; /* if the rate was lowered; else 0, also if unknown */
	double freq_hz; /* as requested, else from the period; 0: unknown */
};

struct summary summary_of(const struct profile *p);

#endif
