/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the steps of machine_code_new(); only machine_code*.c include it. */
#ifndef LB_ANALYZE_MACHINE_CODE_WORK_H
#define LB_ANALYZE_MACHINE_CODE_WORK_H

#include "analyze/machine_code.h"

/* One of profile.extra.codes. */
struct code_tally {
	uint32_t function; /* that it belongs to; PROFILE_NONE */
	struct weight self, kernel;
	struct weight heaviest; /* of the hit that told the function */
	size_t first_hit, nr_hits;
	struct weight at_line; /* of the line that was asked for */
	bool is_chosen;
};

struct code_samples {
	const struct profile *p;
	struct code_tally *codes; /* parallel to profile.extra.codes */
	struct machine_hit *hits; /* by code, then address */
	size_t nr_hits;
};

/** Where the samples are. Return: 0 or -ENOMEM. */
int code_samples_init(struct code_samples *s, const struct profile *p);
void code_samples_deinit(struct code_samples *s);

/** Sets is_chosen (and at_line) by @what. Return: as machine_code_new(). */
int machine_code_choose(struct code_samples *s, const char *what, struct error *err);

#endif
