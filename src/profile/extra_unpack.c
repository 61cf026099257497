// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "lineburn.pb-c.h"
#include "profile/code_pack.h"
#include "profile/extra.h"
#include "profile/extra_fields.h"
#include "profile/protobuf_arena.h"
#include "profile/stack_status.h"

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
		EXTRA_LOSSES(COPY)
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

/* Does the text have just as many lines as it says? */
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

/* Gives the functions of a file whose path another file has, too, a name of its own. */
static int unpack_functions(struct profile *p, const Lineburn__Source *from,
			    const struct extra_ids *ids, struct profile_source *to)
{
	const char *path = to->path;

	to->path = profile_add_namesake(p, path);
	for (size_t i = 0; i < from->n_function_id; i++) {
		uint32_t function = ids->function(ids->ctx, from->function_id[i]);

		if (function == PROFILE_NONE || p->functions[function].filename != path)
			return -EBADMSG;
		p->functions[function].filename = to->path;
	}
	return 0;
}

static int unpack_source(struct profile *p, const Lineburn__Source *from,
			 const struct extra_ids *ids)
{
	struct profile_extra *extra = &p->extra;
	struct profile_source *to;

	if (from->sha256.len != sizeof(to->sha256))
		return -EBADMSG;
	if (vec_grow(&extra->sources, &extra->cap_sources, extra->nr_sources + 1,
		     sizeof(*extra->sources), 0))
		return -ENOMEM;
	to = &extra->sources[extra->nr_sources++];
	*to = (struct profile_source){.path = strpool_add(p->pool, from->path),
				      .size_bytes = from->size_bytes,
				      .nr_lines = from->nr_lines,
				      .mtime_nanos = from->mtime_nanos,
				      .newer_than_binary = from->newer_than_binary,
				      .owner = strpool_add(p->pool, from->owner)};
	memcpy(to->sha256, from->sha256.data, sizeof(to->sha256));
	if (from->n_function_id && unpack_functions(p, from, ids, to))
		return -EBADMSG;
	if (!from->n_run)
		return 0;
	to->runs = calloc(from->n_run, sizeof(*to->runs));
	if (!to->runs)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_run; i++) {
		int r = unpack_run(to, from->run[i]);

		if (r)
			return r;
	}
	return 0;
}

static int unpack_misses(struct profile *p, const Lineburn__Extra *from,
			 const struct extra_ids *ids)
{
	if (from->n_miss != from->n_miss_location)
		return -EBADMSG;
	for (size_t i = 0; i < from->n_miss; i++) {
		uint32_t location = ids->location(ids->ctx, from->miss_location[i]);
		enum miss miss;

		if (location == PROFILE_NONE || from->miss[i] >= from->n_miss_name)
			return -EBADMSG;
		miss = miss_from_name(from->miss_name[from->miss[i]]);
		p->locations[location].miss = miss == NR_MISSES ? MISS_NONE : miss;
	}
	return 0;
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

static int unpack_message(struct profile *p, const Lineburn__Extra *from,
			  const struct extra_ids *ids)
{
	int r = unpack_recording(p, from);

	for (size_t i = 0; !r && i < from->n_source; i++)
		r = unpack_source(p, from->source[i], ids);
	if (!r)
		r = unpack_misses(p, from, ids);
	if (!r)
		r = unpack_statuses(p, from);
	if (!r)
		r = code_unpack(p, from, ids);
	p->extra.present = !r;
	return r;
}

int extra_unpack(struct profile *p, const uint8_t *data, size_t len,
		 const struct extra_ids *ids, struct arena *arena)
{
	ProtobufCAllocator allocator = protobuf_arena_allocator(arena);
	Lineburn__Extra *from = lineburn__extra__unpack(&allocator, len, data);
	char sentence[128];

	if (!from)
		return arena->full ? -EFBIG : -EBADMSG;
	if (from->version == EXTRA_VERSION)
		return unpack_message(p, from, ids);
	snprintf(sentence, sizeof(sentence),
		 "written by a newer lineburn: what only version %u of lineburn.Extra "
		 "tells is left out",
		 from->version);
	return profile_add_comment(p, sentence) ? -ENOMEM : 0;
}
