// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/main_mapping.h"

#include <stdlib.h>
#include <string.h>

#include "profile/mapping_kind.h"

enum rank {
	RANK_OTHER,
	RANK_LIBRARY,
	RANK_PROGRAM
};

struct presence {
	uint64_t weight;
	size_t last_sample; /* + 1: each sample counts once */
};

static enum rank rank_of(const struct profile_mapping *m)
{
	enum code_kind kind = code_kind_of(m->filename);
	const char *base = path_basename(m->filename);

	if ((kind != CODE_NATIVE && kind != CODE_INTERPRETER) || base[0] == '[')
		return RANK_OTHER;
	return strstr(base, ".so") ? RANK_LIBRARY : RANK_PROGRAM;
}

static void count_presence(const struct profile *p, struct presence *presence)
{
	uint32_t value = p->cpu_value != PROFILE_NONE ? p->cpu_value : p->count_value;

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		int64_t weight = profile_value(p, s, value);

		for (size_t k = 0; weight > 0 && k < s->nr_locations; k++) {
			uint32_t location = p->sample_locations[s->first_location + k];
			uint32_t mapping = p->locations[location].mapping;

			if (mapping == PROFILE_NONE ||
			    presence[mapping].last_sample == i + 1)
				continue;
			presence[mapping].last_sample = i + 1;
			presence[mapping].weight += (uint64_t)weight;
		}
	}
}

uint32_t main_mapping_find(const struct profile *p)
{
	_cleanup_free_ struct presence *presence =
		calloc(p->nr_mappings + 1, sizeof(*presence));
	uint32_t best = PROFILE_NONE;
	enum rank best_rank = RANK_OTHER;

	if (!presence)
		return PROFILE_NONE;
	count_presence(p, presence);
	for (uint32_t i = 0; i < p->nr_mappings; i++) {
		enum rank rank = rank_of(&p->mappings[i]);

		if (best != PROFILE_NONE &&
		    (rank < best_rank ||
		     (rank == best_rank && presence[i].weight <= presence[best].weight)))
			continue;
		best = i;
		best_rank = rank;
	}
	return best;
}
