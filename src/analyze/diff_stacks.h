/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of two sides as one tree of functions, with a figure of each side at every
 * node: what a differential flame graph shows. Functions are the same on both sides if
 * profile_diff.h takes them for the same.
 *
 * As in call_tree.h, an interpreter's C code and start code are not nodes unless they
 * may be charged, or are all that a stack has. Frames of the kernel are nodes.
 */
#ifndef LB_ANALYZE_DIFF_STACKS_H
#define LB_ANALYZE_DIFF_STACKS_H

#include "analyze/attribution.h"
#include "analyze/change.h"
#include "analyze/source.h"

#define DIFF_STACKS_MAX_NODES (1u << 20) /* of all recordings together */

struct diff_stack_function {
	const char *name, *file, *object; /* interned; "": not known */
};

struct diff_stack_node {
	uint32_t parent; /* an earlier node; PROFILE_NONE: an outermost function */
	uint32_t function;
	double value[NR_DIFF_SIDES]; /* total, as profile_diff's figures */
};

struct diff_stacks {
	struct diff_stack_function *functions;
	size_t cap_functions;
	struct tally numbers; /* (name, diff_function_place()): as functions */
	struct diff_stack_node *nodes;
	size_t nr_nodes, cap_nodes;
	/* Part of the value whose innermost functions have no node: there are too many. */
	double cut[NR_DIFF_SIDES];

	struct strpool *pool;
	struct hashmap index; /* of the nodes */
	size_t max_nodes; /* that a recording may add */
	/* What the recordings have at each node, until the figures are known. */
	struct diff_stack_end {
		uint32_t node; /* where the stack ends */
		uint16_t recording; /* of the side */
		uint8_t side;
		bool is_cut;
		struct weight weight;
	} * ends;
	size_t nr_ends, cap_ends;
};

/**
 * Returns the path under the first rule that fits, without one the path itself. Interned
 * in @pool.
 */
const char *diff_path_moved(struct strpool *pool, const struct source_path_rule *rules,
			    size_t nr, const char *path);

/**
 * Returns what tells functions of one name apart: the file, or the object if the file is
 * not known. The key of an object is that of no file.
 *
 * @path, @object  interned; @path  of AFTER
 */
static inline uint64_t diff_function_place(const char *path, const char *object)
{
	/* No string is at an address whose highest bit is set. */
	return *path ? tally_key(path) : ~tally_key(object);
}

/** @nr_recordings  of both sides. Return: 0 or -ENOMEM. */
int diff_stacks_new(struct strpool *pool, size_t nr_recordings, struct diff_stacks **ret);
void diff_stacks_free(struct diff_stacks *s);
DEFINE_CLEANUP(struct diff_stacks, diff_stacks_free);

/**
 * Adds the stacks of a recording, whose number on its side is @recording.
 *
 * @moved  by which the paths of this side change
 * Return: 0 or -ENOMEM.
 */
int diff_stacks_add(struct diff_stacks *s, enum diff_side side, uint32_t recording,
		    const struct profile *p, const struct attribution *a,
		    const struct source_path_rule *moved, size_t nr_moved);

/**
 * Sums up the values.
 *
 * @has_cpu  of weights, CPU time counts; else samples
 * @factors  by the recording of the side
 */
void diff_stacks_sum(struct diff_stacks *s, bool has_cpu,
		     const double *const factors[NR_DIFF_SIDES]);

#endif
