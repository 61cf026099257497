// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

/* Length of the bucket of a profile without times: this, if it has no CPU time either. */
#define MADE_UP_NS 1000000000u
#define ENDLESS_NS (1ULL << 62)

/* The value that a stack has in a bucket. */
struct part {
	uint32_t bucket, node;
	uint64_t value;
};

struct parts {
	struct part *items; /* heap */
	size_t nr, cap;
};

static void parts_deinit(struct parts *parts)
{
	free(parts->items);
}

void timeline_deinit(struct timeline *t)
{
	free(t->samples);
	*t = (struct timeline){0};
}

static int push_part(struct parts *parts, uint32_t bucket, uint32_t node, uint64_t value)
{
	if (vec_grow(&parts->items, &parts->cap, parts->nr + 1, sizeof(*parts->items), 0))
		return -ENOMEM;
	parts->items[parts->nr++] =
		(struct part){.bucket = bucket, .node = node, .value = value};
	return 0;
}

/* Divides the stack's value by its counts. The last part has the rest. */
static int push_parts(struct parts *parts, const struct export_stacks *s,
		      const struct placed_stack *placed)
{
	const struct export_stack *stack = placed->stack;
	const struct series_point *point = series_point(&s->times, stack->times.first);
	uint64_t value = export_value(s, stack->weight), left = value, all = 0;
	int r = 0;

	if (!point)
		return push_part(parts, 0, placed->node, value);
	for (const struct series_point *p = point; p;
	     p = series_point(&s->times, p->next))
		all += p->count;
	for (; point && !r; point = series_point(&s->times, point->next)) {
		uint64_t part = left;

		if (point->next)
			part = (uint64_t)((double)value * point->count / (double)all);
		part = part < left ? part : left;
		left -= part;
		if (part)
			r = push_part(parts, series_offset(&s->times, point->bucket),
				      placed->node, part);
	}
	return r;
}

static int compare_parts(const void *va, const void *vb)
{
	const struct part *a = va, *b = vb;

	if (a->bucket != b->bucket)
		return a->bucket < b->bucket ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

static int push_sample(struct timeline *t, uint64_t begin_ns, uint32_t node,
		       uint64_t value)
{
	if (vec_grow(&t->samples, &t->cap, t->nr + 1, sizeof(*t->samples), 0))
		return -ENOMEM;
	t->samples[t->nr++] = (struct timeline_sample){
		.begin_ns = begin_ns, .value = value, .node = node};
	return 0;
}

static uint64_t bucket_ns_of(const struct export_stacks *s)
{
	if (s->times.nr)
		return s->times.bucket_ns;
	return s->has_cpu ? ENDLESS_NS : MADE_UP_NS;
}

/*
 * Adds the parts of one bucket, which are @nr, and what follows them: nothing, unless the
 * next bucket does.
 */
static int push_bucket(struct timeline *t, const struct export_stacks *s,
		       const struct part *parts, size_t nr, bool is_followed)
{
	uint64_t bucket_ns = bucket_ns_of(s), begin_ns = parts->bucket * bucket_ns;
	double sum = 0, all = 0, scale;
	int r = 0;

	for (size_t i = 0; i < nr; i++)
		all += (double)parts[i].value;
	scale = s->has_cpu && all <= (double)bucket_ns ? 1 : (double)bucket_ns / all;
	for (size_t i = 0; i < nr && !r; i++) {
		r = push_sample(t, begin_ns + (uint64_t)(sum * scale), parts[i].node,
				parts[i].value);
		sum += (double)parts[i].value;
	}
	if (!r && !(is_followed && all * scale >= (double)bucket_ns))
		r = push_sample(t, begin_ns + (uint64_t)(sum * scale), PROFILE_NONE, 0);
	return r;
}

int timeline_new(const struct export_stacks *s, const struct stack_tree *t,
		 const struct stack_group *group, struct timeline *ret)
{
	_cleanup_(parts_deinit) struct parts parts = {0};
	_cleanup_(timeline_deinit) struct timeline line = {0};
	int r = 0;

	for (size_t i = 0; i < group->nr_stacks && !r; i++)
		r = push_parts(&parts, s, &t->stacks[group->first_stack + i]);
	qsort(parts.items, parts.nr, sizeof(*parts.items), compare_parts);
	for (size_t i = 0, nr; i < parts.nr && !r; i += nr) {
		const struct part *first = &parts.items[i];

		for (nr = 1; i + nr < parts.nr && first[nr].bucket == first->bucket; nr++)
			;
		r = push_bucket(&line, s, first, nr,
				i + nr < parts.nr &&
					first[nr].bucket == first->bucket + 1);
	}
	if (r)
		return r;
	*ret = line;
	line = (struct timeline){0};
	return 0;
}

uint64_t timeline_end_ns(const struct export_stacks *s, const struct stack_tree *t)
{
	if (s->times.nr)
		return (series_offset(&s->times, s->times.highest) + 1ULL) *
		       s->times.bucket_ns;
	return s->has_cpu ? t->groups[0].weight.cpu_ns : MADE_UP_NS;
}
