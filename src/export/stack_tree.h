/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks as trees: stacks with the same labels are a group, and share their
 * outermost frames.
 */
#ifndef LB_EXPORT_STACK_TREE_H
#define LB_EXPORT_STACK_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/tally.h"
#include "export/stacks.h"

struct stack_node {
	uint32_t parent; /* a node before this one; PROFILE_NONE: the outermost frame */
	uint32_t frame; /* of the stacks */
	struct weight self; /* of the stacks that end here */
};

struct placed_stack {
	const struct export_stack *stack;
	uint32_t node; /* its innermost frame */
};

struct stack_group {
	/* The labels' values: "python3", "1234, python3"; no labels: the title. Interned. */
	const char *name;
	size_t first_node, nr_nodes; /* > 0 */
	size_t first_stack, nr_stacks; /* > 0 */
	struct weight weight;
};

struct stack_tree {
	const char *title; /* the command, the targets or the program; interned */
	/* By group. The nodes below a node follow it. */
	struct stack_node *nodes;
	size_t nr_nodes, cap_nodes;
	struct placed_stack *stacks; /* each group's are together */
	size_t nr_stacks;
	struct stack_group *groups; /* heaviest first */
	size_t nr_groups;
};

/**
 * Makes the trees of @s. Stacks whose export_value() is 0 are left out.
 *
 * Return: 0, -EINVAL (no stack remains) or -ENOMEM, with a message.
 */
int stack_tree_new(const struct export_input *in, const struct export_stacks *s,
		   struct stack_tree **ret, struct error *err);
void stack_tree_free(struct stack_tree *t);
DEFINE_CLEANUP(struct stack_tree, stack_tree_free);

#endif
