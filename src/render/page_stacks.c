// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/page_stacks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "profile/mapping_kind.h"

#define MAX_BUCKETS (1u << 14) /* of time */

/* What a mapping tells about its code; one more for code without a mapping. */
struct page_mapping {
	const char *object;
	enum code_kind kind;
	bool is_library;
};

struct page_builder {
	const struct profile *p;
	const struct attribution *a;
	struct page_stacks *to;
	struct page_mapping *mappings;
	struct tally paths; /* (path, 0): numbered as to->paths */
	struct tally names; /* (function name, number in paths or PROFILE_NONE) */
	struct tally functions; /* (number in names, object): as to->functions */
	struct hashmap frame_index, node_index, sample_index;
	/* By line of the profile, twice: its frame + 1 if its number counts; if not. */
	uint32_t *frame_of[2];
	uint32_t *nameless_of; /* frame + 1 of a location without lines */
	size_t max_nodes, max_frames;
};

static void page_builder_deinit(struct page_builder *b)
{
	page_stacks_free(b->to);
	free(b->mappings);
	tally_deinit(&b->paths);
	tally_deinit(&b->names);
	tally_deinit(&b->functions);
	hashmap_deinit(&b->frame_index);
	hashmap_deinit(&b->node_index);
	hashmap_deinit(&b->sample_index);
	free(b->frame_of[0]);
	free(b->frame_of[1]);
	free(b->nameless_of);
}

/* ---- functions and frames; each returns an index, or PROFILE_NONE: out of memory ---- */

static enum page_kind kind_of(const struct page_mapping *m, bool is_library)
{
	switch (m->kind) {
	case CODE_KERNEL:
		return PAGE_KERNEL;
	case CODE_JIT:
		return PAGE_JIT;
	case CODE_PYTHON:
		return PAGE_PYTHON;
	default:
		return is_library ? PAGE_LIBRARY : PAGE_YOURS;
	}
}

static void describe(const struct page_builder *b, const struct page_mapping *m,
		     const char *path, struct page_function *f)
{
	const struct attribution_options *options = &b->a->options;

	f->is_library = m->is_library || (*path && source_is_library(path));
	f->kind = kind_of(m, f->is_library);
	f->is_passive = (m->kind == CODE_KERNEL && !options->kernel) ||
			(m->kind == CODE_INTERPRETER && !options->runtime);
	f->is_start = code_kind_is_native(m->kind) && !options->runtime &&
		      function_is_start_code(f->name);
}

static uint32_t function_number(struct page_builder *b, const char *name,
				const char *path, uint32_t start_line,
				const struct page_mapping *m)
{
	struct page_stacks *to = b->to;
	struct page_function f = {
		.name = name, .object = m->object, .start_line = start_line};
	uint32_t number;

	f.file = *path ? tally_number(&b->paths, tally_key(path), 0) : PROFILE_NONE;
	if (*path && f.file == PROFILE_NONE)
		return PROFILE_NONE;
	number = tally_number(&b->names, tally_key(name), f.file);
	if (number != PROFILE_NONE)
		number = tally_number(&b->functions, number, tally_key(m->object));
	if (number == PROFILE_NONE || number < to->nr_functions)
		return number;
	if (vec_grow(&to->functions, &to->cap_functions, to->nr_functions + 1,
		     sizeof(*to->functions), HASHMAP_NONE))
		return PROFILE_NONE;
	describe(b, m, path, &f);
	to->functions[to->nr_functions++] = f;
	return number;
}

static bool is_frame(uint32_t item, const void *key, const void *ctx)
{
	const struct page_frame *a = &((const struct page_stacks *)ctx)->frames[item];
	const struct page_frame *b = key;

	return a->function == b->function && a->line == b->line &&
	       a->is_inlined == b->is_inlined;
}

static uint32_t frame_number(struct page_builder *b, const struct page_frame *frame)
{
	struct page_stacks *to = b->to;
	uint64_t hash = hash_u64(((uint64_t)frame->function << 1) | frame->is_inlined,
				 frame->line);
	uint32_t number;

	if (frame->function == PROFILE_NONE)
		return PROFILE_NONE;
	number = hashmap_get(&b->frame_index, hash, is_frame, frame, to);
	if (number != HASHMAP_NONE)
		return number;
	number = (uint32_t)to->nr_frames;
	if (vec_grow(&to->frames, &to->cap_frames, to->nr_frames + 1, sizeof(*to->frames),
		     HASHMAP_NONE) ||
	    hashmap_add(&b->frame_index, hash, number))
		return PROFILE_NONE;
	to->frames[to->nr_frames++] = *frame;
	return number;
}

static const struct page_mapping *mapping_of(const struct page_builder *b,
					     const struct profile_location *l)
{
	return &b->mappings[l->mapping == PROFILE_NONE ? b->p->nr_mappings : l->mapping];
}

/* @k  of the location's lines */
static uint32_t frame_of_line(struct page_builder *b, const struct profile_location *l,
			      uint32_t k, bool counts)
{
	const struct profile_line *line = &b->p->lines[l->first_line + k];
	const struct profile_function *f = &b->p->functions[line->function];
	uint32_t *known = &b->frame_of[counts][l->first_line + k];
	struct page_frame frame = {.line = counts ? line->line : 0,
				   .is_inlined = k + 1 < l->nr_lines};

	if (*known)
		return *known - 1;
	frame.function =
		function_number(b, f->name, f->filename, f->start_line, mapping_of(b, l));
	*known = frame_number(b, &frame) + 1;
	return *known - 1;
}

static uint32_t nameless_frame(struct page_builder *b, const struct page_mapping *m)
{
	const char *none = strpool_add(b->p->pool, "");
	const struct page_frame frame = {
		.function = function_number(b, none, none, 0, m)};

	return frame_number(b, &frame);
}

/* @name  PAGE_CUT, PAGE_DROPPED */
static uint32_t stand_in_frame(struct page_builder *b, const char *name)
{
	static const struct page_mapping none = {.object = "", .kind = CODE_UNKNOWN};
	struct strpool *pool = b->p->pool;
	const struct page_frame frame = {
		.function = function_number(b, strpool_add(pool, name),
					    strpool_add(pool, ""), 0, &none)};

	return frame_number(b, &frame);
}

/* ---- the tree ---- */

static bool is_node(uint32_t item, const void *key, const void *ctx)
{
	const struct page_node *a = &((const struct page_stacks *)ctx)->nodes[item];
	const struct page_node *b = key;

	return a->parent == b->parent && a->frame == b->frame;
}

/* Moves @at, the innermost node so far, to its child. Return: 0 or -ENOMEM. */
static int descend(struct page_builder *b, uint32_t *at, uint32_t frame)
{
	struct page_stacks *to = b->to;
	const struct page_node node = {*at, frame};
	uint64_t hash = hash_u64(0, (uint64_t)*at << 32 | frame);
	uint32_t number;

	if (frame == PROFILE_NONE)
		return -ENOMEM;
	number = hashmap_get(&b->node_index, hash, is_node, &node, to);
	if (number == HASHMAP_NONE) {
		number = (uint32_t)to->nr_nodes;
		if (vec_grow(&to->nodes, &to->cap_nodes, to->nr_nodes + 1,
			     sizeof(*to->nodes), HASHMAP_NONE) ||
		    hashmap_add(&b->node_index, hash, number))
			return -ENOMEM;
		to->nodes[to->nr_nodes++] = node;
	}
	*at = number;
	return 0;
}

/* A walk over one stack, from the outermost frame. */
struct html_walk {
	const struct attribution_charge *charge;
	uint32_t index; /* of the location; 0: the innermost */
	bool in_line; /* a line that counts was passed */
	bool is_whole; /* else only the charged frame, or the innermost */
	uint32_t node, charged;
};

static bool counts(const struct page_builder *b, const struct html_walk *w,
		   const struct profile_location *l, uint32_t k)
{
	return line_counts(b->a->line_uses[l->first_line + k], !w->index && !k,
			   w->charge->with_last);
}

static bool has_line(const struct page_builder *b, const struct html_walk *w,
		     const struct profile_location *l)
{
	for (uint32_t k = 0; k < l->nr_lines; k++)
		if (counts(b, w, l, k))
			return true;
	return false;
}

/* Is it the frame that stays when callers are left out? */
static bool is_kept(const struct html_walk *w, uint32_t k)
{
	return w->charge->frame == PROFILE_NONE
		       ? !w->index && !k
		       : w->index == w->charge->frame && k == w->charge->line;
}

static int walk_location(struct page_builder *b, struct html_walk *w, uint32_t location)
{
	const struct profile_location *l = &b->p->locations[location];
	const struct page_mapping *m = mapping_of(b, l);
	int r = 0;

	if (has_line(b, w, l))
		w->in_line = true;
	else if (w->in_line && m->kind == CODE_INTERPRETER)
		return 0;
	if (!l->nr_lines && (w->is_whole || is_kept(w, 0))) {
		uint32_t *known = &b->nameless_of[location];

		if (!*known)
			*known = nameless_frame(b, m) + 1;
		return descend(b, &w->node, *known - 1);
	}
	for (uint32_t k = l->nr_lines; k-- > 0 && !r;) {
		if (b->p->lines[l->first_line + k].function == PROFILE_NONE ||
		    !(w->is_whole || is_kept(w, k)))
			continue;
		r = descend(b, &w->node, frame_of_line(b, l, k, counts(b, w, l, k)));
		if (w->index == w->charge->frame && k == w->charge->line)
			w->charged = w->node;
	}
	return r;
}

static int compare_numbers(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_stacks(const struct page_sample *a, const struct page_sample *b)
{
	int r = compare_numbers(a->node, b->node);

	if (!r)
		r = compare_numbers(a->charged, b->charged);
	return r ? r : compare_numbers(a->labels, b->labels);
}

static int compare_samples(const void *va, const void *vb)
{
	const struct page_sample *a = va, *b = vb;
	int r = compare_stacks(a, b);

	return r ? r : compare_numbers(a->bucket, b->bucket);
}

static bool is_sample(uint32_t item, const void *key, const void *ctx)
{
	const struct page_sample *a = &((const struct page_stacks *)ctx)->samples[item];
	const struct page_sample *b = key;

	return !compare_samples(a, b);
}

static int add_sample(struct page_builder *b, const struct page_sample *s)
{
	struct page_stacks *to = b->to;
	uint64_t hash = hash_u64(hash_u64(s->node, s->charged),
				 (uint64_t)s->labels << 32 | s->bucket);
	uint32_t number;

	if (weight_is_zero(&s->weight))
		return 0;
	number = hashmap_get(&b->sample_index, hash, is_sample, s, to);
	if (number != HASHMAP_NONE) {
		weight_add(&to->samples[number].weight, s->weight);
		return 0;
	}
	if (vec_grow(&to->samples, &to->cap_samples, to->nr_samples + 1,
		     sizeof(*to->samples), HASHMAP_NONE) ||
	    hashmap_add(&b->sample_index, hash, (uint32_t)to->nr_samples))
		return -ENOMEM;
	to->samples[to->nr_samples++] = *s;
	return 0;
}

/* The part of @whole that the first @passed of @all samples have. */
static struct weight part_of(struct weight whole, uint64_t passed, uint64_t all)
{
	double part = (double)passed / (double)all;

	if (passed == all)
		return whole;
	return (struct weight){(uint64_t)llround((double)whole.samples * part),
			       (uint64_t)llround((double)whole.cpu_ns * part)};
}

/*
 * Adds what a sample of the profile has in each bucket of time. The parts add up to the
 * whole, and are those of analyze/time_filter.h but for rounding.
 */
static int add_parts(struct page_builder *b, const struct profile_sample *from,
		     struct page_sample s)
{
	const struct series *times = &b->p->times;
	const struct series_point *first = NULL;
	struct weight whole = s.weight, before = {0};
	uint64_t all = 0, passed = 0;
	int r = 0;

	if (b->to->bucket_ns)
		first = series_point(times, from->times.first);
	if (!first)
		return add_sample(b, &s);
	for (const struct series_point *at = first; at;
	     at = series_point(times, at->next))
		all += at->count;
	for (const struct series_point *at = first; at && !r;
	     at = series_point(times, at->next)) {
		struct weight until;

		passed += at->count;
		until = part_of(whole, passed, all);
		s.bucket = series_offset(times, at->bucket) + 1;
		s.weight.samples = until.samples - before.samples;
		s.weight.cpu_ns = until.cpu_ns - before.cpu_ns;
		r = add_sample(b, &s);
		before = until;
	}
	return r;
}

/* Returns how many nodes a stack needs at most. */
static size_t nr_frames_of(const struct profile *p, const struct profile_sample *s)
{
	const uint32_t *locations = profile_stack(p, s);
	size_t nr = 0;

	for (uint32_t i = 0; i < s->nr_locations; i++) {
		uint32_t nr_lines = p->locations[locations[i]].nr_lines;

		nr += nr_lines ? nr_lines : 1;
	}
	return nr;
}

static int walk_stack(struct page_builder *b, size_t index, uint32_t labels,
		      struct weight weight)
{
	const struct profile_sample *s = &b->p->samples[index];
	const uint32_t *locations = profile_stack(b->p, s);
	size_t nr_frames = nr_frames_of(b->p, s);
	struct html_walk w = {
		.charge = &b->a->charges[index],
		/* Nothing can be left out of a stack of one frame. */
		.is_whole = b->to->nr_nodes + nr_frames <= b->max_nodes || nr_frames < 2,
		.node = PROFILE_NONE,
		.charged = PROFILE_NONE,
	};
	bool is_dropped = b->to->nr_frames >= b->max_frames;
	int r = 0;

	if (is_dropped)
		r = descend(b, &w.node, stand_in_frame(b, PAGE_DROPPED));
	else if (!w.is_whole)
		r = descend(b, &w.node, stand_in_frame(b, PAGE_CUT));
	for (uint32_t i = s->nr_locations; i-- > 0 && !r && !is_dropped;) {
		w.index = i;
		r = walk_location(b, &w, locations[i]);
	}
	/* A stack without frames, or without any that is named. */
	if (!r && w.node == PROFILE_NONE)
		r = descend(b, &w.node,
			    nameless_frame(b, &b->mappings[b->p->nr_mappings]));
	if (is_dropped)
		weight_add(&b->to->dropped, weight);
	else if (!w.is_whole)
		weight_add(&b->to->cut, weight);
	return r ? r
		 : add_parts(b, s,
			     (struct page_sample){.node = w.node,
						  .charged = w.charged,
						  .labels = labels,
						  .weight = weight});
}

/* ---- the order of samples ---- */

struct page_heavy {
	struct weight weight;
	uint32_t sample;
};

static int heaviest_first(const void *va, const void *vb)
{
	const struct page_heavy *a = va, *b = vb;
	int r = weight_compare(a->weight, b->weight);

	return r ? r : (a->sample > b->sample) - (a->sample < b->sample);
}

static int walk_stacks(struct page_builder *b, const uint32_t *labels)
{
	const struct profile *p = b->p;
	struct weigher weigher = weigher_of(p);
	_cleanup_free_ struct page_heavy *all = calloc(p->nr_samples + 1, sizeof(*all));
	int r = all ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < p->nr_samples && !r; i++)
		all[i] = (struct page_heavy){weigher_weigh(&weigher, &p->samples[i]), i};
	if (!r)
		qsort(all, p->nr_samples, sizeof(*all), heaviest_first);
	for (size_t i = 0; i < p->nr_samples && !r; i++)
		if (!weight_is_zero(&all[i].weight))
			r = walk_stack(b, all[i].sample, labels[all[i].sample],
				       all[i].weight);
	return r;
}

/* ---- times ---- */

bool page_sample_repeats(const struct page_stacks *s, size_t sample)
{
	return sample && !compare_stacks(&s->samples[sample - 1], &s->samples[sample]);
}

static size_t count_repeats(const struct page_stacks *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_samples; i++)
		nr += page_sample_repeats(s, i);
	return nr;
}

/* Doubles the length of all buckets. */
static void coarsen(struct page_stacks *s)
{
	size_t nr = 0;

	s->bucket_ns *= 2;
	for (size_t i = 0; i < s->nr_samples; i++) {
		struct page_sample at = s->samples[i];

		at.bucket = (at.bucket + 1) / 2;
		if (nr && !compare_samples(&s->samples[nr - 1], &at))
			weight_add(&s->samples[nr - 1].weight, at.weight);
		else
			s->samples[nr++] = at;
	}
	s->nr_samples = nr;
}

static void sort_samples(struct page_stacks *s, size_t max_repeats)
{
	if (s->nr_samples)
		qsort(s->samples, s->nr_samples, sizeof(*s->samples), compare_samples);
	for (uint32_t nr = MAX_BUCKETS; nr > 1 && count_repeats(s) > max_repeats; nr /= 2)
		coarsen(s);
}

/* ---- all of it ---- */

static int add_paths(struct page_builder *b)
{
	for (size_t i = 0; i < b->a->nr_files; i++)
		if (tally_number(&b->paths, tally_key(b->a->files[i].path), 0) ==
		    PROFILE_NONE)
			return -ENOMEM;
	return 0;
}

static int take_paths(struct page_builder *b)
{
	struct page_stacks *to = b->to;

	to->paths = calloc(b->paths.nr + 1, sizeof(*to->paths));
	if (!to->paths)
		return -ENOMEM;
	for (; to->nr_paths < b->paths.nr; to->nr_paths++)
		to->paths[to->nr_paths] = tally_string(b->paths.items[to->nr_paths].a);
	return 0;
}

static int page_builder_init(struct page_builder *b)
{
	const struct profile *p = b->p;

	b->to = calloc(1, sizeof(*b->to));
	b->mappings = calloc(p->nr_mappings + 1, sizeof(*b->mappings));
	b->frame_of[0] = calloc(p->nr_lines + 1, sizeof(*b->frame_of[0]));
	b->frame_of[1] = calloc(p->nr_lines + 1, sizeof(*b->frame_of[1]));
	b->nameless_of = calloc(p->nr_locations + 1, sizeof(*b->nameless_of));
	if (!b->to || !b->mappings || !b->frame_of[0] || !b->frame_of[1] ||
	    !b->nameless_of)
		return -ENOMEM;
	/* A file may claim that it was recorded for years. */
	if (p->times.nr && series_offset(&p->times, p->times.highest) < MAX_BUCKETS)
		b->to->bucket_ns = p->times.bucket_ns;
	for (size_t i = 0; i <= p->nr_mappings; i++) {
		const char *name = i < p->nr_mappings ? p->mappings[i].filename : "";
		struct page_mapping *m = &b->mappings[i];

		m->kind = mapping_kind(p, i);
		m->object = object_name(name, p->pool);
		m->is_library = m->kind == CODE_INTERPRETER ||
				m->kind == CODE_C_RUNTIME || object_is_library(name);
	}
	return add_paths(b);
}

int page_stacks_new(const struct profile *p, const struct attribution *a,
		    const struct page_stacks_options *options, struct page_stacks **ret)
{
	_cleanup_(page_builder_deinit) struct page_builder b = {
		.p = p,
		.a = a,
		.max_nodes = options->max_nodes,
		.max_frames = options->max_frames};
	int r = page_builder_init(&b);

	if (!r)
		r = walk_stacks(&b, options->labels);
	if (!r)
		r = take_paths(&b);
	if (r)
		return r;
	sort_samples(b.to, options->max_repeats);
	*ret = take_ptr(b.to);
	return 0;
}

void page_stacks_free(struct page_stacks *s)
{
	if (!s)
		return;
	free(s->paths);
	free(s->functions);
	free(s->frames);
	free(s->nodes);
	free(s->samples);
	free(s);
}
