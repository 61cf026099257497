// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/board.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/call_tree.h"
#include "analyze/filter.h"
#include "analyze/groups.h"
#include "analyze/hot_lines.h"
#include "analyze/source.h"
#include "base/escape.h"
#include "base/vec.h"

#define ID_DIGITS 12 /* of a container, where it has no name */

const char *const board_view_names[NR_BOARD_VIEWS] = {"lines", "functions", "processes",
						      "containers", "source"};
const char *const board_sort_names[NR_BOARD_SORTS] = {"self", "total", "name"};

/* A row before its texts are copied: most rows are sorted away. */
struct row_source {
	struct weight self, total;
	const char *text; /* sorted by it, then by the number */
	uint32_t number;
	const void *item; /* hot_line, attribution_function, group */
};

struct row_sources {
	struct row_source *items; /* heap */
	size_t nr;
};

struct board_work {
	struct profile *p;
	const struct board_place *place;
	const struct board_options *options;
	struct attribution *a;
	struct board *board;
};

/* ---- figures ---- */

static double share(const struct board_work *w, const struct weight *part)
{
	const struct weight *all = &w->a->all;

	if (all->cpu_ns)
		return (double)part->cpu_ns / (double)all->cpu_ns;
	return all->samples ? (double)part->samples / (double)all->samples : 0;
}

static double a_second(const struct board *b, uint64_t ns)
{
	return b->seconds > 0 ? (double)ns / 1e9 / b->seconds : 0;
}

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void set_figures(struct board *b, const struct board_work *w)
{
	const struct profile_extra *extra = &w->p->extra;
	const struct profile_losses *l = &extra->losses;
	const struct attribution *a = w->a;
	uint64_t lost = l->sampled > l->counted ? l->sampled - l->counted : 0;
	struct weight without = a->function_only;

	weight_add(&without, a->unknown);
	b->samples = a->all.samples;
	b->cpus = a_second(b, a->all.cpu_ns);
	b->without_line = share(w, &without);
	b->unproven = ratio(attribution_unproven_stacks(a).samples, a->all.samples);
	b->incomplete = ratio(a->incomplete_stacks.samples, a->all.samples);
	b->missed = ratio(l->missed, l->due);
	b->lost = ratio(lost, l->sampled);
	b->own_cpus = a_second(b, extra->cost.collector_cpu_ns + extra->cost.bpf_ns);
	b->nr_cpus = extra->nr_cpus;
	b->freq_hz = extra->freq_hz;
}

/* ---- rows ---- */

static int by_name(const struct row_source *a, const struct row_source *b)
{
	int order = strcmp(a->text, b->text);

	return order ? order : (a->number > b->number) - (a->number < b->number);
}

static int self_first(const void *va, const void *vb)
{
	const struct row_source *a = va, *b = vb;
	int order = weight_compare(a->self, b->self);

	if (!order)
		order = weight_compare(a->total, b->total);
	return order ? order : by_name(a, b);
}

static int total_first(const void *va, const void *vb)
{
	const struct row_source *a = va, *b = vb;
	int order = weight_compare(a->total, b->total);

	if (!order)
		order = weight_compare(a->self, b->self);
	return order ? order : by_name(a, b);
}

static int name_first(const void *va, const void *vb)
{
	const struct row_source *a = va, *b = vb;
	int order = by_name(a, b);

	return order ? order : self_first(va, vb);
}

static bool contains(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

/* Takes the texts of @row. Return: 0 or -ENOMEM. */
static int add_row(const struct board_work *w, struct board_row *row, size_t *cap)
{
	struct board *b = w->board;
	const char *find = w->options->find;
	bool is_wanted = !find || contains(row->name, find) ||
			 contains(row->detail, find);
	int rc = 0;

	if (!row->name || !row->detail)
		rc = -ENOMEM;
	else if (is_wanted && b->view != BOARD_SOURCE && b->nr_rows == BOARD_MAX_ROWS)
		b->nr_left_out++;
	else if (is_wanted)
		rc = vec_grow(&b->rows, cap, b->nr_rows + 1, sizeof(*b->rows), 0);
	if (!rc && is_wanted && !b->nr_left_out) {
		b->rows[b->nr_rows++] = *row;
		return 0;
	}
	free(row->name);
	free(row->detail);
	free(row->key);
	return rc;
}

static char *print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Return: heap, or NULL. */
static char *print(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}

static void name_line(struct board_row *row, const struct row_source *e)
{
	const struct hot_line *h = e->item;

	row->name = print("%s:%" PRIu32, h->file->path, h->line->line);
	row->detail = strdup(*h->line->function ? h->line->function : "[no name]");
	row->line = h->line->line;
	row->key = strdup(h->file->path);
}

static void name_function(struct board_row *row, const struct row_source *e)
{
	const struct attribution_function *f = e->item;

	row->name = strdup(*f->name ? f->name : "[no name]");
	row->detail = strdup(*f->file ? f->file : f->object);
	row->key = *f->file ? strdup(f->file) : NULL;
}

static void name_process(struct board_row *row, const struct row_source *e)
{
	const struct group *g = e->item;
	const char *comm = g->text[OWNER_COMM],
		   *container = g->text[OWNER_CONTAINER_NAME];

	if (!*container)
		container = g->text[OWNER_CONTAINER];
	row->pid = g->pid;
	row->name = g->is_told ? strdup(*comm ? comm : "[no name]")
			       : strdup("[no process]");
	row->detail = print("%s%s%.*s", g->text[OWNER_EXE], *container ? "  in " : "", 64,
			    container);
}

static void name_container(struct board_row *row, const struct row_source *e)
{
	const struct group *g = e->item;
	const char *id = g->text[OWNER_CONTAINER], *name = g->text[OWNER_CONTAINER_NAME];

	row->key = strdup(g->is_told ? id : "-");
	if (!g->is_told) {
		row->name = strdup("outside of containers");
		row->detail = strdup("");
		return;
	}
	row->name = *name ? strdup(name) : print("%.*s", ID_DIGITS, id);
	row->detail = print("%s %.*s", g->text[OWNER_RUNTIME], ID_DIGITS, id);
}

static int make_rows(const struct board_work *w, struct row_sources *entries)
{
	static int (*const orders[])(const void *, const void *) = {
		[BOARD_BY_SELF] = self_first,
		[BOARD_BY_TOTAL] = total_first,
		[BOARD_BY_NAME] = name_first,
	};
	size_t cap = 0;
	int rc = 0;

	qsort(entries->items, entries->nr, sizeof(*entries->items),
	      orders[w->options->sort]);
	for (size_t i = 0; i < entries->nr && !rc; i++) {
		const struct row_source *e = &entries->items[i];
		struct board_row row = {
			.self = share(w, &e->self),
			.total = share(w, &e->total),
			.cpus = a_second(w->board, e->total.cpu_ns),
		};

		if (w->board->view == BOARD_LINES)
			name_line(&row, e);
		else if (w->board->view == BOARD_FUNCTIONS)
			name_function(&row, e);
		else if (w->board->view == BOARD_PROCESSES)
			name_process(&row, e);
		else
			name_container(&row, e);
		rc = add_row(w, &row, &cap);
	}
	return rc;
}

static int entries_init(struct row_sources *entries, size_t nr)
{
	entries->items = calloc(nr + 1, sizeof(*entries->items));
	return entries->items ? 0 : -ENOMEM;
}

static void entries_deinit(struct row_sources *entries)
{
	free(entries->items);
}

static int list_lines(const struct board_work *w)
{
	_cleanup_(entries_deinit) struct row_sources entries = {0};
	_cleanup_free_ struct hot_line *lines = NULL;
	size_t nr;

	if (hot_lines_of(w->a, NULL, &lines, &nr) || entries_init(&entries, nr))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		entries.items[entries.nr++] = (struct row_source){
			.self = lines[i].line->self,
			.total = lines[i].line->total,
			.text = lines[i].file->path,
			.number = lines[i].line->line,
			.item = &lines[i],
		};
	return make_rows(w, &entries);
}

static int list_functions(const struct board_work *w)
{
	_cleanup_(entries_deinit) struct row_sources entries = {0};
	const struct attribution *a = w->a;

	if (entries_init(&entries, a->nr_functions))
		return -ENOMEM;
	for (size_t i = 0; i < a->nr_functions; i++) {
		w->board->has_kernel |= !strcmp(a->functions[i].object, CALL_TREE_KERNEL);
		entries.items[entries.nr++] = (struct row_source){
			.self = a->functions[i].self,
			.total = a->functions[i].total,
			.text = a->functions[i].name,
			.number = a->functions[i].start_line,
			.item = &a->functions[i],
		};
	}
	return make_rows(w, &entries);
}

static int list_groups(const struct board_work *w, enum group_by by, enum owner_text text)
{
	_cleanup_(entries_deinit) struct row_sources entries = {0};
	_cleanup_(groups_freep) struct groups *groups = NULL;
	struct error err = {0};
	int rc = groups_new(w->p, w->a, by, NULL, &groups, &err);

	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		snprintf(w->board->note, sizeof(w->board->note), "%s", err.text);
		return 0;
	}
	if (entries_init(&entries, groups->nr))
		return -ENOMEM;
	for (size_t i = 0; i < groups->nr; i++)
		entries.items[entries.nr++] = (struct row_source){
			.self = groups->items[i].self,
			.total = groups->items[i].self,
			.text = groups->items[i].text[text],
			.number = groups->items[i].pid,
			.item = &groups->items[i],
		};
	return make_rows(w, &entries);
}

/* ---- the source of a file ---- */

/* Finds the hottest file with the path of the place. *@ret_nr: how many files have it. */
static const struct attribution_file *find_file(const struct board_work *w,
						size_t *ret_nr)
{
	const struct attribution_file *hottest = NULL;

	*ret_nr = 0;
	for (size_t i = w->a->nr_files; i-- > 0;)
		if (!strcmp(w->a->files[i].path, w->place->path)) {
			hottest = &w->a->files[i];
			++*ret_nr;
		}
	return hottest;
}

static const char *text_of(const struct attribution_source *s, uint32_t line)
{
	return line <= s->nr_lines && s->lines[line - 1] ? s->lines[line - 1] : NULL;
}

/* Adds line @number, whose figures are @line (NULL: it has none). */
static int add_source_row(const struct board_work *w, const struct attribution_source *s,
			  uint32_t number, const struct attribution_line *line,
			  size_t *cap)
{
	const char *text = text_of(s, number);
	struct board_row row = {.line = number};

	if (!text && !line)
		return 0;
	row.name = strdup(text ? text : "");
	row.detail = strdup("");
	if (line && !line->no_code) {
		row.self = share(w, &line->self);
		row.total = share(w, &line->total);
		row.cpus = a_second(w->board, line->total.cpu_ns);
	}
	return add_row(w, &row, cap);
}

/* Returns the line to show first; 0: any. */
static uint32_t start_line(const struct board_place *place,
			   const struct attribution_file *f)
{
	const struct attribution_line *best = NULL;

	if (place->line)
		return place->line;
	for (size_t i = 0; i < f->nr_lines; i++) {
		const struct attribution_line *line = &f->lines[i];

		if (line->no_code ||
		    (place->function && strcmp(line->function, place->function) != 0))
			continue;
		if (!best || weight_compare(line->self, best->self) < 0)
			best = line;
	}
	return best ? best->line : 0;
}

static void set_start(struct board *b, uint32_t line)
{
	for (size_t i = 0; i < b->nr_rows; i++)
		if (b->rows[i].line == line)
			b->start = i;
}

static int list_source(const struct board_work *w)
{
	static const struct source_search nowhere = {.is_strangers = true};
	const struct attribution_file *f;
	struct board *b = w->board;
	size_t cap = 0, nr_files;
	int rc;

	/* The collector has read the text with the rights of the program's user. */
	if (source_attach(w->a, w->p, &nowhere))
		return -ENOMEM;
	f = find_file(w, &nr_files);
	if (!f) {
		snprintf(b->note, sizeof(b->note),
			 "no CPU time is charged to this file%s",
			 w->options->attribution.runtime && w->options->attribution.kernel
				 ? ""
				 : ": lines of the C library, of interpreters and of the "
				   "kernel need --runtime or --kernel");
		return 0;
	}
	if (nr_files > 1)
		text_append(b->note, sizeof(b->note),
			    "%zu files have this path: this one has the most CPU time, "
			    "open a container first to see its own",
			    nr_files);
	if (!f->source.found)
		text_append(b->note, sizeof(b->note),
			    "%sthe text of this file is not here (yet)",
			    nr_files > 1 ? "; " : "");
	for (size_t line = 1, next = 0; line <= f->source.nr_lines || next < f->nr_lines;
	     line++) {
		const struct attribution_line *at = NULL;

		if (next < f->nr_lines && line > f->source.nr_lines)
			line = f->lines[next].line;
		if (next < f->nr_lines && f->lines[next].line == line)
			at = &f->lines[next++];
		rc = add_source_row(w, &f->source, (uint32_t)line, at, &cap);
		if (rc)
			return rc;
	}
	set_start(b, start_line(w->place, f));
	return 0;
}

/* ---- the whole ---- */

/* Drops the samples that are not of the place. */
static int filter(struct profile *p, const struct board_place *place, char *note,
		  size_t size)
{
	_cleanup_(filtered_freep) struct filtered *filtered = NULL;
	struct profile_filter filters[2];
	struct error err = {0};
	char pid[16];
	size_t nr = 0;
	int rc;

	if (place->container)
		filters[nr++] = (struct profile_filter){.kind = FILTER_CONTAINER,
							.value = place->container};
	snprintf(pid, sizeof(pid), "%" PRIu32, place->pid);
	if (place->pid)
		filters[nr++] = (struct profile_filter){.kind = FILTER_PID, .value = pid};
	if (!nr || !p->nr_samples)
		return 0;
	rc = filter_profile(p, filters, nr, &filtered, &err);
	if (rc == -ENODATA) {
		p->nr_samples = 0;
		snprintf(note, size, "%s", err.text);
		rc = 0;
	}
	return rc;
}

static int list(const struct board_work *w)
{
	switch (w->board->view) {
	case BOARD_LINES:
		return list_lines(w);
	case BOARD_FUNCTIONS:
		return list_functions(w);
	case BOARD_PROCESSES:
		return list_groups(w, GROUP_BY_PROCESS, OWNER_COMM);
	case BOARD_CONTAINERS:
		return list_groups(w, GROUP_BY_CONTAINER, OWNER_CONTAINER_NAME);
	default:
		return list_source(w);
	}
}

int board_make(struct profile *p, const struct board_place *place,
	       const struct board_options *options, struct board **ret)
{
	_cleanup_(board_freep) struct board *b = calloc(1, sizeof(*b));
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	struct board_work w = {.p = p, .place = place, .options = options, .board = b};
	int rc;

	if (!b)
		return -ENOMEM;
	b->view = place->view;
	b->seconds = (double)p->extra.wall_ns / 1e9;
	b->all_cpus = a_second(b, weight_of_profile(p).cpu_ns);
	rc = filter(p, place, b->note, sizeof(b->note));
	if (!rc)
		rc = attribution_new(p, &options->attribution, &a);
	if (rc)
		return rc;
	w.a = a;
	set_figures(b, &w);
	if (p->nr_samples)
		rc = list(&w);
	else if (!*b->note)
		snprintf(b->note, sizeof(b->note), "no samples in the last %.3g s",
			 b->seconds);
	if (!rc)
		*ret = take_ptr(b);
	return rc;
}

void board_free(struct board *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->nr_rows; i++) {
		free(b->rows[i].name);
		free(b->rows[i].detail);
		free(b->rows[i].key);
	}
	free(b->rows);
	free(b);
}
