// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/page_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/path.h"
#include "render/figure.h"
#include "render/json_value.h"
#include "render/listing.h"
#include "render/page_code.h"
#include "render/page_json.h"
#include "render/page_labels.h"
#include "render/page_stacks.h"

#define MAX_NAME_BYTES  PAGE_MAX_NAME_BYTES
#define MAX_CONTEXT     15 /* lines of text around one with samples */
#define WHOLE_BYTES     (24u << 10) /* files up to this size are whole */
#define MIN_NODE_BYTES  5 /* "1,99," */
#define MEAN_NODE_BYTES 9 /* with its part of a sample */
#define MEAN_LINE_BYTES 60 /* with its sample, and its part of a function */

/* ---- values ---- */

static void add_number(struct json_builder *b, json_t *array, int64_t n)
{
	json_add(b, array, json_integer(n));
}

/* A weight beyond what a page can count exactly is rounded there. */
static void add_weight(struct json_builder *b, json_t *array, const struct attribution *a,
		       struct weight w)
{
	json_add(b, array, json_count(w.samples));
	if (a->all.cpu_ns)
		json_add(b, array, json_count(w.cpu_ns));
}

/* ---- texts that the listings have, too ---- */

static void print_legend(const struct listing *l)
{
	legend_of_lines(l, true);
	listing_sentence(
		l, 0, 7,
		"JIT:   code that a program compiles while it runs, as Numba, Node "
		"and Java do; library: code of others in C, C++ and the like, and "
		"their Python");
}

void page_title(const struct render_input *in, char *buf, size_t size)
{
	const struct profile_extra *extra = &in->profile->extra;

	*buf = '\0';
	for (const char **arg = extra->command; arg && *arg; arg++)
		text_append(buf, size, "%s%s", arg == extra->command ? "" : " ",
			    arg == extra->command ? path_basename(*arg) : *arg);
	if (!*buf && extra->target)
		text_append(buf, size, "%s", extra->target);
	if (!*buf && in->file_name)
		text_append(buf, size, "%s", path_basename(in->file_name));
}

/* ---- sources ---- */

struct source_lines {
	const struct attribution_file *file;
	uint8_t *is_wanted; /* by line number - 1; heap */
	size_t bytes; /* of all wanted lines, in the page */
};

static const char *text_at(const struct attribution_source *s, size_t index)
{
	return index < s->nr_lines ? s->lines[index] : NULL;
}

static void want(struct source_lines *w, uint64_t number)
{
	const char *text = number ? text_at(&w->file->source, number - 1) : NULL;

	if (!text || w->is_wanted[number - 1])
		return;
	w->is_wanted[number - 1] = true;
	w->bytes += page_text_bytes(text);
}

/* Wants the lines around those with samples, and the declarations of their functions. */
static void want_hot_lines(struct source_lines *w, uint64_t context)
{
	const struct attribution_file *f = w->file;

	for (size_t i = 0; i < f->nr_lines; i++) {
		uint64_t line = f->lines[i].line;

		if (f->lines[i].no_code)
			continue;
		for (uint64_t n = line > context ? line - context : 1;
		     n <= line + context; n++)
			want(w, n);
		want(w, f->lines[i].function_line);
	}
}

static size_t source_bytes(const struct attribution_source *s)
{
	size_t bytes = 0;

	for (size_t n = 0; bytes <= WHOLE_BYTES && (n = attribution_next_line(s, n + 1));)
		bytes += strlen(s->lines[n - 1]) + 1;
	return bytes;
}

/* Returns an array of [first line, text of this and the next lines]. */
static json_t *runs_value(struct json_builder *b, const struct source_lines *w)
{
	const struct attribution_source *s = &w->file->source;
	json_t *runs = json_array();

	for (size_t n = 0; (n = attribution_next_line(s, n + 1));) {
		json_t *run;

		if (!w->is_wanted[n - 1])
			continue;
		run = json_array();
		add_number(b, run, (int64_t)n);
		for (; n <= s->nr_lines && w->is_wanted[n - 1]; n++)
			json_add(b, run, json_visible(s->lines[n - 1], MAX_NAME_BYTES));
		json_add(b, runs, run);
	}
	return runs;
}

/* The lines without machine code, each as the distance from the one before. */
static json_t *bare_value(struct json_builder *b, const struct attribution_file *f)
{
	json_t *bare = json_array();
	int64_t last = 0;

	for (size_t i = 0; i < f->nr_lines; i++) {
		if (!f->lines[i].no_code)
			continue;
		add_number(b, bare, (int64_t)f->lines[i].line - last);
		last = f->lines[i].line;
	}
	return bare;
}

/* @left  bytes of source text that still fit; updated */
static json_t *file_value(struct json_builder *b, const struct attribution_file *f,
			  size_t *left)
{
	_cleanup_free_ uint8_t *is_wanted = calloc(f->source.nr_lines + 1, 1);
	struct source_lines w = {.file = f, .is_wanted = is_wanted};
	json_t *value = json_object();
	bool is_left_out = false;

	if (!is_wanted) {
		b->failed = true;
		return value;
	}
	if (source_bytes(&f->source) <= WHOLE_BYTES)
		for (size_t n = 0; (n = attribution_next_line(&f->source, n + 1));)
			want(&w, n);
	else
		want_hot_lines(&w, MAX_CONTEXT);
	if (w.bytes > *left) {
		for (size_t n = 0; (n = attribution_next_line(&f->source, n + 1));)
			is_wanted[n - 1] = false;
		w.bytes = 0;
		want_hot_lines(&w, 1);
	}
	is_left_out = w.bytes > *left;
	*left -= is_left_out ? 0 : w.bytes;
	json_set(b, value, "language", json_text(f->language));
	json_set(b, value, "note", json_visible(f->source.note, MAX_NAME_BYTES));
	json_set(b, value, "leftOut", json_boolean(is_left_out));
	json_set(b, value, "runs", is_left_out ? json_array() : runs_value(b, &w));
	json_set(b, value, "bare", is_left_out ? json_array() : bare_value(b, f));
	return value;
}

static json_t *files_value(struct json_builder *b, const struct attribution *a)
{
	json_t *files = json_array();
	size_t left = PAGE_MAX_SOURCE_BYTES;

	for (size_t i = 0; i < a->nr_files; i++)
		json_add(b, files, file_value(b, &a->files[i], &left));
	return files;
}

static char *print_facts(const struct render_input *in)
{
	struct json_builder b = {0};
	const struct attribution *a = in->attribution;
	json_t *root = json_object(), *all = json_array();
	char title[1024];

	page_title(in, title, sizeof(title));
	add_weight(&b, all, a, a->all);
	json_set(&b, root, "title", json_visible(title, MAX_NAME_BYTES));
	json_set(&b, root, "host", json_text_or_null(in->profile->extra.host));
	json_set(&b, root, "startMs", json_integer(in->profile->time_nanos / 1000000));
	json_set(&b, root, "all", all);
	json_set(&b, root, "hasCpu", json_boolean(a->all.cpu_ns));
	json_set(&b, root, "countsSamples", json_boolean(counts_samples(a)));
	json_set(&b, root, "countsTime", json_boolean(counts_time(a)));
	json_set(&b, root, "unit", json_visible(counted_name(a), MAX_NAME_BYTES));
	json_set(&b, root, "head", page_printed_lines(&b, in, render_head));
	json_set(&b, root, "legend", page_printed_lines(&b, in, print_legend));
	json_set(&b, root, "misses", page_printed_lines(&b, in, render_misses));
	json_set(&b, root, "files", files_value(&b, a));
	json_set(&b, root, "code", page_code_value(&b, in));
	return page_json_print(&b, root);
}

/* ---- stacks ---- */

static json_t *functions_value(struct json_builder *b, const struct page_stacks *s,
			       struct page_texts *texts)
{
	json_t *values = json_array();

	for (size_t i = 0; i < s->nr_functions; i++) {
		const struct page_function *f = &s->functions[i];

		json_add(b, values, page_text_number(b, texts, f->name));
		json_add(b, values, page_text_number(b, texts, f->object));
		add_number(b, values, f->file == PROFILE_NONE ? -1 : (int64_t)f->file);
		add_number(b, values, f->start_line);
		add_number(b, values,
			   (int64_t)f->kind | f->is_library << 3 | f->is_passive << 4 |
				   f->is_start << 5);
	}
	return values;
}

static json_t *frames_value(struct json_builder *b, const struct page_stacks *s)
{
	json_t *values = json_array();

	for (size_t i = 0; i < s->nr_frames; i++) {
		add_number(b, values,
			   (int64_t)s->frames[i].function * 2 + s->frames[i].is_inlined);
		add_number(b, values, s->frames[i].line);
	}
	return values;
}

/* Parents as a distance, which is mostly 1; 0: none. */
static json_t *nodes_value(struct json_builder *b, const struct page_stacks *s)
{
	json_t *values = json_array();

	for (size_t i = 0; i < s->nr_nodes; i++) {
		uint32_t parent = s->nodes[i].parent;

		add_number(b, values,
			   parent == PROFILE_NONE ? 0 : (int64_t)i - (int64_t)parent);
		add_number(b, values, s->nodes[i].frame);
	}
	return values;
}

/* How many levels the charged frame is above the innermost one; -1: there is none. */
static int64_t levels_up(const struct page_stacks *s, const struct page_sample *sample)
{
	uint32_t node = sample->node;
	int64_t up = 0;

	if (sample->charged == PROFILE_NONE)
		return -1;
	for (; node != sample->charged && s->nodes[node].parent != PROFILE_NONE; up++)
		node = s->nodes[node].parent;
	return up;
}

/* NULL: out of memory. */
static json_t *weight_number(struct tally *weights, struct weight w)
{
	uint32_t number = tally_number(weights, w.samples, w.cpu_ns);

	return number == PROFILE_NONE ? NULL : json_integer(number);
}

/*
 * Each stack as node, charged level, labels, number of buckets, and for each bucket its
 * number and that of its weight. Nodes and buckets are distances from the one before.
 */
static json_t *samples_value(struct json_builder *b, const struct page_stacks *s,
			     struct tally *weights)
{
	json_t *values = json_array();
	int64_t node = 0;

	for (size_t i = 0, end; i < s->nr_samples; i = end) {
		const struct page_sample *first = &s->samples[i];
		int64_t bucket = 0;

		for (end = i + 1; end < s->nr_samples && page_sample_repeats(s, end);
		     end++)
			;
		add_number(b, values, (int64_t)first->node - node);
		add_number(b, values, levels_up(s, first));
		add_number(b, values, first->labels);
		add_number(b, values, (int64_t)(end - i));
		for (size_t k = i; k < end; k++) {
			const struct page_sample *sample = &s->samples[k];

			add_number(b, values, (int64_t)sample->bucket - bucket);
			json_add(b, values, weight_number(weights, sample->weight));
			bucket = sample->bucket;
		}
		node = first->node;
	}
	return values;
}

/* Most samples have one of few weights: their number is shorter. */
static json_t *weights_value(struct json_builder *b, const struct attribution *a,
			     const struct tally *weights)
{
	json_t *values = json_array();

	for (size_t i = 0; i < weights->nr; i++)
		add_weight(b, values, a,
			   (struct weight){weights->items[i].a, weights->items[i].b});
	return values;
}

/* Returns the texts of one label, and its number in them for each set. */
static json_t *label_value(struct json_builder *b, const struct page_labels *labels,
			   enum page_label label)
{
	struct page_texts texts = {.values = json_array()};
	json_t *value = json_object(), *of_set = json_array();

	for (size_t i = 0; i < labels->nr_sets; i++)
		json_add(b, of_set,
			 page_text_number(b, &texts, labels->sets[i].text[label]));
	json_set(b, value, "name", json_string(page_label_names[label]));
	json_set(b, value, "values", texts.values);
	json_set(b, value, "ofSet", of_set);
	tally_deinit(&texts.index);
	return value;
}

/* "The rarest stacks, 2.1 % of the profile, have ..." */
static json_t *cut_value(const struct attribution *a, const struct page_stacks *s,
			 enum page_detail detail)
{
	static const char *const missing[] = {
		[PAGE_ALL_LABELS] = "",
		[PAGE_NO_PROCESSES] = "There are too many processes and threads to tell "
				      "them apart on a page. ",
		[PAGE_NO_LABELS] =
			"There are too many programs, processes and threads to "
			"tell them apart on a page. ",
	};
	char text[768] = "";

	text_append(text, sizeof(text), "%s", missing[detail]);
	if (!weight_is_zero(&s->cut))
		text_append(text, sizeof(text),
			    "The rarest stacks, %s %% of the profile, have only their "
			    "charged line here, since a page holds %u KB of data: self "
			    "is exact, total of callers is too low by that share. A page "
			    "of one container or program has more: lineburn html --comm "
			    "NAME.",
			    figure_percent(share_of(a, &s->cut)).text,
			    PAGE_MAX_BYTES >> 10);
	if (!weight_is_zero(&s->dropped))
		text_append(text, sizeof(text),
			    "%sThe rarest lines, %s %% of the profile together, are left "
			    "out, since there are too many lines for a page.",
			    weight_is_zero(&s->cut) ? "" : " ",
			    figure_percent(share_of(a, &s->dropped)).text);
	return json_string(text);
}

static char *print_stacks(const struct attribution *a, const struct page_stacks *s,
			  const struct page_labels *l, enum page_detail detail)
{
	struct json_builder b = {0};
	struct page_texts texts = {.values = json_array()};
	struct tally weights = {0}; /* different pairs of samples and their CPU time */
	json_t *root = json_object(), *labels = json_array(), *paths = json_array();

	for (size_t i = 0; i < s->nr_paths; i++)
		json_add(&b, paths, json_visible(s->paths[i], MAX_NAME_BYTES));
	for (int i = 0; i < NR_PAGE_LABELS; i++)
		json_add(&b, labels, label_value(&b, l, (enum page_label)i));
	json_set(&b, root, "paths", paths);
	json_set(&b, root, "functions", functions_value(&b, s, &texts));
	json_set(&b, root, "texts", texts.values);
	json_set(&b, root, "frames", frames_value(&b, s));
	json_set(&b, root, "nodes", nodes_value(&b, s));
	json_set(&b, root, "samples", samples_value(&b, s, &weights));
	json_set(&b, root, "weights", weights_value(&b, a, &weights));
	json_set(&b, root, "bucketNs", json_count(s->bucket_ns));
	json_set(&b, root, "labels", labels);
	json_set(&b, root, "cut", cut_value(a, s, detail));
	tally_deinit(&texts.index);
	tally_deinit(&weights);
	return page_json_print(&b, root);
}

/* Prints the stacks again, in @ret. Return: 0 or -ENOMEM. */
static int print_stacks_with(const struct render_input *in, enum page_detail detail,
			     size_t max_nodes, size_t max_frames, char **ret)
{
	_cleanup_(page_labels_freep) struct page_labels *labels = NULL;
	_cleanup_(page_stacks_freep) struct page_stacks *s = NULL;
	struct page_stacks_options options = {.max_nodes = max_nodes,
					      .max_frames = max_frames,
					      .max_repeats = PAGE_MAX_TIMES};
	int r = page_labels_new(in->profile, detail, &labels);

	if (r)
		return r;
	options.labels = labels->set_of;
	r = page_stacks_new(in->profile, in->attribution, &options, &s);
	if (r)
		return r;
	free(*ret);
	*ret = print_stacks(in->attribution, s, labels, detail);
	return *ret ? 0 : -ENOMEM;
}

/*
 * Prints the stacks in at most @max bytes. If they do not fit, first without callers, to
 * see how much the labels leave for these; then with as many as fit. If there is no room
 * for all lines, not even for these.
 */
static int print_fitting_stacks(const struct render_input *in, size_t max, char **ret)
{
	enum page_detail detail = PAGE_ALL_LABELS;
	int r = print_stacks_with(in, detail, max / MIN_NODE_BYTES, SIZE_MAX, ret);
	size_t max_nodes, max_frames = max / MEAN_LINE_BYTES;

	if (r || strlen(*ret) <= max)
		return r;
	r = print_stacks_with(in, detail, 0, SIZE_MAX, ret);
	while (!r && strlen(*ret) > max / 4 * 3 && detail < PAGE_NO_LABELS)
		r = print_stacks_with(in, ++detail, 0, SIZE_MAX, ret);
	for (; !r && strlen(*ret) > max && max_frames; max_frames = max_frames / 4 * 3)
		r = print_stacks_with(in, detail, 0, max_frames, ret);
	if (r || max_frames < max / MEAN_LINE_BYTES || strlen(*ret) >= max)
		return r;
	max_nodes = (max - strlen(*ret)) / MEAN_NODE_BYTES;
	for (;; max_nodes = max_nodes / 5 * 4) {
		r = print_stacks_with(in, detail, max_nodes, SIZE_MAX, ret);
		if (r || strlen(*ret) <= max || !max_nodes)
			return r;
	}
}

int page_data_new(const struct render_input *in, struct page_data *ret)
{
	struct page_data d = {.facts = print_facts(in)};
	size_t len = d.facts ? strlen(d.facts) : 0;
	int r = d.facts ? 0 : -ENOMEM;

	if (!r)
		r = print_fitting_stacks(
			in, len < PAGE_MAX_BYTES ? PAGE_MAX_BYTES - len : 0, &d.stacks);
	if (r) {
		page_data_deinit(&d);
		return r;
	}
	*ret = d;
	return 0;
}

void page_data_deinit(struct page_data *d)
{
	free(d->facts);
	free(d->stacks);
}
