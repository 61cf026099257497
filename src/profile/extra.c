// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/extra.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "lineburn.pb-c.h"
#include "profile/arena.h"
#include "profile/id_table.h"
#include "profile/order.h"
#include "profile/profile.h"

/* struct profile_cost and Lineburn__Cost; all uint64_t */
#define EXTRA_COST(X)               \
	X(bpf_runs)                 \
	X(bpf_ns)                   \
	X(collector_cpu_ns)         \
	X(collector_peak_rss_bytes) \
	X(map_bytes)                \
	X(budget_ppm)               \
	X(tick_ns)                  \
	X(lowered_ns)               \
	X(longest_period_ns)

/* Skips code that exceeds PROFILE_MAX_CODE_BYTES. Return: 0, -EBADMSG, -ENOMEM. */
static int keep_code(struct profile *p, const struct profile_code *code)
{
	int r = profile_add_code(p, code);

	if (r == -EINVAL)
		return -EBADMSG;
	return r == -ENOSPC ? 0 : r;
}

static int unpack_code(struct profile *p, const Lineburn__Code *from,
		       const struct extra_ids *ids)
{
	_cleanup_free_ struct profile_code_row *rows = NULL;
	struct profile_code code = {
		.mapping = id_table_find(ids->mapping, from->mapping_id),
		.address = from->address,
		.size_bytes = from->size_bytes,
		.nr_rows = from->n_row_offset};

	if (from->n_row_offset != from->n_row_function_id ||
	    from->n_row_offset != from->n_row_line ||
	    (from->machine_code.len && from->machine_code.len != from->size_bytes))
		return -EBADMSG;
	rows = calloc(code.nr_rows + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < code.nr_rows; i++) {
		if (from->row_offset[i] > code.size_bytes)
			return -EBADMSG;
		rows[i] = (struct profile_code_row){
			code.address + from->row_offset[i],
			{id_table_find(ids->function, from->row_function_id[i]),
			 from->row_line[i]}};
	}
	code.rows = rows;
	if (from->machine_code.len)
		code.bytes = from->machine_code.data;
	return keep_code(p, &code);
}

/* Where the reader or the writer of the columns of Codes is. */
struct codes_place {
	uint64_t address; /* of the code before */
	size_t row, byte; /* the next ones */
	uint32_t *lines; /* the last line of each function, and of none; heap */
};

/* Returns the last line of the rows of a function; to be changed. */
static uint32_t *last_line(const struct codes_place *at, const struct profile *p,
			   uint32_t function)
{
	return &at->lines[function < p->nr_functions ? function : p->nr_functions];
}

/* Unpacks the next row. Return: is it sound? */
static bool unpack_row(const struct profile *p, const Lineburn__Codes *from,
		       const struct extra_ids *ids, struct codes_place *at,
		       const struct profile_code *code, uint64_t *offset,
		       struct profile_code_row *ret)
{
	uint64_t distance = from->row_distance[at->row];
	uint32_t function = id_table_find(ids->function, from->row_function_id[at->row]);
	uint32_t *line = last_line(at, p, function);
	int64_t moved;

	if (distance > code->size_bytes - *offset ||
	    __builtin_add_overflow((int64_t)*line, from->row_line_distance[at->row],
				   &moved) ||
	    moved < 0 || moved > UINT32_MAX)
		return false;
	*offset += distance;
	*line = (uint32_t)moved;
	at->row++;
	*ret = (struct profile_code_row){code->address + *offset, {function, *line}};
	return true;
}

/* Unpacks code number @i. Return: 0, -EBADMSG, -ENOMEM. */
static int unpack_columns(struct profile *p, const Lineburn__Codes *from, size_t i,
			  const struct extra_ids *ids, struct codes_place *at)
{
	_cleanup_free_ struct profile_code_row *rows = NULL;
	struct profile_code code = {
		.mapping = id_table_find(ids->mapping, from->mapping_id[i]),
		.address = at->address + (uint64_t)from->address_distance[i],
		.size_bytes = from->size_bytes[i],
		.nr_rows = from->nr_rows[i]};
	uint64_t offset = 0;

	if (code.nr_rows > from->n_row_distance - at->row)
		return -EBADMSG;
	rows = calloc(code.nr_rows + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t k = 0; k < code.nr_rows; k++)
		if (!unpack_row(p, from, ids, at, &code, &offset, &rows[k]))
			return -EBADMSG;
	code.rows = rows;
	at->address = code.address;
	if (from->has_machine_code[i]) {
		if (code.size_bytes > from->machine_code.len - at->byte)
			return -EBADMSG;
		code.bytes = from->machine_code.data + at->byte;
		at->byte += code.size_bytes;
	}
	return keep_code(p, &code);
}

static int unpack_codes(struct profile *p, const Lineburn__Codes *from,
			const struct extra_ids *ids)
{
	_cleanup_free_ uint32_t *lines = NULL;
	struct codes_place at = {0};
	int r = 0;

	if (!from)
		return 0;
	if (from->n_mapping_id != from->n_address_distance ||
	    from->n_mapping_id != from->n_size_bytes ||
	    from->n_mapping_id != from->n_nr_rows ||
	    from->n_mapping_id != from->n_has_machine_code ||
	    from->n_row_distance != from->n_row_function_id ||
	    from->n_row_distance != from->n_row_line_distance)
		return -EBADMSG;
	at.lines = lines = calloc(p->nr_functions + 1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_mapping_id && !r; i++)
		r = unpack_columns(p, from, i, ids, &at);
	return r;
}

/* Has all messages of an Extra until it is packed. */
struct packer {
	const struct profile *p;
	const struct extra_file *file;
	struct arena arena;
	bool failed;
	Lineburn__Extra extra;
	Lineburn__Losses losses;
	Lineburn__Cost cost;
	Lineburn__Codes codes;
	Lineburn__Misses misses;
};

/* Returns an id in the file: they count from 1; 0: none. */
static uint64_t function_id_of(const struct packer *k, uint32_t index)
{
	return index == PROFILE_NONE
		       ? 0
		       : k->file->order->function_places[index] + UINT64_C(1);
}

static void *allocate(struct packer *k, size_t nr, size_t size)
{
	void *given = arena_alloc(&k->arena, nr * size);

	if (!given)
		k->failed = true;
	return given;
}

/* The cast is safe: protobuf-c's messages have char *, but packing only reads. */
static char *text(struct packer *k, const char *s)
{
	const char *utf8 = arena_utf8(&k->arena, s);

	if (!utf8)
		k->failed = true;
	return (char *)(utf8 ? utf8 : "");
}

static char **texts(struct packer *k, const char *const *list, size_t nr)
{
	char **copy = allocate(k, nr, sizeof(*copy));

	for (size_t i = 0; copy && i < nr; i++)
		copy[i] = text(k, list[i]);
	return copy;
}

static void pack_recording(struct packer *k)
{
	const struct profile_extra *from = &k->p->extra;
	Lineburn__Extra *to = &k->extra;
	size_t nr_command = 0;

	to->version = EXTRA_VERSION;
	while (from->command && from->command[nr_command])
		nr_command++;
	to->command = texts(k, from->command, nr_command);
	to->n_command = to->command ? nr_command : 0;
	to->target = text(k, from->target);
	to->host = text(k, from->host);
	to->kernel_release = text(k, from->kernel_release);
	to->arch = text(k, from->arch);
	to->lineburn_version = text(k, from->version);
	to->freq_hz = from->freq_hz;
	to->wall_ns = from->wall_ns;
	to->nr_cpus = from->nr_cpus;
	to->warning = texts(k, from->warnings, from->nr_warnings);
	to->n_warning = to->warning ? from->nr_warnings : 0;
#define COPY(name) k->losses.name = from->losses.name;
	PROFILE_LOSSES(COPY)
#undef COPY
#define COPY(name) k->cost.name = from->cost.name;
	EXTRA_COST(COPY)
#undef COPY
	to->losses = &k->losses;
	to->cost = &k->cost;
}

static void pack_runs(struct packer *k, const struct profile_source *from,
		      Lineburn__Source *to)
{
	Lineburn__SourceRun *runs = allocate(k, from->nr_runs, sizeof(*runs));

	to->run = allocate(k, from->nr_runs, sizeof(*to->run));
	if (!to->run || !runs)
		return;
	to->n_run = from->nr_runs;
	for (size_t i = 0; i < from->nr_runs; i++) {
		const char *run_text = from->runs[i].text;

		lineburn__source_run__init(&runs[i]);
		runs[i].first_line = from->runs[i].first_line;
		runs[i].nr_lines = from->runs[i].nr_lines;
		runs[i].text.data = (uint8_t *)run_text;
		runs[i].text.len = strlen(run_text);
		to->run[i] = &runs[i];
	}
}

/* A function of a file whose path another file has, too. */
struct namesake_function {
	const char *file;
	uint32_t function;
};

struct namesake_functions {
	struct namesake_function *items; /* by file, then by function */
	size_t nr;
};

static int compare_namesake_functions(const void *a, const void *b)
{
	const struct namesake_function *x = a, *y = b;

	if (x->file != y->file)
		return (uintptr_t)x->file < (uintptr_t)y->file ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static void find_namesake_functions(struct packer *k, struct namesake_functions *ret)
{
	const struct profile *p = k->p;

	*ret = (struct namesake_functions){0};
	if (!p->nr_namesakes)
		return;
	ret->items = allocate(k, p->nr_functions, sizeof(*ret->items));
	for (size_t i = 0; ret->items && i < p->nr_functions; i++)
		if (profile_is_namesake(p, p->functions[i].filename))
			ret->items[ret->nr++] = (struct namesake_function){
				p->functions[i].filename, (uint32_t)i};
	if (ret->nr)
		qsort(ret->items, ret->nr, sizeof(*ret->items),
		      compare_namesake_functions);
}

static void pack_functions(struct packer *k, const struct namesake_functions *all,
			   const struct profile_source *from, Lineburn__Source *to)
{
	struct namesake_function key = {.file = from->path};
	size_t first = SEARCH_FIRST(
		i, all->nr, compare_namesake_functions(&all->items[i], &key) >= 0);
	size_t end = first, nr;

	while (end < all->nr && all->items[end].file == from->path)
		end++;
	nr = end - first;
	to->function_id = nr ? allocate(k, nr, sizeof(*to->function_id)) : NULL;
	for (size_t i = 0; to->function_id && i < nr; i++)
		to->function_id[to->n_function_id++] =
			function_id_of(k, all->items[first + i].function);
}

static void pack_sources(struct packer *k)
{
	const struct profile_extra *from = &k->p->extra;
	Lineburn__Extra *to = &k->extra;
	Lineburn__Source *sources = allocate(k, from->nr_sources, sizeof(*sources));
	struct namesake_functions namesakes;

	to->source = allocate(k, from->nr_sources, sizeof(*to->source));
	if (!to->source || !sources)
		return;
	to->n_source = from->nr_sources;
	find_namesake_functions(k, &namesakes);
	for (size_t i = 0; i < from->nr_sources; i++) {
		const struct profile_source *source = &from->sources[i];

		lineburn__source__init(&sources[i]);
		sources[i].path = text(k, source->path);
		sources[i].size_bytes = source->size_bytes;
		sources[i].sha256.data = (uint8_t *)source->sha256;
		sources[i].sha256.len = sizeof(source->sha256);
		sources[i].nr_lines = source->nr_lines;
		sources[i].newer_than_binary = source->newer_than_binary;
		sources[i].mtime_nanos = source->mtime_nanos;
		sources[i].owner = text(k, source->owner ? source->owner : "");
		pack_runs(k, source, &sources[i]);
		pack_functions(k, &namesakes, source, &sources[i]);
		to->source[i] = &sources[i];
	}
}

static void pack_misses(struct packer *k)
{
	const struct profile *p = k->p;
	Lineburn__Extra *to = &k->extra;
	const char *names[NR_MISSES];
	size_t nr = 0, last = 0;

	for (size_t i = 0; i < p->nr_locations; i++)
		nr += p->locations[i].miss != MISS_NONE;
	if (!nr)
		return;
	to->misses = &k->misses;
	k->misses.location_distance =
		allocate(k, nr, sizeof(*k->misses.location_distance));
	k->misses.reason = allocate(k, nr, sizeof(*k->misses.reason));
	for (size_t i = 0; i < NR_MISSES; i++)
		names[i] = miss_name((enum miss)i);
	to->miss_name = texts(k, names, NR_MISSES);
	if (k->failed)
		return;
	to->n_miss_name = NR_MISSES;
	k->misses.n_location_distance = k->misses.n_reason = nr;
	nr = 0;
	for (size_t i = 0; i < p->nr_locations; i++) {
		enum miss miss = p->locations[k->file->order->locations[i]].miss;

		if (miss == MISS_NONE)
			continue;
		k->misses.location_distance[nr] = i + 1 - last;
		k->misses.reason[nr++] = miss;
		last = i + 1;
	}
}

static void pack_statuses(struct packer *k)
{
	const struct profile *p = k->p;
	Lineburn__Extra *to = &k->extra;
	const char *names[LB_NR_STACK_STATUS];
	bool told = false;

	for (size_t i = 0; i < p->nr_samples; i++)
		told = told || p->samples[i].status != LB_STACK_COMPLETE;
	if (!told)
		return;
	for (uint32_t i = 0; i < LB_NR_STACK_STATUS; i++)
		names[i] = stack_status_name(i);
	to->status_name = texts(k, names, LB_NR_STACK_STATUS);
	to->sample_status = allocate(k, p->nr_samples, sizeof(*to->sample_status));
	if (k->failed)
		return;
	to->n_status_name = LB_NR_STACK_STATUS;
	to->n_sample_status = p->nr_samples;
	for (size_t i = 0; i < p->nr_samples; i++) {
		uint32_t status = p->samples[k->file->order->samples[i]].status;

		to->sample_status[i] = status < LB_NR_STACK_STATUS ? status
								   : LB_STACK_COMPLETE;
	}
}

static int by_bucket(const void *a, const void *b)
{
	const struct series_point *x = a, *y = b;

	return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

/* Appends the times of a sample to @to. @points: room for all points of the profile */
static size_t pack_sample_times(const struct profile *p, const struct profile_sample *s,
				struct series_point *points, uint32_t *to)
{
	size_t nr = 0, nr_merged = 0, nr_to = 1;
	uint32_t last = 0;

	for (uint32_t n = s->times.first; n; n = p->times.points[n - 1].next) {
		points[nr] = p->times.points[n - 1];
		points[nr].bucket = series_offset(&p->times, points[nr].bucket);
		nr++;
	}
	qsort(points, nr, sizeof(*points), by_bucket);
	for (size_t i = 0; i < nr; i++) {
		if (nr_merged && points[nr_merged - 1].bucket == points[i].bucket)
			points[nr_merged - 1].count += points[i].count;
		else
			points[nr_merged++] = points[i];
	}
	to[0] = (uint32_t)nr_merged;
	for (size_t i = 0; i < nr_merged; i++) {
		to[nr_to++] = points[i].bucket - last;
		to[nr_to++] = points[i].count;
		last = points[i].bucket;
	}
	return nr_to;
}

static void pack_times(struct packer *k)
{
	const struct profile *p = k->p;
	Lineburn__Extra *to = &k->extra;
	_cleanup_free_ struct series_point *points = NULL;

	if (!p->times.nr)
		return;
	points = calloc(p->times.nr, sizeof(*points));
	to->time = allocate(k, p->nr_samples + 2 * p->times.nr, sizeof(*to->time));
	if (!points)
		k->failed = true;
	if (k->failed)
		return;
	to->time_bucket_ns = p->times.bucket_ns;
	for (size_t i = 0; i < p->nr_samples; i++)
		to->n_time += pack_sample_times(p,
						&p->samples[k->file->order->samples[i]],
						points, to->time + to->n_time);
}

/* Packs the rows of a code into columns that have room for them. */
static void pack_rows(struct packer *k, const struct profile_code *from,
		      struct codes_place *at)
{
	Lineburn__Codes *to = &k->codes;
	uint64_t address = from->address;

	for (size_t i = 0; i < from->nr_rows; i++, at->row++) {
		const struct profile_code_row *row = &from->rows[i];
		uint32_t *line = last_line(at, k->p, row->at.function);

		to->row_distance[at->row] = row->address - address;
		to->row_function_id[at->row] = function_id_of(k, row->at.function);
		to->row_line_distance[at->row] = (int64_t)row->at.line - *line;
		address = row->address;
		*line = row->at.line;
	}
}

static void pack_code(struct packer *k, size_t i, struct codes_place *at)
{
	const struct profile_code *from = &k->p->extra.codes[i];
	Lineburn__Codes *to = &k->codes;

	to->mapping_id[i] = mapping_id_of(k->file->first_mapping, from->mapping);
	to->address_distance[i] = (int64_t)(from->address - at->address);
	at->address = from->address;
	to->size_bytes[i] = from->size_bytes;
	to->nr_rows[i] = (uint32_t)from->nr_rows;
	to->has_machine_code[i] = from->bytes != NULL;
	pack_rows(k, from, at);
	if (from->bytes) {
		memcpy(to->machine_code.data + at->byte, from->bytes, from->size_bytes);
		at->byte += from->size_bytes;
	}
}

/* Allocates columns for @nr codes with @nr_rows rows and @nr_bytes bytes. */
static void allocate_columns(struct packer *k, size_t nr, size_t nr_rows, size_t nr_bytes)
{
	Lineburn__Codes *to = &k->codes;

	to->n_mapping_id = to->n_address_distance = to->n_size_bytes = nr;
	to->n_nr_rows = to->n_has_machine_code = nr;
	to->mapping_id = allocate(k, nr, sizeof(*to->mapping_id));
	to->address_distance = allocate(k, nr, sizeof(*to->address_distance));
	to->size_bytes = allocate(k, nr, sizeof(*to->size_bytes));
	to->nr_rows = allocate(k, nr, sizeof(*to->nr_rows));
	to->has_machine_code = allocate(k, nr, sizeof(*to->has_machine_code));
	to->n_row_distance = to->n_row_function_id = to->n_row_line_distance = nr_rows;
	to->row_distance = allocate(k, nr_rows, sizeof(*to->row_distance));
	to->row_function_id = allocate(k, nr_rows, sizeof(*to->row_function_id));
	to->row_line_distance = allocate(k, nr_rows, sizeof(*to->row_line_distance));
	to->machine_code.len = nr_bytes;
	to->machine_code.data = allocate(k, nr_bytes, 1);
}

static void pack_codes(struct packer *k)
{
	const struct profile_extra *from = &k->p->extra;
	_cleanup_free_ uint32_t *lines = NULL;
	size_t nr_rows = 0, nr_bytes = 0;
	struct codes_place at = {0};

	if (!from->nr_codes)
		return;
	for (size_t i = 0; i < from->nr_codes; i++) {
		nr_rows += from->codes[i].nr_rows;
		nr_bytes += from->codes[i].bytes ? from->codes[i].size_bytes : 0;
	}
	allocate_columns(k, from->nr_codes, nr_rows, nr_bytes);
	at.lines = lines = calloc(k->p->nr_functions + 1, sizeof(*lines));
	if (!lines)
		k->failed = true;
	if (k->failed)
		return;
	for (size_t i = 0; i < from->nr_codes; i++)
		pack_code(k, i, &at);
	k->extra.codes = &k->codes;
}

int extra_pack(const struct profile *p, const struct extra_file *file, uint8_t **ret,
	       size_t *ret_len)
{
	struct packer k = {.p = p, .file = file, .arena = {.max = SIZE_MAX}};
	uint8_t *packed = NULL;

	lineburn__extra__init(&k.extra);
	lineburn__losses__init(&k.losses);
	lineburn__cost__init(&k.cost);
	lineburn__codes__init(&k.codes);
	lineburn__misses__init(&k.misses);
	pack_recording(&k);
	pack_sources(&k);
	pack_misses(&k);
	pack_statuses(&k);
	pack_times(&k);
	pack_codes(&k);
	k.extra.nr_stand_ins = file->nr_stand_ins;
	if (!k.failed)
		packed = malloc(lineburn__extra__get_packed_size(&k.extra));
	if (packed) {
		*ret_len = lineburn__extra__pack(&k.extra, packed);
		*ret = packed;
	}
	arena_deinit(&k.arena);
	return packed ? 0 : -ENOMEM;
}

static int unpack_recording(struct profile *p, const Lineburn__Extra *from)
{
	struct profile_extra *to = &p->extra;

	to->target = strpool_add(p->pool, from->target);
	to->host = strpool_add(p->pool, from->host);
	to->kernel_release = strpool_add(p->pool, from->kernel_release);
	to->arch = strpool_add(p->pool, from->arch);
	to->version = strpool_add(p->pool, from->lineburn_version);
	to->freq_hz = from->freq_hz;
	to->wall_ns = from->wall_ns;
	to->nr_cpus = from->nr_cpus;
	if (from->losses) {
#define COPY(name) to->losses.name = from->losses->name;
		PROFILE_LOSSES(COPY)
#undef COPY
	}
	if (from->cost) {
#define COPY(name) to->cost.name = from->cost->name;
		EXTRA_COST(COPY)
#undef COPY
	}
	if (from->n_warning > PROFILE_MAX_SENTENCES)
		return -EBADMSG;
	for (size_t i = 0; i < from->n_warning; i++)
		if (profile_add_warning(p, from->warning[i]))
			return -ENOMEM;
	if (!from->n_command)
		return 0;
	to->command = calloc(from->n_command + 1, sizeof(*to->command));
	if (!to->command)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_command; i++)
		to->command[i] = strpool_add(p->pool, from->command[i]);
	return 0;
}

/* Does the text have exactly the stated number of lines? */
static bool run_is_sound(const Lineburn__SourceRun *run)
{
	const uint8_t *at = run->text.data;
	size_t left = run->text.len;
	uint64_t nr = 1;

	if (memchr(at ? at : (const uint8_t *)"", '\0', left))
		return false;
	for (; left; at++, left--)
		nr += *at == '\n';
	return run->first_line && run->nr_lines == nr &&
	       (uint64_t)run->first_line + nr <= UINT32_MAX;
}

static int unpack_run(struct profile_source *to, const Lineburn__SourceRun *from)
{
	char *copy;

	if (!run_is_sound(from))
		return -EBADMSG;
	copy = malloc(from->text.len + 1);
	if (!copy)
		return -ENOMEM;
	if (from->text.len)
		memcpy(copy, from->text.data, from->text.len);
	copy[from->text.len] = '\0';
	to->runs[to->nr_runs++] = (struct profile_source_run){
		.first_line = from->first_line, .nr_lines = from->nr_lines, .text = copy};
	return 0;
}

/*
 * Sets the filename of the functions of a file to a new name with the same text
 * (profile_add_namesake()), because another file has the same path.
 */
static int unpack_functions(struct profile *p, const Lineburn__Source *from,
			    const struct extra_ids *ids, struct profile_source *to)
{
	const char *path = to->path;

	to->path = profile_add_namesake(p, path);
	for (size_t i = 0; i < from->n_function_id; i++) {
		uint32_t function = id_table_find(ids->function, from->function_id[i]);

		if (function >= p->nr_functions ||
		    p->functions[function].filename != path)
			return -EBADMSG;
		p->functions[function].filename = to->path;
	}
	return 0;
}

static int unpack_source(struct profile *p, const Lineburn__Source *from,
			 const struct extra_ids *ids)
{
	_cleanup_(profile_source_deinit) struct profile_source to = {
		.path = strpool_add(p->pool, from->path),
		.size_bytes = from->size_bytes,
		.nr_lines = from->nr_lines,
		.mtime_nanos = from->mtime_nanos,
		.newer_than_binary = from->newer_than_binary,
		.owner = strpool_add(p->pool, from->owner),
		.runs = from->n_run ? calloc(from->n_run, sizeof(*to.runs)) : NULL};
	int r = 0;

	if (from->sha256.len != sizeof(to.sha256))
		return -EBADMSG;
	memcpy(to.sha256, from->sha256.data, sizeof(to.sha256));
	if (from->n_function_id && unpack_functions(p, from, ids, &to))
		return -EBADMSG;
	if (from->n_run && !to.runs)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_run && !r; i++)
		r = unpack_run(&to, from->run[i]);
	if (!r)
		r = profile_add_source(p, &to);
	if (!r)
		to = (struct profile_source){0};
	return r;
}

static int unpack_miss(struct profile *p, const Lineburn__Extra *from, uint64_t id,
		       uint32_t reason, const struct extra_ids *ids)
{
	uint32_t location = id_table_find(ids->location, id);
	enum miss miss;

	if (location == PROFILE_NONE || reason >= from->n_miss_name)
		return -EBADMSG;
	miss = miss_from_name(from->miss_name[reason]);
	p->locations[location].miss = miss == NR_MISSES ? MISS_NONE : miss;
	return 0;
}

static int unpack_misses(struct profile *p, const Lineburn__Extra *from,
			 const struct extra_ids *ids)
{
	const Lineburn__Misses *misses = from->misses;
	uint64_t id = 0;
	int r = 0;

	if (from->n_miss != from->n_miss_location ||
	    (misses && misses->n_location_distance != misses->n_reason))
		return -EBADMSG;
	for (size_t i = 0; i < from->n_miss && !r; i++)
		r = unpack_miss(p, from, from->miss_location[i], from->miss[i], ids);
	for (size_t i = 0; misses && i < misses->n_reason && !r; i++) {
		id += misses->location_distance[i];
		r = unpack_miss(p, from, id, misses->reason[i], ids);
	}
	return r;
}

static int unpack_statuses(struct profile *p, const Lineburn__Extra *from)
{
	if (!from->n_sample_status)
		return 0;
	if (from->n_sample_status != p->nr_samples)
		return -EBADMSG;
	for (size_t i = 0; i < p->nr_samples; i++) {
		uint32_t status;

		if (from->sample_status[i] >= from->n_status_name)
			return -EBADMSG;
		status =
			stack_status_from_name(from->status_name[from->sample_status[i]]);
		p->samples[i].status = status == LB_NR_STACK_STATUS ? LB_STACK_COMPLETE
								    : status;
	}
	return 0;
}

/* Sums of such times do not overflow. */
#define MAX_TIME_NS (1ULL << 61)

/* Reads the times of a sample. Return: their number in @from; 0: malformed. */
static size_t unpack_sample_times(struct profile *p, struct profile_sample *s,
				  const uint32_t *from, size_t nr, int *ret_error)
{
	const struct series_lists all = {&p->samples->times, p->nr_samples,
					 sizeof(*p->samples)};
	uint64_t bucket = 0, bucket_ns = p->times.bucket_ns;
	size_t nr_points, at = 1;

	if (from[0] > (nr - 1) / 2)
		return 0;
	nr_points = from[0];
	for (size_t i = 0; i < nr_points; i++, at += 2) {
		bucket += from[at];
		if (bucket > MAX_TIME_NS / bucket_ns || !from[at + 1])
			return 0;
		*ret_error = series_add(&p->times, &s->times, bucket * bucket_ns,
					from[at + 1], &all);
		/* The buckets of a sound file need not be longer. */
		if (*ret_error || p->times.bucket_ns != bucket_ns)
			return 0;
	}
	return at;
}

static int unpack_times(struct profile *p, const Lineburn__Extra *from)
{
	size_t at = 0;
	int error = 0;

	if (!from->time_bucket_ns)
		return from->n_time ? -EBADMSG : 0;
	if (from->time_bucket_ns > MAX_TIME_NS)
		return -EBADMSG;
	p->times.bucket_ns = from->time_bucket_ns;
	for (size_t i = 0; i < p->nr_samples; i++) {
		size_t nr = 0;

		if (at < from->n_time)
			nr = unpack_sample_times(p, &p->samples[i], from->time + at,
						 from->n_time - at, &error);
		if (!nr)
			return error == -ENOMEM ? error : -EBADMSG;
		at += nr;
	}
	return at == from->n_time ? 0 : -EBADMSG;
}

/* Removes the last @nr functions, and the lines of locations that refer to them. */
static int drop_stand_ins(struct profile *p, uint32_t nr)
{
	size_t nr_lines = 0;

	if (nr > p->nr_functions)
		return -EBADMSG;
	p->nr_functions -= nr;
	for (size_t i = 0; nr && i < p->nr_locations; i++) {
		struct profile_location *l = &p->locations[i];
		const struct profile_line *from;
		uint32_t first = l->first_line;

		l->first_line = (uint32_t)nr_lines;
		if (!l->nr_lines)
			continue;
		from = &p->lines[first];
		if (l->nr_lines == 1 && from->function != PROFILE_NONE &&
		    from->function >= p->nr_functions)
			l->nr_lines = 0;
		for (uint32_t k = 0; k < l->nr_lines; k++) {
			if (from[k].function != PROFILE_NONE &&
			    from[k].function >= p->nr_functions)
				return -EBADMSG;
			p->lines[nr_lines++] = from[k];
		}
	}
	if (nr)
		p->nr_lines = nr_lines;
	return 0;
}

static int unpack_message(struct profile *p, const Lineburn__Extra *from,
			  const struct extra_ids *ids)
{
	int r = drop_stand_ins(p, from->nr_stand_ins);

	if (!r)
		r = unpack_recording(p, from);
	for (size_t i = 0; !r && i < from->n_source; i++)
		r = unpack_source(p, from->source[i], ids);
	if (!r)
		r = unpack_misses(p, from, ids);
	if (!r)
		r = unpack_statuses(p, from);
	if (!r)
		r = unpack_times(p, from);
	for (size_t i = 0; !r && i < from->n_code; i++)
		r = unpack_code(p, from->code[i], ids);
	if (!r)
		r = unpack_codes(p, from->codes, ids);
	p->extra.present = !r;
	return r;
}

int extra_unpack(struct profile *p, const uint8_t *data, size_t len,
		 const struct extra_ids *ids, struct arena *arena)
{
	ProtobufCAllocator allocator = arena_allocator(arena);
	Lineburn__Extra *from = lineburn__extra__unpack(&allocator, len, data);
	char sentence[128];

	if (!from)
		return arena->full ? -EFBIG : -EBADMSG;
	if (from->version == EXTRA_VERSION)
		return unpack_message(p, from, ids);
	snprintf(sentence, sizeof(sentence),
		 "written by a newer lineburn: the data in version %u of lineburn.Extra "
		 "is left out",
		 from->version);
	return profile_add_comment(p, sentence) ? -ENOMEM : 0;
}
