// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/profile_diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/significance.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/profile.h"

const char *const diff_per_names[NR_DIFF_PERS] = {"default", "run", "second", "sample",
						  "work"};

/* ---- the tables of one side ---- */

/* A line or a function of one side. Strings are interned. */
struct item {
	const char *path, *function, *object;
	uint32_t line; /* function: where it begins */
};

struct item_weights {
	struct weight self, total;
};

struct table {
	/* (path, line), or (function, diff_function_place()); numbers the items */
	struct tally index;
	struct item *items;
	size_t cap_items;
	/* of item i in recording r: [i * nr_recordings + r] */
	struct item_weights *weights;
	size_t cap_weights;
};

/* A file with lines. */
struct file {
	char **lines; /* its text; line n is [n - 1]; one heap block; NULL: not known */
	size_t nr_lines;
	uint8_t sha256[32]; /* of the first text */
	bool has_sha256;
	bool is_whole; /* lines has the text of all of them */
	bool is_mixed; /* it is several files, with different texts as far as is known */
	/* Of the last recording with lines of it: */
	uint32_t recording; /* its number + 1; 0: none yet */
	bool has_namesake; /* a file there has its path, but is not it */
	bool lacks_text; /* a file there that has its path is without text */
	/* Of BEFORE, if both sides have the text: */
	struct line_alignment alignment;
	uint32_t *back; /* by line of AFTER - 1: the line of BEFORE; 0: none */
};

struct tables_of_side {
	struct table lines, functions;
	struct tally paths; /* (path, 0); numbers the files */
	struct file *files;
	size_t cap_files;
	uint32_t nr_added; /* recordings */
	size_t nr_lines, nr_bytes; /* of text, of all files */
};

struct diff_tables {
	struct strpool *pool;
	struct diff_options options;
	struct tables_of_side sides[NR_DIFF_SIDES];
};

int diff_new(const struct diff_options *options, struct strpool *pool,
	     struct profile_diff **ret)
{
	_cleanup_(diff_freep) struct profile_diff *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->tables = calloc(1, sizeof(*d->tables));
	if (!d->tables ||
	    (options->keeps_stacks &&
	     diff_stacks_new(pool,
			     (size_t)options->sides[DIFF_BEFORE].nr_recordings +
				     options->sides[DIFF_AFTER].nr_recordings,
			     &d->stacks)))
		return -ENOMEM;
	d->tables->pool = pool;
	d->tables->options = *options;
	d->is_filtered = options->is_filtered;
	d->skips_compile = options->skips_compile;
	for (int s = 0; s < NR_DIFF_SIDES; s++) {
		d->recordings[s] = calloc(options->sides[s].nr_recordings + 1,
					  sizeof(*d->recordings[s]));
		if (!d->recordings[s])
			return -ENOMEM;
	}
	*ret = take_ptr(d);
	return 0;
}

static void table_deinit(struct table *t)
{
	tally_deinit(&t->index);
	free(t->items);
	free(t->weights);
}

static void tables_free(struct diff_tables *t)
{
	for (int s = 0; t && s < NR_DIFF_SIDES; s++) {
		struct tables_of_side *side = &t->sides[s];

		for (size_t i = 0; i < side->paths.nr; i++) {
			free(side->files[i].lines);
			free(side->files[i].back);
			line_alignment_deinit(&side->files[i].alignment);
		}
		tally_deinit(&side->paths);
		free(side->files);
		table_deinit(&side->lines);
		table_deinit(&side->functions);
	}
	free(t);
}

void diff_free(struct profile_diff *d)
{
	if (!d)
		return;
	tables_free(d->tables);
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		free(d->recordings[s]);
	diff_stacks_free(d->stacks);
	free(d->lines);
	free(d->functions);
	free(d->files);
	free(d);
}

/* ---- adding a recording ---- */

/* Adds the weights of an item in the recording that is being added. */
static int table_add(struct table *t, const struct diff_tables *tables,
		     enum diff_side side, uint64_t a, uint64_t b, const struct item *item,
		     const struct item_weights *weights)
{
	size_t nr_recordings = tables->options.sides[side].nr_recordings;
	size_t known = t->index.nr;
	uint32_t number = tally_number(&t->index, a, b);
	struct item_weights *w;

	if (number == PROFILE_NONE ||
	    vec_grow(&t->items, &t->cap_items, t->index.nr, sizeof(*t->items), 0) ||
	    vec_grow(&t->weights, &t->cap_weights, t->index.nr * nr_recordings,
		     sizeof(*t->weights), 0))
		return -ENOMEM;
	if (number == known)
		t->items[number] = *item;
	w = &t->weights[number * nr_recordings + tables->sides[side].nr_added];
	weight_add(&w->self, weights->self);
	weight_add(&w->total, weights->total);
	return 0;
}

/*
 * Returns the path at which AFTER has a file. Interned: files whose paths have the same
 * text, such as those of containers, are one.
 */
static const char *shared_path(const struct diff_tables *t, enum diff_side side,
			       const char *path)
{
	const struct diff_options *o = &t->options;

	return diff_path_moved(t->pool, o->moved, side == DIFF_BEFORE ? o->nr_moved : 0,
			       path);
}

static int add_file(struct diff_tables *t, enum diff_side s,
		    const struct attribution_file *f)
{
	struct tables_of_side *side = &t->sides[s];
	const char *path = shared_path(t, s, f->path);
	int rc = 0;

	if (tally_number(&side->paths, tally_key(path), 0) == PROFILE_NONE ||
	    vec_grow(&side->files, &side->cap_files, side->paths.nr, sizeof(*side->files),
		     0))
		return -ENOMEM;
	for (size_t i = 0; i < f->nr_lines && !rc; i++) {
		const struct attribution_line *l = &f->lines[i];
		const struct item item = {
			.path = path, .function = l->function, .line = l->line};
		const struct item_weights weights = {.self = l->self};

		if (!l->no_code)
			rc = table_add(&side->lines, t, s, tally_key(path), l->line,
				       &item, &weights);
	}
	return rc;
}

static int add_function(struct diff_tables *t, enum diff_side s,
			const struct attribution_function *f)
{
	const char *path = shared_path(t, s, f->file);
	const struct item item = {.path = path,
				  .function = f->name,
				  .object = f->object,
				  .line = f->start_line};
	struct item_weights weights = {.self = f->self};

	if (!*path)
		weights.total = f->total;
	return table_add(&t->sides[s].functions, t, s, tally_key(f->name),
			 diff_function_place(path, f->object), &item, &weights);
}

/* ---- totals of a recording ---- */

/*
 * What an attribution tells apart can be one here: a function or a line of two objects, or
 * of two files with one path. A stack that has both counts once, so their totals are
 * counted here.
 */
struct stack_counter {
	const struct profile *p;
	const struct attribution *a;
	struct table *table;
	size_t nr_recordings, recording;
	uint32_t *items; /* by line of the profile, into table; PROFILE_NONE: none */
	const uint8_t *uses; /* same, enum line_use; NULL: they count wherever they are */
	uint32_t *seen; /* by item: the last sample that was counted, + 1 */
};

static void count_line(struct stack_counter *c, uint32_t number, uint32_t sample,
		       struct weight weight)
{
	uint32_t item = c->items[number];

	if (item == PROFILE_NONE || c->seen[item] == sample + 1)
		return;
	c->seen[item] = sample + 1;
	weight_add(&c->table->weights[item * c->nr_recordings + c->recording].total,
		   weight);
}

static void count_stack(struct stack_counter *c, uint32_t sample, struct weight weight)
{
	const struct profile_sample *s = &c->p->samples[sample];
	const uint32_t *stack = profile_stack(c->p, s);
	bool with_last = c->a->charges[sample].with_last;

	for (uint32_t i = 0; i < s->nr_locations; i++) {
		const struct profile_location *l = &c->p->locations[stack[i]];

		for (uint32_t k = 0; k < l->nr_lines; k++) {
			uint32_t number = l->first_line + k;

			if (!c->uses || line_counts(c->uses[number], !i && !k, with_last))
				count_line(c, number, sample, weight);
		}
	}
}

static int count_totals(struct stack_counter *c)
{
	struct weigher weigher = weigher_of(c->p);

	c->seen = calloc(c->table->index.nr + 1, sizeof(*c->seen));
	if (!c->seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->p->nr_samples; i++)
		count_stack(c, i, weigher_weigh(&weigher, &c->p->samples[i]));
	free(c->seen);
	return 0;
}

/* The path on this side of each function's file; freed by the caller. */
static const char **shared_paths(const struct diff_tables *t, enum diff_side side,
				 const struct profile *p)
{
	const char **paths = calloc(p->nr_functions + 1, sizeof(*paths));

	for (size_t i = 0; paths && i < p->nr_functions; i++)
		paths[i] = shared_path(t, side, p->functions[i].filename);
	return paths;
}

static void find_items(struct stack_counter *c, const char **paths, bool are_lines)
{
	for (size_t i = 0; i < c->p->nr_lines; i++) {
		const struct profile_line *line = &c->p->lines[i];
		const struct profile_function *f;
		uint64_t path;

		c->items[i] = PROFILE_NONE;
		if (line->function == PROFILE_NONE)
			continue;
		f = &c->p->functions[line->function];
		path = tally_key(paths[line->function]);
		if (*f->filename)
			c->items[i] =
				are_lines ? tally_find(&c->table->index, path, line->line)
					  : tally_find(&c->table->index,
						       tally_key(f->name), path);
	}
}

/* Counts the totals of all lines, and of the functions that have a file. */
static int add_totals(struct diff_tables *t, enum diff_side s, const struct profile *p,
		      const struct attribution *a)
{
	struct tables_of_side *side = &t->sides[s];
	_cleanup_free_ const char **paths = shared_paths(t, s, p);
	_cleanup_free_ uint32_t *items = calloc(p->nr_lines + 1, sizeof(*items));
	struct stack_counter c = {
		.p = p,
		.a = a,
		.nr_recordings = t->options.sides[s].nr_recordings,
		.recording = side->nr_added,
		.items = items,
	};
	int rc;

	if (!paths || !items)
		return -ENOMEM;
	c.table = &side->functions;
	find_items(&c, paths, false);
	rc = count_totals(&c);
	if (rc)
		return rc;
	c.table = &side->lines;
	c.uses = a->line_uses;
	find_items(&c, paths, true);
	return count_totals(&c);
}

/* ---- texts of a recording ---- */

/*
 * Most lines of all texts of a side, with those that are not known: those of one text of any
 * length, and some for each byte. So a hostile file with many lines of large numbers takes
 * little time.
 */
#define TEXT_LINES          LINE_ALIGN_MAX_LINES
#define TEXT_LINES_PER_BYTE 64

/* Is there room for a text? If so, it is taken. */
static bool take_room(struct tables_of_side *side, size_t nr_lines, size_t nr_bytes)
{
	size_t max;

	side->nr_bytes += nr_bytes;
	max = TEXT_LINES + TEXT_LINES_PER_BYTE * side->nr_bytes;
	if (max > SOURCE_MAX_ATTACHED_LINES)
		max = SOURCE_MAX_ATTACHED_LINES;
	if (nr_lines > LINE_ALIGN_MAX_LINES || side->nr_lines + nr_lines > max)
		return false;
	side->nr_lines += nr_lines;
	return true;
}

/* Copies the text into one block: pointers to lines, followed by the lines. */
static int copy_text(struct tables_of_side *side, const struct profile_source *source,
		     struct file *file)
{
	size_t nr = 0, bytes = 0, nr_known = 0;
	char *text;

	for (size_t i = 0; i < source->nr_runs; i++) {
		size_t last = (size_t)source->runs[i].first_line +
			      source->runs[i].nr_lines - 1;

		nr = last > nr ? last : nr;
		bytes += strlen(source->runs[i].text) + 1;
	}
	if (!take_room(side, nr, bytes))
		return 0;
	file->lines = calloc(1, nr * sizeof(*file->lines) + bytes + 1);
	if (!file->lines)
		return -ENOMEM;
	file->nr_lines = nr;
	text = (char *)(file->lines + nr);
	for (size_t i = 0; i < source->nr_runs; i++) {
		const struct profile_source_run *run = &source->runs[i];
		char *rest = strcpy(text, run->text), *line;

		text += strlen(run->text) + 1;
		for (uint32_t n = 0; n < run->nr_lines && (line = strsep(&rest, "\n"));
		     n++)
			file->lines[run->first_line - 1 + n] = line;
	}
	while (nr_known < nr && file->lines[nr_known])
		nr_known++;
	file->is_whole = nr_known == nr && nr == source->nr_lines;
	return 0;
}

/*
 * Takes the text of a file with lines.
 *
 * @name    of the file in the recording, see profile_add_namesake()
 * @source  NULL: its text is not known
 */
static int add_source(struct profile_diff *d, enum diff_side s, const struct profile *p,
		      const char *name, const struct profile_source *source)
{
	struct tables_of_side *side = &d->tables->sides[s];
	const char *path = shared_path(d->tables, s, name);
	uint32_t number = tally_find(&side->paths, tally_key(path), 0);
	struct file *file;
	bool is_further;

	if (number == PROFILE_NONE)
		return 0; /* the pool had no room for the path when its lines were added */
	file = &side->files[number];
	is_further = file->recording == side->nr_added + 1;
	file->recording = side->nr_added + 1;
	file->has_namesake = profile_is_namesake(p, name) ||
			     (is_further && file->has_namesake);
	file->lacks_text = !source || (is_further && file->lacks_text);
	/* One file's text is not shown for another's lines. */
	if ((is_further && file->has_namesake && file->lacks_text) ||
	    (source && file->has_sha256 &&
	     memcmp(file->sha256, source->sha256, sizeof(file->sha256)) != 0)) {
		file->is_mixed = true;
		d->mixed_path = path;
	}
	if (!source || file->has_sha256)
		return 0;
	memcpy(file->sha256, source->sha256, sizeof(file->sha256));
	file->has_sha256 = true;
	return copy_text(side, source, file);
}

/* A hostile recording may repeat a path: the first entry counts. */
static int index_sources(const struct profile_extra *extra, struct hashmap *ret)
{
	int rc = 0;

	for (size_t i = 0; i < extra->nr_sources && i < HASHMAP_NONE && !rc; i++) {
		uint64_t hash = hash_pointer(0, extra->sources[i].path);

		if (hashmap_get(ret, hash, NULL, NULL, NULL) == HASHMAP_NONE)
			rc = hashmap_add(ret, hash, (uint32_t)i);
	}
	return rc;
}

static int add_sources(struct profile_diff *d, enum diff_side s, const struct profile *p,
		       const struct attribution *a)
{
	_cleanup_(hashmap_deinit) struct hashmap numbers = {0};
	int rc = index_sources(&p->extra, &numbers);

	for (size_t i = 0; i < a->nr_files && !rc; i++) {
		const char *name = a->files[i].path;
		uint32_t number =
			hashmap_get(&numbers, hash_pointer(0, name), NULL, NULL, NULL);
		bool is_known = number != HASHMAP_NONE &&
				p->extra.sources[number].nr_runs;

		rc = add_source(d, s, p, name,
				is_known ? &p->extra.sources[number] : NULL);
	}
	return rc;
}

static uint64_t nr_independent(const struct profile *p, const struct attribution *a)
{
	uint64_t nr = 0;

	if (p->count_value == PROFILE_NONE)
		return a->all.samples;
	for (size_t i = 0; i < p->nr_samples; i++) {
		int64_t count = profile_value(p, &p->samples[i], p->count_value);

		if (count > 0 && __builtin_add_overflow(nr, (uint64_t)count, &nr))
			nr = UINT64_MAX;
	}
	return nr;
}

/* Can its noise be known, and are its figures those of the recordings before it? */
static int check_kind(struct profile_diff *d, const struct profile *p,
		      const struct attribution *a, const char *name, struct error *err)
{
	const struct tables_of_side *sides = d->tables->sides;
	bool is_first = !sides[DIFF_BEFORE].nr_added && !sides[DIFF_AFTER].nr_added;
	bool is_cpu = value_counts_samples(&a->counted), has_cpu = a->all.cpu_ns;

	if (weight_is_zero(&a->all))
		return error_set_exit(err, EXIT_NO_SAMPLES, -EINVAL,
				      "%s has no samples: there is nothing to compare",
				      name);
	if (!is_cpu && p->count_value == PROFILE_NONE)
		return error_set(err, -EINVAL,
				 "%s does not count samples but %s in %s, whose noise "
				 "is not known: diff compares recordings of CPU time or "
				 "of events",
				 name, a->counted.type, a->counted.unit);
	if (is_first) {
		d->counted = a->counted;
		d->has_cpu = has_cpu;
	}
	if (is_cpu != value_counts_samples(&d->counted) ||
	    (!is_cpu && strcmp(a->counted.type, d->counted.type) != 0))
		return error_set(err, -EINVAL,
				 "%s has %s, the recordings before it have %s: they "
				 "cannot be compared",
				 name, a->counted.type, d->counted.type);
	if (has_cpu != d->has_cpu && d->tables->options.per != DIFF_PER_SAMPLE)
		return error_set(err, -EINVAL,
				 "only some of the recordings know their CPU time, "
				 "unlike %s: compare shares, with --per sample",
				 name);
	d->has_cpu &= has_cpu;
	return 0;
}

int diff_add(struct profile_diff *d, enum diff_side side, const struct profile *p,
	     const struct attribution *a, const char *name, struct error *err)
{
	const struct profile_extra *extra = &p->extra;
	struct tables_of_side *tables = &d->tables->sides[side];
	struct diff_recording *r = &d->recordings[side][tables->nr_added];
	int rc = check_kind(d, p, a, name, err);

	if (rc)
		return rc;
	*r = (struct diff_recording){
		.name = name,
		.all = a->all,
		.samples = nr_independent(p, a),
		.wall_ns = extra->wall_ns,
		.lost = extra->losses.lost_counts_full + extra->losses.lost_internal +
			extra->losses.lost_drain + extra->losses.rows_dropped,
		.freq_hz = extra->freq_hz,
		.is_command = extra->present && extra->command,
		.is_attached = extra->present && !extra->command,
		.is_of_arm64 = profile_is_of_arm64(extra),
	};
	if (!r->wall_ns && p->duration_nanos > 0)
		r->wall_ns = (uint64_t)p->duration_nanos;
	for (size_t i = 0; i < a->nr_files && !rc; i++)
		rc = add_file(d->tables, side, &a->files[i]);
	for (size_t i = 0; i < a->nr_functions && !rc; i++)
		rc = add_function(d->tables, side, &a->functions[i]);
	if (!rc)
		rc = add_totals(d->tables, side, p, a);
	if (!rc)
		rc = add_sources(d, side, p, a);
	if (!rc && d->stacks)
		rc = diff_stacks_add(
			d->stacks, side, tables->nr_added, p, a, d->tables->options.moved,
			side == DIFF_BEFORE ? d->tables->options.nr_moved : 0);
	tables->nr_added++;
	return rc ? error_set(err, rc, "out of memory") : 0;
}

/* ---- what figures are divided by ---- */

static double amount(const struct profile_diff *d, const struct weight *w)
{
	return d->has_cpu ? (double)w->cpu_ns : (double)w->samples;
}

/* A recording of running programs has any length; a run has its own. */
static enum diff_per default_per(const struct profile_diff *d)
{
	bool is_attached = false;

	for (int s = 0; s < NR_DIFF_SIDES; s++)
		for (uint32_t i = 0; i < d->tables->sides[s].nr_added; i++) {
			if (!d->recordings[s][i].wall_ns)
				return DIFF_PER_RUN;
			is_attached |= d->recordings[s][i].is_attached;
		}
	return is_attached ? DIFF_PER_SECOND : DIFF_PER_RUN;
}

static double divisor(const struct profile_diff *d, enum diff_side s, uint32_t i)
{
	const struct diff_side_options *side = &d->tables->options.sides[s];
	const struct diff_recording *r = &d->recordings[s][i];

	switch (d->per) {
	case DIFF_PER_SECOND:
		return (double)r->wall_ns / 1e9;
	case DIFF_PER_SAMPLE:
		return amount(d, &r->all);
	case DIFF_PER_WORK:
		return side->work[side->nr_works > 1 ? i : 0];
	default:
		return 1;
	}
}

static int set_divisors(struct profile_diff *d, struct error *err)
{
	const struct diff_options *o = &d->tables->options;

	d->per = o->per ? o->per : default_per(d);
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		for (uint32_t i = 0; i < d->tables->sides[s].nr_added; i++) {
			struct diff_recording *r = &d->recordings[s][i];

			r->per = divisor(d, (enum diff_side)s, i);
			if (r->per <= 0)
				return error_set(err, -EINVAL,
						 "%s does not tell how long it was "
						 "recorded: compare it --per run or "
						 "--per sample",
						 r->name);
		}
	return 0;
}

/* ---- figures ---- */

/* Estimates a figure from its weight in each recording, @stride bytes apart. */
static struct estimate estimate_of(const struct profile_diff *d, enum diff_side s,
				   const struct weight *first, size_t stride)
{
	uint32_t nr = d->tables->sides[s].nr_added;
	struct estimate e = {0};
	double squares = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct diff_recording *r = &d->recordings[s][i];
		const struct weight *w =
			(const struct weight *)((const char *)first + i * stride);
		double value = amount(d, w) / r->per, step = value - e.value;

		e.value += step / (i + 1);
		squares += step * (value - e.value);
		if (r->all.samples)
			e.samples += (double)w->samples * (double)r->samples /
				     (double)r->all.samples;
	}
	e.variance = nr > 1 ? squares / (nr - 1) : 0;
	return e;
}

static void set_estimates(const struct profile_diff *d, enum diff_side s,
			  const struct table *t, uint32_t item, struct change *self,
			  struct change *total)
{
	size_t nr_recordings = d->tables->options.sides[s].nr_recordings;
	const struct item_weights *w = &t->weights[item * nr_recordings];

	self->of[s] = estimate_of(d, s, &w->self, sizeof(*w));
	total->of[s] = estimate_of(d, s, &w->total, sizeof(*w));
}

static void compare_whole(struct profile_diff *d)
{
	struct comparison *c = &d->comparison;

	c->noise = d->tables->options.noise;
	c->are_shares = d->per == DIFF_PER_SAMPLE;
	for (int s = 0; s < NR_DIFF_SIDES; s++) {
		struct compared_side *side = &c->sides[s];
		struct estimate whole = estimate_of(d, (enum diff_side)s,
						    &d->recordings[s]->all,
						    sizeof(*d->recordings[s]));

		d->whole.of[s] = whole;
		side->nr_recordings = d->tables->sides[s].nr_added;
		side->samples = fmax(whole.samples, 1);
		side->unit = whole.value / side->samples;
	}
	d->whole.p = 1;
	if (c->are_shares)
		return;
	change_judge(c, &d->whole);
	change_bound(c, &d->whole, DIFF_WHOLE_ALPHA);
	d->whole.is_compared = true;
	d->whole.is_significant = d->whole.p < DIFF_WHOLE_ALPHA;
}

/* ---- alignment ---- */

static bool has_text(const struct file *f)
{
	return f->lines && !f->is_mixed;
}

static int align_file(struct file *before, const struct file *after)
{
	int rc = line_align(before->lines, before->nr_lines, after->lines,
			    after->nr_lines, &before->alignment);

	if (rc)
		return rc == -EFBIG ? 0 : rc;
	before->back = calloc(after->nr_lines + 1, sizeof(*before->back));
	if (!before->back)
		return -ENOMEM;
	for (size_t i = 0; i < before->alignment.nr; i++)
		if (before->alignment.partners[i].line)
			before->back[before->alignment.partners[i].line - 1] =
				(uint32_t)i + 1;
	return 0;
}

static int align_files(struct diff_tables *t)
{
	struct tables_of_side *before = &t->sides[DIFF_BEFORE];
	const struct tables_of_side *after = &t->sides[DIFF_AFTER];
	int rc = 0;

	for (size_t i = 0; i < before->paths.nr && !rc; i++) {
		uint32_t k = tally_find(&after->paths, before->paths.items[i].a, 0);

		if (k != PROFILE_NONE && has_text(&before->files[i]) &&
		    has_text(&after->files[k]))
			rc = align_file(&before->files[i], &after->files[k]);
	}
	return rc;
}

static const struct file *file_of(const struct diff_tables *t, enum diff_side s,
				  const char *path)
{
	uint32_t number = tally_find(&t->sides[s].paths, tally_key(path), 0);

	return number == PROFILE_NONE ? NULL : &t->sides[s].files[number];
}

static const char *text_at(const struct file *f, uint32_t line)
{
	return f && has_text(f) && line && line <= f->nr_lines ? f->lines[line - 1]
							       : NULL;
}

/* Are the texts of both sides known, so that a line without a partner has none? */
static bool are_whole(const struct file *before, const struct file *after)
{
	return before && after && before->back && before->is_whole && after->is_whole;
}

/* Where the function of a line begins; 0: not known. */
static uint32_t start_of(const struct diff_tables *t, enum diff_side s,
			 const struct item *line)
{
	const struct table *functions = &t->sides[s].functions;
	uint32_t number = tally_find(&functions->index, tally_key(line->function),
				     tally_key(line->path));

	return number == PROFILE_NONE ? 0 : functions->items[number].line;
}

/* The partner of a line of BEFORE, without the text: it moved as its function did. */
static uint32_t line_by_function(const struct diff_tables *t, const struct item *line)
{
	int64_t before = start_of(t, DIFF_BEFORE, line);
	int64_t after = start_of(t, DIFF_AFTER, line),
		moved = line->line + after - before;

	return before && after && moved > 0 && moved <= UINT32_MAX ? (uint32_t)moved
								   : line->line;
}

/* ---- the lines of the result ---- */

static void set_texts(const struct diff_tables *t, struct diff_line *l)
{
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		l->text[s] = text_at(file_of(t, (enum diff_side)s, l->path), l->line[s]);
}

/* Finds the line on the side where it has no samples. */
static void find_other(const struct diff_tables *t, enum diff_side s, struct diff_line *l)
{
	const struct file *before = file_of(t, DIFF_BEFORE, l->path);
	const struct file *after = file_of(t, DIFF_AFTER, l->path);
	uint32_t line = l->line[s], other = 0;

	if (!before || !before->back || !after)
		return;
	if (s == DIFF_AFTER && line <= after->nr_lines)
		other = before->back[line - 1];
	if (s == DIFF_BEFORE && line <= before->alignment.nr)
		other = before->alignment.partners[line - 1].line;
	if (other) {
		uint32_t in_before = s == DIFF_BEFORE ? line : other;

		l->line[s == DIFF_AFTER ? DIFF_BEFORE : DIFF_AFTER] = other;
		l->match = before->alignment.partners[in_before - 1].match;
	} else if (are_whole(before, after) &&
		   line <= (s == DIFF_AFTER ? after : before)->nr_lines) {
		l->is_new = s == DIFF_AFTER;
		l->is_gone = s == DIFF_BEFORE;
	}
}

/* Adds a line of a side as one that the other side does not have, so far. */
static void add_line(struct profile_diff *d, enum diff_side s, uint32_t number)
{
	const struct table *t = &d->tables->sides[s].lines;
	const struct item *item = &t->items[number];
	struct diff_line *l = &d->lines[d->nr_lines++];

	l->path = item->path;
	l->function = item->function;
	l->line[s] = item->line;
	set_estimates(d, s, t, number, &l->self, &l->total);
	find_other(d->tables, s, l);
}

/* Does the line of AFTER at this index of its table and of d->lines have a BEFORE? */
static bool is_joined(const struct profile_diff *d, uint32_t index)
{
	return d->lines[index].total.of[DIFF_BEFORE].samples > 0 ||
	       d->lines[index].self.of[DIFF_BEFORE].samples > 0;
}

/*
 * Joins a line of BEFORE with the line of AFTER that is the same. Those that the text
 * tells come first (@by_text), because the others may be wrong about them.
 */
static void join_line(struct profile_diff *d, uint32_t number, bool by_text)
{
	const struct table *t = &d->tables->sides[DIFF_BEFORE].lines;
	const struct table *others = &d->tables->sides[DIFF_AFTER].lines;
	const struct item *item = &t->items[number];
	struct diff_line found = {.path = item->path, .line[DIFF_BEFORE] = item->line};
	uint32_t index = PROFILE_NONE, line;

	find_other(d->tables, DIFF_BEFORE, &found);
	if ((found.line[DIFF_AFTER] || found.is_gone) != by_text)
		return;
	line = by_text ? found.line[DIFF_AFTER] : line_by_function(d->tables, item);
	if (line)
		index = tally_find(&others->index, tally_key(item->path), line);
	if (index == PROFILE_NONE || is_joined(d, index) ||
	    (!by_text && d->lines[index].line[DIFF_BEFORE])) {
		add_line(d, DIFF_BEFORE, number);
		if (!by_text && index == PROFILE_NONE &&
		    !text_at(file_of(d->tables, DIFF_AFTER, item->path), line))
			d->lines[d->nr_lines - 1].line[DIFF_AFTER] = line;
		return;
	}
	d->lines[index].line[DIFF_BEFORE] = item->line;
	d->lines[index].match = found.match;
	set_estimates(d, DIFF_BEFORE, t, number, &d->lines[index].self,
		      &d->lines[index].total);
}

static int join_lines(struct profile_diff *d)
{
	uint32_t nr_before = (uint32_t)d->tables->sides[DIFF_BEFORE].lines.index.nr;
	uint32_t nr_after = (uint32_t)d->tables->sides[DIFF_AFTER].lines.index.nr;

	d->lines = calloc((size_t)nr_before + nr_after + 1, sizeof(*d->lines));
	if (!d->lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_after; i++)
		add_line(d, DIFF_AFTER, i);
	for (uint32_t i = 0; i < nr_before; i++)
		join_line(d, i, true);
	for (uint32_t i = 0; i < nr_before; i++)
		join_line(d, i, false);
	for (size_t i = 0; i < d->nr_lines; i++)
		set_texts(d->tables, &d->lines[i]);
	return 0;
}

/* ---- the functions of the result ---- */

static void join_function(struct profile_diff *d, enum diff_side s, uint32_t number,
			  uint32_t index)
{
	const struct table *t = &d->tables->sides[s].functions;
	const struct item *item = &t->items[number];
	struct diff_function *f = &d->functions[index];

	f->name = item->function;
	f->file = item->path;
	f->object = item->object;
	f->start_line[s] = item->line;
	set_estimates(d, s, t, number, &f->self, &f->total);
}

static int join_functions(struct profile_diff *d)
{
	const struct table *before = &d->tables->sides[DIFF_BEFORE].functions;
	const struct table *after = &d->tables->sides[DIFF_AFTER].functions;

	d->functions =
		calloc(before->index.nr + after->index.nr + 1, sizeof(*d->functions));
	if (!d->functions)
		return -ENOMEM;
	d->nr_functions = after->index.nr;
	/* Names and objects are those of AFTER, if it has the function. */
	for (uint32_t i = 0; i < before->index.nr; i++) {
		const struct tally_item *key = &before->index.items[i];
		uint32_t index = tally_find(&after->index, key->a, key->b);

		join_function(d, DIFF_BEFORE, i,
			      index == PROFILE_NONE ? (uint32_t)d->nr_functions++
						    : index);
	}
	for (uint32_t i = 0; i < after->index.nr; i++)
		join_function(d, DIFF_AFTER, i, i);
	return 0;
}

/* ---- files and stacks of the result ---- */

/* The files of both sides, those of AFTER first. */
static int join_files(struct profile_diff *d)
{
	const struct tables_of_side *sides = d->tables->sides;
	size_t nr = 0;

	d->files = calloc(sides[DIFF_BEFORE].paths.nr + sides[DIFF_AFTER].paths.nr + 1,
			  sizeof(*d->files));
	if (!d->files)
		return -ENOMEM;
	for (size_t i = 0; i < sides[DIFF_AFTER].paths.nr; i++)
		d->files[nr++].path = tally_string(sides[DIFF_AFTER].paths.items[i].a);
	for (size_t i = 0; i < sides[DIFF_BEFORE].paths.nr; i++) {
		uint64_t path = sides[DIFF_BEFORE].paths.items[i].a;

		if (tally_find(&sides[DIFF_AFTER].paths, path, 0) == PROFILE_NONE)
			d->files[nr++].path = tally_string(path);
	}
	d->nr_files = nr;
	return 0;
}

static void describe_file(const struct profile_diff *d, struct diff_file *f)
{
	const struct file *sides[NR_DIFF_SIDES];

	for (int s = 0; s < NR_DIFF_SIDES; s++) {
		const struct file *side = file_of(d->tables, (enum diff_side)s, f->path);

		sides[s] = side;
		f->is_mixed |= side && side->is_mixed;
		if (!side || !has_text(side))
			continue;
		f->text[s].lines = side->lines;
		f->text[s].nr = side->nr_lines;
	}
	if (sides[DIFF_BEFORE] && sides[DIFF_BEFORE]->back) {
		f->partners = sides[DIFF_BEFORE]->alignment.partners;
		f->is_whole = are_whole(sides[DIFF_BEFORE], sides[DIFF_AFTER]);
	}
}

/* Adds up the lines of each file. */
static int sum_files(struct profile_diff *d)
{
	_cleanup_(tally_deinit) struct tally numbers = {0};

	for (size_t i = 0; i < d->nr_files; i++) {
		describe_file(d, &d->files[i]);
		if (tally_number(&numbers, tally_key(d->files[i].path), 0) ==
		    PROFILE_NONE)
			return -ENOMEM;
	}
	for (size_t i = 0; i < d->nr_lines; i++) {
		const struct diff_line *l = &d->lines[i];
		struct diff_file *f =
			&d->files[tally_find(&numbers, tally_key(l->path), 0)];

		for (int s = 0; s < NR_DIFF_SIDES; s++)
			f->self[s] += l->self.of[s].value;
		f->nr_significant += l->self.is_significant;
	}
	return 0;
}

static int sum_stacks(struct profile_diff *d)
{
	double *factors[NR_DIFF_SIDES] = {NULL, NULL};
	bool failed = false;

	if (!d->stacks)
		return 0;
	for (int s = 0; s < NR_DIFF_SIDES; s++) {
		uint32_t nr = d->tables->sides[s].nr_added;

		factors[s] = calloc(nr + 1, sizeof(*factors[s]));
		failed |= !factors[s];
		for (uint32_t i = 0; factors[s] && i < nr; i++)
			factors[s][i] = 1 / (d->recordings[s][i].per * nr);
	}
	if (!failed)
		diff_stacks_sum(d->stacks, d->has_cpu,
				(const double *const[]){factors[DIFF_BEFORE],
							factors[DIFF_AFTER]});
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		free(factors[s]);
	return failed ? -ENOMEM : 0;
}

/* ---- which differences are significant ---- */

static double samples_of(const struct change *c)
{
	return c->of[DIFF_BEFORE].samples + c->of[DIFF_AFTER].samples;
}

static int by_p(const void *va, const void *vb)
{
	const struct change *a = *(struct change *const *)va;
	const struct change *b = *(struct change *const *)vb;

	return (a->p > b->p) - (a->p < b->p);
}

/* Lists the self of all lines and functions, and their samples. */
static size_t list_changes(struct profile_diff *d, struct change **all, double *samples)
{
	size_t nr = 0;

	for (size_t i = 0; i < d->nr_lines; i++)
		all[nr++] = &d->lines[i].self;
	for (size_t i = 0; i < d->nr_functions; i++)
		all[nr++] = &d->functions[i].self;
	for (size_t i = 0; i < nr; i++)
		samples[i] = samples_of(all[i]);
	return nr;
}

/* Judges those with enough samples. Return: how many, now the first of @all. */
static size_t judge(struct profile_diff *d, struct change **all, size_t nr)
{
	size_t nr_compared = 0;

	for (size_t i = 0; i < nr; i++) {
		struct change *change = all[i];

		change->p = 1;
		change->difference = change->of[DIFF_AFTER].value -
				     change->of[DIFF_BEFORE].value;
		change->is_compared = samples_of(change) >= d->samples_needed;
		if (!change->is_compared)
			continue;
		change_judge(&d->comparison, change);
		all[i] = all[nr_compared];
		all[nr_compared++] = change;
	}
	qsort(all, nr_compared, sizeof(*all), by_p);
	return nr_compared;
}

/* Their intervals have the level at which they are judged, so that both agree. */
static int find_significant(struct profile_diff *d)
{
	size_t nr = d->nr_lines + d->nr_functions, nr_compared, nr_significant = 0;
	_cleanup_free_ struct change **all = calloc(nr + 1, sizeof(struct change *));
	_cleanup_free_ double *samples = calloc(nr + 1, sizeof(*samples));
	_cleanup_free_ double *p = calloc(nr + 1, sizeof(*p));

	if (!all || !samples || !p)
		return -ENOMEM;
	nr = list_changes(d, all, samples);
	d->samples_needed = samples_needed(samples, nr,
					   comparison_smaller_part(&d->comparison),
					   DIFF_PARTS_ALPHA, &d->nr_compared);
	nr_compared = judge(d, all, nr);
	for (size_t i = 0; i < nr_compared; i++)
		p[i] = all[i]->p;
	nr_significant =
		holm_significant(p, nr_compared, d->nr_compared, DIFF_PARTS_ALPHA);
	for (size_t i = 0; i < nr; i++) {
		size_t rank = i < nr_significant ? i : nr_significant;

		all[i]->is_significant = i < nr_significant;
		change_bound(&d->comparison, all[i],
			     holm_level(rank, d->nr_compared, DIFF_PARTS_ALPHA));
	}
	d->visible_growth = comparison_visible_growth(
		&d->comparison, 0.1,
		holm_level(nr_significant, d->nr_compared, DIFF_PARTS_ALPHA));
	return 0;
}

/* ---- order ---- */

static int by_change(const struct change *a, const struct change *b)
{
	double x = fabs(a->difference), y = fabs(b->difference);

	if (a->is_significant != b->is_significant)
		return a->is_significant ? -1 : 1;
	return (x < y) - (x > y);
}

static int compare_lines(const void *va, const void *vb)
{
	const struct diff_line *a = va, *b = vb;
	int order = by_change(&a->self, &b->self);

	for (int s = NR_DIFF_SIDES; s-- && !order;) {
		if (s == DIFF_AFTER)
			order = strcmp(a->path, b->path);
		if (!order)
			order = (a->line[s] > b->line[s]) - (a->line[s] < b->line[s]);
	}
	return order;
}

static int compare_functions(const void *va, const void *vb)
{
	const struct diff_function *a = va, *b = vb;
	int order = by_change(&a->self, &b->self);

	if (!order)
		order = strcmp(a->name, b->name);
	if (!order)
		order = strcmp(a->file, b->file);
	return order ? order : strcmp(a->object, b->object);
}

static int compare_files(const void *va, const void *vb)
{
	const struct diff_file *a = va, *b = vb;
	double x = fabs(a->self[DIFF_AFTER] - a->self[DIFF_BEFORE]);
	double y = fabs(b->self[DIFF_AFTER] - b->self[DIFF_BEFORE]);

	if (!a->nr_significant != !b->nr_significant)
		return a->nr_significant ? -1 : 1;
	return x != y ? (x < y) - (x > y) : strcmp(a->path, b->path);
}

/* Sorts, and counts the significant ones. */
static void sort_results(struct profile_diff *d)
{
	qsort(d->lines, d->nr_lines, sizeof(*d->lines), compare_lines);
	qsort(d->functions, d->nr_functions, sizeof(*d->functions), compare_functions);
	qsort(d->files, d->nr_files, sizeof(*d->files), compare_files);
	while (d->nr_significant_lines < d->nr_lines &&
	       d->lines[d->nr_significant_lines].self.is_significant)
		d->nr_significant_lines++;
	while (d->nr_significant_functions < d->nr_functions &&
	       d->functions[d->nr_significant_functions].self.is_significant)
		d->nr_significant_functions++;
}

int diff_compare(struct profile_diff *d, struct error *err)
{
	int rc = set_divisors(d, err);

	if (rc)
		return rc;
	compare_whole(d);
	rc = align_files(d->tables);
	if (!rc)
		rc = join_lines(d);
	if (!rc)
		rc = join_functions(d);
	if (!rc)
		rc = find_significant(d);
	if (!rc)
		rc = join_files(d);
	if (!rc)
		rc = sum_files(d);
	if (!rc)
		rc = sum_stacks(d);
	if (rc)
		return error_set(err, rc, "out of memory");
	sort_results(d);
	return 0;
}
