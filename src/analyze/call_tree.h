/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tree of calls: from functions outwards to their callers, or from the outermost
 * functions (or a requested one) inwards to their callees. Pure: profile in, nodes out.
 *
 * Inlined functions are frames like others. Samples in an interpreter's C code, the
 * kernel and start code of programs and threads belong to the node that called it.
 * Their frames are not nodes unless requested, but the kernel as a whole is one
 * ("[kernel]") below its caller. A function that calls itself directly is one marked
 * node. A node's total counts a sample once, because a sample has one path from a root.
 */
#ifndef LB_ANALYZE_CALL_TREE_H
#define LB_ANALYZE_CALL_TREE_H

#include "analyze/attribution.h"
#include "base/error.h"

#define CALL_TREE_MAX_NODES (1u << 18) /* further calls are counted as cut off */
#define CALL_TREE_MAX_DEPTH 1000

/* Names of nodes that are not functions. */
#define CALL_TREE_KERNEL     "[kernel]"
#define CALL_TREE_INCOMPLETE "[callers not known]" /* the stack is incomplete */

enum call_direction {
	CALL_NONE, /* no tree */
	CALL_CALLERS,
	CALL_CALLEES,
};

struct call_tree_options {
	enum call_direction direction;
	/*
	 * A function (all of this name; NAME_WHOLE first, see code_query.h), FILE:LINE,
	 * or "[kernel]". NULL: CALLERS: every leaf function; CALLEES: the outermost
	 * functions of the stacks.
	 */
	const char *what;
	bool kernel, runtime; /* show kernel frames; interpreter and start code */
	double min_share; /* 0..1, of the tree: smaller calls are cut off */
	unsigned int max_depth; /* 1..CALL_TREE_MAX_DEPTH */
	unsigned int max_roots; /* 0: all */
	size_t max_nodes; /* only the heaviest; 0: all */
};

struct call_function {
	const char *name; /* "": not known */
	const char *file; /* "" */
	const char *object; /* as attribution_function.object */
	uint32_t start_line; /* 0 not known */
};

/* Calls without a node. */
struct call_rest {
	uint64_t nr;
	struct weight weight;
};

struct call_node {
	uint32_t function; /* into functions */
	uint32_t parent; /* into nodes; PROFILE_NONE: a root */
	uint32_t depth; /* a root: 0 */
	/*
	 * Place of the call. CALLERS: where this function calls the parent node's;
	 * CALLEES: where the parent node's function calls this one. A root: the
	 * requested line.
	 */
	const char *call_file; /* ""  not known */
	uint32_t call_line; /* 0 not known */
	bool is_recursive; /* stands for several frames, each called by the next */
	bool is_last; /* last of its siblings */
	uint32_t nr_children;
	struct weight total;
	/* Samples whose stack ends here, in the tree's direction. */
	struct weight ends;
	struct call_rest cut; /* children below min_share, or beyond a number of nodes */
	struct weight deeper; /* samples that continue beyond max_depth */
};

struct call_tree {
	enum call_direction direction;
	const char *what; /* borrowed from the options; NULL */
	struct weight covered; /* samples with a path in the tree */
	struct weight self; /* part of covered: the requested code is innermost */
	struct call_function *functions;
	size_t nr_functions;
	/* each before its children, these by total, descending */
	struct call_node *nodes;
	size_t nr_nodes;
	struct call_rest cut; /* roots below min_share, or beyond a number of them */
	uint64_t nr_over_limit; /* nodes over CALL_TREE_MAX_NODES, part of cut */
};

/**
 * Builds the tree. Return: 0; -ENOENT with a message if there is no such function or
 * line; -ENOMEM. Strings belong to the profile's pool.
 */
int call_tree_new(const struct profile *p, const struct call_tree_options *options,
		  struct call_tree **ret, struct error *err);
void call_tree_free(struct call_tree *tree);
DEFINE_CLEANUP(struct call_tree, call_tree_free);

#endif
