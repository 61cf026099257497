/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums over a whole profile that text and JSON both say. */
#ifndef LB_RENDER_SUMMARY_H
#define LB_RENDER_SUMMARY_H

#include <stdint.h>

#include "lineburn.h"
#include "profile/profile.h"

struct summary {
	uint64_t lost; /* samples taken and not kept, for whatever reason */
	uint64_t nr_samples;
	uint64_t by_status[LB_NR_STACK_STATUS]; /* samples, by how far the walk came */
	uint64_t wall_ns; /* 0: not known */
	uint64_t
		period_ns; /* CPU time that one sample stands for; 0: unknown or varied */
	double lowest_hz; /* below freq_hz if it was lowered; 0: not known, or was not */
	double freq_hz; /* as asked for, else from the period; 0: not known */
};

struct summary summary_of(const struct profile *p);

#endif
