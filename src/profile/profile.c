// SPDX-License-Identifier: GPL-2.0-or-later
/* Life of a profile, and its tables of mappings, functions and locations. */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

struct profile *profile_new(struct strpool *pool)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (!p || vec_grow(&p->value_types, &p->cap_value_types, 2,
			   sizeof(*p->value_types), PROFILE_MAX_VALUE_TYPES)) {
		free(p);
		return NULL;
	}
	p->pool = pool;
	p->value_types[0].type = strpool_add(pool, "samples");
	p->value_types[0].unit = strpool_add(pool, "count");
	p->value_types[1].type = strpool_add(pool, "cpu");
	p->value_types[1].unit = strpool_add(pool, "nanoseconds");
	p->nr_value_types = 2;
	p->count_value = 0;
	p->cpu_value = 1;
	p->period_type = p->value_types[1];
	p->default_sample_type = p->value_types[1].type;
	p->drop_frames = p->keep_frames = p->doc_url = strpool_add(pool, "");
	p->extra.target = p->extra.host = p->doc_url;
	p->extra.kernel_release = p->extra.version = p->extra.arch = p->doc_url;
	return p;
}

static void extra_deinit(struct profile_extra *extra)
{
	for (size_t i = 0; i < extra->nr_sources; i++) {
		struct profile_source *source = &extra->sources[i];

		for (size_t k = 0; k < source->nr_runs; k++)
			free((char *)source->runs[k].text);
		free(source->runs);
	}
	for (size_t i = 0; i < extra->nr_codes; i++) {
		free(extra->codes[i].rows);
		free(extra->codes[i].bytes);
	}
	free(extra->codes);
	free(extra->sources);
	free(extra->command);
	free(extra->warnings);
}

void profile_clear_extra(struct profile *p)
{
	const char *none = p->doc_url;

	extra_deinit(&p->extra);
	p->extra = (struct profile_extra){.target = none,
					  .host = none,
					  .kernel_release = none,
					  .version = none,
					  .arch = none};
	p->nr_comments = 0;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	extra_deinit(&p->extra);
	hashmap_deinit(&p->function_index);
	hashmap_deinit(&p->location_index);
	hashmap_deinit(&p->sample_index);
	hashmap_deinit(&p->label_index);
	hashmap_deinit(&p->namesake_index);
	free(p->namesakes);
	free(p->value_types);
	free(p->mappings);
	free(p->functions);
	free(p->lines);
	free(p->locations);
	free(p->sample_locations);
	free(p->labels);
	free(p->values);
	free(p->samples);
	free(p->comments);
	free(p);
}

uint32_t profile_add_mapping(struct profile *p, const struct profile_mapping *m)
{
	struct profile_mapping *added;

	if (vec_grow(&p->mappings, &p->cap_mappings, p->nr_mappings + 1,
		     sizeof(*p->mappings), PROFILE_MAX_MAPPINGS))
		return PROFILE_NONE;
	added = &p->mappings[p->nr_mappings];
	*added = *m;
	added->filename = strpool_add(p->pool, m->filename);
	added->build_id = strpool_add(p->pool, m->build_id);
	return (uint32_t)p->nr_mappings++;
}

static bool function_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct profile_function *a =
		&((const struct profile *)ctx)->functions[item];
	const struct profile_function *b = key;

	return a->name == b->name && a->system_name == b->system_name &&
	       a->filename == b->filename && a->start_line == b->start_line;
}

bool profile_is_namesake(const struct profile *p, const char *path)
{
	return p->nr_namesakes && hashmap_find(&p->namesake_index, hash_pointer(0, path),
					       NULL, NULL, NULL) != HASHMAP_NONE;
}

const char *profile_add_namesake(struct profile *p, const char *path)
{
	const char *other;

	if (vec_grow(&p->namesakes, &p->cap_namesakes, p->nr_namesakes + 1,
		     sizeof(*p->namesakes), PROFILE_MAX_NAMESAKES))
		return path;
	other = strpool_add_namesake(p->pool, path);
	if (other == path || hashmap_add(&p->namesake_index, hash_pointer(0, other),
					 (uint32_t)p->nr_namesakes))
		return path;
	p->namesakes[p->nr_namesakes++] = other;
	return other;
}

uint32_t profile_add_function(struct profile *p, const struct profile_function *f)
{
	struct profile_function added = {
		.name = strpool_add(p->pool, f->name),
		.system_name = strpool_add(p->pool, f->system_name),
		.filename = profile_is_namesake(p, f->filename)
				    ? f->filename
				    : strpool_add(p->pool, f->filename),
		.start_line = f->start_line,
	};
	uint64_t hash;
	uint32_t item;

	if (added.system_name == added.name)
		added.system_name = strpool_add(p->pool, "");
	hash = hash_pointer(hash_u64(0, added.start_line), added.name);
	hash = hash_pointer(hash_pointer(hash, added.system_name), added.filename);
	item = hashmap_find(&p->function_index, hash, function_eq, &added, p);
	if (item != HASHMAP_NONE)
		return item;
	if (vec_grow(&p->functions, &p->cap_functions, p->nr_functions + 1,
		     sizeof(*p->functions), PROFILE_MAX_FUNCTIONS))
		return PROFILE_NONE;
	if (hashmap_add(&p->function_index, hash, (uint32_t)p->nr_functions))
		return PROFILE_NONE;
	p->functions[p->nr_functions] = added;
	return (uint32_t)p->nr_functions++;
}

struct location_key {
	struct profile_location location;
	const struct profile_line *lines;
};

static bool lines_eq(const struct profile_line *a, const struct profile_line *b,
		     size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (a[i].function != b[i].function || a[i].line != b[i].line)
			return false;
	return true;
}

static bool location_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct profile *p = ctx;
	const struct profile_location *a = &p->locations[item];
	const struct location_key *k = key;
	const struct profile_location *b = &k->location;

	return a->mapping == b->mapping && a->address == b->address &&
	       a->miss == b->miss && a->nr_lines == b->nr_lines &&
	       lines_eq(&p->lines[a->first_line], k->lines, b->nr_lines);
}

static bool location_is_sound(const struct profile *p, const struct location_key *key,
			      size_t nr)
{
	if (key->location.mapping != PROFILE_NONE &&
	    key->location.mapping >= p->nr_mappings)
		return false;
	if (nr > PROFILE_MAX_LINES - p->nr_lines)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (key->lines[i].function != PROFILE_NONE &&
		    key->lines[i].function >= p->nr_functions)
			return false;
	return true;
}

uint32_t profile_add_location(struct profile *p, uint32_t mapping, uint64_t address,
			      enum miss miss, const struct profile_line *lines, size_t nr)
{
	struct location_key key = {
		.location = {.mapping = mapping,
			     .address = address,
			     .first_line = (uint32_t)p->nr_lines,
			     .nr_lines = (uint32_t)nr,
			     .miss = miss},
		.lines = lines,
	};
	uint64_t hash = hash_u64(hash_u64(mapping, address), (uint64_t)miss << 32 | nr);
	uint32_t item;

	if (!location_is_sound(p, &key, nr))
		return PROFILE_NONE;
	for (size_t i = 0; i < nr; i++)
		hash = hash_u64(hash, (uint64_t)lines[i].function << 32 | lines[i].line);
	item = hashmap_find(&p->location_index, hash, location_eq, &key, p);
	if (item != HASHMAP_NONE)
		return item;
	if (vec_grow(&p->lines, &p->cap_lines, p->nr_lines + nr, sizeof(*p->lines),
		     PROFILE_MAX_LINES) ||
	    vec_grow(&p->locations, &p->cap_locations, p->nr_locations + 1,
		     sizeof(*p->locations), PROFILE_MAX_LOCATIONS))
		return PROFILE_NONE;
	if (hashmap_add(&p->location_index, hash, (uint32_t)p->nr_locations))
		return PROFILE_NONE;
	for (size_t i = 0; i < nr; i++)
		p->lines[p->nr_lines++] = lines[i];
	p->locations[p->nr_locations] = key.location;
	return (uint32_t)p->nr_locations++;
}
