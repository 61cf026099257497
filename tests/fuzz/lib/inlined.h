/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader allows 16 inlined frames for each byte of a file, and 262,144. They would
 * make the bounds of cost_bound too wide to see anything else. So the targets skip such
 * profiles; tests/unit/profile/pprof.c tests the reader's limit.
 */
#ifndef LB_TESTS_FUZZ_INLINED_H
#define LB_TESTS_FUZZ_INLINED_H

#include <stdbool.h>

#include "profile/profile.h"

/* Have the stacks more inlined frames than the file has bytes? */
static inline bool inlines_much(const struct profile *p, size_t bytes)
{
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_sample_locations; i++) {
		uint32_t nr_lines = p->locations[p->sample_locations[i]].nr_lines;

		nr += nr_lines ? nr_lines - 1 : 0;
	}
	return nr > bytes;
}

#endif
