/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks that a profile was written and read as it was, including Extra: mappings with the
 * main program first, the other tables in the order of order.h.
 */
#ifndef LB_TESTS_PROFILE_COMPARE_H
#define LB_TESTS_PROFILE_COMPARE_H

#include "fixture.h"

#include "profile/order.h"

static inline void assert_mappings_equal(const struct profile_mapping *a,
					 const struct profile_mapping *b)
{
	assert_string_equal(a->filename, b->filename);
	assert_string_equal(a->build_id, b->build_id);
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->limit, b->limit);
	assert_int_equal(a->file_off, b->file_off);
	assert_int_equal(a->has_functions, b->has_functions);
	assert_int_equal(a->has_filenames, b->has_filenames);
	assert_int_equal(a->has_line_numbers, b->has_line_numbers);
	assert_int_equal(a->has_inline_frames, b->has_inline_frames);
}

static inline uint32_t place_of(const uint32_t *places, uint32_t index)
{
	return index == PROFILE_NONE ? PROFILE_NONE : places[index];
}

static inline void assert_locations_equal(const struct profile *a,
					  const struct profile *b,
					  const struct profile_order *order)
{
	assert_int_equal(a->nr_locations, b->nr_locations);
	assert_int_equal(a->nr_lines, b->nr_lines);
	assert_int_equal(a->nr_mappings, b->nr_mappings);
	for (size_t i = 0; i < a->nr_locations; i++) {
		const struct profile_location *x = &a->locations[order->locations[i]],
					      *y = &b->locations[i];

		assert_int_equal(x->mapping == PROFILE_NONE, y->mapping == PROFILE_NONE);
		if (x->mapping != PROFILE_NONE)
			assert_mappings_equal(&a->mappings[x->mapping],
					      &b->mappings[y->mapping]);
		assert_int_equal(x->address, y->address);
		assert_int_equal(x->miss, y->miss);
		assert_int_equal(x->is_folded, y->is_folded);
		assert_int_equal(x->nr_lines, y->nr_lines);
		for (uint32_t k = 0; k < x->nr_lines; k++) {
			assert_int_equal(place_of(order->function_places,
						  a->lines[x->first_line + k].function),
					 b->lines[y->first_line + k].function);
			assert_int_equal(a->lines[x->first_line + k].line,
					 b->lines[y->first_line + k].line);
		}
	}
}

static inline void assert_functions_equal(const struct profile *a,
					  const struct profile *b,
					  const struct profile_order *order)
{
	assert_int_equal(a->nr_functions, b->nr_functions);
	for (size_t i = 0; i < a->nr_functions; i++) {
		const struct profile_function *x = &a->functions[order->functions[i]],
					      *y = &b->functions[i];

		assert_string_equal(x->name, y->name);
		assert_string_equal(x->system_name, y->system_name);
		assert_string_equal(x->filename, y->filename);
		assert_int_equal(x->start_line, y->start_line);
	}
}

/* The samples of a sample's bucket at @offset from the start. */
static inline uint64_t count_at(const struct profile *p, const struct profile_sample *s,
				uint32_t offset)
{
	uint64_t count = 0;

	for (uint32_t n = s->times.first; n; n = p->times.points[n - 1].next)
		if (series_offset(&p->times, p->times.points[n - 1].bucket) == offset)
			count += p->times.points[n - 1].count;
	return count;
}

static inline void assert_times_equal(const struct profile *a, const struct profile *b,
				      const struct profile_order *order)
{
	assert_int_equal(a->times.bucket_ns, b->times.bucket_ns);
	for (size_t i = 0; i < a->nr_samples; i++)
		for (uint32_t offset = 0; offset < 100; offset++)
			assert_int_equal(
				count_at(a, &a->samples[order->samples[i]], offset),
				count_at(b, &b->samples[i], offset));
}

static inline void assert_samples_equal(const struct profile *a, const struct profile *b,
					const struct profile_order *order)
{
	assert_int_equal(a->nr_samples, b->nr_samples);
	assert_int_equal(a->nr_value_types, b->nr_value_types);
	for (size_t i = 0; i < a->nr_samples; i++) {
		const struct profile_sample *x = &a->samples[order->samples[i]],
					    *y = &b->samples[i];

		assert_int_equal(x->status, y->status);
		assert_int_equal(x->nr_locations, y->nr_locations);
		assert_int_equal(x->nr_labels, y->nr_labels);
		for (uint32_t k = 0; k < x->nr_locations; k++)
			assert_int_equal(
				place_of(order->location_places,
					 a->sample_locations[x->first_location + k]),
				b->sample_locations[y->first_location + k]);
		for (uint32_t k = 0; k < x->nr_labels; k++) {
			const struct profile_label *m = &a->labels[x->first_label + k];
			const struct profile_label *n = &b->labels[y->first_label + k];

			assert_string_equal(m->key, n->key);
			assert_string_equal(m->str, n->str);
			assert_string_equal(m->unit, n->unit);
			assert_int_equal(m->num, n->num);
		}
		for (size_t k = 0; k < a->nr_value_types; k++)
			assert_int_equal(a->values[x->first_value + k],
					 b->values[y->first_value + k]);
	}
	assert_times_equal(a, b, order);
}

static inline void assert_heads_equal(const struct profile *a, const struct profile *b)
{
	for (size_t i = 0; i < a->nr_value_types; i++) {
		assert_string_equal(a->value_types[i].type, b->value_types[i].type);
		assert_string_equal(a->value_types[i].unit, b->value_types[i].unit);
	}
	assert_int_equal(a->count_value, b->count_value);
	assert_int_equal(a->cpu_value, b->cpu_value);
	assert_int_equal(a->time_nanos, b->time_nanos);
	assert_int_equal(a->duration_nanos, b->duration_nanos);
	assert_string_equal(a->period_type.type, b->period_type.type);
	assert_string_equal(a->period_type.unit, b->period_type.unit);
	assert_int_equal(a->period, b->period);
	assert_int_equal(a->nr_comments, b->nr_comments);
	for (size_t i = 0; i < a->nr_comments; i++)
		assert_string_equal(a->comments[i], b->comments[i]);
	assert_string_equal(a->default_sample_type, b->default_sample_type);
	assert_string_equal(a->drop_frames, b->drop_frames);
	assert_string_equal(a->keep_frames, b->keep_frames);
	assert_string_equal(a->doc_url, b->doc_url);
}

static inline void assert_sources_equal(const struct profile_source *a,
					const struct profile_source *b)
{
	assert_string_equal(a->path, b->path);
	assert_int_equal(a->size_bytes, b->size_bytes);
	assert_memory_equal(a->sha256, b->sha256, sizeof(a->sha256));
	assert_int_equal(a->nr_lines, b->nr_lines);
	assert_int_equal(a->mtime_nanos, b->mtime_nanos);
	assert_int_equal(a->newer_than_binary, b->newer_than_binary);
	assert_int_equal(a->nr_runs, b->nr_runs);
	for (size_t i = 0; i < a->nr_runs; i++) {
		assert_int_equal(a->runs[i].first_line, b->runs[i].first_line);
		assert_int_equal(a->runs[i].nr_lines, b->runs[i].nr_lines);
		assert_string_equal(a->runs[i].text, b->runs[i].text);
	}
}

static inline void assert_codes_equal(const struct profile *a, const struct profile *b,
				      const struct profile_order *order)
{
	assert_int_equal(a->extra.nr_codes, b->extra.nr_codes);
	assert_int_equal(a->extra.codes_bytes, b->extra.codes_bytes);
	for (size_t i = 0; i < a->extra.nr_codes; i++) {
		const struct profile_code *x = &a->extra.codes[i],
					  *y = &b->extra.codes[i];

		assert_int_equal(x->mapping == PROFILE_NONE, y->mapping == PROFILE_NONE);
		if (x->mapping != PROFILE_NONE)
			assert_mappings_equal(&a->mappings[x->mapping],
					      &b->mappings[y->mapping]);
		assert_int_equal(x->address, y->address);
		assert_int_equal(x->size_bytes, y->size_bytes);
		assert_int_equal(x->nr_rows, y->nr_rows);
		for (size_t k = 0; k < x->nr_rows; k++) {
			assert_int_equal(x->rows[k].address, y->rows[k].address);
			assert_int_equal(
				place_of(order->function_places, x->rows[k].at.function),
				y->rows[k].at.function);
			assert_int_equal(x->rows[k].at.line, y->rows[k].at.line);
		}
		assert_int_equal(!x->bytes, !y->bytes);
		if (x->bytes)
			assert_memory_equal(x->bytes, y->bytes, x->size_bytes);
	}
}

static inline void assert_extras_equal(const struct profile_extra *a,
				       const struct profile_extra *b)
{
	assert_int_equal(a->present, b->present);
	assert_int_equal(!a->command, !b->command);
	for (size_t i = 0; a->command && (a->command[i] || b->command[i]); i++)
		assert_string_equal(a->command[i], b->command[i]);
	assert_string_equal(a->target, b->target);
	assert_string_equal(a->host, b->host);
	assert_string_equal(a->kernel_release, b->kernel_release);
	assert_string_equal(a->arch, b->arch);
	assert_string_equal(a->version, b->version);
	assert_int_equal(a->freq_hz, b->freq_hz);
	assert_int_equal(a->wall_ns, b->wall_ns);
	assert_int_equal(a->nr_cpus, b->nr_cpus);
	assert_memory_equal(&a->losses, &b->losses, sizeof(a->losses));
	assert_memory_equal(&a->cost, &b->cost, sizeof(a->cost));
	assert_int_equal(a->nr_warnings, b->nr_warnings);
	for (size_t i = 0; i < a->nr_warnings; i++)
		assert_string_equal(a->warnings[i], b->warnings[i]);
	assert_int_equal(a->nr_sources, b->nr_sources);
	for (size_t i = 0; i < a->nr_sources; i++)
		assert_sources_equal(&a->sources[i], &b->sources[i]);
}

/* @b: @a, written and read */
static inline void assert_profiles_equal(const struct profile *a, const struct profile *b)
{
	struct profile_order order;
	uint32_t first = PROFILE_NONE;

	for (uint32_t i = 0; i < a->nr_mappings && first == PROFILE_NONE; i++)
		if (!strcmp(a->mappings[i].filename, b->mappings[0].filename))
			first = i;
	assert_int_equal(profile_order_init(&order, a, first), 0);
	assert_heads_equal(a, b);
	assert_functions_equal(a, b, &order);
	assert_locations_equal(a, b, &order);
	assert_samples_equal(a, b, &order);
	assert_extras_equal(&a->extra, &b->extra);
	assert_codes_equal(a, b, &order);
	profile_order_deinit(&order);
}

#endif
