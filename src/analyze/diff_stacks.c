// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/diff_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "profile/mapping_kind.h"
#include "profile/profile.h"

const char *diff_path_moved(struct strpool *pool, const struct source_path_rule *rules,
			    size_t nr, const char *path)
{
	for (size_t i = 0; i < nr; i++) {
		const char *from = rules[i].old_prefix, *to = rules[i].new_prefix;
		size_t len = strlen(from);

		if (len && from[len - 1] == '/')
			len--;
		if (!strncmp(path, from, len) && (!path[len] || path[len] == '/'))
			return strpool_print(
				pool, "%.*s%s",
				(int)(strlen(to) - (*to && to[strlen(to) - 1] == '/')),
				to, path + len);
	}
	return strpool_add(pool, path);
}

int diff_stacks_new(struct strpool *pool, size_t nr_recordings, struct diff_stacks **ret)
{
	struct diff_stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->pool = pool;
	s->max_nodes = DIFF_STACKS_MAX_NODES / (nr_recordings ? nr_recordings : 1);
	*ret = s;
	return 0;
}

void diff_stacks_free(struct diff_stacks *s)
{
	if (!s)
		return;
	tally_deinit(&s->numbers);
	hashmap_deinit(&s->index);
	free(s->functions);
	free(s->nodes);
	free(s->ends);
	free(s);
}

/* ---- what the locations of a profile are, each found once ---- */

/* What a mapping tells about its code; one more for code without a mapping. */
struct stack_object {
	const char *name;
	enum code_kind kind;
};

/* A location: its functions, or none. */
struct stack_place {
	uint32_t first, nr; /* in stack_reader.functions, innermost first */
	bool is_hidden;
};

struct stack_reader {
	struct diff_stacks *s;
	const struct profile *p;
	const struct attribution_options *options;
	const struct source_path_rule *moved;
	size_t nr_moved;
	struct stack_object *objects;
	struct stack_place *places; /* by location of the profile */
	uint32_t *functions; /* numbers in diff_stacks.functions */
	uint32_t nr_functions;
};

static void stack_reader_deinit(struct stack_reader *r)
{
	free(r->objects);
	free(r->places);
	free(r->functions);
}

/* Return: its number, or PROFILE_NONE: out of memory. */
static uint32_t function_number(struct stack_reader *r, const char *name,
				const char *file, const char *object)
{
	struct diff_stacks *s = r->s;
	const char *path = diff_path_moved(s->pool, r->moved, r->nr_moved, file);
	size_t known = s->numbers.nr;
	uint32_t number = tally_number(&s->numbers, tally_key(name),
				       diff_function_place(path, object));

	if (number == PROFILE_NONE || number < known)
		return number;
	if (vec_grow(&s->functions, &s->cap_functions, s->numbers.nr,
		     sizeof(*s->functions), 0))
		return PROFILE_NONE;
	s->functions[number] = (struct diff_stack_function){name, path, object};
	return number;
}

static uint32_t function_of_line(struct stack_reader *r, uint32_t function,
				 const char *object)
{
	const char *none = strpool_add(r->s->pool, "");
	const struct profile_function *f;

	if (function == PROFILE_NONE)
		return function_number(r, none, none, object);
	f = &r->p->functions[function];
	return function_number(r, f->name, f->filename, object);
}

static bool is_hidden(const struct stack_reader *r, const struct profile_location *l,
		      enum code_kind kind)
{
	uint32_t outermost;

	if (r->options->runtime)
		return false;
	if (kind == CODE_INTERPRETER)
		return true;
	if (!code_kind_is_native(kind) || !l->nr_lines)
		return false;
	outermost = r->p->lines[l->first_line + l->nr_lines - 1].function;
	return outermost != PROFILE_NONE &&
	       function_is_start_code(r->p->functions[outermost].name);
}

static int read_location(struct stack_reader *r, uint32_t number)
{
	const struct profile_location *l = &r->p->locations[number];
	const struct stack_object *object =
		&r->objects[l->mapping == PROFILE_NONE ? r->p->nr_mappings : l->mapping];
	struct stack_place *place = &r->places[number];

	place->first = r->nr_functions;
	place->is_hidden = is_hidden(r, l, object->kind);
	for (uint32_t i = 0; i < l->nr_lines || !i; i++) {
		uint32_t function = l->nr_lines ? r->p->lines[l->first_line + i].function
						: PROFILE_NONE;

		function = function_of_line(r, function, object->name);
		if (function == PROFILE_NONE)
			return -ENOMEM;
		r->functions[r->nr_functions++] = function;
		place->nr++;
	}
	return 0;
}

static int stack_reader_init(struct stack_reader *r)
{
	const struct profile *p = r->p;
	int rc = 0;

	r->objects = calloc(p->nr_mappings + 1, sizeof(*r->objects));
	r->places = calloc(p->nr_locations + 1, sizeof(*r->places));
	r->functions = calloc(p->nr_lines + p->nr_locations + 1, sizeof(*r->functions));
	if (!r->objects || !r->places || !r->functions)
		return -ENOMEM;
	for (size_t i = 0; i <= p->nr_mappings; i++) {
		const char *file = i < p->nr_mappings ? p->mappings[i].filename : "";

		r->objects[i] = (struct stack_object){object_name(file, r->s->pool),
						      mapping_kind(p, i)};
	}
	for (uint32_t i = 0; i < p->nr_locations && !rc; i++)
		rc = read_location(r, i);
	return rc;
}

/* ---- the tree ---- */

static bool is_node(uint32_t item, const void *key, const void *ctx)
{
	const struct diff_stack_node *a = &((const struct diff_stacks *)ctx)->nodes[item];
	const struct diff_stack_node *b = key;

	return a->parent == b->parent && a->function == b->function;
}

/* Moves @at to its child. Return: 0; -ENOMEM; -ENOSPC: there are @max nodes. */
static int descend(struct diff_stacks *s, uint32_t *at, uint32_t function, size_t max)
{
	const struct diff_stack_node node = {.parent = *at, .function = function};
	uint64_t hash = hash_u64(0, (uint64_t)*at << 32 | function);
	uint32_t number = hashmap_get(&s->index, hash, is_node, &node, s);

	if (number == HASHMAP_NONE) {
		if (s->nr_nodes >= max)
			return -ENOSPC;
		number = (uint32_t)s->nr_nodes;
		if (vec_grow(&s->nodes, &s->cap_nodes, s->nr_nodes + 1, sizeof(node),
			     HASHMAP_NONE) ||
		    hashmap_add(&s->index, hash, number))
			return -ENOMEM;
		s->nodes[s->nr_nodes++] = node;
	}
	*at = number;
	return 0;
}

static int descend_place(struct stack_reader *r, const struct stack_place *place,
			 uint32_t *at, size_t max)
{
	int rc = 0;

	for (uint32_t k = place->nr; k-- > 0 && !rc;)
		rc = descend(r->s, at, r->functions[place->first + k], max);
	return rc;
}

/* Goes through a stack from its outermost frame. Return: as descend(). */
static int walk(struct stack_reader *r, const struct profile_sample *sample, uint32_t *at,
		size_t max)
{
	const uint32_t *locations = profile_stack(r->p, sample);
	int rc = 0;

	for (uint32_t i = sample->nr_locations; i-- > 0 && !rc;)
		if (!r->places[locations[i]].is_hidden)
			rc = descend_place(r, &r->places[locations[i]], at, max);
	if (rc || *at != PROFILE_NONE)
		return rc;
	if (sample->nr_locations) {
		const struct stack_place *innermost = &r->places[locations[0]];

		return descend(r->s, at, r->functions[innermost->first], SIZE_MAX);
	}
	return descend(r->s, at,
		       function_of_line(r, PROFILE_NONE, strpool_add(r->s->pool, "")),
		       SIZE_MAX);
}

/* ---- the order of samples ---- */

struct heavy_sample {
	struct weight weight;
	uint32_t number;
};

static int heaviest_first(const void *va, const void *vb)
{
	const struct heavy_sample *a = va, *b = vb;
	int r = weight_compare(a->weight, b->weight);

	return r ? r : (a->number > b->number) - (a->number < b->number);
}

/* So what has no node, if anything, is rare. */
static struct heavy_sample *sorted_samples(const struct profile *p, size_t *ret_nr)
{
	struct weigher weigher = weigher_of(p);
	struct heavy_sample *all = calloc(p->nr_samples + 1, sizeof(*all));
	size_t nr = 0;

	for (uint32_t i = 0; all && i < p->nr_samples; i++) {
		struct weight w = weigher_weigh(&weigher, &p->samples[i]);

		if (!weight_is_zero(&w))
			all[nr++] = (struct heavy_sample){w, i};
	}
	if (all)
		qsort(all, nr, sizeof(*all), heaviest_first);
	*ret_nr = nr;
	return all;
}

int diff_stacks_add(struct diff_stacks *s, enum diff_side side, uint32_t recording,
		    const struct profile *p, const struct attribution *a,
		    const struct source_path_rule *moved, size_t nr_moved)
{
	_cleanup_(stack_reader_deinit) struct stack_reader r = {.s = s,
								.p = p,
								.options = &a->options,
								.moved = moved,
								.nr_moved = nr_moved};
	size_t max = s->nr_nodes + s->max_nodes, nr;
	_cleanup_free_ struct heavy_sample *all = sorted_samples(p, &nr);
	int rc = all ? stack_reader_init(&r) : -ENOMEM;

	for (size_t i = 0; i < nr && !rc; i++) {
		struct diff_stack_end end = {.node = PROFILE_NONE,
					     .recording = (uint16_t)recording,
					     .side = (uint8_t)side,
					     .weight = all[i].weight};

		rc = walk(&r, &p->samples[all[i].number], &end.node, max);
		end.is_cut = rc == -ENOSPC;
		if (rc == -ENOMEM ||
		    vec_grow(&s->ends, &s->cap_ends, s->nr_ends + 1, sizeof(end), 0))
			return -ENOMEM;
		s->ends[s->nr_ends++] = end;
		rc = 0;
	}
	return rc;
}

/* ---- figures ---- */

void diff_stacks_sum(struct diff_stacks *s, bool has_cpu,
		     const double *const factors[NR_DIFF_SIDES])
{
	for (size_t i = 0; i < s->nr_ends; i++) {
		const struct diff_stack_end *end = &s->ends[i];
		double value = (has_cpu ? (double)end->weight.cpu_ns
					: (double)end->weight.samples) *
			       factors[end->side][end->recording];

		if (end->is_cut)
			s->cut[end->side] += value;
		if (end->node != PROFILE_NONE)
			s->nodes[end->node].value[end->side] += value;
	}
	/* Parents are before their children. */
	for (size_t i = s->nr_nodes; i-- > 0;)
		for (int side = 0;
		     side < NR_DIFF_SIDES && s->nodes[i].parent != PROFILE_NONE; side++)
			s->nodes[s->nodes[i].parent].value[side] +=
				s->nodes[i].value[side];
}
