// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The model -> gzipped profile.proto. Two messages one after the other are one
 * message whose repeated fields are joined, so the file is written in parts of
 * one item each, straight into the compressor: no second copy of the profile.
 * Strings come last, when all have their number.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "profile.pb-c.h"
#include "profile/extra.h"
#include "profile/gzip.h"
#include "profile/main_mapping.h"
#include "profile/pprof.h"
#include "profile/string_table.h"

struct writer {
	ProtobufCBuffer sink; /* first: protobuf-c hands it back to us */
	const struct profile *p;
	struct gzip_writer *gzip;
	struct string_table strings;
	struct arena arena; /* of one part */
	bool failed;
};

typedef Perftools__Profiles__Profile Part;

static void append_to_gzip(ProtobufCBuffer *sink, size_t len, const uint8_t *data)
{
	gzip_put(((struct writer *)sink)->gzip, data, len);
}

static int64_t number(struct writer *w, const char *s)
{
	return string_table_number(&w->strings, s);
}

static void *allocate(struct writer *w, size_t nr, size_t size)
{
	void *given = arena_alloc(&w->arena, nr * size);

	if (!given)
		w->failed = true;
	return given;
}

static void put(struct writer *w, const Part *part)
{
	if (!w->failed)
		perftools__profiles__profile__pack_to_buffer(part, &w->sink);
	arena_reset(&w->arena);
}

static Perftools__Profiles__ValueType value_type(struct writer *w,
						 const struct profile_value_type *from)
{
	Perftools__Profiles__ValueType to = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;

	to.type = number(w, from->type);
	to.unit = number(w, from->unit);
	return to;
}

static void put_value_types(struct writer *w)
{
	for (size_t i = 0; i < w->p->nr_value_types; i++) {
		Perftools__Profiles__ValueType to = value_type(w, &w->p->value_types[i]);
		Perftools__Profiles__ValueType *list = &to;
		Part part = PERFTOOLS__PROFILES__PROFILE__INIT;

		part.n_sample_type = 1;
		part.sample_type = &list;
		put(w, &part);
	}
}

static void fill_labels(struct writer *w, const struct profile_sample *from,
			Perftools__Profiles__Sample *to)
{
	Perftools__Profiles__Label *labels =
		allocate(w, from->nr_labels, sizeof(*labels));

	to->label = allocate(w, from->nr_labels, sizeof(*to->label));
	if (!labels || !to->label)
		return;
	to->n_label = from->nr_labels;
	for (size_t i = 0; i < from->nr_labels; i++) {
		const struct profile_label *label = &w->p->labels[from->first_label + i];

		perftools__profiles__label__init(&labels[i]);
		labels[i].key = number(w, label->key);
		labels[i].str = number(w, label->str);
		labels[i].num = label->num;
		labels[i].num_unit = number(w, label->unit);
		to->label[i] = &labels[i];
	}
}

static void put_sample(struct writer *w, const struct profile_sample *from)
{
	Perftools__Profiles__Sample to = PERFTOOLS__PROFILES__SAMPLE__INIT;
	Perftools__Profiles__Sample *list = &to;
	Part part = PERFTOOLS__PROFILES__PROFILE__INIT;

	to.location_id = allocate(w, from->nr_locations, sizeof(*to.location_id));
	if (!to.location_id)
		return;
	to.n_location_id = from->nr_locations;
	for (size_t i = 0; i < from->nr_locations; i++)
		to.location_id[i] = w->p->sample_locations[from->first_location + i] +
				    UINT64_C(1);
	to.n_value = w->p->nr_value_types;
	to.value = w->p->values + from->first_value;
	fill_labels(w, from, &to);
	part.n_sample = 1;
	part.sample = &list;
	put(w, &part);
}

static void put_mapping(struct writer *w, uint32_t index)
{
	const struct profile_mapping *from = &w->p->mappings[index];
	Perftools__Profiles__Mapping to = PERFTOOLS__PROFILES__MAPPING__INIT;
	Perftools__Profiles__Mapping *list = &to;
	Part part = PERFTOOLS__PROFILES__PROFILE__INIT;

	to.id = index + UINT64_C(1);
	to.memory_start = from->start;
	to.memory_limit = from->limit;
	to.file_offset = from->file_off;
	to.filename = number(w, from->filename);
	to.build_id = number(w, from->build_id);
	to.has_functions = from->has_functions;
	to.has_filenames = from->has_filenames;
	to.has_line_numbers = from->has_line_numbers;
	to.has_inline_frames = from->has_inline_frames;
	part.n_mapping = 1;
	part.mapping = &list;
	put(w, &part);
}

static void put_mappings(struct writer *w)
{
	uint32_t first = main_mapping_find(w->p);

	if (first != PROFILE_NONE)
		put_mapping(w, first);
	for (uint32_t i = 0; i < w->p->nr_mappings; i++)
		if (i != first)
			put_mapping(w, i);
}

static void put_location(struct writer *w, uint32_t index)
{
	const struct profile_location *from = &w->p->locations[index];
	Perftools__Profiles__Location to = PERFTOOLS__PROFILES__LOCATION__INIT;
	Perftools__Profiles__Location *list = &to;
	Part part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Line *lines = allocate(w, from->nr_lines, sizeof(*lines));

	to.line = allocate(w, from->nr_lines, sizeof(*to.line));
	if (!lines || !to.line)
		return;
	to.id = index + UINT64_C(1);
	to.mapping_id = from->mapping == PROFILE_NONE ? 0 : from->mapping + UINT64_C(1);
	to.address = from->address;
	to.is_folded = from->is_folded;
	to.n_line = from->nr_lines;
	for (size_t i = 0; i < from->nr_lines; i++) {
		const struct profile_line *line = &w->p->lines[from->first_line + i];

		perftools__profiles__line__init(&lines[i]);
		lines[i].line = line->line;
		if (line->function != PROFILE_NONE)
			lines[i].function_id = line->function + UINT64_C(1);
		to.line[i] = &lines[i];
	}
	part.n_location = 1;
	part.location = &list;
	put(w, &part);
}

static void put_function(struct writer *w, uint32_t index)
{
	const struct profile_function *from = &w->p->functions[index];
	Perftools__Profiles__Function to = PERFTOOLS__PROFILES__FUNCTION__INIT;
	Perftools__Profiles__Function *list = &to;
	Part part = PERFTOOLS__PROFILES__PROFILE__INIT;

	to.id = index + UINT64_C(1);
	to.name = number(w, from->name);
	/* The same name twice would make pprof demangle it; none does not. */
	if (from->system_name != from->name)
		to.system_name = number(w, from->system_name);
	to.filename = number(w, from->filename);
	to.start_line = from->start_line;
	part.n_function = 1;
	part.function = &list;
	put(w, &part);
}

static void put_head(struct writer *w)
{
	const struct profile *p = w->p;
	Perftools__Profiles__ValueType period_type = value_type(w, &p->period_type);
	Part part = PERFTOOLS__PROFILES__PROFILE__INIT;

	part.drop_frames = number(w, p->drop_frames);
	part.keep_frames = number(w, p->keep_frames);
	part.time_nanos = p->time_nanos;
	part.duration_nanos = p->duration_nanos;
	part.period_type = &period_type;
	part.period = p->period;
	part.default_sample_type = number(w, p->default_sample_type);
	part.doc_url = number(w, p->doc_url);
	part.comment = allocate(w, p->nr_comments, sizeof(*part.comment));
	part.n_comment = part.comment ? p->nr_comments : 0;
	for (size_t i = 0; i < part.n_comment; i++)
		part.comment[i] = number(w, p->comments[i]);
	put(w, &part);
}

static void put_strings(struct writer *w)
{
	if (w->strings.failed)
		w->failed = true;
	for (size_t i = 0; i < w->strings.nr || i == 0; i++) {
		const char *utf8 = i ? arena_utf8(&w->arena, w->strings.strings[i]) : "";
		char *list = (char *)utf8;
		Part part = PERFTOOLS__PROFILES__PROFILE__INIT;

		if (!utf8)
			w->failed = true;
		part.n_string_table = 1;
		part.string_table = &list;
		put(w, &part);
	}
}

/*
 * Functions that only code names are no part of plain pprof. @used has one byte a
 * function; returns false when all are to be written.
 */
static bool find_used(const struct profile *p, uint8_t *used)
{
	memset(used, 1, p->nr_functions);
	for (size_t i = 0; i < p->extra.nr_codes; i++)
		for (size_t k = 0; k < p->extra.codes[i].nr_rows; k++)
			if (p->extra.codes[i].rows[k].function < p->nr_functions)
				used[p->extra.codes[i].rows[k].function] = 0;
	for (size_t i = 0; i < p->nr_lines; i++)
		if (p->lines[i].function < p->nr_functions)
			used[p->lines[i].function] = 1;
	return p->extra.nr_codes;
}

static void put_functions(struct writer *w, bool with_extra)
{
	_cleanup_free_ uint8_t *used = malloc(w->p->nr_functions + 1);
	bool some;

	if (!used) {
		w->failed = true;
		return;
	}
	some = !with_extra && find_used(w->p, used);
	for (uint32_t i = 0; i < w->p->nr_functions; i++)
		if (!some || used[i])
			put_function(w, i);
}

static void put_profile(struct writer *w, bool with_extra)
{
	put_value_types(w);
	for (size_t i = 0; i < w->p->nr_samples; i++)
		put_sample(w, &w->p->samples[i]);
	put_mappings(w);
	for (uint32_t i = 0; i < w->p->nr_locations; i++)
		put_location(w, i);
	put_functions(w, with_extra);
	put_head(w);
	put_strings(w);
}

static void put_extra(struct writer *w)
{
	_cleanup_free_ uint8_t *packed = NULL;
	Part part = PERFTOOLS__PROFILES__PROFILE__INIT;

	gzip_end_member(w->gzip);
	if (extra_pack(w->p, &packed, &part.lineburn_extra.len))
		w->failed = true;
	part.lineburn_extra.data = packed;
	put(w, &part);
}

int pprof_write(const struct profile *p, bool with_extra, void **ret, size_t *ret_len)
{
	_cleanup_free_ struct gzip_writer *gzip = calloc(1, sizeof(*gzip));
	struct writer w = {.sink = {.append = append_to_gzip},
			   .p = p,
			   .gzip = gzip,
			   .arena = {.max = SIZE_MAX}};
	int r = -ENOMEM;

	if (!gzip)
		return -ENOMEM;
	put_profile(&w, with_extra);
	if (with_extra && p->extra.present)
		put_extra(&w);
	if (!w.failed)
		r = gzip_take(gzip, ret, ret_len);
	gzip_writer_deinit(gzip);
	string_table_deinit(&w.strings);
	arena_deinit(&w.arena);
	return r;
}
