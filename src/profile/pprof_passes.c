// SPDX-License-Identifier: GPL-2.0-or-later
/* profile.proto -> the model: every number is checked before it is an index. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/vec.h"
#include "profile/extra.h"
#include "profile/pprof_reader.h"

int pprof_malformed(struct pprof_reader *r, const char *fmt, ...)
{
	char what[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return error_set(r->err, -EBADMSG,
			 "%s is malformed: %s; copy it again from where it was written, "
			 "or record again",
			 r->name, what);
}

int pprof_no_room(struct pprof_reader *r, int code, const char *what)
{
	if (code == -ENOSPC)
		return error_set(r->err, -EFBIG,
				 "%s is too big: it has too many %s; record for a "
				 "shorter time or at a lower -F",
				 r->name, what);
	return error_set(r->err, -ENOMEM, "out of memory while reading %s", r->name);
}

int pprof_string(struct pprof_reader *r, int64_t i, const char **ret)
{
	if (i < 0 || (uint64_t)i >= r->nr_strings)
		return pprof_malformed(r, "string %lld of %zu", (long long)i,
				       r->nr_strings);
	*ret = r->strings[i];
	return 0;
}

static bool is_id(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct pprof_ids *)ctx)->items[item] == *(const uint64_t *)key;
}

uint32_t pprof_find_id(const struct pprof_ids *ids, uint64_t id)
{
	return hashmap_find(&ids->index, hash_u64(0, id), is_id, &id, ids);
}

int pprof_add_id(struct pprof_reader *r, struct pprof_ids *ids, uint64_t id,
		 const char *what)
{
	if (!id)
		return pprof_malformed(r, "a %s has the id 0", what);
	if (pprof_find_id(ids, id) != HASHMAP_NONE)
		return pprof_malformed(r, "two %ss have the id %llu", what,
				       (unsigned long long)id);
	if (vec_grow(&ids->items, &ids->cap, ids->nr + 1, sizeof(*ids->items),
		     HASHMAP_NONE) ||
	    hashmap_add(&ids->index, hash_u64(0, id), (uint32_t)ids->nr))
		return pprof_no_room(r, -ENOMEM, what);
	ids->items[ids->nr++] = id;
	return 0;
}

int pprof_read_strings(struct pprof_reader *r, const Perftools__Profiles__Profile *part)
{
	for (size_t i = 0; i < part->n_string_table; i++) {
		int code = vec_grow(&r->strings, &r->cap_strings, r->nr_strings + 1,
				    sizeof(*r->strings), PPROF_MAX_STRINGS);

		if (code)
			return pprof_no_room(r, code, "strings");
		r->strings[r->nr_strings++] =
			strpool_add(r->p->pool, part->string_table[i]);
	}
	return 0;
}

/* A line number that fits; what does not is none. */
static uint32_t line_number(int64_t line)
{
	return line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
}

static int read_line(struct pprof_reader *r, const Perftools__Profiles__Line *from)
{
	struct profile *p = r->p;
	int code = vec_grow(&p->lines, &p->cap_lines, p->nr_lines + 1, sizeof(*p->lines),
			    PROFILE_MAX_LINES);

	if (code)
		return pprof_no_room(r, code, "lines");
	p->lines[p->nr_lines++] = (struct profile_line){
		.function = pprof_find_id(&r->function_ids, from->function_id),
		.line = line_number(from->line),
	};
	return 0;
}

static int read_location(struct pprof_reader *r,
			 const Perftools__Profiles__Location *from)
{
	struct profile *p = r->p;
	int code = vec_grow(&p->locations, &p->cap_locations, p->nr_locations + 1,
			    sizeof(*p->locations), PROFILE_MAX_LOCATIONS);

	if (code)
		return pprof_no_room(r, code, "locations");
	code = pprof_add_id(r, &r->location_ids, from->id, "location");
	if (code)
		return code;
	p->locations[p->nr_locations++] = (struct profile_location){
		.mapping = pprof_find_id(&r->mapping_ids, from->mapping_id),
		.address = from->address,
		.first_line = (uint32_t)p->nr_lines,
		.nr_lines = (uint32_t)from->n_line,
		.miss = MISS_NONE,
		.is_folded = from->is_folded,
	};
	for (size_t i = 0; i < from->n_line && !code; i++)
		code = read_line(r, from->line[i]);
	return code;
}

int pprof_read_locations(struct pprof_reader *r, const Perftools__Profiles__Profile *part)
{
	int code = 0;

	for (size_t i = 0; i < part->n_location && !code; i++)
		code = read_location(r, part->location[i]);
	return code;
}

static int read_label(struct pprof_reader *r, const Perftools__Profiles__Label *from)
{
	struct profile *p = r->p;
	struct profile_label *to;
	int code = vec_grow(&p->labels, &p->cap_labels, p->nr_labels + 1,
			    sizeof(*p->labels), PROFILE_MAX_LABELS);

	if (code)
		return pprof_no_room(r, code, "labels");
	to = &p->labels[p->nr_labels++];
	to->num = from->num;
	code = pprof_string(r, from->key, &to->key);
	if (!code)
		code = pprof_string(r, from->str, &to->str);
	return code ? code : pprof_string(r, from->num_unit, &to->unit);
}

static int read_stack(struct pprof_reader *r, const Perftools__Profiles__Sample *from)
{
	struct profile *p = r->p;
	int code = vec_grow(&p->sample_locations, &p->cap_sample_locations,
			    p->nr_sample_locations + from->n_location_id,
			    sizeof(*p->sample_locations), PROFILE_MAX_SAMPLE_LOCATIONS);

	if (code)
		return pprof_no_room(r, code, "stack frames");
	for (size_t i = 0; i < from->n_location_id; i++) {
		uint32_t location = pprof_find_id(&r->location_ids, from->location_id[i]);

		if (location == PROFILE_NONE)
			return pprof_malformed(r, "sample %zu has no location %llu",
					       p->nr_samples,
					       (unsigned long long)from->location_id[i]);
		p->sample_locations[p->nr_sample_locations++] = location;
	}
	return 0;
}

static int read_sample(struct pprof_reader *r, const Perftools__Profiles__Sample *from)
{
	struct profile *p = r->p;
	int code;

	if (from->n_value != p->nr_value_types)
		return pprof_malformed(r, "sample %zu has %zu values for %zu types",
				       p->nr_samples, from->n_value, p->nr_value_types);
	code = vec_grow(&p->samples, &p->cap_samples, p->nr_samples + 1,
			sizeof(*p->samples), PROFILE_MAX_SAMPLES);
	if (!code)
		code = vec_grow(&p->values, &p->cap_values, p->nr_values + from->n_value,
				sizeof(*p->values), PROFILE_MAX_VALUES);
	if (code)
		return pprof_no_room(r, code, "samples");
	p->samples[p->nr_samples] = (struct profile_sample){
		.first_location = (uint32_t)p->nr_sample_locations,
		.nr_locations = (uint32_t)from->n_location_id,
		.first_label = (uint32_t)p->nr_labels,
		.nr_labels = (uint32_t)from->n_label,
		.first_value = (uint32_t)p->nr_values,
	};
	for (size_t i = 0; i < from->n_value; i++)
		p->values[p->nr_values++] = from->value[i];
	code = read_stack(r, from);
	for (size_t i = 0; i < from->n_label && !code; i++)
		code = read_label(r, from->label[i]);
	if (!code)
		p->samples[p->nr_samples].first_label =
			profile_share_labels(p, p->samples[p->nr_samples].first_label);
	p->nr_samples++;
	return code;
}

int pprof_read_samples(struct pprof_reader *r, const Perftools__Profiles__Profile *part)
{
	int code = 0;

	for (size_t i = 0; i < part->n_sample && !code; i++)
		code = read_sample(r, part->sample[i]);
	return code;
}

static uint32_t location_of(const void *ctx, uint64_t id)
{
	const struct pprof_reader *r = ctx;

	return pprof_find_id(&r->location_ids, id);
}

static uint32_t mapping_of(const void *ctx, uint64_t id)
{
	const struct pprof_reader *r = ctx;

	return pprof_find_id(&r->mapping_ids, id);
}

static uint32_t function_of(const void *ctx, uint64_t id)
{
	const struct pprof_reader *r = ctx;

	return pprof_find_id(&r->function_ids, id);
}

int pprof_read_extra(struct pprof_reader *r, const Perftools__Profiles__Profile *part)
{
	const ProtobufCBinaryData *extra = &part->lineburn_extra;
	const struct extra_ids ids = {r, location_of, mapping_of, function_of};
	int code;

	if (!extra->len)
		return 0;
	if (r->p->extra.present)
		return pprof_malformed(r, "it holds two recordings in one file");
	code = extra_unpack(r->p, extra->data, extra->len, &ids, &r->arena);
	switch (code) {
	case 0:
		return 0;
	case -EBADMSG:
		return pprof_malformed(r, "the part that only lineburn reads is damaged");
	default:
		return pprof_no_room(r, code == -EFBIG ? -ENOSPC : -ENOMEM,
				     "details of lineburn's own");
	}
}
