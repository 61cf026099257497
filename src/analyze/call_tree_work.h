/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the steps of building a call tree share; only call_tree*.c include it.
 *
 * A stack is read as a row of elements, one for each node on its path:
 *
 *	CALLERS  [kernel]? frames, leaf first ... [callers not known]?
 *	CALLEES  [callers not known]? frames, outermost first ... [kernel]?
 */
#ifndef LB_ANALYZE_CALL_TREE_WORK_H
#define LB_ANALYZE_CALL_TREE_WORK_H

#include "analyze/call_tree.h"
#include "analyze/tally.h"

/* One source frame that is a node. */
struct call_site {
	uint32_t function; /* into call_index.functions */
	uint32_t line; /* 0 none */
	bool is_wanted; /* it is what was asked for */
};

/* One location. */
struct call_place {
	uint32_t first, nr; /* into call_index.sites, innermost first; nr 0: hidden */
	uint32_t hidden; /* the function that stands for a stack of hidden frames only */
	bool is_kernel; /* and hidden */
};

struct call_index {
	const struct profile *p;
	const struct call_tree_options *options;
	struct tally names; /* (name, object) */
	struct tally functions; /* (name, file); tag: start line; seen: some site's */
	struct call_site *sites;
	uint32_t nr_sites;
	struct call_place *places; /* parallel to profile.locations */
	uint32_t kernel, incomplete, nothing; /* functions: pseudo ones */
	bool wants_place; /* what is FILE:LINE */
	bool wants_kernel;
};

/** Return: 0; -ENOENT with a sentence: there is nothing of that name; -ENOMEM. */
int call_index_init(struct call_index *index, const struct profile *p,
		    const struct call_tree_options *options, struct error *err);
void call_index_deinit(struct call_index *index);

/* Of an element: 1 + its function, and the line of the call; 0: there is none. */
typedef uint64_t call_key;

static inline call_key call_key_of(uint32_t function, uint32_t line)
{
	return ((uint64_t)function + 1) << 32 | line;
}

static inline uint32_t call_key_function(call_key key)
{
	return (uint32_t)((key >> 32) - 1);
}

/* Where the reading of one sample's stack is. */
struct call_walker {
	call_key key; /* of the element that was read last */
	struct weight weight;
	const uint32_t *locations; /* profile_stack() of the sample */
	uint32_t nr_locations, sample;
	uint32_t at; /* CALLERS: next location; CALLEES: number of those still to come */
	uint32_t nr_taken; /* sites of that location that were read */
	uint32_t line; /* CALLEES: where the frame read last makes its call */
	uint32_t lead, tail; /* functions: pseudo elements; PROFILE_NONE */
	uint8_t stage;
	bool is_recursive; /* the element stands for several frames */
};

/**
 * Begins with a sample's stack; its weight is set already.
 * @is_self  set when what was asked for is the innermost frame
 * Return: false when the stack has nothing of what was asked for.
 */
bool call_walker_start(const struct call_index *index, struct call_walker *walker,
		       uint32_t sample, bool *is_self);

/** Reads the next element into walker->key; 0 at the end. */
void call_walker_next(const struct call_index *index, struct call_walker *walker);

#endif
