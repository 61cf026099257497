// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/strpool.h"
#include "base/vec.h"

#define MAX_NAME_BYTES 1024 /* longer names are cut */

struct tree_builder {
	const struct export_stacks *s;
	size_t nr_labels;
	struct stack_tree *to;
	uint32_t *path; /* nodes of the last stack, outermost first */
	size_t nr_path, cap_path;
};

static void builder_deinit(struct tree_builder *b)
{
	stack_tree_free(b->to);
	free(b->path);
}

/* Compares by address: equal texts are one string. */
static int compare_labels(const struct tree_builder *b, const struct export_stack *a,
			  const struct export_stack *other)
{
	for (size_t i = 0; i < b->nr_labels; i++)
		if (a->labels[i] != other->labels[i])
			return (uintptr_t)a->labels[i] < (uintptr_t)other->labels[i] ? -1
										     : 1;
	return 0;
}

static int compare_stacks(const void *va, const void *vb, void *ctx)
{
	const struct export_stack *a = ((const struct placed_stack *)va)->stack;
	const struct export_stack *b = ((const struct placed_stack *)vb)->stack;
	const struct tree_builder *builder = ctx;
	const uint32_t *numbers = builder->s->frame_numbers;
	int r = compare_labels(builder, a, b);

	for (uint32_t i = 0; !r && i < a->nr && i < b->nr; i++) {
		uint32_t of_a = numbers[a->first + i], of_b = numbers[b->first + i];

		r = (of_a > of_b) - (of_a < of_b);
	}
	return r ? r : (a->nr > b->nr) - (a->nr < b->nr);
}

static int compare_groups(const void *va, const void *vb)
{
	const struct stack_group *a = va, *b = vb;
	int r = weight_compare(a->weight, b->weight);

	return r ? r : strcmp(a->name, b->name);
}

static const char *title_of(const struct profile *p)
{
	char title[MAX_NAME_BYTES] = "";
	const char *program = p->nr_mappings ? p->mappings[0].filename : "";

	for (const char **arg = p->extra.command; arg && *arg; arg++)
		text_append(title, sizeof(title), "%s%s", *title ? " " : "", *arg);
	if (!*title && p->extra.target && *p->extra.target)
		text_append(title, sizeof(title), "lineburn record %s", p->extra.target);
	if (!*title)
		text_append(title, sizeof(title), "%s", object_name(program, p->pool));
	return strpool_add(p->pool, *title ? title : "lineburn");
}

static const char *name_group(const struct tree_builder *b,
			      const struct export_stack *stack, struct strpool *pool)
{
	char name[MAX_NAME_BYTES] = "";

	for (size_t i = 0; i < b->nr_labels; i++)
		if (*stack->labels[i])
			text_append(name, sizeof(name), "%s%s", *name ? ", " : "",
				    stack->labels[i]);
	return *name ? strpool_add(pool, name) : b->to->title;
}

/* Sorts the stacks into groups, the heaviest first. */
static int group_stacks(struct tree_builder *b, struct strpool *pool)
{
	struct stack_tree *to = b->to;

	to->stacks = calloc(b->s->nr_stacks + 1, sizeof(*to->stacks));
	if (!to->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < b->s->nr_stacks; i++)
		if (export_value(b->s, b->s->stacks[i].weight))
			to->stacks[to->nr_stacks++].stack = &b->s->stacks[i];
	qsort_r(to->stacks, to->nr_stacks, sizeof(*to->stacks), compare_stacks, b);
	to->groups = calloc(to->nr_stacks + 1, sizeof(*to->groups));
	if (!to->groups)
		return -ENOMEM;
	for (size_t i = 0; i < to->nr_stacks; i++) {
		const struct export_stack *stack = to->stacks[i].stack;
		struct stack_group *group;

		if (!i || compare_labels(b, to->stacks[i - 1].stack, stack))
			to->groups[to->nr_groups++] = (struct stack_group){
				.name = name_group(b, stack, pool), .first_stack = i};
		group = &to->groups[to->nr_groups - 1];
		group->nr_stacks++;
		weight_add(&group->weight, stack->weight);
	}
	qsort(to->groups, to->nr_groups, sizeof(*to->groups), compare_groups);
	return 0;
}

static int push_node(struct tree_builder *b, uint32_t frame)
{
	struct stack_tree *to = b->to;

	if (vec_grow(&to->nodes, &to->cap_nodes, to->nr_nodes + 1, sizeof(*to->nodes),
		     PROFILE_NONE) ||
	    vec_grow(&b->path, &b->cap_path, b->nr_path + 1, sizeof(*b->path), 0))
		return -ENOMEM;
	to->nodes[to->nr_nodes] = (struct stack_node){
		.parent = b->nr_path ? b->path[b->nr_path - 1] : PROFILE_NONE,
		.frame = frame,
	};
	b->path[b->nr_path++] = (uint32_t)to->nr_nodes++;
	return 0;
}

/* Adds the frames in which the stack differs from the one before. */
static int place_stack(struct tree_builder *b, struct placed_stack *placed)
{
	const struct export_stack *stack = placed->stack;
	const uint32_t *frames = &b->s->frame_numbers[stack->first];
	uint32_t same = 0;
	int r = 0;

	while (same < b->nr_path && same < stack->nr &&
	       b->to->nodes[b->path[same]].frame == frames[same])
		same++;
	b->nr_path = same;
	for (uint32_t i = same; i < stack->nr && !r; i++)
		r = push_node(b, frames[i]);
	if (r)
		return r;
	placed->node = b->path[stack->nr - 1];
	weight_add(&b->to->nodes[placed->node].self, stack->weight);
	return 0;
}

static int build(struct tree_builder *b, const struct profile *p)
{
	struct stack_tree *to = b->to = calloc(1, sizeof(*to));
	int r;

	if (!to)
		return -ENOMEM;
	to->title = title_of(p);
	r = group_stacks(b, p->pool);
	for (size_t g = 0; g < to->nr_groups && !r; g++) {
		struct stack_group *group = &to->groups[g];

		group->first_node = to->nr_nodes;
		b->nr_path = 0;
		for (size_t i = 0; i < group->nr_stacks && !r; i++)
			r = place_stack(b, &to->stacks[group->first_stack + i]);
		group->nr_nodes = to->nr_nodes - group->first_node;
	}
	return r;
}

int stack_tree_new(const struct export_input *in, const struct export_stacks *s,
		   struct stack_tree **ret, struct error *err)
{
	_cleanup_(builder_deinit) struct tree_builder b = {.s = s,
							   .nr_labels = in->nr_labels};

	if (build(&b, in->profile))
		return error_set(err, -ENOMEM, "out of memory");
	if (!b.to->nr_groups)
		return error_set(err, -EINVAL,
				 "the profile has no samples to export: record for "
				 "longer, or leave out filters");
	*ret = take_ptr(b.to);
	return 0;
}

void stack_tree_free(struct stack_tree *t)
{
	if (!t)
		return;
	free(t->nodes);
	free(t->stacks);
	free(t->groups);
	free(t);
}
