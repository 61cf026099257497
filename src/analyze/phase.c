// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/phase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/tally.h"
#include "base/match.h"
#include "base/path.h"
#include "profile/mapping_kind.h"
#include "profile/profile.h"

const char *const phase_names[] = {
	[PHASE_REST] = "rest",
	[PHASE_IMPORT] = "import",
	[PHASE_NUMBA_COMPILE] = "numba_compile",
};
_Static_assert(ARRAY_SIZE(phase_names) == NR_PHASES, "one name per phase");

const char *const phase_words[] = {
	[PHASE_REST] = "the program itself",
	[PHASE_IMPORT] = "import",
	[PHASE_NUMBA_COMPILE] = "Numba compilation",
};
_Static_assert(ARRAY_SIZE(phase_words) == NR_PHASES, "words for each phase");

/* Phase of one address, in addition to enum phase: */
enum {
	/* compilation, unless its callers show another phase */
	SAYS_LLVMLITE = NR_PHASES,
};

static bool is_bootstrap(const char *file)
{
	return match_starts(file, "<frozen importlib._bootstrap") ||
	       match_ends(file, "/importlib/_bootstrap.py") ||
	       match_ends(file, "/importlib/_bootstrap_external.py");
}

/*
 * Matches "_FunctionCompiler._compile_cached"; before Python 3.11 names have no class.
 */
static bool is_compiler_name(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *last = dot ? dot + 1 : name;

	if (!strcmp(last, "_acquire_compile_lock"))
		return true;
	while (*last == '_')
		last++;
	return match_starts(last, "compile") || match_starts(last, "build_");
}

/*
 * Matches files of the package at any place, but no other name that contains "numba".
 */
static bool is_numba(const char *file)
{
	return match_ends(file, ".py") &&
	       (strstr(file, "/numba/") || match_starts(file, "numba/"));
}

static enum phase function_phase(const struct profile_function *f)
{
	if (is_bootstrap(f->filename))
		return PHASE_IMPORT;
	if (is_numba(f->filename) && is_compiler_name(f->name))
		return PHASE_NUMBA_COMPILE;
	return PHASE_REST;
}

static bool is_llvmlite(const char *filename)
{
	return match_starts(path_basename(filename), "libllvmlite.");
}

struct phase_index {
	uint8_t *functions; /* enum phase */
	uint8_t *locations; /* enum phase, or SAYS_LLVMLITE */
};

static void index_deinit(struct phase_index *index)
{
	free(index->functions);
	free(index->locations);
}

static uint8_t phase_of_location(const struct profile *p, const struct phase_index *index,
				 const struct profile_location *l)
{
	const char *object =
		l->mapping == PROFILE_NONE ? "" : p->mappings[l->mapping].filename;

	for (uint32_t i = 0; i < l->nr_lines; i++) {
		uint32_t function = p->lines[l->first_line + i].function;

		if (function == PROFILE_NONE || index->functions[function] == PHASE_REST)
			continue;
		/* Numba's own functions that Numba compiled are part of the program. */
		return code_kind_of(object) == CODE_JIT ? PHASE_REST
							: index->functions[function];
	}
	return is_llvmlite(object) ? SAYS_LLVMLITE : PHASE_REST;
}

static int index_init(struct phase_index *index, const struct profile *p)
{
	index->functions = calloc(p->nr_functions + 1, 1);
	index->locations = calloc(p->nr_locations + 1, 1);
	if (!index->functions || !index->locations)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr_functions; i++)
		index->functions[i] = (uint8_t)function_phase(&p->functions[i]);
	for (size_t i = 0; i < p->nr_locations; i++)
		index->locations[i] = phase_of_location(p, index, &p->locations[i]);
	return 0;
}

static enum phase sample_phase(const struct profile *p, const struct phase_index *index,
			       const struct profile_sample *s)
{
	const uint32_t *locations = profile_stack(p, s);
	bool in_llvmlite = false;

	for (uint32_t i = 0; i < s->nr_locations; i++) {
		uint8_t says = index->locations[locations[i]];

		if (says == SAYS_LLVMLITE)
			in_llvmlite = true;
		else if (says != PHASE_REST)
			return (enum phase)says;
	}
	return in_llvmlite && stack_status_is_incomplete(s->status) ? PHASE_NUMBA_COMPILE
								    : PHASE_REST;
}

int phases_of(struct profile *p, bool leave_out, struct phases *ret)
{
	struct weigher weigher = weigher_of(p);
	struct phase_index index = {0};
	size_t nr_kept = 0;
	int r = index_init(&index, p);

	if (!r)
		*ret = (struct phases){.left_out = leave_out};
	for (size_t i = 0; i < p->nr_samples && !r; i++) {
		struct profile_sample s = p->samples[i];
		enum phase phase = sample_phase(p, &index, &s);

		weight_add(&ret->of[phase], weigher_weigh(&weigher, &s));
		if (phase == PHASE_REST || !leave_out)
			p->samples[nr_kept++] = s;
	}
	if (!r)
		p->nr_samples = nr_kept;
	index_deinit(&index);
	return r;
}

int phases_of_samples(const struct profile *p, uint8_t *ret)
{
	struct phase_index index = {0};
	int r = index_init(&index, p);

	for (size_t i = 0; i < p->nr_samples && !r; i++)
		ret[i] = (uint8_t)sample_phase(p, &index, &p->samples[i]);
	index_deinit(&index);
	return r;
}

bool phases_are_split(const struct phases *phases)
{
	return !weight_is_zero(&phases->of[PHASE_IMPORT]) ||
	       !weight_is_zero(&phases->of[PHASE_NUMBA_COMPILE]);
}
