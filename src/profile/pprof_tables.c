// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables that need only strings: types, mappings, functions, the head. */
#include <errno.h>

#include "base/vec.h"
#include "profile/pprof_reader.h"

static int read_value_type(struct pprof_reader *r,
			   const Perftools__Profiles__ValueType *from,
			   struct profile_value_type *to)
{
	int code = pprof_string(r, from->type, &to->type);

	return code ? code : pprof_string(r, from->unit, &to->unit);
}

static int read_sample_type(struct pprof_reader *r,
			    const Perftools__Profiles__ValueType *from)
{
	struct profile *p = r->p;
	int code = vec_grow(&p->value_types, &p->cap_value_types, p->nr_value_types + 1,
			    sizeof(*p->value_types), PROFILE_MAX_VALUE_TYPES);

	if (code)
		return pprof_no_room(r, code, "sample types");
	return read_value_type(r, from, &p->value_types[p->nr_value_types++]);
}

static int read_mapping(struct pprof_reader *r, const Perftools__Profiles__Mapping *from)
{
	struct profile *p = r->p;
	struct profile_mapping *to;
	int code = vec_grow(&p->mappings, &p->cap_mappings, p->nr_mappings + 1,
			    sizeof(*p->mappings), PROFILE_MAX_MAPPINGS);

	if (code)
		return pprof_no_room(r, code, "mappings");
	code = pprof_add_id(r, &r->mapping_ids, from->id, "mapping");
	if (code)
		return code;
	to = &p->mappings[p->nr_mappings++];
	*to = (struct profile_mapping){.start = from->memory_start,
				       .limit = from->memory_limit,
				       .file_off = from->file_offset,
				       .has_functions = from->has_functions,
				       .has_filenames = from->has_filenames,
				       .has_line_numbers = from->has_line_numbers,
				       .has_inline_frames = from->has_inline_frames};
	code = pprof_string(r, from->filename, &to->filename);
	return code ? code : pprof_string(r, from->build_id, &to->build_id);
}

static int read_function(struct pprof_reader *r,
			 const Perftools__Profiles__Function *from)
{
	struct profile *p = r->p;
	struct profile_function *to;
	int code = vec_grow(&p->functions, &p->cap_functions, p->nr_functions + 1,
			    sizeof(*p->functions), PROFILE_MAX_FUNCTIONS);

	if (code)
		return pprof_no_room(r, code, "functions");
	code = pprof_add_id(r, &r->function_ids, from->id, "function");
	if (code)
		return code;
	to = &p->functions[p->nr_functions++];
	code = pprof_string(r, from->name, &to->name);
	if (!code)
		code = pprof_string(r, from->system_name, &to->system_name);
	if (!code)
		code = pprof_string(r, from->filename, &to->filename);
	if (code)
		return code;
	if (!*to->name)
		to->name = to->system_name;
	if (to->system_name == to->name)
		to->system_name = strpool_add(p->pool, "");
	if (from->start_line > 0 && from->start_line < UINT32_MAX)
		to->start_line = (uint32_t)from->start_line;
	return 0;
}

/* A scalar that is 0 was either written as 0 or is in another part. */
static int read_head_string(struct pprof_reader *r, int64_t number, const char **ret)
{
	return number ? pprof_string(r, number, ret) : 0;
}

static int read_head(struct pprof_reader *r, const Perftools__Profiles__Profile *part)
{
	struct profile *p = r->p;
	int code = read_head_string(r, part->drop_frames, &p->drop_frames);

	if (!code)
		code = read_head_string(r, part->keep_frames, &p->keep_frames);
	if (!code)
		code = read_head_string(r, part->default_sample_type,
					&p->default_sample_type);
	if (!code)
		code = read_head_string(r, part->doc_url, &p->doc_url);
	if (!code && part->period_type)
		code = read_value_type(r, part->period_type, &p->period_type);
	if (part->time_nanos)
		p->time_nanos = part->time_nanos;
	if (part->duration_nanos > 0)
		p->duration_nanos = part->duration_nanos;
	if (part->period > 0)
		p->period = part->period;
	for (size_t i = 0; i < part->n_comment && !code; i++) {
		const char *comment;

		code = pprof_string(r, part->comment[i], &comment);
		/* More comments than the most are left out, being only words. */
		if (!code && profile_add_comment(p, comment) == -ENOMEM)
			code = pprof_no_room(r, -ENOMEM, "comments");
	}
	return code;
}

int pprof_read_tables(struct pprof_reader *r, const Perftools__Profiles__Profile *part)
{
	int code = read_head(r, part);

	for (size_t i = 0; i < part->n_sample_type && !code; i++)
		code = read_sample_type(r, part->sample_type[i]);
	for (size_t i = 0; i < part->n_mapping && !code; i++)
		code = read_mapping(r, part->mapping[i]);
	for (size_t i = 0; i < part->n_function && !code; i++)
		code = read_function(r, part->function[i]);
	return code;
}
