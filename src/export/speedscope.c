// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * JSON of speedscope, as its file-format-schema.json defines it: a "sampled" profile for
 * each combination of labels, with frames that they share.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "export/json_text.h"
#include "export/stack_tree.h"

struct speedscope {
	FILE *out;
	const struct export_stacks *stacks;
	const struct stack_tree *tree;
	/* By frame of the stacks: the number of its line (function, line) in the file. */
	uint32_t *line_of;
	struct tally lines;
	uint32_t *path; /* of one sample, the innermost frame first */
	size_t cap_path;
};

static void speedscope_deinit(struct speedscope *w)
{
	free(w->line_of);
	tally_deinit(&w->lines);
	free(w->path);
}

static int put_line(const struct speedscope *w, const struct export_frame *f)
{
	int r;

	fputs("{\"name\":", w->out);
	r = json_put(w->out, f->name);
	if (!r && *f->file) {
		fputs(",\"file\":", w->out);
		r = json_put(w->out, f->file);
	}
	if (f->line)
		fprintf(w->out, ",\"line\":%" PRIu32, f->line);
	fputc('}', w->out);
	return r;
}

/* Writes a line once, even if it is inlined in one place and called in another. */
static int put_lines(struct speedscope *w)
{
	const struct export_stacks *s = w->stacks;
	int r = 0;

	w->line_of = calloc(s->nr_frames + 1, sizeof(*w->line_of));
	if (!w->line_of)
		return -ENOMEM;
	fputs("\"shared\":{\"frames\":[\n", w->out);
	for (size_t i = 0; i < s->nr_frames && !r; i++) {
		const struct export_frame *f = &s->frames[i];
		size_t nr = w->lines.nr;

		w->line_of[i] = tally_number(&w->lines, f->function, f->line);
		if (w->line_of[i] == PROFILE_NONE)
			return -ENOMEM;
		if (w->line_of[i] < nr)
			continue;
		fputs(nr ? ",\n" : "", w->out);
		r = put_line(w, f);
	}
	fputs("\n]},\n", w->out);
	return r;
}

static int put_sample(struct speedscope *w, const struct stack_node *node)
{
	size_t nr = 0;

	for (;; node = &w->tree->nodes[node->parent]) {
		if (vec_grow(&w->path, &w->cap_path, nr + 1, sizeof(*w->path), 0))
			return -ENOMEM;
		w->path[nr++] = w->line_of[node->frame];
		if (node->parent == PROFILE_NONE)
			break;
	}
	while (nr-- > 0) {
		json_put_number(w->out, w->path[nr]);
		fputs(nr ? "," : "", w->out);
	}
	return 0;
}

/* Returns a unit of the schema. */
static const char *unit_of(const struct export_stacks *s)
{
	static const char *const units[] = {"nanoseconds", "microseconds", "milliseconds",
					    "seconds", "bytes"};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(s->unit.unit, units[i]))
			return units[i];
	return "none";
}

static int put_group(struct speedscope *w, const struct stack_group *group)
{
	const struct stack_node *nodes = &w->tree->nodes[group->first_node];
	const char *separator = "";
	int r;

	fputs("{\"type\":\"sampled\",\"name\":", w->out);
	r = json_put(w->out, group->name);
	fprintf(w->out,
		",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64
		",\n\"samples\":[\n",
		unit_of(w->stacks), export_value(w->stacks, group->weight));
	for (size_t i = 0; i < group->nr_nodes && !r; i++) {
		if (!export_value(w->stacks, nodes[i].self))
			continue;
		fputs(separator, w->out);
		fputc('[', w->out);
		separator = ",\n";
		r = put_sample(w, &nodes[i]);
		fputc(']', w->out);
	}
	fputs("\n],\n\"weights\":[", w->out);
	separator = "";
	for (size_t i = 0; i < group->nr_nodes; i++) {
		uint64_t self = export_value(w->stacks, nodes[i].self);

		if (!self)
			continue;
		fputs(separator, w->out);
		json_put_number(w->out, self);
		separator = ",";
	}
	fputs("]}", w->out);
	return r;
}

static int put_file(struct speedscope *w)
{
	int r;

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"lineburn\",\n\"name\":",
	      w->out);
	r = json_put(w->out, w->tree->title);
	fputs(",\n\"activeProfileIndex\":0,\n", w->out);
	if (!r)
		r = put_lines(w);
	fputs("\"profiles\":[\n", w->out);
	for (size_t i = 0; i < w->tree->nr_groups && !r; i++) {
		fputs(i ? ",\n" : "", w->out);
		r = put_group(w, &w->tree->groups[i]);
	}
	fputs("\n]}\n", w->out);
	return r;
}

int export_speedscope(const struct export_input *in, FILE *out, const char **ret_note,
		      struct error *err)
{
	_cleanup_(export_stacks_freep) struct export_stacks *s = NULL;
	_cleanup_(stack_tree_freep) struct stack_tree *t = NULL;
	_cleanup_(speedscope_deinit) struct speedscope w = {.out = out};
	int rc = export_stacks_new(in, &s, err);

	(void)ret_note;
	if (!rc)
		rc = stack_tree_new(in, s, &t, err);
	if (rc)
		return rc;
	w.stacks = s;
	w.tree = t;
	return put_file(&w) ? error_set(err, -ENOMEM, "out of memory") : 0;
}
