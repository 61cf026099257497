// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Serves DECODER_GDBJIT: addresses in objects that a JIT registered by the GDB JIT
 * interface -> chains of source frames.
 *
 *   which object had the address when     owners.h
 *   what is in the object                 image.h
 *   lines of the functions that were hit  function_lines.h, numba/lines.h
 *   what they are called                  function_lines.h, numba/name.h
 *
 * All objects' section headers are read, and of those that have an address the rest,
 * once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/io.h"
#include "decode/answer.h"
#include "decode/jit/hit_functions.h"
#include "decode/jit/owners.h"
#include "decode/requests.h"

#define MAX_FILE_BYTES    (1ull << 36)
#define MAX_POOL_BYTES    (64u << 20)
#define WIRE_OBJECT_BYTES 40

struct registration {
	uint64_t offset, size_bytes; /* in the file */
	struct owner_time time;
};

struct gdbjit_job {
	struct registration *registrations;
	struct hit_object *objects; /* the same ones */
	size_t nr_objects;
	struct queries queries;
	struct owners owners;
	struct answer_writer *answers;
	struct strpool *pool;
	struct hit_functions functions;
	struct hit *hits; /* by object, then address */
	uint32_t *hit_query; /* the query of each of them, before they are sorted */
	size_t nr_hits;
	/* Of the file; NULL: empty. It is the collector's own: not cut short meanwhile. */
	void *bytes;
	uint64_t len;
	uint64_t nr_bad;
};

static void job_deinit(struct gdbjit_job *job)
{
	hit_functions_deinit(&job->functions);
	owners_deinit(&job->owners);
	queries_deinit(&job->queries);
	answer_writer_free(job->answers);
	strpool_free(job->pool);
	free(job->registrations);
	free(job->objects);
	free(job->hits);
	free(job->hit_query);
	if (job->bytes)
		munmap(job->bytes, job->len);
}

/* An owners_same_fn. */
static bool same_code(void *ctx, uint32_t a, uint32_t b, uint64_t ip)
{
	struct gdbjit_job *job = ctx;
	const struct image_symbol *x, *y;

	if (job->registrations[a].offset == job->registrations[b].offset &&
	    job->registrations[a].size_bytes == job->registrations[b].size_bytes)
		return true;
	x = hit_functions_symbol(&job->functions, a, ip);
	y = hit_functions_symbol(&job->functions, b, ip);
	return x && y && x->start_ip == y->start_ip && x->end_ip == y->end_ip &&
	       *x->name && !strcmp(x->name, y->name);
}

static int read_request(struct gdbjit_job *job, struct wire_reader *r)
{
	bool is_walked = false;
	size_t nr = wire_get_u32(r);
	int rc;

	if (r->failed || nr > (r->len - r->pos) / WIRE_OBJECT_BYTES)
		return -EBADMSG;
	job->registrations = calloc(nr + 1, sizeof(*job->registrations));
	job->objects = calloc(nr + 1, sizeof(*job->objects));
	if (!job->registrations || !job->objects)
		return -ENOMEM;
	job->nr_objects = nr;
	for (size_t i = 0; i < nr; i++) {
		struct registration *reg = &job->registrations[i];

		reg->offset = wire_get_u64(r);
		reg->size_bytes = wire_get_u64(r);
		reg->time.from_ns = wire_get_u64(r);
		reg->time.until_ns = wire_get_u64(r);
		reg->time.seen_ns = wire_get_u64(r);
		is_walked |= reg->time.seen_ns != 0;
	}
	rc = queries_read(r, &job->queries);
	if (rc)
		return rc;
	job->hits = calloc(job->queries.nr + 1, sizeof(*job->hits));
	job->hit_query = calloc(job->queries.nr + 1, sizeof(*job->hit_query));
	job->answers = answer_writer_new(job->queries.nr);
	job->pool = strpool_new(MAX_POOL_BYTES);
	if (!job->hits || !job->hit_query || !job->answers || !job->pool)
		return -ENOMEM;
	hit_functions_init(&job->functions, job->objects, nr, job->pool);
	rc = owners_init(&job->owners, &job->queries);
	if (!rc && is_walked) {
		job->owners.same = same_code;
		job->owners.ctx = job;
	}
	return rc;
}

static bool open_object(const struct gdbjit_job *job, size_t i)
{
	const struct registration *reg = &job->registrations[i];

	return job->bytes && reg->offset <= job->len &&
	       reg->size_bytes <= job->len - reg->offset &&
	       image_open((const uint8_t *)job->bytes + reg->offset, reg->size_bytes,
			  &job->objects[i].image);
}

/* Return: 0, or -E2BIG when the objects lie over each other too often. */
static int claim_all(struct gdbjit_job *job)
{
	struct image_code code[IMAGE_MAX_CODE];
	int rc = 0;

	for (size_t i = 0; i < job->nr_objects && !rc; i++) {
		const struct registration *reg = &job->registrations[i];
		size_t nr;

		job->objects[i].good = open_object(job, i);
		/* No bytes: it was registered, and could not be read. */
		job->nr_bad += !job->objects[i].good && reg->size_bytes;
		if (!job->objects[i].good)
			continue;
		nr = image_code(&job->objects[i].image, code);
		for (size_t k = 0; k < nr && !rc; k++)
			rc = owners_claim(&job->owners, (uint32_t)i, code[k].start_ip,
					  code[k].end_ip, &reg->time);
	}
	return rc;
}

static void answer_miss(struct gdbjit_job *job, size_t query, enum miss miss)
{
	answer_set(job->answers, job->queries.items[query].index, 0, miss, NULL, 0);
}

/* Answers what no object had, and collects the rest. */
static void decide(struct gdbjit_job *job)
{
	for (size_t i = 0; i < job->queries.nr; i++) {
		uint64_t ip = job->queries.items[i].ip;
		uint32_t object = OWNERS_NONE, next = OWNERS_NONE;
		enum ownership whose = owners_of(&job->owners, i, &object, &next);

		if (whose == OWNERSHIP_NONE) {
			answer_miss(job, i, MISS_JIT_UNKNOWN);
		} else if (whose == OWNERSHIP_MANY ||
			   (whose == OWNERSHIP_TWO &&
			    !same_code(job, object, next, ip))) {
			answer_miss(job, i, MISS_AMBIGUOUS_TIME);
		} else {
			job->hits[job->nr_hits] =
				(struct hit){.object = object, .ip = ip};
			job->hit_query[job->nr_hits++] = (uint32_t)i;
		}
	}
}

static int by_place(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

/* Why a function has no lines at all. */
static enum miss why_none(const struct hit_function *f)
{
	if (!*f->symbol && (!f->error || f->error == -ENODATA))
		return MISS_NO_SYMBOLS;
	switch (f->error) {
	case 0: /* the object has lines, but not for this: a wrapper */
		return MISS_NO_LINE;
	case -ENODATA:
		return MISS_JIT_NO_LINES;
	case -ENOSPC:
		return MISS_LIMIT;
	default:
		return MISS_BAD_DEBUG_INFO;
	}
}

static void answer_hit(struct gdbjit_job *job, size_t query, const struct hit *hit)
{
	struct hit_functions *h = &job->functions;
	const struct hit_function *f = hit_functions_find(h, hit->object, hit->ip);
	const struct function_row *row = NULL;
	size_t index = job->queries.items[query].index;
	struct frame bare;

	if (!f) {
		answer_miss(job, query, MISS_NO_SYMBOLS);
		return;
	}
	row = function_lines_at(&h->store, &f->lines, hit->ip);
	if (row && row->nr_frames) {
		answer_set(job->answers, index, 0, row->miss,
			   &h->store.frames[row->first_frame], row->nr_frames);
		return;
	}
	bare = hit_functions_bare(h, f);
	answer_set(job->answers, index, 0, why_none(f), &bare, *bare.function ? 1 : 0);
}

static int resolve(struct gdbjit_job *job)
{
	_cleanup_free_ struct hit *sorted = NULL;
	int rc = claim_all(job);

	if (rc)
		return rc;
	decide(job);
	sorted = calloc(job->nr_hits + 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, job->hits, job->nr_hits * sizeof(*sorted));
	qsort(sorted, job->nr_hits, sizeof(*sorted), by_place);
	for (size_t i = 0; i < job->nr_hits && !rc; i++)
		rc = hit_functions_add(&job->functions, sorted[i].object, sorted[i].ip);
	if (!rc)
		rc = hit_functions_read(&job->functions, sorted, job->nr_hits);
	for (size_t i = 0; i < job->nr_hits && !rc; i++)
		answer_hit(job, job->hit_query[i], &job->hits[i]);
	for (size_t i = 0; i < job->functions.nr && !rc; i++)
		rc = hit_functions_add_code(job->answers, &job->functions,
					    &job->functions.items[i]);
	return rc;
}

int gdbjit_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		 size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(job_deinit) struct gdbjit_job job = {0};
	enum miss object_miss = MISS_NONE;
	int rc;

	(void)call;
	if (nr_fds < 1)
		return -EINVAL;
	rc = read_request(&job, request);
	if (!rc)
		rc = io_map_file(fds[0], MAX_FILE_BYTES, &job.bytes, &job.len);
	if (rc)
		return rc;
	rc = resolve(&job);
	if (rc == -E2BIG) {
		object_miss = MISS_LIMIT;
		for (size_t i = 0; i < job.queries.nr; i++)
			answer_miss(&job, i, object_miss);
	} else if (rc) {
		return rc;
	}
	wire_put_u32(reply, object_miss);
	wire_put_u64(reply, job.nr_bad);
	answer_write(job.answers, reply);
	return reply->failed ? -ENOMEM : 0;
}
