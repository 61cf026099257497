// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lineburn.pb-c.h"
#include "profile/code_pack.h"
#include "profile/extra.h"
#include "profile/extra_fields.h"
#include "profile/stack_status.h"

/* Every message that a packed Extra is made of lives here until it is packed. */
struct packer {
	const struct profile *p;
	struct arena arena;
	bool failed;
	Lineburn__Extra extra;
	Lineburn__Losses losses;
	Lineburn__Cost cost;
};

static void *allocate(struct packer *k, size_t nr, size_t size)
{
	void *given = arena_alloc(&k->arena, nr * size);

	if (!given)
		k->failed = true;
	return given;
}

/* protobuf-c's messages hold char *, and packing only reads. */
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
	EXTRA_LOSSES(COPY)
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

/* A function of a file that its path alone does not tell. */
struct told_apart {
	const char *file;
	uint32_t function;
};

struct functions_told_apart {
	struct told_apart *items; /* by file, then by function */
	size_t nr;
};

static int compare_told_apart(const void *a, const void *b)
{
	const struct told_apart *x = a, *y = b;

	if (x->file != y->file)
		return (uintptr_t)x->file < (uintptr_t)y->file ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static void find_told_apart(struct packer *k, struct functions_told_apart *ret)
{
	const struct profile *p = k->p;

	*ret = (struct functions_told_apart){0};
	if (!p->nr_namesakes)
		return;
	ret->items = allocate(k, p->nr_functions, sizeof(*ret->items));
	for (size_t i = 0; ret->items && i < p->nr_functions; i++)
		if (profile_is_namesake(p, p->functions[i].filename))
			ret->items[ret->nr++] = (struct told_apart){
				p->functions[i].filename, (uint32_t)i};
	if (ret->nr)
		qsort(ret->items, ret->nr, sizeof(*ret->items), compare_told_apart);
}

static void pack_functions(struct packer *k, const struct functions_told_apart *all,
			   const struct profile_source *from, Lineburn__Source *to)
{
	struct told_apart key = {.file = from->path};
	size_t first = 0, end = all->nr, nr;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (compare_told_apart(&all->items[middle], &key) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	while (end < all->nr && all->items[end].file == from->path)
		end++;
	nr = end - first;
	to->function_id = nr ? allocate(k, nr, sizeof(*to->function_id)) : NULL;
	for (size_t i = 0; to->function_id && i < nr; i++)
		to->function_id[to->n_function_id++] =
			(uint64_t)all->items[first + i].function + 1;
}

static void pack_sources(struct packer *k)
{
	const struct profile_extra *from = &k->p->extra;
	Lineburn__Extra *to = &k->extra;
	Lineburn__Source *sources = allocate(k, from->nr_sources, sizeof(*sources));
	struct functions_told_apart told_apart;

	to->source = allocate(k, from->nr_sources, sizeof(*to->source));
	if (!to->source || !sources)
		return;
	to->n_source = from->nr_sources;
	find_told_apart(k, &told_apart);
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
		pack_functions(k, &told_apart, source, &sources[i]);
		to->source[i] = &sources[i];
	}
}

static void pack_misses(struct packer *k)
{
	const struct profile *p = k->p;
	Lineburn__Extra *to = &k->extra;
	const char *names[NR_MISSES];
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_locations; i++)
		nr += p->locations[i].miss != MISS_NONE;
	if (!nr)
		return;
	to->miss_location = allocate(k, nr, sizeof(*to->miss_location));
	to->miss = allocate(k, nr, sizeof(*to->miss));
	for (size_t i = 0; i < NR_MISSES; i++)
		names[i] = miss_name((enum miss)i);
	to->miss_name = texts(k, names, NR_MISSES);
	if (k->failed)
		return;
	to->n_miss_name = NR_MISSES;
	for (size_t i = 0; i < p->nr_locations; i++) {
		if (p->locations[i].miss == MISS_NONE)
			continue;
		to->miss_location[to->n_miss_location++] = i + 1;
		to->miss[to->n_miss++] = p->locations[i].miss;
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
	for (size_t i = 0; i < p->nr_samples; i++)
		to->sample_status[i] = p->samples[i].status < LB_NR_STACK_STATUS
					       ? p->samples[i].status
					       : LB_STACK_COMPLETE;
}

int extra_pack(const struct profile *p, uint8_t **ret, size_t *ret_len)
{
	struct packer k = {.p = p, .arena = {.max = SIZE_MAX}};
	uint8_t *packed = NULL;

	lineburn__extra__init(&k.extra);
	lineburn__losses__init(&k.losses);
	lineburn__cost__init(&k.cost);
	pack_recording(&k);
	pack_sources(&k);
	pack_misses(&k);
	pack_statuses(&k);
	if (code_pack(p, &k.arena, &k.extra))
		k.failed = true;
	if (!k.failed)
		packed = malloc(lineburn__extra__get_packed_size(&k.extra));
	if (packed) {
		*ret_len = lineburn__extra__pack(&k.extra, packed);
		*ret = packed;
	}
	arena_deinit(&k.arena);
	return packed ? 0 : -ENOMEM;
}
