/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who calls whom, as a tree: from functions outwards to their callers, or from the
 * outermost functions (or one that was asked for) inwards to what they call. Pure:
 * profile in, nodes out.
 *
 * Inlined functions are frames like others. What an interpreter's C code, the kernel
 * and the code that starts a program or thread do is the node's from which it was
 * entered (DESIGN C9): their frames are no nodes unless asked for, but the kernel as
 * a whole is one ("[kernel]") below what entered it. A function that calls itself at
 * once is one node, marked. A node's total counts a sample once, because a path from
 * a root down is met once.
 */
#ifndef LB_ANALYZE_CALL_TREE_H
#define LB_ANALYZE_CALL_TREE_H

#include "analyze/attribution.h"
#include "base/error.h"

#define CALL_TREE_MAX_NODES (1u << 18) /* then calls are counted as cut off */
#define CALL_TREE_MAX_DEPTH 1000

/* Names of nodes that are no function. */
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
	 * or "[kernel]". NULL: CALLERS: every function that samples end in; CALLEES: what
	 * is outermost on the stacks.
	 */
	const char *what;
	bool kernel, runtime; /* frames of the kernel; of interpreters, and start code */
	double min_share; /* 0..1, of the tree: calls below are cut off */
	unsigned int max_depth; /* 1..CALL_TREE_MAX_DEPTH */
	unsigned int max_roots; /* 0: all */
};

struct call_function {
	const char *name; /* "": not known */
	const char *file; /* "" */
	const char *object; /* as attribution_function.object */
	uint32_t start_line; /* 0 not known */
};

/* Calls that are no nodes of their own. */
struct call_rest {
	uint64_t nr;
	struct weight weight;
};

struct call_node {
	uint32_t function; /* into functions */
	uint32_t parent; /* into nodes; PROFILE_NONE: a root */
	uint32_t depth; /* a root: 0 */
	/*
	 * Where the call is. CALLERS: in this function, the call of the parent node's;
	 * CALLEES: in the parent node's function, the call of this one. A root: the
	 * line that was asked for.
	 */
	const char *call_file; /* ""  not known */
	uint32_t call_line; /* 0 not known */
	bool is_recursive; /* stands for several frames, each called by the next */
	bool is_last; /* of its siblings */
	uint32_t nr_children;
	struct weight total;
	/* Samples that have nothing further in the direction of the tree. */
	struct weight ends;
	struct call_rest
		cut; /* children below min_share, or beyond CALL_TREE_MAX_NODES */
	struct weight deeper; /* samples that go on beyond max_depth */
};

struct call_tree {
	enum call_direction direction;
	const char *what; /* borrowed from the options; NULL */
	struct weight covered; /* samples that have a path in the tree */
	struct weight self; /* of those: what was asked for is the innermost frame */
	struct call_function *functions;
	size_t nr_functions;
	struct call_node
		*nodes; /* each before its children, these by total, descending */
	size_t nr_nodes;
	size_t nr_roots;
	struct call_rest cut; /* roots below min_share, or beyond max_roots */
	uint64_t nr_over_limit; /* nodes that CALL_TREE_MAX_NODES cost, part of cut */
};

/**
 * Return: 0; -ENOENT with a sentence when there is no such function or line; -ENOMEM.
 * Strings belong to the profile's pool.
 */
int call_tree_new(const struct profile *p, const struct call_tree_options *options,
		  struct call_tree **ret, struct error *err);
void call_tree_free(struct call_tree *tree);
DEFINE_CLEANUP(struct call_tree, call_tree_free);

#endif
