// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any tool's profile -> the model. The file is hostile: it is unpacked with a
 * bound, cut into parts that are decoded one at a time in an arena, and walked
 * in passes, so that whatever a pass refers to is there already.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/gzip.h"
#include "profile/pprof.h"
#include "profile/pprof_parts.h"
#include "profile/pprof_reader.h"
#include "profile/protobuf_arena.h"

static const char remedy[] =
	"give a file that lineburn record or another tool wrote in pprof's format";

static int not_a_profile(struct pprof_reader *r, const char *why)
{
	return error_set(r->err, -EBADMSG, "%s is not a profile: %s; %s", r->name, why,
			 remedy);
}

static int unpack_gzip(struct pprof_reader *r, const void *data, size_t len,
		       uint8_t **ret, size_t *ret_len)
{
	int code = gzip_inflate(data, len, PPROF_MAX_BYTES, ret, ret_len);

	switch (code) {
	case 0:
		return 0;
	case -ENODATA:
		return error_set(r->err, -EBADMSG,
				 "%s is truncated: the recording or a copy of it was cut "
				 "short; copy it again, or record again",
				 r->name);
	case -EBADMSG:
		return pprof_malformed(r, "its gzip data is damaged");
	case -E2BIG:
		return error_set(r->err, -EFBIG,
				 "%s is not a profile: it unpacks to more than %d times "
				 "its size; %s",
				 r->name, GZIP_MAX_RATIO, remedy);
	case -EFBIG:
		return error_set(r->err, -EFBIG,
				 "%s is too big: it unpacks to more than %u MB; record "
				 "for a shorter time or at a lower -F",
				 r->name, PPROF_MAX_BYTES >> 20);
	default:
		return pprof_no_room(r, -ENOMEM, "bytes");
	}
}

/* Calls @pass with every part that has one of the @wanted fields. */
static int walk(struct pprof_reader *r, const uint8_t *data, size_t len, uint32_t wanted,
		pprof_pass pass)
{
	ProtobufCAllocator allocator = protobuf_arena_allocator(&r->arena);
	const uint8_t *at = data;
	struct pprof_part part;
	int code;

	while ((code = pprof_part_next(&at, data + len, wanted, &part)) > 0) {
		Perftools__Profiles__Profile *message =
			perftools__profiles__profile__unpack(&allocator, part.len,
							     part.data);

		if (!message && r->arena.full)
			code = pprof_no_room(r, -ENOSPC, "items in one place");
		else if (!message)
			code = not_a_profile(r, "its protobuf does not decode");
		else
			code = pass(r, message);
		arena_reset(&r->arena);
		if (code)
			return code;
	}
	if (code < 0)
		return not_a_profile(r,
				     "it is neither gzip nor protobuf, or is cut short");
	return 0;
}

/* Which values are samples and which are CPU time is told by their names. */
static void find_values(struct profile *p)
{
	const char *samples = strpool_add(p->pool, "samples");
	const char *count = strpool_add(p->pool, "count");
	const char *cpu = strpool_add(p->pool, "cpu");
	const char *nanoseconds = strpool_add(p->pool, "nanoseconds");

	p->count_value = p->cpu_value = PROFILE_NONE;
	for (uint32_t i = (uint32_t)p->nr_value_types; i-- > 0;) {
		const struct profile_value_type *v = &p->value_types[i];

		if (v->type == samples && v->unit == count)
			p->count_value = i;
		if (v->type == cpu && v->unit == nanoseconds)
			p->cpu_value = i;
	}
}

/* profile_new() made one of ours; another tool's starts with nothing. */
static void forget_defaults(struct profile *p)
{
	const char *empty = strpool_add(p->pool, "");

	p->nr_value_types = 0;
	p->period_type = (struct profile_value_type){.type = empty, .unit = empty};
	p->default_sample_type = empty;
}

static int read_message(struct pprof_reader *r, const uint8_t *data, size_t len)
{
	const uint32_t tables =
		~(PPROF_WANT_EXTRA | PPROF_WANT(2) | PPROF_WANT(4) | PPROF_WANT(6)) &
		(PPROF_WANT(16) - 1);
	int code = walk(r, data, len, PPROF_WANT(6), pprof_read_strings);

	if (code)
		return code;
	if (!r->nr_strings || *r->strings[0])
		return not_a_profile(r, "it has no table of strings");
	code = walk(r, data, len, tables, pprof_read_tables);
	if (code)
		return code;
	if (!r->p->nr_value_types)
		return not_a_profile(r, "it does not say what was counted");
	find_values(r->p);
	code = walk(r, data, len, PPROF_WANT(4), pprof_read_locations);
	if (!code)
		code = walk(r, data, len, PPROF_WANT(2), pprof_read_samples);
	if (!code)
		code = walk(r, data, len, PPROF_WANT_EXTRA, pprof_read_extra);
	return code;
}

static int read_bytes(struct pprof_reader *r, const void *data, size_t len)
{
	_cleanup_free_ uint8_t *unpacked = NULL;
	size_t unpacked_len;
	int code;

	if (!len)
		return not_a_profile(r, "it is empty");
	if (len >= 8 && !memcmp(data, "PERFILE2", 8))
		return not_a_profile(r, "it is a recording of perf");
	if (!gzip_is(data, len)) {
		if (len > PPROF_MAX_BYTES)
			return error_set(r->err, -EFBIG,
					 "%s is too big: more than %u MB; record for a "
					 "shorter time or at a lower -F",
					 r->name, PPROF_MAX_BYTES >> 20);
		return read_message(r, data, len);
	}
	code = unpack_gzip(r, data, len, &unpacked, &unpacked_len);
	return code ? code : read_message(r, unpacked, unpacked_len);
}

static void deinit_ids(struct pprof_ids *ids)
{
	free(ids->items);
	hashmap_deinit(&ids->index);
}

int pprof_read(const void *data, size_t len, const char *name, struct strpool *pool,
	       struct profile **ret, struct error *err)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	struct pprof_reader r = {
		.name = name, .p = p, .arena = {.max = PPROF_MAX_PART_BYTES}, .err = err};
	int code;

	if (!p)
		return pprof_no_room(&r, -ENOMEM, "bytes");
	forget_defaults(p);
	code = read_bytes(&r, data, len);
	free(r.strings);
	deinit_ids(&r.mapping_ids);
	deinit_ids(&r.function_ids);
	deinit_ids(&r.location_ids);
	arena_deinit(&r.arena);
	if (code)
		return code;
	*ret = take_ptr(p);
	return 0;
}
