// SPDX-License-Identifier: GPL-2.0-or-later
/*
 *  CPU %     CPU s  samples  line %  container
 *   61.2      3.07     3067    94.1  web (3f2a8c9d0e1f, docker)
 *   30.1      1.51     1508   100.0  db (71cc09a1b2d3, docker)
 *    8.6      0.43      430    12.0  (no container)
 *    0.1      0.01        7          and 12 more containers
 *
 * line %: of the group's own samples, those with a source line.
 */
#include "render/groups.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/phase.h"
#include "render/figure.h"
#include "render/listing.h"
#include "render/text.h"

#define SHORT_ID_LENGTH 12 /* of a container, as runtimes print it */
/* ids with at least this many hexadecimal digits are shortened */
#define ID_LENGTH 32

static const struct {
	const char *not_told, *one_more, *more;
} words_of[] = {
	[GROUP_BY_NOTHING] = {"", "", ""},
	[GROUP_BY_CONTAINER] = {"(no container)", "more container", "more containers"},
	[GROUP_BY_UNIT] = {"(no unit)", "more unit", "more units"},
	[GROUP_BY_POD] = {"(no pod)", "more pod", "more pods"},
	[GROUP_BY_PROCESS] = {"(process not known)", "more process", "more processes"},
	[GROUP_BY_THREAD] = {"(thread not known)", "more thread", "more threads"},
	[GROUP_BY_COMM] = {"(command not known)", "more command", "more commands"},
	[GROUP_BY_USER] = {"(user not known)", "more user", "more users"},
	[GROUP_BY_CGROUP] = {"(no cgroup)", "more cgroup", "more cgroups"},
	[GROUP_BY_PHASE] = {"", "more phase", "more phases"},
	[GROUP_BY_LABEL] = {"(no such label)", "more value", "more values"},
	[GROUP_BY_OWNER] = {"", "", ""},
};
_Static_assert(ARRAY_SIZE(words_of) == NR_GROUP_BY, "words of each");

struct group_name container_short_id(const char *id)
{
	struct group_name name;
	bool is_long = strlen(id) >= ID_LENGTH &&
		       strspn(id, "0123456789abcdef") >= ID_LENGTH;

	snprintf(name.text, sizeof(name.text), "%.*s",
		 is_long ? SHORT_ID_LENGTH : (int)sizeof(name.text), id);
	return name;
}

/**
 * Shortens ids of containers within a name ("docker-3f2a8c9d0e1f....scope"), to make
 * room for the text around them.
 */
static void group_name_shorten_ids(struct group_name *name)
{
	static const char dots[] = "...";
	char *to = name->text;

	for (const char *from = name->text; *from;) {
		size_t len = strspn(from, "0123456789abcdef");
		size_t kept = len >= ID_LENGTH ? SHORT_ID_LENGTH : len + !len;

		memmove(to, from, kept);
		to += kept;
		from += len + !len;
		if (len < ID_LENGTH)
			continue;
		memcpy(to, dots, sizeof(dots) - 1);
		to += sizeof(dots) - 1;
	}
	*to = '\0';
}

/* The phase in words; another tool's label of that name unchanged. */
static struct group_name phase_name(const char *text)
{
	struct group_name name;

	for (size_t i = 0; i < NR_PHASES; i++)
		if (!strcmp(text, phase_names[i]))
			text = phase_words[i];
	snprintf(name.text, sizeof(name.text), "%s", text);
	return name;
}

struct group_name container_name(const char *id, const char *name, const char *runtime)
{
	struct group_name ret, short_id = container_short_id(id);
	bool has_name = *name && strcmp(name, id) != 0;

	snprintf(ret.text, sizeof(ret.text), "%.512s%s%.256s%s%.64s%s",
		 has_name ? name : short_id.text, has_name || *runtime ? " (" : "",
		 has_name ? short_id.text : "", has_name && *runtime ? ", " : "", runtime,
		 has_name || *runtime ? ")" : "");
	return ret;
}

static struct group_name container_of(const struct group *g)
{
	return container_name(g->text[OWNER_CONTAINER], g->text[OWNER_CONTAINER_NAME],
			      g->text[OWNER_RUNTIME]);
}

/* "web (3f2a8c9d0e1f, docker)", "nginx.service", "4711 python3", "(no container)" */
static struct group_name group_name_of(enum group_by by, const struct group *g)
{
	const char *gap = *g->text[OWNER_COMM] ? " " : "";
	struct group_name ret = {0};

	if (!g->is_told) {
		snprintf(ret.text, sizeof(ret.text), "%s", words_of[by].not_told);
		return ret;
	}
	switch (by) {
	case GROUP_BY_CONTAINER:
		return container_of(g);
	case GROUP_BY_PROCESS:
		snprintf(ret.text, sizeof(ret.text), "%" PRIu32 "%s%s", g->pid, gap,
			 g->text[OWNER_COMM]);
		return ret;
	case GROUP_BY_THREAD:
		snprintf(ret.text, sizeof(ret.text), "%" PRIu32 "/%" PRIu32 "%s%s",
			 g->pid, g->tid, gap, g->text[OWNER_COMM]);
		return ret;
	case GROUP_BY_PHASE:
		return phase_name(g->text[OWNER_LABEL]);
	case GROUP_BY_CGROUP:
		if (!*g->text[OWNER_CGROUP])
			snprintf(ret.text, sizeof(ret.text),
				 "(path not known, id %" PRIu64 ")", g->cgroup_id);
		else
			snprintf(ret.text, sizeof(ret.text), "%s", g->text[OWNER_CGROUP]);
		return ret;
	default:
		snprintf(ret.text, sizeof(ret.text), "%s", g->text[group_by_text(by)]);
		return ret;
	}
}

/** Returns the group's container if any, else its unit; "": neither. */
static struct group_name group_place(const struct group *g)
{
	struct group_name ret;

	if (*g->text[OWNER_CONTAINER])
		return container_of(g);
	snprintf(ret.text, sizeof(ret.text), "%s", g->text[OWNER_UNIT]);
	return ret;
}

static const char *const members[] = {
	[OWNER_CONTAINER_NAME] = "container_name",
	[OWNER_CONTAINER] = "container",
	[OWNER_RUNTIME] = "container_runtime",
	[OWNER_POD] = "pod",
	[OWNER_UNIT] = "unit",
	[OWNER_COMM] = "comm",
	[OWNER_EXE] = "exe",
	[OWNER_USER] = "user",
	[OWNER_CGROUP] = "cgroup",
	[OWNER_LABEL] = "label",
};
_Static_assert(ARRAY_SIZE(members) == NR_OWNER_TEXTS, "one member per text");

/* Returns the option argument that selects this group. */
static json_t *key_value(enum group_by by, const struct group *g)
{
	char number[16];

	if (!g->is_told)
		return json_null();
	if (by != GROUP_BY_PROCESS && by != GROUP_BY_THREAD)
		return json_text_or_null(g->text[group_by_text(by)]);
	snprintf(number, sizeof(number), "%" PRIu32,
		 by == GROUP_BY_THREAD ? g->tid : g->pid);
	return json_text(number);
}

json_t *groups_value(struct json_builder *b, const struct groups *groups,
		     const struct render_options *opts)
{
	json_t *array = json_array();

	for (size_t i = 0; i < groups->nr && render_has_rank(opts, i); i++) {
		const struct group *g = &groups->items[i];
		json_t *group = json_object();

		json_set(b, group, "name",
			 g->is_told ? json_text(group_name_of(groups->by, g).text)
				    : json_null());
		json_set(b, group, "key", key_value(groups->by, g));
		json_set(b, group, "pid", json_count_or_null(g->pid));
		json_set(b, group, "tid", json_count_or_null(g->tid));
		for (size_t k = 0; k < NR_OWNER_TEXTS; k++)
			json_set(b, group, members[k], json_text_or_null(g->text[k]));
		json_set(b, group, "cgroup_id", json_count_or_null(g->cgroup_id));
		json_set(b, group, "samples", json_count(g->self.samples));
		json_set(b, group, "cpu_ns", json_count(g->self.cpu_ns));
		json_set_weight(b, group, "with_line", &g->with_line);
		json_add(b, array, group);
	}
	return array;
}

json_t *processes_value(struct json_builder *b, const struct groups *processes,
			const struct render_options *opts)
{
	static const enum owner_text always[] = {OWNER_COMM, OWNER_CONTAINER, OWNER_UNIT};
	static const enum owner_text if_told[] = {OWNER_CONTAINER_NAME, OWNER_RUNTIME,
						  OWNER_POD, OWNER_CGROUP, OWNER_USER};
	json_t *array = json_array();

	for (size_t i = 0; processes && i < processes->nr && render_has_rank(opts, i);
	     i++) {
		const struct group *g = &processes->items[i];
		json_t *process = json_object();

		json_set(b, process, "pid", json_count(g->pid));
		for (size_t k = 0; k < ARRAY_SIZE(always); k++)
			json_set(b, process, members[always[k]],
				 json_text(g->text[always[k]]));
		if (g->ns_pid)
			json_set(b, process, "ns_pid", json_count(g->ns_pid));
		for (size_t k = 0; k < ARRAY_SIZE(if_told); k++)
			if (*g->text[if_told[k]])
				json_set(b, process, members[if_told[k]],
					 json_text(g->text[if_told[k]]));
		json_set_weight(b, process, "samples", &g->self);
		json_add(b, array, process);
	}
	return array;
}

#define FIGURES_COLUMNS 36 /* columns of the four figures and their gaps */
#define MAX_TEXT        60 /* columns of a cell before another one */
#define MIN_TEXT        16
#define WIDTH_FOR_EXE   100 /* minimum terminal width to show executables */

enum column {
	COLUMN_NAME,
	COLUMN_EXE,
	COLUMN_PLACE, /* container or unit */
	NR_COLUMNS,
};

/* Returns the text of a column's cell. */
static struct group_name cell_of(const struct render_options *opts, enum group_by by,
				 const struct group *g, enum column column)
{
	bool is_process = by == GROUP_BY_PROCESS || by == GROUP_BY_THREAD;
	struct group_name none = {0};

	if (column == COLUMN_NAME) {
		struct group_name name = group_name_of(by, g);

		if (opts->width && (by == GROUP_BY_UNIT || by == GROUP_BY_CGROUP))
			group_name_shorten_ids(&name);
		return name;
	}
	if (!g->is_told)
		return none;
	if (column == COLUMN_EXE && is_process &&
	    (!opts->width || opts->width >= WIDTH_FOR_EXE)) {
		snprintf(none.text, sizeof(none.text), "%s", g->text[OWNER_EXE]);
		return none;
	}
	if (column == COLUMN_PLACE &&
	    (is_process || (by == GROUP_BY_UNIT && *g->text[OWNER_CONTAINER])))
		return group_place(g);
	return none;
}

static const char *heading_of(const struct groups *groups, enum column column)
{
	if (column == COLUMN_EXE)
		return "executable";
	if (column == COLUMN_PLACE)
		return groups->by == GROUP_BY_UNIT ? "container" : "container or unit";
	return groups->by == GROUP_BY_COMM ? "command" : group_by_name(groups);
}

struct group_widths {
	size_t of[NR_COLUMNS]; /* 0: unused; the last used one: no limit */
	size_t last; /* last used column */
};

/*
 * Shrinks the widest columns to fit a narrow terminal; the last column gets the rest.
 */
static void shrink(struct group_widths *w, size_t width)
{
	size_t used = 0, room = MIN_TEXT;

	for (size_t c = 0; c < w->last; c++)
		used += w->of[c] ? w->of[c] + 2 : 0;
	if (width > FIGURES_COLUMNS + 2 * MIN_TEXT)
		room = width - FIGURES_COLUMNS - MIN_TEXT;
	while (width && used > room) {
		size_t widest = 0;

		for (size_t c = 1; c < w->last; c++)
			widest = w->of[c] > w->of[widest] ? c : widest;
		if (w->of[widest] <= MIN_TEXT)
			break;
		w->of[widest]--;
		used--;
	}
	w->of[w->last] = 0;
	if (width)
		w->of[w->last] = width > FIGURES_COLUMNS + used + MIN_TEXT
					 ? width - FIGURES_COLUMNS - used
					 : MIN_TEXT;
}

static bool is_shown(const struct listing *l, size_t i)
{
	return render_has_rank(l->opts, i) &&
	       listing_shows(l, &l->in->groups->items[i].self);
}

static struct group_widths measure(const struct listing *l)
{
	const struct groups *groups = l->in->groups;
	struct group_widths w = {.of = {1}};

	for (size_t i = 0; i < groups->nr; i++) {
		if (!is_shown(l, i))
			continue;
		for (int c = 0; c < NR_COLUMNS; c++) {
			struct group_name cell = cell_of(
				l->opts, groups->by, &groups->items[i], (enum column)c);
			size_t columns = text_columns(cell.text, MAX_TEXT);

			w.of[c] = columns > w.of[c] ? columns : w.of[c];
		}
	}
	for (int c = 0; c < NR_COLUMNS; c++) {
		size_t heading =
			text_columns(heading_of(groups, (enum column)c), MAX_TEXT);

		if (!w.of[c])
			continue;
		w.of[c] = heading > w.of[c] ? heading : w.of[c];
		w.of[c] = w.of[c] > MAX_TEXT ? MAX_TEXT : w.of[c];
		w.last = (size_t)c;
	}
	shrink(&w, l->opts->width);
	return w;
}

static void print_figures(const struct listing *l, const struct weight *self,
			  const struct weight *with_line, enum paint heat)
{
	char seconds[32] = "";
	double of_own = weight_share(with_line, self);

	if (self->cpu_ns)
		snprintf(seconds, sizeof(seconds), "%.2f", (double)self->cpu_ns / 1e9);
	paint_print(l, heat, "%6s", figure_percent(listing_share(l, self)).text);
	fprintf(l->out, "  %8s  %7s  %6s  ", seconds,
		figure_counted(l->in->attribution, self->samples).text,
		figure_percent(of_own).text);
}

static void print_row(const struct listing *l, const struct group_widths *w,
		      const struct group *g)
{
	double share = listing_share(l, &g->self);
	size_t gap = 0;

	print_figures(l, &g->self, &g->with_line, paint_heat(l, share));
	for (size_t c = 0; c <= w->last; c++) {
		struct group_name cell =
			cell_of(l->opts, l->in->groups->by, g, (enum column)c);
		size_t columns;

		if (c < w->last && !w->of[c])
			continue;
		if (*cell.text)
			text_spaces(l->out, gap);
		columns = c == COLUMN_EXE || l->in->groups->by == GROUP_BY_CGROUP
				  ? text_cell_tail(l->out, cell.text, w->of[c])
				  : text_cell(l->out, cell.text, w->of[c]);
		if (*cell.text)
			gap = 0;
		if (c < w->last)
			gap += w->of[c] - columns + 2;
	}
	fputc('\n', l->out);
}

static void print_heading(const struct listing *l, const struct group_widths *w)
{
	paint_begin(l, PAINT_DIM);
	fprintf(l->out, "%s     CPU s  %7s  line %%  ",
		l->in->attribution->all.cpu_ns || counts_samples(l->in->attribution)
			? " CPU %"
			: "     %",
		counts_time(l->in->attribution) ? "time" : "samples");
	for (size_t c = 0; c <= w->last; c++) {
		const char *heading = heading_of(l->in->groups, (enum column)c);
		size_t columns;

		if (c < w->last && !w->of[c])
			continue;
		columns = text_cell(l->out, heading, w->of[c]);
		if (c < w->last)
			text_spaces(l->out, w->of[c] - columns + 2);
	}
	paint_end(l, PAINT_DIM);
	fputc('\n', l->out);
}

static void print_rest(const struct listing *l, const struct weight *rest,
		       const struct weight *with_line, size_t nr)
{
	enum group_by by = l->in->groups->by;

	paint_begin(l, PAINT_DIM);
	print_figures(l, rest, with_line, PAINT_PLAIN);
	fprintf(l->out, "and %s\n",
		figure_count(nr, words_of[by].one_more, words_of[by].more).text);
	paint_end(l, PAINT_DIM);
}

static void print_legend(const struct listing *l)
{
	fputc('\n', l->out);
	paint_begin(l, PAINT_DIM);
	listing_sentence(
		l, 0, 8,
		"line %%: share of the group's own %s that is charged to a source line",
		counted_name(l->in->attribution));
	paint_end(l, PAINT_DIM);
}

void groups_table(struct listing *l)
{
	const struct groups *groups = l->in->groups;
	struct group_widths w = measure(l);
	struct weight rest = {0}, rest_with_line = {0};
	size_t nr_rest = 0;

	if (groups->nr)
		l->hottest = listing_share(l, &groups->items[0].self);
	fputc('\n', l->out);
	print_heading(l, &w);
	for (size_t i = 0; i < groups->nr; i++) {
		const struct group *g = &groups->items[i];

		if (is_shown(l, i)) {
			print_row(l, &w, g);
			continue;
		}
		nr_rest++;
		weight_add(&rest, g->self);
		weight_add(&rest_with_line, g->with_line);
	}
	if (nr_rest)
		print_rest(l, &rest, &rest_with_line, nr_rest);
	print_legend(l);
}
