// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/line_stacks.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/phase.h"
#include "analyze/sample_owner.h"
#include "analyze/tally.h"
#include "base/escape.h"
#include "base/match.h"
#include "base/vec.h"
#include "profile/labels.h"
#include "profile/mapping_kind.h"

/* Servers refuse long values. Ids of containers, paths and names of units are shorter. */
#define MAX_LABEL_BYTES 512

/* Copies parts of a profile into a new one. */
struct copy {
	const struct profile *from;
	struct profile *to;
	struct tally mappings; /* (filename, build id): numbered as those of @to */
	uint32_t *function_of; /* by function of @from: that of @to, + 1; 0: none yet */
	/* By whole location of @from, with the lines that always count: same. */
	uint32_t *location_of;
	uint8_t *is_interpreter; /* by mapping of @from */
	uint32_t *stack; /* of one sample, the innermost frame last */
	size_t nr_stack, cap_stack;
	struct profile_line *lines; /* of one location */
	size_t cap_lines;
	struct profile_label *labels; /* of one sample */
	size_t nr_labels, cap_labels;
	struct owner_labels owners; /* of @from, unless all labels are copied */
};

static void copy_deinit(struct copy *c)
{
	profile_free(c->to);
	tally_deinit(&c->mappings);
	free(c->function_of);
	free(c->location_of);
	free(c->is_interpreter);
	free(c->stack);
	free(c->lines);
	free(c->labels);
	owner_labels_deinit(&c->owners);
}

static int copy_value_types(const struct profile *from, struct profile *to)
{
	if (vec_grow(&to->value_types, &to->cap_value_types, from->nr_value_types,
		     sizeof(*to->value_types), PROFILE_MAX_VALUE_TYPES))
		return -ENOMEM;
	memcpy(to->value_types, from->value_types,
	       from->nr_value_types * sizeof(*to->value_types));
	to->nr_value_types = from->nr_value_types;
	to->count_value = from->count_value;
	to->cpu_value = from->cpu_value;
	to->default_sample_type = from->default_sample_type;
	to->period_type = *from->period_type.type ? from->period_type
						  : from->value_types[0];
	to->period = from->period;
	return 0;
}

static int copy_head(const struct profile *from, struct profile *to)
{
	int r = copy_value_types(from, to);

	to->time_nanos = from->time_nanos;
	to->duration_nanos = from->duration_nanos;
	to->drop_frames = from->drop_frames;
	to->keep_frames = from->keep_frames;
	to->doc_url = from->doc_url;
	to->times.begin_ns = from->times.begin_ns;
	for (size_t i = 0; i < from->nr_comments && !r; i++)
		r = profile_add_comment(to, from->comments[i]);
	return r;
}

static int copy_init(struct copy *c, const struct profile *from)
{
	*c = (struct copy){
		.from = from,
		.to = profile_new(from->pool),
		.function_of = calloc(from->nr_functions + 1, sizeof(*c->function_of)),
		.location_of = calloc(from->nr_locations + 1, sizeof(*c->location_of)),
		.is_interpreter = calloc(from->nr_mappings + 1, 1),
	};
	if (!c->to || !c->function_of || !c->location_of || !c->is_interpreter)
		return -ENOMEM;
	for (size_t i = 0; i < from->nr_mappings; i++)
		c->is_interpreter[i] = code_kind_of(from->mappings[i].filename) ==
				       CODE_INTERPRETER;
	return copy_head(from, c->to);
}

/* ---- tables; each returns an index of @to, or PROFILE_NONE if out of memory ---- */

/*
 * A range of addresses would keep the parts of one file apart.
 *
 * @filename, @build_id  interned
 */
static uint32_t add_mapping(struct copy *c, const char *filename, const char *build_id)
{
	uint32_t number =
		tally_number(&c->mappings, tally_key(filename), tally_key(build_id));
	const struct profile_mapping to = {
		.filename = filename,
		.build_id = build_id,
		/* All that is known is here: without addresses nothing can be added. */
		.has_functions = true,
		.has_filenames = true,
		.has_line_numbers = true,
		.has_inline_frames = true,
	};

	if (number == PROFILE_NONE || number < c->to->nr_mappings)
		return number;
	return profile_add_mapping(c->to, &to);
}

static uint32_t add_no_mapping(struct copy *c)
{
	struct strpool *pool = c->to->pool;

	return add_mapping(c, strpool_add(pool, PROFILE_NO_OBJECT),
			   strpool_add(pool, ""));
}

static uint32_t copy_mapping(struct copy *c, uint32_t mapping)
{
	const struct profile_mapping *from = &c->from->mappings[mapping];

	/* Readers require a name. */
	return *from->filename ? add_mapping(c, from->filename, from->build_id)
			       : add_no_mapping(c);
}

static uint32_t copy_function(struct copy *c, uint32_t function)
{
	uint32_t *known = &c->function_of[function];

	if (!*known)
		*known = profile_add_function(c->to, &c->from->functions[function]) + 1;
	return *known - 1;
}

/* Which lines of a location are copied, and which of them keep their number. */
struct lines_wanted {
	uint32_t first; /* 0: all */
	bool is_innermost, with_last;
	const uint8_t *uses; /* of the profile's lines; NULL: all count */
};

static bool counts(const struct lines_wanted *w, uint32_t line, bool is_innermost)
{
	return !w->uses || line_counts(w->uses[line], is_innermost, w->with_last);
}

/* Does a line of the location count? */
static bool has_line(const struct profile_location *l, const struct lines_wanted *w)
{
	for (uint32_t i = w->first; w->uses && i < l->nr_lines; i++)
		if (counts(w, l->first_line + i, w->is_innermost && !i))
			return true;
	return false;
}

static uint32_t copy_lines(struct copy *c, const struct profile_location *l,
			   const struct lines_wanted *w)
{
	uint32_t mapping = PROFILE_NONE;
	size_t nr = 0;

	if (vec_grow(&c->lines, &c->cap_lines, l->nr_lines + 1, sizeof(*c->lines), 0))
		return PROFILE_NONE;
	for (uint32_t i = w->first; i < l->nr_lines; i++) {
		struct profile_line line = c->from->lines[l->first_line + i];

		if (line.function == PROFILE_NONE)
			continue; /* it names nothing */
		line.function = copy_function(c, line.function);
		if (line.function == PROFILE_NONE)
			return PROFILE_NONE;
		if (!counts(w, l->first_line + i, w->is_innermost && !i))
			line.line = 0;
		c->lines[nr++] = line;
	}
	if (l->mapping != PROFILE_NONE) {
		mapping = copy_mapping(c, l->mapping);
		if (mapping == PROFILE_NONE)
			return PROFILE_NONE;
	}
	return profile_add_location(c->to, mapping, 0, MISS_NONE, c->lines, nr);
}

static uint32_t copy_location(struct copy *c, uint32_t location,
			      const struct lines_wanted *w)
{
	const struct profile_location *l = &c->from->locations[location];
	uint32_t *known = &c->location_of[location];

	if (w->first || w->is_innermost || w->with_last)
		return copy_lines(c, l, w);
	if (!*known)
		*known = copy_lines(c, l, w) + 1;
	return *known - 1;
}

static int push(struct copy *c, uint32_t location)
{
	if (location == PROFILE_NONE ||
	    vec_grow(&c->stack, &c->cap_stack, c->nr_stack + 1, sizeof(*c->stack), 0))
		return -ENOMEM;
	c->stack[c->nr_stack++] = location;
	return 0;
}

static int add_sample(struct copy *c, const struct profile_sample *from)
{
	uint32_t sample;

	/* Innermost first, as in a profile. */
	for (size_t i = 0; i < c->nr_stack / 2; i++) {
		uint32_t other = c->stack[i];

		c->stack[i] = c->stack[c->nr_stack - 1 - i];
		c->stack[c->nr_stack - 1 - i] = other;
	}
	sample = profile_add_sample(c->to, c->stack, c->nr_stack, c->labels, c->nr_labels,
				    0, &c->from->values[from->first_value]);
	if (sample == PROFILE_NONE)
		return -ENOMEM;
	profile_add_times(c->to, sample, &c->from->times, &from->times);
	return 0;
}

/* ---- the stack of a sample ---- */

/* Makes a frame of a stack without frames: readers want one. */
static uint32_t add_no_stack(struct copy *c)
{
	uint32_t mapping = add_no_mapping(c);

	return mapping == PROFILE_NONE
		       ? PROFILE_NONE
		       : profile_add_location(c->to, mapping, 0, MISS_NONE, NULL, 0);
}

static int fold_stack(struct copy *c, const struct attribution *a, size_t index)
{
	const struct profile_sample *s = &c->from->samples[index];
	const struct attribution_charge *charge = &a->charges[index];
	const uint32_t *locations = profile_stack(c->from, s);
	uint32_t leaf = charge->frame == PROFILE_NONE ? 0 : charge->frame;
	bool in_line = false;
	int r = 0;

	c->nr_stack = 0;
	for (uint32_t i = s->nr_locations; i-- > leaf && !r;) {
		const struct profile_location *l = &c->from->locations[locations[i]];
		bool is_charged = i == charge->frame;
		const struct lines_wanted wanted = {
			.first = is_charged ? charge->line : 0,
			.is_innermost = !i,
			.with_last = charge->with_last,
			.uses = a->line_uses,
		};

		if (has_line(l, &wanted))
			in_line = true;
		else if (in_line && l->mapping != PROFILE_NONE &&
			 c->is_interpreter[l->mapping])
			continue;
		r = push(c, copy_location(c, locations[i], &wanted));
	}
	return r || c->nr_stack ? r : push(c, add_no_stack(c));
}

/* ---- labels ---- */

static bool has_label(const struct copy *c, const char *key)
{
	for (size_t i = 0; i < c->nr_labels; i++)
		if (!strcmp(c->labels[i].key, key))
			return true;
	return false;
}

static bool is_kept(const struct line_stacks_labels *labels, const char *key)
{
	for (size_t i = 0; i < labels->nr; i++)
		if (!strcmp(labels->keys[i], key))
			return true;
	return false;
}

/*
 * Returns the length of a kernel thread's name without its numbers: 7 of "kworker/3:1",
 * 7 of "iou-wrk-1234".
 */
static size_t thread_name_len(const char *comm)
{
	size_t len = strcspn(comm, "/:"), digits = len;

	while (digits && isdigit((unsigned char)comm[digits - 1]))
		digits--;
	return digits > 1 && digits < len && comm[digits - 1] == '-' ? digits - 1 : len;
}

/* Makes the label one with few values. Return: false: it has no such value. */
static bool make_stable(struct copy *c, const struct profile_sample *s,
			struct profile_label *label)
{
	if (!strcmp(label->key, LABEL_COMM) && s->status == LB_STACK_NO_USER)
		label->str = strpool_add_n(c->to->pool, label->str,
					   thread_name_len(label->str));
	return strcmp(label->key, LABEL_UNIT) != 0 || !match_ends(label->str, ".scope");
}

static int add_label(struct copy *c, struct profile_label label)
{
	/* An escape is longer than what it stands for. */
	char text[MAX_LABEL_BYTES];

	if (vec_grow(&c->labels, &c->cap_labels, c->nr_labels + 1, sizeof(*c->labels), 0))
		return -ENOMEM;
	label.str = strpool_add(c->to->pool,
				escape_terminal_buf(text, sizeof(text), label.str));
	c->labels[c->nr_labels++] = label;
	return 0;
}

/* Adds the name of the sample's container, which other samples of it may have. */
static int add_container_name(struct copy *c, const struct profile_sample *s)
{
	struct profile_label label = {.key = LABEL_CONTAINER_NAME, .unit = ""};

	for (uint32_t i = 0; i < s->nr_labels; i++)
		if (!strcmp(c->from->labels[s->first_label + i].key, label.key))
			return 0;
	label.str = sample_owner_of(&c->owners, s).text[OWNER_CONTAINER_NAME];
	return *label.str ? add_label(c, label) : 0;
}

static int copy_labels(struct copy *c, const struct line_stacks_labels *labels,
		       size_t index)
{
	const struct profile_sample *s = &c->from->samples[index];
	enum phase phase = labels->phases ? (enum phase)labels->phases[index]
					  : PHASE_REST;
	int r = 0;

	c->nr_labels = 0;
	for (uint32_t i = 0; i < s->nr_labels && !r; i++) {
		struct profile_label label = c->from->labels[s->first_label + i];

		if (is_kept(labels, label.key) &&
		    (!labels->is_stable || make_stable(c, s, &label)))
			r = add_label(c, label);
		/* Where a recording has it, so that equal labels are in one order. */
		if (!r && !strcmp(label.key, LABEL_CONTAINER) &&
		    is_kept(labels, LABEL_CONTAINER_NAME))
			r = add_container_name(c, s);
	}
	if (!r && phase != PHASE_REST && is_kept(labels, LABEL_PHASE) &&
	    !has_label(c, LABEL_PHASE))
		r = add_label(c, (struct profile_label){.key = LABEL_PHASE,
							.str = phase_names[phase],
							.unit = ""});
	return r;
}

int line_stacks_new(const struct profile *p, const struct attribution *a,
		    const struct line_stacks_labels *labels, struct profile **ret)
{
	_cleanup_(copy_deinit) struct copy c = {0};
	int r = copy_init(&c, p);

	c.owners = owner_labels_of(p, NULL);
	for (size_t i = 0; i < p->nr_samples && !r; i++) {
		r = fold_stack(&c, a, i);
		if (!r)
			r = copy_labels(&c, labels, i);
		if (!r)
			r = add_sample(&c, &p->samples[i]);
	}
	if (!r)
		*ret = take_ptr(c.to);
	return r;
}

/* ---- cutting callers ---- */

struct weighed {
	struct weight weight;
	uint32_t sample;
};

static int heaviest_first(const void *va, const void *vb)
{
	const struct weighed *a = va, *b = vb;
	int r = weight_compare(a->weight, b->weight);

	return r ? r : (a->sample > b->sample) - (a->sample < b->sample);
}

/* Which samples keep their callers, one byte for each; the others' weight in @cut. */
static int choose_whole(const struct profile *p, size_t nr_whole, uint8_t *is_whole,
			struct weight *cut)
{
	struct weigher weigher = weigher_of(p);
	_cleanup_free_ struct weighed *all = calloc(p->nr_samples + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_samples; i++)
		all[i] = (struct weighed){weigher_weigh(&weigher, &p->samples[i]), i};
	qsort(all, p->nr_samples, sizeof(*all), heaviest_first);
	*cut = (struct weight){0};
	for (size_t i = 0; i < p->nr_samples; i++) {
		/* Nothing can be left out of a stack of one frame. */
		if (i < nr_whole || p->samples[all[i].sample].nr_locations < 2)
			is_whole[all[i].sample] = true;
		else
			weight_add(cut, all[i].weight);
	}
	return 0;
}

static uint32_t add_cut_callers(struct copy *c)
{
	const struct profile_function function = {
		.name = LINE_STACKS_CUT, .system_name = "", .filename = ""};
	const struct profile_line line = {profile_add_function(c->to, &function), 0};

	return line.function == PROFILE_NONE
		       ? PROFILE_NONE
		       : profile_add_location(c->to, PROFILE_NONE, 0, MISS_NONE, &line,
					      1);
}

static int copy_stack(struct copy *c, const struct profile_sample *s, bool is_whole)
{
	static const struct lines_wanted all = {0};
	const uint32_t *locations = profile_stack(c->from, s);
	int r = 0;

	c->nr_stack = 0;
	if (!is_whole)
		r = push(c, add_cut_callers(c));
	for (uint32_t i = is_whole ? s->nr_locations : 1; i-- > 0 && !r;)
		r = push(c, copy_location(c, locations[i], &all));
	return r;
}

static int copy_all_labels(struct copy *c, const struct profile_sample *s)
{
	if (vec_grow(&c->labels, &c->cap_labels, s->nr_labels + 1, sizeof(*c->labels), 0))
		return -ENOMEM;
	for (uint32_t i = 0; i < s->nr_labels; i++)
		c->labels[i] = c->from->labels[s->first_label + i];
	c->nr_labels = s->nr_labels;
	return 0;
}

int line_stacks_cut(const struct profile *p, size_t nr_whole, struct profile **ret,
		    struct weight *ret_cut)
{
	_cleanup_(copy_deinit) struct copy c = {0};
	_cleanup_free_ uint8_t *is_whole = calloc(p->nr_samples + 1, 1);
	int r = copy_init(&c, p);

	if (!r)
		r = is_whole ? choose_whole(p, nr_whole, is_whole, ret_cut) : -ENOMEM;
	for (size_t i = 0; i < p->nr_samples && !r; i++) {
		r = copy_stack(&c, &p->samples[i], is_whole[i]);
		if (!r)
			r = copy_all_labels(&c, &p->samples[i]);
		if (!r)
			r = add_sample(&c, &p->samples[i]);
	}
	if (!r)
		*ret = take_ptr(c.to);
	return r;
}
