// SPDX-License-Identifier: GPL-2.0-or-later
/* annotate --json and report --json (DESIGN C10, docs/formats.md). */
#include "render/render.h"

#include "render/asm.h"
#include "render/call_tree.h"
#include "render/file_filter.h"
#include "render/groups.h"
#include "render/json_value.h"

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

/* The text of line @number, or null. */
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
		if (file_filter_matches(opts, a->files[i].path))
			json_add(&b, files, file_value(&b, &a->files[i]));
	json_set(&b, root, "files", files);
	if (in->machine_code)
		json_set(&b, root, "asm", asm_value(&b, in));
	json_set_rest(&b, root, in);
	return json_print(&b, root, out);
}

int render_report_json(const struct render_input *in, const struct render_options *opts,
		       FILE *out)
{
	struct json_builder b = {0};
	json_t *root = json_document(&b, in, in->groups ? "groups" : "report");

	(void)opts;
	if (in->groups) {
		json_set(&b, root, "by", json_string(group_by_names[in->groups->by]));
		json_set(&b, root, "groups", groups_value(&b, in->groups));
	}
	if (in->call_tree)
		json_set(&b, root, "tree", call_tree_value(&b, in->call_tree));
	json_set_rest(&b, root, in);
	return json_print(&b, root, out);
}
