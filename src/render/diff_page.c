// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/diff_page.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff_stacks.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/path.h"
#include "base/vec.h"
#include "render/diff.h"
#include "render/diff_sources.h"
#include "render/page_json.h"

#define MIN_SHARE (1.0 / 5000) /* narrower functions are not in the graph */

static void add_number(struct json_builder *b, json_t *array, int64_t n)
{
	json_add(b, array, json_integer(n));
}

static void add_value(struct json_builder *b, json_t *array, double value)
{
	json_add(b, array, isfinite(value) ? json_real(value) : json_null());
}

/* ---- figures ---- */

/* Before, after, their samples, difference, low, high, p; 1: significant, 2: compared */
static void add_change(struct json_builder *b, json_t *row, const struct change *c)
{
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		add_value(b, row, c->of[s].value);
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		add_value(b, row, c->of[s].samples);
	add_value(b, row, c->difference);
	add_value(b, row, c->low);
	add_value(b, row, c->high);
	if (c->is_compared)
		add_value(b, row, c->p);
	else
		json_add(b, row, json_null());
	add_number(b, row, c->is_significant | c->is_compared << 1);
}

/* The total, which is not tested. */
static void add_total(struct json_builder *b, json_t *row, const struct change *c)
{
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		add_value(b, row, c->of[s].value);
}

static json_t *unit_value(struct json_builder *b, const struct profile_diff *d)
{
	struct diff_unit unit = diff_unit_of(d);
	json_t *value = json_object();

	json_set(b, value, "scale", json_real(unit.scale));
	json_set(b, value, "digits", json_integer(unit.digits));
	json_set(b, value, "name", json_string(unit.name));
	json_set(b, value, "ofDifferences", json_string(unit.of_differences));
	return value;
}

static json_t *whole_value(struct json_builder *b, const struct profile_diff *d)
{
	json_t *whole = json_array();

	add_change(b, whole, &d->whole);
	return whole;
}

/* ---- rows of the tables ---- */

struct diff_printer {
	struct json_builder b;
	const struct profile_diff *d;
	struct page_texts texts, paths;
	size_t nr_lines, nr_functions; /* that the page has */
};

static json_t *lines_value(struct diff_printer *p)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < p->nr_lines; i++) {
		const struct diff_line *l = &p->d->lines[i];
		int match = l->is_new ? 4 : l->is_gone ? 5 : (int)l->match;

		json_add(&p->b, rows, page_text_number(&p->b, &p->paths, l->path));
		json_add(&p->b, rows, page_text_number(&p->b, &p->texts, l->function));
		for (int s = 0; s < NR_DIFF_SIDES; s++)
			add_number(&p->b, rows, l->line[s]);
		add_number(&p->b, rows, match);
		add_total(&p->b, rows, &l->total);
		add_change(&p->b, rows, &l->self);
	}
	return rows;
}

static json_t *functions_value(struct diff_printer *p)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < p->nr_functions; i++) {
		const struct diff_function *f = &p->d->functions[i];

		json_add(&p->b, rows, page_text_number(&p->b, &p->texts, f->name));
		json_add(&p->b, rows, page_text_number(&p->b, &p->texts, f->object));
		if (*f->file)
			json_add(&p->b, rows,
				 page_text_number(&p->b, &p->paths, f->file));
		else
			add_number(&p->b, rows, -1);
		for (int s = 0; s < NR_DIFF_SIDES; s++)
			add_number(&p->b, rows, f->start_line[s]);
		add_total(&p->b, rows, &f->total);
		add_change(&p->b, rows, &f->self);
	}
	return rows;
}

static json_t *recordings_value(struct json_builder *b, const struct profile_diff *d,
				enum diff_side s)
{
	json_t *recordings = json_array();

	for (uint32_t i = 0; i < d->comparison.sides[s].nr_recordings; i++) {
		const struct diff_recording *r = &d->recordings[s][i];
		json_t *recording = json_object();

		json_set(b, recording, "file",
			 json_visible(r->name, PAGE_MAX_NAME_BYTES));
		json_set(b, recording, "samples", json_count(r->samples));
		json_set(b, recording, "per", json_real(r->per));
		json_add(b, recordings, recording);
	}
	return recordings;
}

void diff_page_title(const struct profile_diff *d, char *buf, size_t size)
{
	*buf = '\0';
	text_append(buf, size, "%s", path_basename(d->recordings[DIFF_BEFORE][0].name));
	text_append(buf, size, " \342\200\223 %s",
		    path_basename(d->recordings[DIFF_AFTER][0].name));
}

static char *print_facts(const struct render_input *in, size_t nr_lines,
			 size_t nr_functions)
{
	const struct profile_diff *d = in->diff;
	struct diff_printer p = {.d = d,
				 .texts = {.values = json_array()},
				 .paths = {.values = json_array()},
				 .nr_lines = nr_lines,
				 .nr_functions = nr_functions};
	struct json_builder *b = &p.b;
	json_t *root = json_object();
	char measure[DIFF_WORDS_BYTES], title[1024];

	diff_page_title(d, title, sizeof(title));
	json_set(b, root, "title", json_visible(title, PAGE_MAX_NAME_BYTES));
	json_set(b, root, "measure", json_text(diff_measure(d, measure)));
	json_set(b, root, "head", page_printed_lines(b, in, diff_print_head));
	json_set(b, root, "rest", page_printed_lines(b, in, diff_print_rest));
	json_set(b, root, "rules", page_printed_lines(b, in, diff_print_verdicts));
	json_set(b, root, "areShares", json_boolean(d->comparison.are_shares));
	json_set(b, root, "unit", unit_value(b, d));
	json_set(b, root, "whole", whole_value(b, d));
	json_set(b, root, "before", recordings_value(b, d, DIFF_BEFORE));
	json_set(b, root, "after", recordings_value(b, d, DIFF_AFTER));
	json_set(b, root, "nrLines", json_count(d->nr_lines));
	json_set(b, root, "nrFunctions", json_count(d->nr_functions));
	json_set(b, root, "significantLines", json_count(d->nr_significant_lines));
	json_set(b, root, "significantFunctions",
		 json_count(d->nr_significant_functions));
	json_set(b, root, "lines", lines_value(&p));
	json_set(b, root, "functions", functions_value(&p));
	json_set(b, root, "nrFiles", json_count(d->nr_files));
	json_set(b, root, "files",
		 diff_sources_value(b, d, nr_lines, &p.paths, DIFF_PAGE_MAX_FILES));
	json_set(b, root, "paths", p.paths.values);
	json_set(b, root, "texts", p.texts.values);
	tally_deinit(&p.texts.index);
	tally_deinit(&p.paths.index);
	return page_json_print(b, root);
}

/* ---- the flame graph ---- */

static double share_of_node(const struct profile_diff *d, const struct diff_stack_node *n)
{
	double share = 0;

	for (int s = 0; s < NR_DIFF_SIDES; s++)
		if (d->whole.of[s].value > 0)
			share = fmax(share, n->value[s] / d->whole.of[s].value);
	return share;
}

/* The least share of a node, so that there are not too many. */
static double least_share(const struct profile_diff *d)
{
	double least = MIN_SHARE;
	size_t nr;

	for (;; least *= 2) {
		nr = 0;
		for (size_t i = 0; i < d->stacks->nr_nodes; i++)
			nr += share_of_node(d, &d->stacks->nodes[i]) >= least;
		if (nr <= DIFF_PAGE_MAX_NODES)
			return least;
	}
}

/* The row of the table of functions, by number of the function of stacks; -1: none. */
static int rows_of_functions(const struct profile_diff *d, size_t nr_functions,
			     int64_t *ret)
{
	_cleanup_(tally_deinit) struct tally rows = {0};

	for (size_t i = 0; i < nr_functions; i++) {
		const struct diff_function *f = &d->functions[i];

		if (tally_number(&rows, tally_key(f->name),
				 diff_function_place(f->file, f->object)) == PROFILE_NONE)
			return -ENOMEM;
	}
	for (size_t i = 0; i < d->stacks->numbers.nr; i++) {
		const struct tally_item *key = &d->stacks->numbers.items[i];
		uint32_t row = tally_find(&rows, key->a, key->b);

		ret[i] = row == PROFILE_NONE ? -1 : (int64_t)row;
	}
	return 0;
}

struct stacks_printer {
	struct json_builder b;
	const struct profile_diff *d;
	struct page_texts texts;
	json_t *functions, *nodes;
	int64_t *row_of; /* by function */
	uint32_t *number_of; /* by function: in functions, + 1 */
	uint32_t *place_of; /* by node: in nodes, + 1 */
	uint32_t nr_functions, nr_nodes;
};

static uint32_t stack_function(struct stacks_printer *p, uint32_t function)
{
	const struct diff_stack_function *f = &p->d->stacks->functions[function];

	if (!p->number_of[function]) {
		bool has_row = p->row_of[function] >= 0;
		const char *texts[] = {f->name, f->object, f->file};

		p->number_of[function] = ++p->nr_functions;
		add_number(&p->b, p->functions, p->row_of[function]);
		/* The row has them already. */
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
			json_add(&p->b, p->functions,
				 page_text_number(&p->b, &p->texts,
						  has_row ? "" : texts[i]));
	}
	return p->number_of[function] - 1;
}

/* Parents as a distance; 0: none. A node with a place has parents with one. */
static void add_nodes(struct stacks_printer *p)
{
	const struct diff_stacks *s = p->d->stacks;
	double least = least_share(p->d);

	for (size_t i = 0; i < s->nr_nodes; i++) {
		const struct diff_stack_node *n = &s->nodes[i];

		if (share_of_node(p->d, n) < least)
			continue;
		p->place_of[i] = ++p->nr_nodes;
		add_number(&p->b, p->nodes,
			   n->parent == PROFILE_NONE
				   ? 0
				   : (int64_t)p->nr_nodes - p->place_of[n->parent]);
		add_number(&p->b, p->nodes, stack_function(p, n->function));
		for (int side = 0; side < NR_DIFF_SIDES; side++)
			add_value(&p->b, p->nodes, n->value[side]);
	}
}

static int fill_stacks(struct stacks_printer *p, size_t nr_functions)
{
	const struct diff_stacks *s = p->d->stacks;
	int r;

	p->row_of = calloc(s->numbers.nr + 1, sizeof(*p->row_of));
	p->number_of = calloc(s->numbers.nr + 1, sizeof(*p->number_of));
	p->place_of = calloc(s->nr_nodes + 1, sizeof(*p->place_of));
	if (!p->row_of || !p->number_of || !p->place_of)
		return -ENOMEM;
	r = rows_of_functions(p->d, nr_functions, p->row_of);
	if (!r)
		add_nodes(p);
	return r;
}

static char *print_stacks(const struct profile_diff *d, size_t nr_functions)
{
	struct stacks_printer p = {.d = d,
				   .texts = {.values = json_array()},
				   .functions = json_array(),
				   .nodes = json_array()};
	json_t *root = json_object(), *cut = json_array();

	if (d->stacks && fill_stacks(&p, nr_functions))
		p.b.failed = true;
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		add_value(&p.b, cut,
			  d->stacks && d->whole.of[s].value > 0
				  ? d->stacks->cut[s] / d->whole.of[s].value
				  : 0);
	json_set(&p.b, root, "functions", p.functions);
	json_set(&p.b, root, "texts", p.texts.values);
	json_set(&p.b, root, "nodes", p.nodes);
	json_set(&p.b, root, "cut", cut);
	tally_deinit(&p.texts.index);
	free(p.row_of);
	free(p.number_of);
	free(p.place_of);
	return page_json_print(&p.b, root);
}

int diff_page_new(const struct render_input *in, size_t limit, struct diff_page *ret)
{
	const struct profile_diff *d = in->diff;
	size_t most = limit && limit < DIFF_PAGE_MAX_ROWS ? limit : DIFF_PAGE_MAX_ROWS;
	size_t nr_lines = d->nr_lines < most ? d->nr_lines : most;
	size_t nr_functions = d->nr_functions < most ? d->nr_functions : most;
	struct diff_page page = {.facts = print_facts(in, nr_lines, nr_functions),
				 .stacks = print_stacks(d, nr_functions)};

	if (!page.facts || !page.stacks) {
		diff_page_deinit(&page);
		return -ENOMEM;
	}
	*ret = page;
	return 0;
}

void diff_page_deinit(struct diff_page *d)
{
	free(d->facts);
	free(d->stacks);
}
