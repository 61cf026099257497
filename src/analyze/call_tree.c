// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads all stacks in parallel, one element at a time. Stacks whose elements so far are
 * equal form a node. They are sorted by the next element, and each run of equal ones is
 * a child. Runs below the minimum share are not read further, so work and memory are
 * spent on hot paths only. A node does not depend on the order of the samples.
 */
#include "analyze/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code_query.h"
#include "analyze/tally.h"
#include "base/vec.h"
#include "profile/mapping_kind.h"
#include "profile/profile.h"

/* A source frame that is a node. */
struct call_site {
	uint32_t function; /* into call_index.functions */
	uint32_t line; /* 0 none */
	bool is_wanted; /* it matches the request */
};

/* One location. */
struct call_place {
	uint32_t first, nr; /* into call_index.sites, innermost first; nr 0: hidden */
	uint32_t hidden; /* the function to show if a stack has only hidden frames */
	bool is_kernel; /* and is hidden */
};

struct call_index {
	const struct profile *p;
	const struct call_tree_options *options;
	struct tally names; /* (name, object) */
	/* (name, file); tag: start line; seen: 1: has a call site */
	struct tally functions;
	struct call_site *sites;
	uint32_t nr_sites;
	struct call_place *places; /* parallel to profile.locations */
	uint32_t kernel, incomplete, nothing; /* numbers of pseudo functions */
	bool wants_place; /* the request is FILE:LINE */
	bool wants_kernel;
};

/* Key of an element: 1 + its function, and the line of the call; 0: no element. */
typedef uint64_t call_key;

static inline call_key call_key_of(uint32_t function, uint32_t line)
{
	return ((uint64_t)function + 1) << 32 | line;
}

static inline uint32_t call_key_function(call_key key)
{
	return (uint32_t)((key >> 32) - 1);
}

/* Position in one sample's stack. */
struct call_walker {
	call_key key; /* of the last element read */
	struct weight weight;
	const uint32_t *locations; /* profile_stack() of the sample */
	uint32_t nr_locations, sample;
	uint32_t at; /* CALLERS: next location; CALLEES: number of remaining ones */
	uint32_t nr_taken; /* sites already read of that location */
	uint32_t line; /* CALLEES: line at which the last frame makes its call */
	uint32_t lead, tail; /* functions: pseudo elements; PROFILE_NONE */
	uint8_t stage;
	bool is_recursive; /* the element stands for several frames */
};

/*
 * ---- facts about each address, computed once: nodes, and matches of the request ----
 */

/* One mapping. */
struct tree_object {
	enum code_kind kind;
	const char *name; /* display name; interned */
};

static bool is_hidden(const struct call_index *index, const struct profile_location *l,
		      enum code_kind kind)
{
	const struct profile *p = index->p;
	uint32_t outermost;

	if (kind == CODE_KERNEL)
		return !index->options->kernel;
	if (index->options->runtime)
		return false;
	if (kind == CODE_INTERPRETER)
		return true;
	if (!code_kind_is_native(kind) || !l->nr_lines)
		return false;
	outermost = p->lines[l->first_line + l->nr_lines - 1].function;
	return outermost != PROFILE_NONE &&
	       function_is_start_code(p->functions[outermost].name);
}

static uint32_t add_function(struct call_index *index, const char *name,
			     const char *object, const char *file, uint32_t start_line)
{
	uint32_t names = tally_number(&index->names, tally_key(name), tally_key(object));
	uint32_t function;

	if (names == PROFILE_NONE)
		return PROFILE_NONE;
	function = tally_number(&index->functions, names, tally_key(file));
	if (function != PROFILE_NONE && !index->functions.items[function].tag)
		index->functions.items[function].tag = start_line;
	return function;
}

/* Adds a pseudo function; @name need not be interned. */
static uint32_t add_pseudo(struct call_index *index, const char *name)
{
	struct strpool *pool = index->p->pool;
	const char *empty = strpool_add(pool, "");

	return add_function(index, strpool_add(pool, name), empty, empty, 0);
}

static uint32_t add_interpreter(struct call_index *index, const char *object)
{
	char name[256];

	snprintf(name, sizeof(name), "[%s]", object);
	return add_pseudo(index, name);
}

static uint32_t function_of_line(struct call_index *index, uint32_t function,
				 const char *object)
{
	const struct profile_function *f;

	if (function == PROFILE_NONE) {
		const char *empty = strpool_add(index->p->pool, "");

		return add_function(index, empty, object, empty, 0);
	}
	f = &index->p->functions[function];
	return add_function(index, f->name, object, f->filename, f->start_line);
}

static int add_sites(struct call_index *index, const struct profile_location *l,
		     const struct tree_object *object, struct call_place *place)
{
	const struct profile *p = index->p;

	for (uint32_t i = 0; i < l->nr_lines || !i; i++) {
		struct profile_line line = {.function = PROFILE_NONE};
		struct call_site *site = &index->sites[index->nr_sites++];

		if (l->nr_lines)
			line = p->lines[l->first_line + i];
		*site = (struct call_site){
			.function = function_of_line(index, line.function, object->name),
			.line = line.line};
		if (site->function == PROFILE_NONE)
			return -ENOMEM;
		index->functions.items[site->function].seen = 1;
		place->nr++;
	}
	return 0;
}

static int add_place(struct call_index *index, const struct profile_location *l,
		     const struct tree_object *object, struct call_place *place)
{
	const struct profile *p = index->p;

	place->first = index->nr_sites;
	if (!is_hidden(index, l, object->kind))
		return add_sites(index, l, object, place);
	place->is_kernel = object->kind == CODE_KERNEL;
	if (place->is_kernel)
		place->hidden = index->kernel;
	else if (object->kind == CODE_INTERPRETER)
		place->hidden = add_interpreter(index, object->name);
	else
		place->hidden = function_of_line(index, p->lines[l->first_line].function,
						 object->name);
	return place->hidden == PROFILE_NONE ? -ENOMEM : 0;
}

static int add_places(struct call_index *index)
{
	const struct profile *p = index->p;
	_cleanup_free_ struct tree_object *objects =
		calloc(p->nr_mappings + 1, sizeof(*objects));
	int r = objects ? 0 : -ENOMEM;

	for (size_t i = 0; i <= p->nr_mappings && !r; i++) {
		const char *file = i < p->nr_mappings ? p->mappings[i].filename : "";

		objects[i] = (struct tree_object){mapping_kind(p, i),
						  object_name(file, p->pool)};
	}
	for (size_t i = 0; i < p->nr_locations && !r; i++) {
		const struct profile_location *l = &p->locations[i];
		size_t object = l->mapping == PROFILE_NONE ? p->nr_mappings : l->mapping;

		r = add_place(index, l, &objects[object], &index->places[i]);
	}
	return r;
}

static const char *function_name(const struct call_index *index, uint32_t function)
{
	return tally_string(index->names.items[index->functions.items[function].a].a);
}

static const char *function_file(const struct call_index *index, uint32_t function)
{
	return tally_string(index->functions.items[function].b);
}

static int want_place(struct call_index *index, const struct code_place *place,
		      struct error *err)
{
	_cleanup_free_ bool *is_in = calloc(index->functions.nr + 1, sizeof(*is_in));
	bool found = false;

	if (!is_in)
		return -ENOMEM;
	for (uint32_t i = 0; i < index->functions.nr; i++)
		is_in[i] = code_place_is_in(place, function_file(index, i));
	for (size_t i = 0; i < index->nr_sites; i++) {
		struct call_site *site = &index->sites[i];

		site->is_wanted = site->line == place->line && is_in[site->function];
		found |= site->is_wanted;
	}
	if (found)
		return 0;
	return error_set(err, -ENOENT,
			 "line %u of a file that ends in \"%.*s\" is on no stack of this "
			 "profile",
			 place->line, (int)place->file_len, place->file);
}

static int want_function(struct call_index *index, const char *what, struct error *err)
{
	_cleanup_free_ bool *is_wanted =
		calloc(index->functions.nr + 1, sizeof(*is_wanted));
	bool found = false;

	if (!is_wanted)
		return -ENOMEM;
	for (int step = 0; step < NR_NAME_STEPS && !found; step++)
		for (uint32_t i = 0; i < index->functions.nr; i++) {
			is_wanted[i] = index->functions.items[i].seen &&
				       name_matches(function_name(index, i), what,
						    (enum name_step)step);
			found |= is_wanted[i];
		}
	for (size_t i = 0; i < index->nr_sites; i++)
		index->sites[i].is_wanted = is_wanted[index->sites[i].function];
	if (found)
		return 0;
	return error_set(
		err, -ENOENT,
		"no function on the stacks of this profile has \"%.200s\" in its "
		"name; \"lineburn report\" lists them",
		what);
}

static int want(struct call_index *index, const char *what, struct error *err)
{
	struct code_place place;

	if (!what)
		return 0;
	if (!strcmp(what, CALL_TREE_KERNEL) && !index->options->kernel) {
		index->wants_kernel = true;
		return 0;
	}
	index->wants_place = code_place_parse(what, &place);
	return index->wants_place ? want_place(index, &place, err)
				  : want_function(index, what, err);
}

/** Return: 0; -ENOENT with a message if no function or line matches; -ENOMEM. */
static int call_index_init(struct call_index *index, const struct profile *p,
			   const struct call_tree_options *options, struct error *err)
{
	int r;

	*index = (struct call_index){.p = p, .options = options};
	index->sites = calloc(p->nr_lines + p->nr_locations + 1, sizeof(*index->sites));
	index->places = calloc(p->nr_locations + 1, sizeof(*index->places));
	index->kernel = add_pseudo(index, CALL_TREE_KERNEL);
	index->incomplete = add_pseudo(index, CALL_TREE_INCOMPLETE);
	index->nothing = add_pseudo(index, "");
	if (!index->sites || !index->places || index->kernel == PROFILE_NONE ||
	    index->incomplete == PROFILE_NONE || index->nothing == PROFILE_NONE)
		return -ENOMEM;
	r = add_places(index);
	return r ? r : want(index, options->what, err);
}

static void call_index_deinit(struct call_index *index)
{
	tally_deinit(&index->names);
	tally_deinit(&index->functions);
	free(index->sites);
	free(index->places);
}

/* Reads a stack as the sequence of elements of its path in a call tree. */

enum stage {
	STAGE_ROOT, /* nothing read yet */
	STAGE_FRAMES,
	STAGE_TAIL,
	STAGE_DONE,
};

/* ---- frames, in the tree's direction ---- */

static const struct call_site *peek(const struct call_index *index, struct call_walker *w)
{
	bool inward = index->options->direction == CALL_CALLEES;

	while (w->at != (inward ? 0 : w->nr_locations)) {
		const struct call_place *place =
			&index->places[w->locations[inward ? w->at - 1 : w->at]];
		uint32_t taken = w->nr_taken;

		if (taken < place->nr)
			return &index->sites[place->first +
					     (inward ? place->nr - 1 - taken : taken)];
		w->at = inward ? w->at - 1 : w->at + 1;
		w->nr_taken = 0;
	}
	return NULL;
}

/* ---- the first element ---- */

/* Advances to the first requested frame. Return: false if there is none. */
static bool seek_wanted(const struct call_index *index, struct call_walker *w)
{
	const struct call_site *site;

	for (; (site = peek(index, w)); w->nr_taken++)
		if (site->is_wanted)
			return true;
	return false;
}

/* Returns the innermost function if all frames are hidden. */
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

/* Does the innermost visible frame match the request? */
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

/**
 * Begins with a sample's stack; its weight is already set.
 *
 * @is_self  set if the requested code is the innermost frame
 * Return: false if the stack does not contain the requested code.
 */
static bool call_walker_start(const struct call_index *index, struct call_walker *w,
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

/* ---- the next element ---- */

/* Takes a frame, and directly following ones of the same function. */
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
	/*
	 * A requested line is one frame; frames of the same function below it are
	 * callees.
	 */
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

/** Reads the next element into walker->key; 0 at the end. */
static void call_walker_next(const struct call_index *index, struct call_walker *w)
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

#define LOOK_AHEAD 8 /* walkers whose stacks are prefetched */

struct builder {
	const struct call_index *index;
	struct call_walker *walkers;
	size_t nr_walkers;
	struct weight least; /* minimum weight of a node */
	struct call_tree *tree;
	size_t cap_nodes;
};

/* Walkers [first, end) with an equal next element. */
struct frame_run {
	call_key key;
	size_t first, end;
	struct weight weight;
	bool is_recursive;
};

struct runs {
	struct frame_run *items;
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

/* Prefetches stacks, because they are larger than caches. */
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

/* Reads the next element of each walker and sorts the walkers by it. */
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
		struct frame_run run = {.key = b->walkers[i].key, .first = i};

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
	const struct frame_run *a = va, *b = vb;
	const struct tally_item *x, *y;
	int r = weight_compare(a->weight, b->weight);

	if (r || a->key == b->key)
		return r;
	/* For a result that does not depend on the profile's order. */
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

static uint32_t add_node(struct builder *b, const struct frame_run *run, uint32_t parent)
{
	struct call_tree *tree = b->tree;
	uint32_t function = call_key_function(run->key);
	uint32_t place_of = function; /* the function whose file has the line */
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

/* Makes nodes of the heaviest runs and sums up the others. */
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
		const struct frame_run *run = &runs->items[i];
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
		bool is_self;

		w->weight = weigher_weigh(&weigher, &p->samples[i]);
		if (weight_is_zero(&w->weight) ||
		    !call_walker_start(b->index, w, i, &is_self))
			continue;
		weight_add(&b->tree->covered, w->weight);
		if (is_self)
			weight_add(&b->tree->self, w->weight);
		b->nr_walkers++;
	}
	return 0;
}

/* The heaviest first. A node is before its children, which are not heavier. */
static int compare_nodes(const void *va, const void *vb, void *nodes)
{
	const struct call_node *a = (struct call_node *)nodes + *(const uint32_t *)va;
	const struct call_node *b = (struct call_node *)nodes + *(const uint32_t *)vb;
	int order = weight_compare(a->total, b->total);

	return order ? order : (a > b) - (a < b);
}

/*
 * Makes a dropped node part of what its parent, or the tree, cuts off. The weight of a
 * parent that was dropped includes it.
 */
static void cut_off(struct call_tree *tree, const struct call_node *n,
		    const uint32_t *new_index)
{
	struct call_rest *cut = &tree->cut;

	if (n->parent != PROFILE_NONE) {
		struct call_node *parent;

		if (new_index[n->parent] == PROFILE_NONE)
			return;
		parent = &tree->nodes[new_index[n->parent]];
		parent->nr_children--;
		cut = &parent->cut;
	}
	cut->nr++;
	weight_add(&cut->weight, n->total);
}

/* Keeps the nodes that have a new index, sets that, and the marks of last siblings. */
static void drop_others(struct call_tree *tree, uint32_t *new_index, uint32_t *last_child)
{
	uint32_t nr = 0;

	memset(last_child, 0, (tree->nr_nodes + 1) * sizeof(*last_child));
	for (size_t i = 0; i < tree->nr_nodes; i++) {
		struct call_node n = tree->nodes[i];

		if (new_index[i] == PROFILE_NONE) {
			cut_off(tree, &n, new_index);
			continue;
		}
		n.parent = n.parent == PROFILE_NONE ? n.parent : new_index[n.parent];
		n.is_last = false;
		tree->nodes[nr] = n;
		new_index[i] = nr++;
		last_child[n.parent == PROFILE_NONE ? 0 : n.parent + 1] = nr;
	}
	for (size_t i = 0; i <= nr; i++)
		if (last_child[i])
			tree->nodes[last_child[i] - 1].is_last = true;
	tree->nr_nodes = nr;
}

/* Keeps the @max heaviest nodes, which are a tree again. */
static int keep_heaviest(struct call_tree *tree, size_t max)
{
	_cleanup_free_ uint32_t *order = calloc(tree->nr_nodes + 1, sizeof(*order));
	_cleanup_free_ uint32_t *new_index = calloc(tree->nr_nodes + 1, sizeof(*order));

	if (!order || !new_index)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		order[i] = i;
		new_index[i] = PROFILE_NONE;
	}
	qsort_r(order, tree->nr_nodes, sizeof(*order), compare_nodes, tree->nodes);
	for (size_t i = 0; i < max; i++)
		new_index[order[i]] = 0;
	drop_others(tree, new_index, order);
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
	if (!r && options->max_nodes && options->max_nodes < tree->nr_nodes)
		r = keep_heaviest(tree, options->max_nodes);
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
