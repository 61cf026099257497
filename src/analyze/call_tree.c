// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All stacks are read side by side, one element at a time. Those whose elements are
 * equal so far are a node; they are sorted by the next element, and each run of equal
 * ones is a child. Runs below the share that matters are not read any further, so the
 * work and the memory go where the time went, and what a node says does not depend on
 * the order of the samples.
 */
#include "analyze/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/call_tree_work.h"
#include "analyze/sample_weight.h"
#include "base/vec.h"

#define LOOK_AHEAD 8 /* walkers whose stacks are fetched while others are read */

struct builder {
	const struct call_index *index;
	struct call_walker *walkers;
	size_t nr_walkers;
	struct weight least; /* of a node */
	struct call_tree *tree;
	size_t cap_nodes;
};

/* Walkers [first, end) whose next element is equal. */
struct run {
	call_key key;
	size_t first, end;
	struct weight weight;
	bool is_recursive;
};

struct runs {
	struct run *items;
	size_t nr, cap;
	struct weight ends; /* of walkers without a next element */
};

static int compare_walkers(const void *va, const void *vb)
{
	const struct call_walker *a = va, *b = vb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->sample < b->sample ? -1 : a->sample > b->sample;
}

/* Stacks are longer than caches are deep: what comes soon is fetched early. */
static void look_ahead(const struct builder *b, size_t i, size_t end)
{
	const struct call_walker *w;
	uint32_t at;

	if (i + LOOK_AHEAD >= end || !b->walkers[i + LOOK_AHEAD].nr_locations)
		return;
	w = &b->walkers[i + LOOK_AHEAD];
	at = b->index->options->direction == CALL_CALLEES && w->at ? w->at - 1 : w->at;
	__builtin_prefetch(&w->locations[at]);
}

/* Reads the next element of each and sorts them by it. */
static void read_elements(struct builder *b, size_t first, size_t end)
{
	bool all_equal = true;

	for (size_t i = first; i < end; i++) {
		look_ahead(b, i, end);
		call_walker_next(b->index, &b->walkers[i]);
		all_equal &= b->walkers[i].key == b->walkers[first].key;
	}
	if (!all_equal)
		qsort(&b->walkers[first], end - first, sizeof(*b->walkers),
		      compare_walkers);
}

static int find_runs(const struct builder *b, size_t first, size_t end, struct runs *ret)
{
	for (size_t i = first, next; i < end; i = next) {
		struct run run = {.key = b->walkers[i].key, .first = i};

		for (next = i; next < end && b->walkers[next].key == run.key; next++) {
			weight_add(&run.weight, b->walkers[next].weight);
			run.is_recursive |= b->walkers[next].is_recursive;
		}
		run.end = next;
		if (!run.key) {
			ret->ends = run.weight;
			continue;
		}
		if (vec_grow(&ret->items, &ret->cap, ret->nr + 1, sizeof(run), 0))
			return -ENOMEM;
		ret->items[ret->nr++] = run;
	}
	return 0;
}

static int compare_runs(const void *va, const void *vb, void *ctx)
{
	const struct call_index *index = ctx;
	const struct run *a = va, *b = vb;
	const struct tally_item *x, *y;
	int r = weight_compare(a->weight, b->weight);

	if (r || a->key == b->key)
		return r;
	/* Whatever order the profile has them in. */
	x = &index->functions.items[call_key_function(a->key)];
	y = &index->functions.items[call_key_function(b->key)];
	r = strcmp(tally_string(index->names.items[x->a].a),
		   tally_string(index->names.items[y->a].a));
	if (!r)
		r = strcmp(tally_string(x->b), tally_string(y->b));
	if (!r)
		r = strcmp(tally_string(index->names.items[x->a].b),
			   tally_string(index->names.items[y->a].b));
	return r ? r : (uint32_t)a->key < (uint32_t)b->key ? -1 : 1;
}

static bool is_too_small(const struct builder *b, struct weight w)
{
	return b->least.cpu_ns ? w.cpu_ns < b->least.cpu_ns
			       : w.samples < b->least.samples;
}

static uint32_t add_node(struct builder *b, const struct run *run, uint32_t parent)
{
	struct call_tree *tree = b->tree;
	uint32_t function = call_key_function(run->key);
	uint32_t place_of = function; /* whose file the line is in */
	struct call_node *node;

	if (b->index->options->direction == CALL_CALLEES && parent != PROFILE_NONE)
		place_of = tree->nodes[parent].function;
	if (vec_grow(&tree->nodes, &b->cap_nodes, tree->nr_nodes + 1, sizeof(*node), 0))
		return PROFILE_NONE;
	node = &tree->nodes[tree->nr_nodes];
	*node = (struct call_node){
		.function = function,
		.parent = parent,
		.depth = parent == PROFILE_NONE ? 0 : tree->nodes[parent].depth + 1,
		.call_file = tally_string(b->index->functions.items[place_of].b),
		.call_line = (uint32_t)run->key,
		.is_recursive = run->is_recursive,
		.total = run->weight,
	};
	return (uint32_t)tree->nr_nodes++;
}

static int build_children(struct builder *b, uint32_t parent, size_t first, size_t end);

/* The heaviest runs become nodes; the others are added up. */
static int build_nodes(struct builder *b, uint32_t parent, struct runs *runs)
{
	struct call_tree *tree = b->tree;
	unsigned int max_roots = b->index->options->max_roots;
	struct call_rest rest = {0};
	uint32_t last = PROFILE_NONE, nr = 0;

	if (runs->nr)
		qsort_r(runs->items, runs->nr, sizeof(*runs->items), compare_runs,
			(void *)b->index);
	for (size_t i = 0; i < runs->nr; i++) {
		const struct run *run = &runs->items[i];
		bool is_full = tree->nr_nodes >= CALL_TREE_MAX_NODES;
		int r;

		if (is_full || is_too_small(b, run->weight) ||
		    (parent == PROFILE_NONE && max_roots && nr >= max_roots)) {
			rest.nr++;
			weight_add(&rest.weight, run->weight);
			tree->nr_over_limit += is_full;
			continue;
		}
		last = add_node(b, run, parent);
		if (last == PROFILE_NONE)
			return -ENOMEM;
		nr++;
		r = build_children(b, last, run->first, run->end);
		if (r)
			return r;
	}
	if (last != PROFILE_NONE)
		tree->nodes[last].is_last = true;
	if (parent == PROFILE_NONE) {
		tree->cut = rest;
		tree->nr_roots = nr;
		return 0;
	}
	tree->nodes[parent].cut = rest;
	tree->nodes[parent].nr_children = nr;
	return 0;
}

static int build_children(struct builder *b, uint32_t parent, size_t first, size_t end)
{
	struct runs runs = {0};
	int r;

	read_elements(b, first, end);
	r = find_runs(b, first, end, &runs);
	if (!r && parent != PROFILE_NONE) {
		struct call_node *node = &b->tree->nodes[parent];

		node->ends = runs.ends;
		if (node->depth + 1 >= b->index->options->max_depth) {
			for (size_t i = 0; i < runs.nr; i++)
				weight_add(&node->deeper, runs.items[i].weight);
			runs.nr = 0;
		}
	}
	if (!r)
		r = build_nodes(b, parent, &runs);
	free(runs.items);
	return r;
}

static int start_walkers(struct builder *b)
{
	const struct profile *p = b->index->p;
	struct weigher weigher = weigher_of(p);

	b->walkers = calloc(p->nr_samples + 1, sizeof(*b->walkers));
	if (!b->walkers)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_samples; i++) {
		struct call_walker *w = &b->walkers[b->nr_walkers];
		bool negative = false, is_self;

		w->weight = weigher_weigh(&weigher, &p->samples[i], &negative);
		if ((!w->weight.samples && !w->weight.cpu_ns) ||
		    !call_walker_start(b->index, w, i, &is_self))
			continue;
		weight_add(&b->tree->covered, w->weight);
		if (is_self)
			weight_add(&b->tree->self, w->weight);
		b->nr_walkers++;
	}
	return 0;
}

static int copy_functions(const struct call_index *index, struct call_tree *tree)
{
	tree->functions = calloc(index->functions.nr + 1, sizeof(*tree->functions));
	if (!tree->functions)
		return -ENOMEM;
	for (size_t i = 0; i < index->functions.nr; i++) {
		const struct tally_item *item = &index->functions.items[i];
		const struct tally_item *name = &index->names.items[item->a];

		tree->functions[tree->nr_functions++] = (struct call_function){
			.name = tally_string(name->a),
			.object = tally_string(name->b),
			.file = tally_string(item->b),
			.start_line = item->tag,
		};
	}
	return 0;
}

int call_tree_new(const struct profile *p, const struct call_tree_options *options,
		  struct call_tree **ret, struct error *err)
{
	_cleanup_(call_tree_freep) struct call_tree *tree = calloc(1, sizeof(*tree));
	struct call_index index = {0};
	struct builder b = {.index = &index, .tree = tree};
	int r = -ENOMEM;

	if (!tree)
		return error_set(err, -ENOMEM, "out of memory");
	tree->direction = options->direction;
	tree->what = options->what;
	r = call_index_init(&index, p, options, err);
	if (!r)
		r = start_walkers(&b);
	if (!r) {
		b.least.samples =
			(uint64_t)(options->min_share * (double)tree->covered.samples);
		b.least.cpu_ns =
			(uint64_t)(options->min_share * (double)tree->covered.cpu_ns);
		r = build_children(&b, PROFILE_NONE, 0, b.nr_walkers);
	}
	if (!r)
		r = copy_functions(&index, tree);
	call_index_deinit(&index);
	free(b.walkers);
	if (r == -ENOMEM)
		return error_set(err, r, "out of memory");
	if (!r)
		*ret = take_ptr(tree);
	return r;
}

void call_tree_free(struct call_tree *tree)
{
	if (!tree)
		return;
	free(tree->functions);
	free(tree->nodes);
	free(tree);
}
