// SPDX-License-Identifier: GPL-2.0-or-later
/* Decides once per address which frames of it are nodes, and which were asked for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/call_tree_work.h"
#include "analyze/code_query.h"
#include "profile/mapping_kind.h"
#include "profile/start_code.h"

/* Of one mapping. */
struct object {
	enum code_kind kind;
	const char *name; /* what people call it; interned */
};

static bool is_hidden(const struct call_index *index, const struct profile_location *l,
		      enum code_kind kind)
{
	const struct profile *p = index->p;
	uint32_t outermost;

	if (kind == CODE_KERNEL)
		return !index->options->kernel;
	if (index->options->runtime)
		return false;
	if (kind == CODE_INTERPRETER)
		return true;
	if (kind != CODE_NATIVE || !l->nr_lines)
		return false;
	outermost = p->lines[l->first_line + l->nr_lines - 1].function;
	return outermost != PROFILE_NONE &&
	       function_is_start_code(p->functions[outermost].name);
}

static uint32_t add_function(struct call_index *index, const char *name,
			     const char *object, const char *file, uint32_t start_line)
{
	uint32_t names = tally_number(&index->names, tally_key(name), tally_key(object));
	uint32_t function;

	if (names == PROFILE_NONE)
		return PROFILE_NONE;
	function = tally_number(&index->functions, names, tally_key(file));
	if (function != PROFILE_NONE && !index->functions.items[function].tag)
		index->functions.items[function].tag = start_line;
	return function;
}

/* A node that is no function; @name is not interned. */
static uint32_t add_pseudo(struct call_index *index, const char *name)
{
	struct strpool *pool = index->p->pool;
	const char *empty = strpool_add(pool, "");

	return add_function(index, strpool_add(pool, name), empty, empty, 0);
}

static uint32_t add_interpreter(struct call_index *index, const char *object)
{
	char name[256];

	snprintf(name, sizeof(name), "[%s]", object);
	return add_pseudo(index, name);
}

static uint32_t function_of_line(struct call_index *index, uint32_t function,
				 const char *object)
{
	const struct profile_function *f;

	if (function == PROFILE_NONE) {
		const char *empty = strpool_add(index->p->pool, "");

		return add_function(index, empty, object, empty, 0);
	}
	f = &index->p->functions[function];
	return add_function(index, f->name, object, f->filename, f->start_line);
}

static int add_sites(struct call_index *index, const struct profile_location *l,
		     const struct object *object, struct call_place *place)
{
	const struct profile *p = index->p;

	for (uint32_t i = 0; i < l->nr_lines || !i; i++) {
		struct profile_line line = {.function = PROFILE_NONE};
		struct call_site *site = &index->sites[index->nr_sites++];

		if (l->nr_lines)
			line = p->lines[l->first_line + i];
		*site = (struct call_site){
			.function = function_of_line(index, line.function, object->name),
			.line = line.line};
		if (site->function == PROFILE_NONE)
			return -ENOMEM;
		index->functions.items[site->function].seen = 1;
		place->nr++;
	}
	return 0;
}

static int add_place(struct call_index *index, const struct profile_location *l,
		     const struct object *object, struct call_place *place)
{
	const struct profile *p = index->p;

	place->first = index->nr_sites;
	if (!is_hidden(index, l, object->kind))
		return add_sites(index, l, object, place);
	place->is_kernel = object->kind == CODE_KERNEL;
	if (place->is_kernel)
		place->hidden = index->kernel;
	else if (object->kind == CODE_INTERPRETER)
		place->hidden = add_interpreter(index, object->name);
	else
		place->hidden = function_of_line(index, p->lines[l->first_line].function,
						 object->name);
	return place->hidden == PROFILE_NONE ? -ENOMEM : 0;
}

static int add_places(struct call_index *index)
{
	const struct profile *p = index->p;
	_cleanup_free_ struct object *objects =
		calloc(p->nr_mappings + 1, sizeof(*objects));
	int r = objects ? 0 : -ENOMEM;

	for (size_t i = 0; i <= p->nr_mappings && !r; i++) {
		const char *file = i < p->nr_mappings ? p->mappings[i].filename : "";

		objects[i] =
			(struct object){code_kind_of(file), object_name(file, p->pool)};
	}
	for (size_t i = 0; i < p->nr_locations && !r; i++) {
		const struct profile_location *l = &p->locations[i];
		size_t object = l->mapping == PROFILE_NONE ? p->nr_mappings : l->mapping;

		r = add_place(index, l, &objects[object], &index->places[i]);
	}
	return r;
}

static const char *function_name(const struct call_index *index, uint32_t function)
{
	return tally_string(index->names.items[index->functions.items[function].a].a);
}

static const char *function_file(const struct call_index *index, uint32_t function)
{
	return tally_string(index->functions.items[function].b);
}

static int want_place(struct call_index *index, const struct code_place *place,
		      struct error *err)
{
	_cleanup_free_ bool *is_in = calloc(index->functions.nr + 1, sizeof(*is_in));
	bool found = false;

	if (!is_in)
		return -ENOMEM;
	for (uint32_t i = 0; i < index->functions.nr; i++)
		is_in[i] = code_place_is_in(place, function_file(index, i));
	for (size_t i = 0; i < index->nr_sites; i++) {
		struct call_site *site = &index->sites[i];

		site->is_wanted = site->line == place->line && is_in[site->function];
		found |= site->is_wanted;
	}
	if (found)
		return 0;
	return error_set(err, -ENOENT,
			 "line %u of a file that ends in \"%.*s\" is on no stack of this "
			 "profile",
			 place->line, (int)place->file_len, place->file);
}

static int want_function(struct call_index *index, const char *what, struct error *err)
{
	_cleanup_free_ bool *is_wanted =
		calloc(index->functions.nr + 1, sizeof(*is_wanted));
	bool found = false;

	if (!is_wanted)
		return -ENOMEM;
	for (int step = 0; step < NR_NAME_STEPS && !found; step++)
		for (uint32_t i = 0; i < index->functions.nr; i++) {
			is_wanted[i] = index->functions.items[i].seen &&
				       name_matches(function_name(index, i), what,
						    (enum name_step)step);
			found |= is_wanted[i];
		}
	for (size_t i = 0; i < index->nr_sites; i++)
		index->sites[i].is_wanted = is_wanted[index->sites[i].function];
	if (found)
		return 0;
	return error_set(
		err, -ENOENT,
		"no function on the stacks of this profile has \"%.200s\" in its "
		"name; \"lineburn report\" lists them",
		what);
}

static int want(struct call_index *index, const char *what, struct error *err)
{
	struct code_place place;

	if (!what)
		return 0;
	if (!strcmp(what, CALL_TREE_KERNEL) && !index->options->kernel) {
		index->wants_kernel = true;
		return 0;
	}
	index->wants_place = code_place_parse(what, &place);
	return index->wants_place ? want_place(index, &place, err)
				  : want_function(index, what, err);
}

int call_index_init(struct call_index *index, const struct profile *p,
		    const struct call_tree_options *options, struct error *err)
{
	int r;

	*index = (struct call_index){.p = p, .options = options};
	index->sites = calloc(p->nr_lines + p->nr_locations + 1, sizeof(*index->sites));
	index->places = calloc(p->nr_locations + 1, sizeof(*index->places));
	index->kernel = add_pseudo(index, CALL_TREE_KERNEL);
	index->incomplete = add_pseudo(index, CALL_TREE_INCOMPLETE);
	index->nothing = add_pseudo(index, "");
	if (!index->sites || !index->places || index->kernel == PROFILE_NONE ||
	    index->incomplete == PROFILE_NONE || index->nothing == PROFILE_NONE)
		return -ENOMEM;
	r = add_places(index);
	return r ? r : want(index, options->what, err);
}

void call_index_deinit(struct call_index *index)
{
	tally_deinit(&index->names);
	tally_deinit(&index->functions);
	free(index->sites);
	free(index->places);
}
