// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/mirror.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

/* Returns the name in @to of a file of @from, which may be a namesake. */
static const char *copy_filename(struct profile *to, const struct profile *from,
				 const char *name)
{
	uint32_t item;

	if (!profile_is_namesake(from, name))
		return strpool_add(to->pool, name);
	item = hashmap_get(&from->namesake_index, hash_pointer(0, name), NULL, NULL,
			   NULL);
	return to->namesakes[item];
}

static int copy_namesakes(struct profile *to, const struct profile *from)
{
	for (size_t i = to->nr_namesakes; i < from->nr_namesakes; i++) {
		profile_add_namesake(to, from->namesakes[i]);
		if (to->nr_namesakes != i + 1)
			return -ENOMEM;
	}
	return 0;
}

static int copy_mappings(struct profile *to, const struct profile *from)
{
	for (size_t i = to->nr_mappings; i < from->nr_mappings; i++)
		if (profile_add_mapping(to, &from->mappings[i]) == PROFILE_NONE)
			return -ENOMEM;
	return 0;
}

/* Not by profile_add_function(): if the pool is full, two of them look alike. */
static int copy_functions(struct profile *to, const struct profile *from)
{
	if (vec_grow(&to->functions, &to->cap_functions, from->nr_functions,
		     sizeof(*to->functions), PROFILE_MAX_FUNCTIONS))
		return -ENOMEM;
	for (; to->nr_functions < from->nr_functions; to->nr_functions++) {
		const struct profile_function *f = &from->functions[to->nr_functions];

		to->functions[to->nr_functions] = (struct profile_function){
			.name = strpool_add(to->pool, f->name),
			.system_name = strpool_add(to->pool, f->system_name),
			.filename = copy_filename(to, from, f->filename),
			.start_line = f->start_line,
		};
	}
	return 0;
}

static int copy_lines(struct profile *to, const struct profile *from)
{
	if (vec_grow(&to->lines, &to->cap_lines, from->nr_lines, sizeof(*to->lines),
		     PROFILE_MAX_LINES))
		return -ENOMEM;
	for (; to->nr_lines < from->nr_lines; to->nr_lines++)
		to->lines[to->nr_lines] = from->lines[to->nr_lines];
	return 0;
}

static int copy_locations(struct profile *to, const struct profile *from)
{
	if (vec_grow(&to->locations, &to->cap_locations, from->nr_locations,
		     sizeof(*to->locations), PROFILE_MAX_LOCATIONS))
		return -ENOMEM;
	for (; to->nr_locations < from->nr_locations; to->nr_locations++)
		to->locations[to->nr_locations] = from->locations[to->nr_locations];
	return 0;
}

int profile_copy_tables(struct profile *to, const struct profile *from)
{
	int rc = copy_namesakes(to, from);

	if (!rc)
		rc = copy_mappings(to, from);
	if (!rc)
		rc = copy_functions(to, from);
	if (!rc)
		rc = copy_lines(to, from);
	return rc ? rc : copy_locations(to, from);
}

static int reserve(struct profile *to, const struct profile *from)
{
	return vec_grow(&to->samples, &to->cap_samples, to->nr_samples + from->nr_samples,
			sizeof(*to->samples), PROFILE_MAX_SAMPLES) ||
			       vec_grow(&to->sample_locations, &to->cap_sample_locations,
					to->nr_sample_locations +
						from->nr_sample_locations,
					sizeof(*to->sample_locations),
					PROFILE_MAX_SAMPLE_LOCATIONS) ||
			       vec_grow(&to->labels, &to->cap_labels,
					to->nr_labels + from->nr_labels,
					sizeof(*to->labels), PROFILE_MAX_LABELS) ||
			       vec_grow(&to->values, &to->cap_values,
					to->nr_values + from->nr_values,
					sizeof(*to->values), PROFILE_MAX_VALUES)
		       ? -ENOMEM
		       : 0;
}

int profile_copy_samples(struct profile *to, const struct profile *from)
{
	uint32_t locations = (uint32_t)to->nr_sample_locations;
	uint32_t labels = (uint32_t)to->nr_labels, values = (uint32_t)to->nr_values;

	if (reserve(to, from))
		return -ENOMEM;
	for (size_t i = 0; i < from->nr_samples; i++) {
		struct profile_sample *s = &to->samples[to->nr_samples++];

		*s = from->samples[i];
		s->first_location += locations;
		s->first_label += labels;
		s->first_value += values;
		s->times = (struct series_list){0};
	}
	for (size_t i = 0; i < from->nr_sample_locations; i++)
		to->sample_locations[to->nr_sample_locations++] =
			from->sample_locations[i];
	for (size_t i = 0; i < from->nr_labels; i++) {
		const struct profile_label *label = &from->labels[i];

		to->labels[to->nr_labels++] = (struct profile_label){
			.key = strpool_add(to->pool, label->key),
			.str = strpool_add(to->pool, label->str),
			.num = label->num,
			.unit = strpool_add(to->pool, label->unit),
		};
	}
	for (size_t i = 0; i < from->nr_values; i++)
		to->values[to->nr_values++] = from->values[i];
	return 0;
}

static int copy_runs(struct profile_source *to, const struct profile_source *from)
{
	to->runs = calloc(from->nr_runs, sizeof(*to->runs));
	if (from->nr_runs && !to->runs)
		return -ENOMEM;
	for (size_t i = 0; i < from->nr_runs; i++) {
		to->runs[i] = from->runs[i];
		to->runs[i].text = strdup(from->runs[i].text);
		if (!to->runs[i].text)
			return -ENOMEM;
		to->nr_runs = i + 1;
	}
	return 0;
}

static struct profile_source *find_source(struct profile *p, const char *path)
{
	for (size_t i = 0; i < p->extra.nr_sources; i++)
		if (p->extra.sources[i].path == path)
			return &p->extra.sources[i];
	return NULL;
}

int profile_copy_sources(struct profile *to, const struct profile *from)
{
	for (size_t i = 0; i < from->extra.nr_sources; i++) {
		const struct profile_source *source = &from->extra.sources[i];
		_cleanup_(profile_source_deinit) struct profile_source copy = *source;
		struct profile_source *old;

		copy.path = copy_filename(to, from, source->path);
		copy.owner = source->owner ? strpool_add(to->pool, source->owner) : NULL;
		copy.runs = NULL;
		copy.nr_runs = 0;
		if (copy_runs(&copy, source))
			return -ENOMEM;
		old = find_source(to, copy.path);
		if (old) {
			profile_source_deinit(old);
			*old = copy;
		} else if (profile_add_source(to, &copy)) {
			return -ENOMEM;
		}
		copy.runs = NULL;
		copy.nr_runs = 0;
	}
	return 0;
}
