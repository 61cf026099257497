// SPDX-License-Identifier: GPL-2.0-or-later
/* annotate --json and report --json (docs/formats.md). */

#include "analyze/frame_filter.h"
#include "profile/profile.h"
#include "render/asm.h"
#include "render/figure.h"
#include "render/groups.h"
#include "render/json_value.h"
#include "render/render.h"

/* Members of "losses", with the names of struct profile_losses. */
/* Times after which a recording that had been idle before has its samples. */
#define MAX_BUCKETS (1u << 20)

static void set_losses(struct json_builder *b, json_t *root, const struct profile *p,
		       const struct summary *s)
{
	const struct profile_losses *l = &p->extra.losses;
	json_t *losses = json_object();

#define SET(name) json_set(b, losses, #name, json_count(l->name));
	PROFILE_TICKS(SET)
	json_set(b, losses, "lost", json_count(s->lost));
	PROFILE_LOSS_COUNTERS(SET)
#undef SET
	json_set(b, root, "losses", losses);
}

static void set_stacks(struct json_builder *b, json_t *root, const struct summary *s)
{
	json_t *stacks = json_object();

	for (uint32_t i = 0; i < LB_NR_STACK_STATUS; i++)
		json_set(b, stacks, stack_status_name(i), json_count(s->by_status[i]));
	json_set(b, root, "stacks", stacks);
}

static void set_samples(struct json_builder *b, json_t *root,
			const struct render_input *in, const struct summary *s)
{
	const struct attribution *a = in->attribution;
	json_t *samples = json_object();

	json_set(b, samples, "count", json_count(a->all.samples));
	json_set(b, samples, "cpu_ns", json_count(a->all.cpu_ns));
	json_set_weight(b, samples, "with_line", &a->with_line);
	json_set_weight(b, samples, "function_only", &a->function_only);
	json_set_weight(b, samples, "unknown", &a->unknown);
	json_set(b, samples, "lost", json_count(s->lost));
	json_set(b, samples, "missed", json_count(in->profile->extra.losses.missed));
	json_set_weight(b, samples, "incomplete_stacks", &a->incomplete_stacks);
	json_set_weight(b, samples, "guessed_stacks", &a->guessed_stacks);
	json_set_weight(b, samples, "derived_stacks", &a->derived_stacks);
	json_set_weight(b, samples, "jit_without_lines", &a->jit_without_lines);
	json_set_weight(b, samples, "jit_unknown", &a->jit_unknown);
	json_set_weight(b, samples, "kernel", &a->kernel);
	json_set_weight(b, samples, "not_mine", &a->not_mine);
	json_set(b, root, "samples", samples);
	set_stacks(b, root, s);
}

static void set_phases(struct json_builder *b, json_t *root, const struct phases *phases)
{
	json_t *object = phases ? json_object() : json_null();

	for (size_t i = 0; phases && i < NR_PHASES; i++) {
		json_t *phase = json_object();

		json_set(b, phase, "samples", json_count(phases->of[i].samples));
		json_set(b, phase, "cpu_ns", json_count(phases->of[i].cpu_ns));
		json_set(b, object, phase_names[i], phase);
	}
	json_set(b, root, "phases", object);
	json_set(b, root, "skip_compile", json_boolean(phases && phases->left_out));
}

static void set_misses(struct json_builder *b, json_t *root, const struct attribution *a)
{
	json_t *misses = json_array();

	for (size_t i = 0; i < a->nr_misses; i++) {
		const struct attribution_miss *m = &a->misses[i];
		json_t *miss = json_object(), *objects = json_array();

		for (size_t j = 0; j < m->nr_objects; j++)
			json_add(b, objects, json_text(m->objects[j]));
		json_set(b, miss, "reason", json_text(miss_name(m->miss)));
		json_set_weight(b, miss, "samples", &m->weight);
		json_set(b, miss, "objects", objects);
		json_set(b, miss, "text", json_text(miss_text(m->miss)));
		json_set(b, miss, "remedy", json_text(miss_remedy(m->miss)));
		json_add(b, misses, miss);
	}
	json_set(b, root, "misses", misses);
}

static void set_counted(struct json_builder *b, json_t *root,
			const struct profile_value_type *counted)
{
	json_t *object = json_object();

	json_set(b, object, "type", json_text(counted->type ? counted->type : ""));
	json_set(b, object, "unit", json_text(counted->unit ? counted->unit : ""));
	json_set(b, root, "counted", object);
}

static void set_origin(struct json_builder *b, json_t *root,
		       const struct render_input *in, const struct summary *s)
{
	static const char *const charges[] = {
		[CHARGE_LINE] = "line", [CHARGE_MINE] = "mine", [CHARGE_LEAF] = "leaf"};
	const struct profile *p = in->profile;
	const struct attribution_options *options = &in->attribution->options;
	json_t *command = p->extra.command ? json_array() : json_null();

	for (const char **arg = p->extra.command; arg && *arg; arg++)
		json_add(b, command, json_text(*arg));
	json_set(b, root, "command", command);
	json_set(b, root, "target", json_text_or_null(p->extra.target));
	json_set(b, root, "host", json_text_or_null(p->extra.host));
	json_set(b, root, "kernel_release", json_text_or_null(p->extra.kernel_release));
	json_set(b, root, "version", json_text_or_null(p->extra.version));
	json_set(b, root, "time_ns", json_integer(p->time_nanos));
	json_set(b, root, "duration_ns", json_count(s->wall_ns));
	json_set(b, root, "period_ns", json_count_or_null(s->period_ns));
	json_set(b, root, "nr_cpus", json_count_or_null(p->extra.nr_cpus));
	set_counted(b, root, &in->attribution->counted);
	json_set(b, root, "charge", json_string(charges[options->charge]));
	json_set(b, root, "charge_kernel", json_boolean(options->kernel));
	json_set(b, root, "charge_runtime", json_boolean(options->runtime));
}

/* Returns the member "narrowed"; null if there are no filters. */
static json_t *filtered_value(struct json_builder *b, const struct filtered *n)
{
	json_t *object = n ? json_object() : json_null(), *filters;

	if (!n)
		return object;
	filters = json_array();
	for (size_t i = 0; i < n->nr_matches; i++) {
		const struct filter_match *m = &n->matches[i];
		json_t *filter = json_object();

		json_set(b, filter, "kind",
			 json_string(filter_kind_names[m->filter.kind]));
		json_set(b, filter, "value", json_text(m->filter.value));
		json_set(b, filter, "exclude", json_boolean(m->filter.exclude));
		json_set(b, filter, "matches", json_count(m->nr));
		json_add(b, filters, filter);
	}
	for (size_t i = 0; i < n->nr_frames; i++) {
		json_t *filter = json_object();

		json_set(b, filter, "kind",
			 json_string(frame_filter_names[n->frames[i].kind]));
		json_set(b, filter, "value", json_text(n->frames[i].regex));
		json_add(b, filters, filter);
	}
	if (n->time) {
		json_t *filter = json_object();

		json_set(b, filter, "kind", json_string("time"));
		json_set(b, filter, "value", json_text(n->time));
		json_add(b, filters, filter);
	}
	json_set(b, object, "filters", filters);
	json_set(b, object, "all_samples", json_count(n->all.samples));
	json_set(b, object, "all_cpu_ns", json_count(n->all.cpu_ns));
	return object;
}

/*
 * Returns the member "timeline": the samples in each bucket of time, up to the last one
 * that has any; null if times are not known.
 */
static json_t *timeline_value(struct json_builder *b, const struct profile *p)
{
	const struct series *times = &p->times;
	size_t nr = times->nr ? (size_t)series_offset(times, times->highest) + 1 : 0;
	_cleanup_free_ uint64_t *counts = NULL;
	json_t *object, *array;

	if (!nr || nr > MAX_BUCKETS)
		return json_null();
	counts = calloc(nr, sizeof(*counts));
	if (!counts)
		return NULL;
	for (size_t i = 0; i < p->nr_samples; i++)
		for (uint32_t n = p->samples[i].times.first; n;
		     n = times->points[n - 1].next)
			counts[series_offset(times, times->points[n - 1].bucket)] +=
				times->points[n - 1].count;
	object = json_object();
	array = json_array();
	for (size_t i = 0; i < nr; i++)
		json_add(b, array, json_count(counts[i]));
	json_set(b, object, "bucket_ns", json_count(times->bucket_ns));
	json_set(b, object, "samples", array);
	return object;
}

/* Creates the members that every kind of document has (docs/formats.md). */
static json_t *json_document(struct json_builder *b, const struct render_input *in,
			     const char *kind)
{
	struct summary s = summary_of(in->profile);
	json_t *root = json_object();

	json_set(b, root, "lineburn", json_integer(1));
	json_set(b, root, "kind", json_string(kind));
	set_origin(b, root, in, &s);
	set_samples(b, root, in, &s);
	json_set(b, root, "narrowed", filtered_value(b, in->filtered));
	set_phases(b, root, in->phases);
	json_set(b, root, "timeline", timeline_value(b, in->profile));
	if (in->profile->extra.present)
		set_losses(b, root, in->profile, &s);
	else
		json_set(b, root, "losses", json_null());
	set_misses(b, root, in->attribution);
	return root;
}

static void set_functions(struct json_builder *b, json_t *root,
			  const struct attribution *a, const struct render_options *opts)
{
	json_t *functions = json_array();

	for (size_t i = 0; i < a->nr_functions && render_has_rank(opts, i); i++) {
		const struct attribution_function *f = &a->functions[i];
		json_t *function = json_object();

		json_set(b, function, "name", json_text(f->name));
		json_set(b, function, "object", json_text(f->object));
		json_set(b, function, "file", json_text(f->file));
		json_set(b, function, "start_line", json_count(f->start_line));
		json_set_weight(b, function, "self", &f->self);
		json_set_weight(b, function, "total", &f->total);
		json_add(b, functions, function);
	}
	json_set(b, root, "functions", functions);
}

static void set_cost(struct json_builder *b, json_t *root, const struct render_input *in)
{
	const struct profile_cost *c = &in->profile->extra.cost;
	uint64_t sampled = in->profile->extra.losses.sampled;
	uint64_t wall_ns = in->profile->extra.wall_ns;
	json_t *cost = json_object();

	json_set(b, cost, "bpf_ns_per_sample",
		 json_count(sampled ? c->bpf_ns / sampled : 0));
	json_set(b, cost, "bpf_cpu_percent",
		 json_real(wall_ns ? 100.0 * (double)c->bpf_ns / (double)wall_ns : 0));
	json_set(b, cost, "collector_cpu_ns", json_count(c->collector_cpu_ns));
	json_set(b, cost, "collector_peak_rss_bytes",
		 json_count(c->collector_peak_rss_bytes));
	json_set(b, cost, "map_bytes", json_count(c->map_bytes));
	json_set(b, cost, "bpf_runs", json_count(c->bpf_runs));
	json_set(b, cost, "bpf_ns", json_count(c->bpf_ns));
	json_set(b, root, "cost", cost);
}

/* Only with --budget. */
static void set_budget(struct json_builder *b, json_t *root, const struct profile_cost *c)
{
	json_t *budget = json_object();

	json_set(b, budget, "percent", json_real((double)c->budget_ppm / 1e4));
	json_set(b, budget, "tick_ns", json_count(c->tick_ns));
	json_set(b, budget, "lowered_ns", json_count(c->lowered_ns));
	json_set(
		b, budget, "lowest_hz",
		json_real(c->longest_period_ns ? 1e9 / (double)c->longest_period_ns : 0));
	json_set(b, root, "budget", budget);
}

/* Returns the member "limits". The functions are listed except with groups. */
static json_t *limits_value(struct json_builder *b, const struct render_input *in)
{
	const struct attribution *a = in->attribution;
	json_t *limits = json_array();
	bool shows_kernel = false;

	for (size_t i = 0; i < a->nr_functions && !in->groups && !shows_kernel; i++)
		shows_kernel = render_is_kernel(a->functions[i].object);
	for (int i = 0; i < NR_RENDER_LIMITS; i++) {
		const char *text = render_limit(in, (enum render_limit)i, shows_kernel);

		if (text)
			json_add(b, limits, json_string(text));
	}
	return limits;
}

/** Sets the last members: "functions", "cost", "processes" (for groups only "cost"). */
static void json_set_rest(struct json_builder *b, json_t *root,
			  const struct render_input *in,
			  const struct render_options *opts)
{
	const struct profile_extra *extra = &in->profile->extra;
	json_t *warnings = json_array();

	/* There may be thousands of groups: then omit functions and processes. */
	if (!in->groups)
		set_functions(b, root, in->attribution, opts);
	set_cost(b, root, in);
	if (extra->cost.budget_ppm)
		set_budget(b, root, &extra->cost);
	if (!in->groups)
		json_set(b, root, "processes", processes_value(b, in->processes, opts));
	for (size_t i = 0; i < extra->nr_warnings; i++)
		json_add(b, warnings, json_text(extra->warnings[i]));
	json_set(b, root, "warnings", warnings);
	json_set(b, root, "limits", limits_value(b, in));
}

/* Returns how many items of a list are beyond --limit. */
static uint64_t nr_beyond(const struct render_options *opts, size_t nr)
{
	return nr > opts->limit ? nr - opts->limit : 0;
}

/*
 * Sets the member "omitted": what --limit leaves out of each list. @self: of the lines,
 * functions or groups, whichever the document is about.
 */
static void set_omitted(struct json_builder *b, json_t *root,
			const struct render_input *in, const struct render_options *opts,
			const struct attribution_left_out *lines,
			const struct weight *self)
{
	json_t *omitted = json_object();
	size_t nr_functions = in->groups ? 0 : in->attribution->nr_functions;
	size_t nr_processes = in->groups || !in->processes ? 0 : in->processes->nr;

	json_set(b, omitted, "files", json_count(lines->files));
	json_set(b, omitted, "lines", json_count(lines->lines));
	json_set(b, omitted, "functions", json_count(nr_beyond(opts, nr_functions)));
	json_set(b, omitted, "processes", json_count(nr_beyond(opts, nr_processes)));
	json_set(b, omitted, "groups",
		 json_count(nr_beyond(opts, in->groups ? in->groups->nr : 0)));
	json_set_weight(b, omitted, "self", self);
	json_set(b, root, "omitted", omitted);
}

static json_t *callees_value(struct json_builder *b, const struct attribution_line *l)
{
	json_t *callees = json_array();

	for (size_t i = 0; i < l->nr_callees; i++) {
		const struct attribution_callee *c = &l->callees[i];
		json_t *callee = json_object();

		json_set(b, callee, "function", json_text(c->function));
		json_set(b, callee, "object", json_text(c->object));
		json_set_weight(b, callee, "samples", &c->self);
		json_add(b, callees, callee);
	}
	return callees;
}

/* Returns the text of line @number, or null. */
static json_t *text_value(const struct attribution_source *source, uint32_t number)
{
	const char *text =
		number && number <= source->nr_lines ? source->lines[number - 1] : NULL;

	return text ? json_text(text) : json_null();
}

static json_t *line_value(struct json_builder *b, const struct attribution_file *f,
			  const struct attribution_line *l)
{
	json_t *line = json_object(), *ci95 = json_array();

	json_add(b, ci95, json_real(l->ci95_low));
	json_add(b, ci95, json_real(l->ci95_high));
	json_set(b, line, "line", json_count(l->line));
	json_set(b, line, "function", json_text(l->function));
	json_set_weight(b, line, "self", &l->self);
	json_set_weight(b, line, "total", &l->total);
	json_set(b, line, "self_ci95", ci95);
	json_set(b, line, "no_code", json_boolean(l->no_code));
	json_set(b, line, "text", text_value(&f->source, l->line));
	json_set(b, line, "callees", callees_value(b, l));
	return line;
}

static json_t *file_value(struct json_builder *b, const struct attribution_file *f)
{
	json_t *file = json_object(), *source = json_object(), *lines = json_array();

	json_set(b, file, "path", json_text(f->path));
	json_set(b, file, "language", json_text(f->language));
	json_set_weight(b, file, "self", &f->self);
	json_set_weight(b, file, "total", &f->total);
	json_set(b, source, "found", json_boolean(f->source.found));
	json_set(b, source, "from", json_text(f->source.from));
	json_set(b, source, "note", json_text(f->source.note));
	json_set(b, file, "source", source);
	for (size_t i = 0; i < f->nr_lines; i++)
		if (!f->lines[i].left_out)
			json_add(b, lines, line_value(b, f, &f->lines[i]));
	json_set(b, file, "lines", lines);
	return file;
}

int render_annotate_json(const struct render_input *in, const struct render_options *opts,
			 FILE *out)
{
	const struct attribution *a = in->attribution;
	struct json_builder b = {0};
	json_t *root = json_document(&b, in, "annotate");
	json_t *files = json_array();

	for (size_t i = 0; i < a->nr_files; i++)
		if (render_has_file(opts, a->files[i].path) && !a->files[i].left_out)
			json_add(&b, files, file_value(&b, &a->files[i]));
	json_set(&b, root, "files", files);
	if (in->machine_code)
		json_set(&b, root, "asm", asm_value(&b, in));
	if (opts->limit)
		set_omitted(&b, root, in, opts, &a->left_out, &a->left_out.self);
	json_set_rest(&b, root, in, opts);
	return json_print(&b, root, out);
}

int render_report_json(const struct render_input *in, const struct render_options *opts,
		       FILE *out)
{
	static const struct attribution_left_out no_lines;
	const struct attribution *a = in->attribution;
	struct json_builder b = {0};
	json_t *root = json_document(&b, in, in->groups ? "groups" : "report");
	struct weight beyond = {0};
	size_t nr = in->groups ? in->groups->nr : a->nr_functions;

	for (size_t i = opts->limit; i < nr; i++)
		weight_add(&beyond,
			   in->groups ? in->groups->items[i].self : a->functions[i].self);

	if (in->groups) {
		json_set(&b, root, "by", json_text(group_by_name(in->groups)));
		json_set(&b, root, "groups", groups_value(&b, in->groups, opts));
	}
	if (in->call_tree)
		json_set(&b, root, "tree", call_tree_value(&b, in->call_tree));
	if (opts->limit)
		set_omitted(&b, root, in, opts, &no_lines, &beyond);
	json_set_rest(&b, root, in, opts);
	return json_print(&b, root, out);
}
