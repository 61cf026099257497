// SPDX-License-Identifier: GPL-2.0-or-later
/* Decides once per address what its frames mean. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/attribution_work.h"
#include "profile/start_code.h"

static void fill_code(const struct work *w, struct code *code, const char *filename)
{
	code->kind = code_kind_of(filename);
	code->object = object_name(filename, w->p->pool);
	code->is_system = object_is_system(filename);
	code->may_charge = (code->kind != CODE_KERNEL || w->options.kernel) &&
			   (code->kind != CODE_INTERPRETER || w->options.runtime);
}

static bool file_is_library(struct work *w, uint32_t file)
{
	struct tally_item *item = &w->files.items[file];

	if (!(item->tag & FILE_KNOWN))
		item->tag |=
			FILE_KNOWN |
			(source_is_library(tally_string(item->a)) ? FILE_LIBRARY : 0);
	return item->tag & FILE_LIBRARY;
}

/* The file a line is in: its function's, which pprof ties it to. */
static int fill_line(struct work *w, const struct code *code,
		     const struct profile_function *f, uint32_t line, struct site *site)
{
	site->has_line = true;
	if (!code->may_charge)
		return 0;
	site->file = tally_number(&w->files, tally_key(f->filename), 0);
	if (site->file == PROFILE_NONE)
		return -ENOMEM;
	site->line = tally_number(&w->lines, site->file, line);
	if (site->line == PROFILE_NONE)
		return -ENOMEM;
	site->is_mine = !code->is_system && !file_is_library(w, site->file);
	if (site->function == PROFILE_NONE)
		return 0;
	site->at = tally_number(&w->sites_at, site->line, site->function);
	return site->at == PROFILE_NONE ? -ENOMEM : 0;
}

static int fill_function(struct work *w, const struct code *code,
			 const struct profile_function *f, struct site *site)
{
	struct tally_item *item;

	site->name = tally_number(&w->names, tally_key(f->name), tally_key(code->object));
	if (site->name == PROFILE_NONE)
		return -ENOMEM;
	if (!*f->name)
		return 0;
	site->function = tally_number(&w->functions, site->name, tally_key(f->filename));
	if (site->function == PROFILE_NONE)
		return -ENOMEM;
	item = &w->functions.items[site->function];
	if (!item->tag)
		item->tag = f->start_line;
	return 0;
}

static int fill_site(struct work *w, const struct place *place, uint32_t index)
{
	const struct profile_line *line = &w->p->lines[index];
	const struct code *code = &w->codes[place->code];
	struct site *site = &w->sites[index];
	const struct profile_function *f;
	int r;

	*site = (struct site){.line = PROFILE_NONE,
			      .function = PROFILE_NONE,
			      .name = place->name,
			      .at = PROFILE_NONE};
	if (line->function == PROFILE_NONE)
		return 0;
	f = &w->p->functions[line->function];
	site->is_start = code->kind == CODE_NATIVE && !w->options.runtime &&
			 function_is_start_code(f->name);
	r = fill_function(w, code, f, site);
	/* A line of no file is no line that could be shown. */
	return r || !line->line || !*f->filename
		       ? r
		       : fill_line(w, code, f, line->line, site);
}

static int fill_places(struct work *w)
{
	const struct profile *p = w->p;
	const char *nameless = strpool_add(p->pool, "");

	for (size_t i = 0; i < p->nr_locations; i++) {
		const struct profile_location *l = &p->locations[i];
		struct place *place = &w->places[i];
		const char *object;

		place->code = l->mapping == PROFILE_NONE ? (uint32_t)p->nr_mappings
							 : l->mapping;
		place->first_site = l->first_line;
		place->nr_sites = l->nr_lines;
		object = w->codes[place->code].object;
		place->name =
			tally_number(&w->names, tally_key(nameless), tally_key(object));
		if (place->name == PROFILE_NONE)
			return -ENOMEM;
		for (uint32_t k = 0; k < l->nr_lines; k++)
			if (fill_site(w, place, l->first_line + k))
				return -ENOMEM;
	}
	return 0;
}

/* The language of a file depends on whether its lines ran as code made in memory. */
static void mark_jit_files(struct work *w)
{
	const struct profile *p = w->p;

	for (size_t i = 0; i < p->nr_locations; i++) {
		const struct profile_location *l = &p->locations[i];

		if (w->codes[w->places[i].code].kind != CODE_JIT)
			continue;
		for (uint32_t k = 0; k < l->nr_lines; k++) {
			const struct site *site = &w->sites[l->first_line + k];

			if (site->line == PROFILE_NONE)
				continue;
			w->files.items[site->file].tag |= FILE_JIT;
			w->lines.items[site->line].tag |= LINE_JIT;
		}
	}
}

int frame_index_build(struct work *w)
{
	const struct profile *p = w->p;
	int r;

	w->codes = calloc(p->nr_mappings + 1, sizeof(*w->codes));
	w->sites = calloc(p->nr_lines + 1, sizeof(*w->sites));
	w->places = calloc(p->nr_locations + 1, sizeof(*w->places));
	if (!w->codes || !w->sites || !w->places)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr_mappings; i++)
		fill_code(w, &w->codes[i], p->mappings[i].filename);
	fill_code(w, &w->codes[p->nr_mappings], "");
	r = fill_places(w);
	if (!r)
		mark_jit_files(w);
	return r;
}
