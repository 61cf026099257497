// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/line_stacks.h"
#include "base/hash.h"
#include "base/vec.h"

/* What a mapping tells about its frames. */
struct mapping_facts {
	const char *object, *stand_in;
	enum code_kind kind;
	bool is_library;
};

struct stacks_builder {
	struct export_stacks *to;
	const struct profile *from; /* line stacks */
	struct hashmap frame_index;
	struct tally functions; /* by (name, file), numbered; see number_function() */
	struct tally numbered; /* by (number in functions, object): frames' functions */
	/* By location: where its frames are in frame_numbers, + 1; 0: not there yet. */
	uint32_t *pushed;
	struct mapping_facts *mappings; /* one more for no mapping */
};

static void builder_deinit(struct stacks_builder *b)
{
	export_stacks_free(b->to);
	hashmap_deinit(&b->frame_index);
	tally_deinit(&b->functions);
	tally_deinit(&b->numbered);
	free(b->pushed);
	free(b->mappings);
}

/* Returns the number by (name, file, object); PROFILE_NONE: out of memory. */
static uint32_t number_function(struct stacks_builder *b, const struct export_frame *f)
{
	uint32_t function =
		tally_number(&b->functions, tally_key(f->name), tally_key(f->file));

	return function == PROFILE_NONE
		       ? PROFILE_NONE
		       : tally_number(&b->numbered, function, tally_key(f->object));
}

static bool is_frame(uint32_t item, const void *key, const void *ctx)
{
	const struct export_frame *a = &((const struct export_stacks *)ctx)->frames[item];
	const struct export_frame *b = key;

	return a->function == b->function && a->line == b->line &&
	       a->is_inlined == b->is_inlined;
}

static int push_number(struct export_stacks *to, uint32_t number)
{
	if (vec_grow(&to->frame_numbers, &to->cap_numbers, to->nr_numbers + 1,
		     sizeof(*to->frame_numbers), UINT32_MAX))
		return -ENOMEM;
	to->frame_numbers[to->nr_numbers++] = number;
	return 0;
}

static int push_frame(struct stacks_builder *b, struct export_frame *f)
{
	struct export_stacks *to = b->to;
	uint64_t hash;
	uint32_t number;

	f->function = number_function(b, f);
	if (f->function == PROFILE_NONE)
		return -ENOMEM;
	hash = hash_u64(((uint64_t)f->function << 1) | f->is_inlined, f->line);
	number = hashmap_get(&b->frame_index, hash, is_frame, f, to);
	if (number == HASHMAP_NONE) {
		number = (uint32_t)to->nr_frames;
		if (vec_grow(&to->frames, &to->cap_frames, to->nr_frames + 1,
			     sizeof(*to->frames), HASHMAP_NONE) ||
		    hashmap_add(&b->frame_index, hash, number))
			return -ENOMEM;
		to->frames[to->nr_frames++] = *f;
	}
	return push_number(to, number);
}

/* Adds the frames of a new location: the function itself, then what is inlined into it. */
static int push_frames(struct stacks_builder *b, const struct profile_location *l)
{
	const struct profile *p = b->from;
	const struct mapping_facts *m =
		&b->mappings[l->mapping == PROFILE_NONE ? p->nr_mappings : l->mapping];
	struct export_frame f = {
		.name = m->stand_in,
		.object = m->object,
		.kind = m->kind,
		.is_library = m->is_library,
	};
	int r = 0;

	if (!l->nr_lines) {
		f.file = strpool_add(p->pool, "");
		return push_frame(b, &f);
	}
	for (uint32_t i = l->nr_lines; i-- > 0 && !r;) {
		const struct profile_line *line = &p->lines[l->first_line + i];
		const struct profile_function *function = &p->functions[line->function];

		f.name = *function->name ? function->name : m->stand_in;
		f.file = function->filename;
		f.start_line = function->start_line;
		f.line = line->line;
		f.is_library = m->is_library || source_is_library(f.file);
		f.is_inlined = i + 1 < l->nr_lines;
		r = push_frame(b, &f);
	}
	return r;
}

/* Locations are in many stacks, and finding the number of a frame takes long. */
static int push_location(struct stacks_builder *b, uint32_t location)
{
	const struct profile_location *l = &b->from->locations[location];
	uint32_t first = b->pushed[location], nr = l->nr_lines ? l->nr_lines : 1;
	int r = 0;

	if (!first) {
		b->pushed[location] = (uint32_t)b->to->nr_numbers + 1;
		return push_frames(b, l);
	}
	for (uint32_t i = 0; i < nr && !r; i++)
		r = push_number(b->to, b->to->frame_numbers[first - 1 + i]);
	return r;
}

static const char *label_of(const struct profile *p, const struct profile_sample *s,
			    const char *key)
{
	for (uint32_t i = 0; i < s->nr_labels; i++) {
		const struct profile_label *label = &p->labels[s->first_label + i];

		if (strcmp(label->key, key) != 0)
			continue;
		/* A file has an empty text as the number 0. */
		if (!*label->str && label->num)
			return strpool_print(p->pool, "%" PRId64, label->num);
		return label->str;
	}
	return strpool_add(p->pool, "");
}

static int add_stack(struct stacks_builder *b, const struct export_input *in,
		     const struct profile_sample *s, struct weight weight)
{
	struct export_stacks *to = b->to;
	const uint32_t *locations = profile_stack(b->from, s);
	const char **labels = &to->labels[to->nr_stacks * in->nr_labels];
	struct export_stack *stack = &to->stacks[to->nr_stacks];
	size_t first = to->nr_numbers;
	int r = 0;

	for (uint32_t i = s->nr_locations; i-- > 0 && !r;)
		r = push_location(b, locations[i]);
	if (r)
		return r;
	for (size_t i = 0; i < in->nr_labels; i++)
		labels[i] = label_of(b->from, s, in->labels[i]);
	*stack = (struct export_stack){.first = (uint32_t)first,
				       .nr = (uint32_t)(to->nr_numbers - first),
				       .weight = weight,
				       .times = s->times,
				       .labels = labels};
	to->nr_stacks++;
	weight_add(&to->all, weight);
	return 0;
}

static int describe_mappings(struct stacks_builder *b, const struct profile *recording)
{
	const struct profile *p = b->from;

	b->mappings = calloc(p->nr_mappings + 1, sizeof(*b->mappings));
	for (size_t i = 0; b->mappings && i <= p->nr_mappings; i++) {
		const char *name = i < p->nr_mappings ? p->mappings[i].filename : "";

		b->mappings[i] = (struct mapping_facts){
			.object = object_name(name, p->pool),
			.stand_in = object_stand_in(name, p->pool),
			.kind = code_kind_in(recording, name),
			.is_library = object_is_library(name),
		};
	}
	return b->mappings ? 0 : -ENOMEM;
}

static int build(struct stacks_builder *b, const struct export_input *in)
{
	struct weigher weigher = weigher_of(b->from);
	struct export_stacks *to = b->to = calloc(1, sizeof(*to));
	int r = 0;

	if (!to)
		return -ENOMEM;
	to->stacks = calloc(b->from->nr_samples + 1, sizeof(*to->stacks));
	to->labels = calloc(b->from->nr_samples * in->nr_labels + 1, sizeof(*to->labels));
	b->pushed = calloc(b->from->nr_locations + 1, sizeof(*b->pushed));
	if (!to->stacks || !to->labels || !b->pushed || describe_mappings(b, in->profile))
		return -ENOMEM;
	for (size_t i = 0; i < b->from->nr_samples && !r; i++) {
		const struct profile_sample *s = &b->from->samples[i];
		struct weight weight = weigher_weigh(&weigher, s);

		if (!weight_is_zero(&weight))
			r = add_stack(b, in, s, weight);
	}
	to->nr_functions = (uint32_t)b->numbered.nr;
	to->has_cpu = to->all.cpu_ns;
	to->unit = to->has_cpu ? (struct profile_value_type){"cpu", "nanoseconds"}
			       : weigher.counted;
	return r;
}

int export_stacks_new(const struct export_input *in, struct export_stacks **ret,
		      struct error *err)
{
	const struct line_stacks_labels labels = {
		.keys = in->labels,
		.nr = in->nr_labels,
		.is_stable = in->stable_labels,
		.phases = in->phases,
	};
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(builder_deinit) struct stacks_builder b = {0};
	int r = line_stacks_new(in->profile, in->attribution, &labels, &p);

	b.from = p;
	if (!r)
		r = build(&b, in);
	if (!r) {
		b.to->times = p->times;
		p->times = (struct series){0};
	}
	if (r)
		return error_set(err, r, "out of memory");
	*ret = take_ptr(b.to);
	return 0;
}

void export_stacks_free(struct export_stacks *s)
{
	if (!s)
		return;
	free(s->frames);
	free(s->frame_numbers);
	free(s->stacks);
	free(s->labels);
	series_deinit(&s->times);
	free(s);
}
