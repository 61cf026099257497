// SPDX-License-Identifier: GPL-2.0-or-later
/* diff --json (docs/formats.md). */
#include <math.h>

#include "render/diff.h"
#include "render/json_value.h"

static const char *const side_names[NR_DIFF_SIDES] = {"before", "after"};

/* JSON has no infinity. */
static json_t *json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *side_value(struct json_builder *b, const struct profile_diff *d,
			  enum diff_side s)
{
	json_t *side = json_object(), *recordings = json_array();

	for (uint32_t i = 0; i < d->comparison.sides[s].nr_recordings; i++) {
		const struct diff_recording *r = &d->recordings[s][i];
		json_t *recording = json_object();

		json_set(b, recording, "file", json_text(r->name));
		json_set(b, recording, "samples", json_count(r->samples));
		json_set(b, recording, "cpu_ns", json_count(r->all.cpu_ns));
		json_set(b, recording, "duration_ns", json_count(r->wall_ns));
		json_set(b, recording, "lost", json_count(r->lost));
		json_set(b, recording, "freq_hz", json_count(r->freq_hz));
		json_set(b, recording, "divided_by", json_number(r->per));
		json_add(b, recordings, recording);
	}
	json_set(b, side, "recordings", recordings);
	return side;
}

/* A change whose interval and p are known. */
static json_t *change_value(struct json_builder *b, const struct change *c)
{
	json_t *change = json_object();

	json_set(b, change, "before", json_number(c->of[DIFF_BEFORE].value));
	json_set(b, change, "after", json_number(c->of[DIFF_AFTER].value));
	json_set(b, change, "before_samples", json_number(c->of[DIFF_BEFORE].samples));
	json_set(b, change, "after_samples", json_number(c->of[DIFF_AFTER].samples));
	json_set(b, change, "difference", json_number(c->difference));
	json_set(b, change, "low", json_number(c->low));
	json_set(b, change, "high", json_number(c->high));
	json_set(b, change, "p", c->is_compared ? json_number(c->p) : json_null());
	json_set(b, change, "significant", json_boolean(c->is_significant));
	return change;
}

/* A total, which is not tested. */
static json_t *total_value(struct json_builder *b, const struct change *c)
{
	json_t *total = json_object();

	json_set(b, total, "before", json_number(c->of[DIFF_BEFORE].value));
	json_set(b, total, "after", json_number(c->of[DIFF_AFTER].value));
	return total;
}

static json_t *line_value(struct json_builder *b, const struct diff_line *l)
{
	static const char *const matches[] = {
		[LINE_UNMATCHED] = NULL,
		[LINE_SAME] = "same",
		[LINE_MOVED] = "moved",
		[LINE_CHANGED] = "changed",
	};
	const char *match = l->is_new ? "new" : l->is_gone ? "gone" : matches[l->match];
	json_t *line = json_object(), *number = json_object(), *text = json_object();

	for (int s = 0; s < NR_DIFF_SIDES; s++) {
		json_set(b, number, side_names[s], json_count_or_null(l->line[s]));
		json_set(b, text, side_names[s],
			 l->text[s] ? json_text(l->text[s]) : json_null());
	}
	json_set(b, line, "file", json_text(l->path));
	json_set(b, line, "function", json_text(l->function));
	json_set(b, line, "line", number);
	json_set(b, line, "text", text);
	json_set(b, line, "match", match ? json_string(match) : json_null());
	json_set(b, line, "self", change_value(b, &l->self));
	json_set(b, line, "total", total_value(b, &l->total));
	return line;
}

static json_t *function_value(struct json_builder *b, const struct diff_function *f)
{
	json_t *function = json_object(), *number = json_object();

	for (int s = 0; s < NR_DIFF_SIDES; s++)
		json_set(b, number, side_names[s], json_count_or_null(f->start_line[s]));
	json_set(b, function, "name", json_text(f->name));
	json_set(b, function, "object", json_text(f->object));
	json_set(b, function, "file", json_text(f->file));
	json_set(b, function, "start_line", number);
	json_set(b, function, "self", change_value(b, &f->self));
	json_set(b, function, "total", total_value(b, &f->total));
	return function;
}

static json_t *verdict_value(struct json_builder *b, const struct diff_verdict *v)
{
	json_t *verdict = json_object();

	json_set(b, verdict, "subject", json_text(v->rule->subject));
	json_set(b, verdict, "limit", json_number(v->rule->growth));
	json_set(b, verdict, "file", json_text(v->path));
	json_set(b, verdict, "function", json_text(v->function));
	json_set(b, verdict, "line", json_count_or_null(v->line));
	json_set(b, verdict, "total", change_value(b, &v->change));
	json_set(b, verdict, "growth", json_number(v->growth));
	json_set(b, verdict, "exceeded", json_boolean(v->is_exceeded));
	return verdict;
}

/* The members of annotate's "omitted" that a comparison has. */
static void set_omitted(struct json_builder *b, json_t *root, size_t lines,
			size_t functions)
{
	json_t *omitted = json_object();

	json_set(b, omitted, "lines", json_count(lines));
	json_set(b, omitted, "functions", json_count(functions));
	json_set(b, root, "omitted", omitted);
}

static void set_lists(struct json_builder *b, json_t *root, const struct render_input *in,
		      size_t limit)
{
	const struct profile_diff *d = in->diff;
	const struct diff_verdicts *v = in->verdicts;
	size_t nr_lines = limit && limit < d->nr_lines ? limit : d->nr_lines;
	size_t nr_functions = limit && limit < d->nr_functions ? limit : d->nr_functions;
	json_t *lines = json_array(), *functions = json_array(), *rules = json_array();
	json_t *limits = json_array();

	for (size_t i = 0; i < nr_lines; i++)
		json_add(b, lines, line_value(b, &d->lines[i]));
	for (size_t i = 0; i < nr_functions; i++)
		json_add(b, functions, function_value(b, &d->functions[i]));
	for (size_t i = 0; v && i < v->nr; i++)
		json_add(b, rules, verdict_value(b, &v->items[i]));
	for (int i = 0; i < NR_RENDER_LIMITS; i++) {
		const char *text = diff_limit(d, (enum render_limit)i, nr_functions);

		if (text)
			json_add(b, limits, json_string(text));
	}
	json_set(b, root, "limits", limits);
	json_set(b, root, "lines", lines);
	json_set(b, root, "functions", functions);
	if (limit)
		set_omitted(b, root, d->nr_lines - nr_lines,
			    d->nr_functions - nr_functions);
	json_set(b, root, "rules", rules);
}

int render_diff_json(const struct render_input *in, const struct render_options *opts,
		     FILE *out)
{
	const struct profile_diff *d = in->diff;
	struct json_builder b = {0};
	json_t *root = json_object();
	bool is_share = d->comparison.are_shares;

	json_set(&b, root, "lineburn", json_integer(1));
	json_set(&b, root, "kind", json_string("diff"));
	json_set(&b, root, "per", json_string(diff_per_names[d->per]));
	json_set(&b, root, "unit",
		 is_share     ? json_string("share")
		 : d->has_cpu ? json_string("ns")
			      : json_text(d->counted.type));
	json_set(&b, root, "narrowed", json_boolean(d->is_filtered));
	json_set(&b, root, "skip_compile", json_boolean(d->skips_compile));
	json_set(&b, root, "noise", json_number(d->comparison.noise));
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		json_set(&b, root, side_names[s], side_value(&b, d, (enum diff_side)s));
	json_set(&b, root, "whole", is_share ? json_null() : change_value(&b, &d->whole));
	json_set(&b, root, "compared", json_count(d->nr_compared));
	json_set(&b, root, "significant_lines", json_count(d->nr_significant_lines));
	json_set(&b, root, "significant_functions",
		 json_count(d->nr_significant_functions));
	set_lists(&b, root, in, opts->limit);
	return json_print(&b, root, out);
}
