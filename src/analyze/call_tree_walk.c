// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads a stack as the row of elements that its path in a call tree has. */
#include "analyze/call_tree_work.h"
#include "profile/stack_status.h"

enum stage {
	STAGE_ROOT, /* nothing was read yet */
	STAGE_FRAMES,
	STAGE_TAIL,
	STAGE_DONE,
};

/* ---- frames, in the direction of the tree ---- */

static const struct call_site *peek_caller(const struct call_index *index,
					   struct call_walker *w)
{
	for (; w->at < w->nr_locations; w->at++, w->nr_taken = 0) {
		const struct call_place *place = &index->places[w->locations[w->at]];

		if (w->nr_taken < place->nr)
			return &index->sites[place->first + w->nr_taken];
	}
	return NULL;
}

static const struct call_site *peek_callee(const struct call_index *index,
					   struct call_walker *w)
{
	for (; w->at; w->at--, w->nr_taken = 0) {
		const struct call_place *place = &index->places[w->locations[w->at - 1]];

		if (w->nr_taken < place->nr)
			return &index->sites[place->first + place->nr - 1 - w->nr_taken];
	}
	return NULL;
}

static const struct call_site *peek(const struct call_index *index, struct call_walker *w)
{
	return index->options->direction == CALL_CALLERS ? peek_caller(index, w)
							 : peek_callee(index, w);
}

/* ---- the start ---- */

/* Goes to the first frame that was asked for. Return: false when there is none. */
static bool seek_wanted(const struct call_index *index, struct call_walker *w)
{
	const struct call_site *site;

	for (; (site = peek(index, w)); w->nr_taken++)
		if (site->is_wanted)
			return true;
	return false;
}

/* What stands for a stack whose frames are all hidden: the innermost. */
static uint32_t stand_in(const struct call_index *index, const struct call_walker *w)
{
	for (uint32_t i = 0; i < w->nr_locations; i++)
		if (index->places[w->locations[i]].nr)
			return PROFILE_NONE;
	return w->nr_locations ? index->places[w->locations[0]].hidden : index->nothing;
}

static bool leaf_is_kernel(const struct call_index *index, const struct call_walker *w)
{
	return w->nr_locations && index->places[w->locations[0]].is_kernel;
}

/* The innermost frame that is a node: was it asked for? */
static bool innermost_is_wanted(const struct call_index *index,
				const struct call_walker *w)
{
	for (uint32_t i = 0; i < w->nr_locations; i++) {
		const struct call_place *place = &index->places[w->locations[i]];

		if (place->nr)
			return index->sites[place->first].is_wanted;
	}
	return false;
}

static bool start_at_wanted(const struct call_index *index, struct call_walker *w,
			    bool *is_self)
{
	if (index->wants_kernel) {
		w->lead = index->kernel;
		*is_self = leaf_is_kernel(index, w);
		if (index->options->direction == CALL_CALLEES)
			w->at = 0;
		return *is_self;
	}
	*is_self = innermost_is_wanted(index, w);
	return seek_wanted(index, w);
}

bool call_walker_start(const struct call_index *index, struct call_walker *w,
		       uint32_t sample, bool *is_self)
{
	const struct profile_sample *s = &index->p->samples[sample];
	bool inward = index->options->direction == CALL_CALLEES;
	uint32_t incomplete = stack_status_is_incomplete(s->status) ? index->incomplete
								    : PROFILE_NONE;
	uint32_t hidden;

	w->sample = sample;
	w->locations = profile_stack(index->p, s);
	w->nr_locations = s->nr_locations;
	w->stage = STAGE_ROOT;
	w->at = inward ? s->nr_locations : 0;
	w->nr_taken = 0;
	w->line = 0;
	w->lead = PROFILE_NONE;
	w->tail = inward ? PROFILE_NONE : incomplete;
	*is_self = false;
	if (inward && leaf_is_kernel(index, w))
		w->tail = index->kernel;
	if (index->options->what) {
		if (index->wants_kernel && inward)
			w->tail = PROFILE_NONE;
		return start_at_wanted(index, w, is_self);
	}
	hidden = stand_in(index, w);
	if (!inward)
		w->lead = hidden;
	else if (hidden != PROFILE_NONE)
		w->tail = hidden;
	if (inward)
		w->lead = incomplete;
	return true;
}

/* ---- one element after the other ---- */

/* A frame, with those of the same function that follow at once. */
static bool take_frames(const struct call_index *index, struct call_walker *w)
{
	const struct call_site *site = peek(index, w);
	bool is_root = w->stage == STAGE_ROOT;
	uint32_t function, first, last;

	if (!site)
		return false;
	function = site->function;
	first = last = site->line;
	w->nr_taken++;
	/* A line that was asked for is one frame: what it calls hangs below it. */
	while (!(is_root && index->wants_place) && (site = peek(index, w)) &&
	       site->function == function) {
		last = site->line;
		w->is_recursive = true;
		w->nr_taken++;
	}
	if (is_root)
		w->key = call_key_of(function, index->wants_place ? first : 0);
	else if (index->options->direction == CALL_CALLERS)
		w->key = call_key_of(function, first);
	else
		w->key = call_key_of(function, w->line);
	w->line = last;
	return true;
}

static void take_pseudo(const struct call_index *index, struct call_walker *w,
			uint32_t function)
{
	bool inward = index->options->direction == CALL_CALLEES;

	w->key = call_key_of(function, inward ? w->line : 0);
	w->line = 0;
}

void call_walker_next(const struct call_index *index, struct call_walker *w)
{
	w->is_recursive = false;
	if (w->stage == STAGE_ROOT && w->lead != PROFILE_NONE) {
		w->stage = STAGE_FRAMES;
		take_pseudo(index, w, w->lead);
		return;
	}
	if (w->stage <= STAGE_FRAMES && take_frames(index, w)) {
		w->stage = STAGE_FRAMES;
		return;
	}
	if (w->stage < STAGE_TAIL && w->tail != PROFILE_NONE) {
		w->stage = STAGE_TAIL;
		take_pseudo(index, w, w->tail);
		return;
	}
	w->stage = STAGE_DONE;
	w->key = 0;
}
