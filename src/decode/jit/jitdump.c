// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two passes, so that memory is O(queries) for a dump of any size. The first goes
 * from record to record and lets LOADs and MOVEs claim the queries in their ranges
 * (query.h); a record's code bytes are never touched, so a large part of the file
 * is never read. The second reads the DEBUG_INFO of those LOADs that won a query.
 *
 * There is no record for code that is freed: a newer LOAD at the address wins.
 * Times of a CPU's counter cannot be compared with those of samples, so with them
 * all of a dump's code counts as there at any time, and two functions at one
 * address are ambiguous.
 */
#include "decode/jit/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/io.h"
#include "base/vec.h"
#include "decode/jit/lines.h"
#include "decode/jit/name.h"
#include "decode/requests.h"

#define MAX_FILE_BYTES (4ull << 30)
#define MAX_POOL_BYTES (64u << 20)
#define MAX_MOVABLE    (1u << 20) /* functions, in dumps that have MOVEs */
#define NO_DEBUG       UINT64_MAX

/* ---- first pass: who owned which address when ---- */

/* Code by its index in the dump: only kept when the dump has MOVEs. */
struct movable {
	uint64_t code_index, start_ip, size_bytes, record_off;
};

struct claiming {
	const struct jitdump *jd;
	struct queries *queries;
	struct strpool *pool;
	bool has_moves;
	struct movable *movables;
	size_t nr_movables, cap_movables;
	struct hashmap by_index; /* the newest movable of an index */
	uint64_t nr_bad;
};

static void claiming_deinit(struct claiming *c)
{
	free(c->movables);
	hashmap_deinit(&c->by_index);
}

static bool index_eq(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct claiming *)ctx)->movables[item].code_index ==
	       *(const uint64_t *)key;
}

static struct movable *movable_find(struct claiming *c, uint64_t code_index)
{
	uint32_t i = hashmap_find(&c->by_index, hash_u64(0, code_index), index_eq,
				  &code_index, c);

	return i == HASHMAP_NONE ? NULL : &c->movables[i];
}

static int movable_note(struct claiming *c, const struct movable *m)
{
	struct movable *old = movable_find(c, m->code_index);
	int rc;

	if (old) {
		*old = *m;
		return 0;
	}
	rc = vec_grow(&c->movables, &c->cap_movables, c->nr_movables + 1,
		      sizeof(*c->movables), MAX_MOVABLE);
	if (rc)
		return rc == -ENOSPC ? -E2BIG : rc;
	if (hashmap_add(&c->by_index, hash_u64(0, m->code_index),
			(uint32_t)c->nr_movables))
		return -ENOMEM;
	c->movables[c->nr_movables++] = *m;
	return 0;
}

/* The LOAD at @record_off, or the one behind the DEBUG_INFO there (*ret_debug). */
static bool load_at(const struct jitdump *jd, uint64_t record_off,
		    struct record_load *ret, struct record *ret_debug)
{
	struct record rec;

	*ret_debug = (struct record){.off = NO_DEBUG};
	while (jitdump_next(jd, &record_off, &rec) == RECORD_OK) {
		if (rec.id == RECORD_LOAD)
			return record_load(jd, &rec, ret);
		if (rec.id == RECORD_DEBUG_INFO)
			*ret_debug = rec;
	}
	return false;
}

static bool is_hit(const struct claiming *c, uint64_t start_ip, uint64_t size_bytes)
{
	size_t i = queries_lower_bound(c->queries, start_ip);

	return i < c->queries->nr && c->queries->items[i].ip - start_ip < size_bytes;
}

/* @name NULL: the code left. */
static int claim(struct claiming *c, const struct record *rec, uint64_t start_ip,
		 uint64_t size_bytes, const char *name, uint64_t record_off)
{
	struct claim cl = {
		.name = name,
		.start_ip = start_ip,
		.record_off = record_off,
		.after_ns = c->jd->arch_time ? 0 : rec->time_ns,
		.by_ns = c->jd->arch_time ? UINT64_MAX : rec->time_ns,
	};

	return queries_claim(c->queries, &cl, size_bytes);
}

/* @record_off  of its DEBUG_INFO if it has one, else of the LOAD */
static int claim_load(struct claiming *c, const struct record *rec, uint64_t record_off)
{
	struct record_load load;
	struct movable m;
	int rc;

	if (!record_load(c->jd, rec, &load)) {
		c->nr_bad++;
		return 0;
	}
	m = (struct movable){.code_index = load.code_index,
			     .start_ip = load.start_ip,
			     .size_bytes = load.size_bytes,
			     .record_off = record_off};
	rc = c->has_moves ? movable_note(c, &m) : 0;
	if (rc || !is_hit(c, load.start_ip, load.size_bytes))
		return rc;
	return claim(c, rec, load.start_ip, load.size_bytes,
		     strpool_add_n(c->pool, load.name, load.name_len), record_off);
}

static int claim_move(struct claiming *c, const struct record *rec)
{
	struct record_move move;
	struct record_load load;
	struct record debug;
	struct movable *m;
	int rc;

	if (!record_move(c->jd, rec, &move)) {
		c->nr_bad++;
		return 0;
	}
	m = movable_find(c, move.code_index);
	if (!m || m->start_ip != move.old_ip || m->size_bytes != move.size_bytes ||
	    !load_at(c->jd, m->record_off, &load, &debug)) {
		c->nr_bad++;
		return 0;
	}
	m->start_ip = move.new_ip;
	/* First the leaving: where both ranges overlap, the newer one wins. */
	rc = claim(c, rec, move.old_ip, move.size_bytes, NULL, 0);
	if (rc || !is_hit(c, move.new_ip, move.size_bytes))
		return rc;
	return claim(c, rec, move.new_ip, move.size_bytes,
		     strpool_add_n(c->pool, load.name, load.name_len), m->record_off);
}

static bool has_moves(const struct jitdump *jd)
{
	uint64_t off = jd->first_off;
	struct record rec;

	while (jitdump_next(jd, &off, &rec) == RECORD_OK)
		if (rec.id == RECORD_MOVE)
			return true;
	return false;
}

static int claim_all(struct claiming *c)
{
	uint64_t off = c->jd->first_off, debug_off = NO_DEBUG;
	enum record_next next;
	struct record rec;
	int rc = 0;

	c->has_moves = has_moves(c->jd);
	while (!rc && (next = jitdump_next(c->jd, &off, &rec)) != RECORD_END) {
		if (next == RECORD_CUT) {
			c->nr_bad++;
			break;
		}
		if (rec.id == RECORD_DEBUG_INFO) {
			debug_off = rec.off;
		} else if (rec.id == RECORD_LOAD) {
			rc = claim_load(c, &rec,
					debug_off == NO_DEBUG ? rec.off : debug_off);
			debug_off = NO_DEBUG;
		} else if (rec.id == RECORD_MOVE) {
			rc = claim_move(c, &rec);
		}
	}
	return rc;
}

/* ---- second pass: lines ---- */

/* A query that has an owner. */
struct won {
	uint64_t record_off;
	uint64_t code_off; /* offset of the address in its code */
	const char *name; /* of the code, interned */
	size_t index; /* of the query */
	bool ambiguous_line; /* code of that name was replaced meanwhile */
};

static int by_record(const void *a, const void *b)
{
	const struct won *wa = a, *wb = b;

	if (wa->record_off != wb->record_off)
		return wa->record_off < wb->record_off ? -1 : 1;
	return wa->code_off < wb->code_off ? -1 : wa->code_off > wb->code_off;
}

static size_t decide(const struct queries *queries, struct answer_writer *a,
		     struct won *won)
{
	size_t nr = 0;

	for (size_t i = 0; i < queries->nr; i++) {
		const struct query *q = &queries->items[i];
		struct claim owner;
		enum owner who = query_owner(q, &owner);

		if (who == OWNER_NONE)
			answer_set(a, q->index, 0, MISS_JIT_UNKNOWN, NULL, 0);
		else if (who == OWNER_AMBIGUOUS)
			answer_set(a, q->index, 0, MISS_AMBIGUOUS_TIME, NULL, 0);
		else
			won[nr++] =
				(struct won){.record_off = owner.record_off,
					     .code_off = q->ip - owner.start_ip,
					     .name = owner.name,
					     .index = q->index,
					     .ambiguous_line = who == OWNER_SAME_NAME};
	}
	return nr;
}

static void answer_hit(struct line_source *s, struct answer_writer *a,
		       const struct won *won, const struct line_hit *hit)
{
	struct frame frame = jit_name_frame(won->name, s->pool);
	enum miss miss = MISS_JIT_NO_LINES;

	if (won->ambiguous_line) {
		miss = MISS_AMBIGUOUS_TIME;
	} else if (hit->line) {
		const char *file = jit_path(s->pool, hit->file, strlen(hit->file));

		/* An inlined function of another file: the start is not in it. */
		if (file != frame.file && *frame.file)
			frame.start_line = 0;
		frame.file = file;
		frame.line = hit->line;
		miss = MISS_NONE;
	}
	answer_set(a, won->index, 0, miss, &frame, 1);
}

/* @won  all of one record */
static int answer_record(struct line_source *s, struct answer_writer *a,
			 const struct won *won, struct line_hit *hits, size_t nr)
{
	struct record_load load;
	struct record debug;
	int rc = 0;

	for (size_t i = 0; i < nr; i++)
		hits[i] = (struct line_hit){.index = won[i].index};
	if (load_at(s->jd, won[0].record_off, &load, &debug) && debug.off != NO_DEBUG) {
		for (size_t i = 0; i < nr; i++)
			hits[i].ip = load.start_ip + won[i].code_off;
		rc = line_source_resolve(s, &debug, &load, hits, nr);
	}
	for (size_t i = 0; i < nr && !rc; i++)
		answer_hit(s, a, &won[i], &hits[i]);
	return rc;
}

int jitdump_resolve(const struct jitdump *jd, struct queries *queries,
		    struct strpool *pool, struct answer_writer *a, uint64_t *ret_nr_bad)
{
	_cleanup_(claiming_deinit) struct claiming c = {
		.jd = jd, .queries = queries, .pool = pool};
	_cleanup_(line_source_deinit) struct line_source s = {.jd = jd, .pool = pool};
	_cleanup_free_ struct won *won = calloc(queries->nr + 1, sizeof(*won));
	_cleanup_free_ struct line_hit *hits = calloc(queries->nr + 1, sizeof(*hits));
	size_t nr;
	int rc;

	if (!won || !hits)
		return -ENOMEM;
	rc = claim_all(&c);
	if (rc)
		return rc;
	nr = decide(queries, a, won);
	qsort(won, nr, sizeof(*won), by_record);
	for (size_t i = 0, end; i < nr; i = end) {
		for (end = i + 1; end < nr && won[end].record_off == won[i].record_off;
		     end++)
			;
		rc = answer_record(&s, a, &won[i], hits, end - i);
		if (rc)
			return rc;
	}
	*ret_nr_bad = c.nr_bad + s.nr_bad;
	return 0;
}

/* ---- request ---- */

static void answer_all(struct answer_writer *a, size_t nr, enum miss miss)
{
	for (size_t i = 0; i < nr; i++)
		answer_set(a, i, 0, miss, NULL, 0);
}

int jitdump_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(answer_writer_freep) struct answer_writer *a = NULL;
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(MAX_POOL_BYTES);
	_cleanup_(queries_deinit) struct queries queries = {0};
	enum miss object_miss = MISS_NONE;
	struct jitdump jd;
	void *bytes = NULL;
	uint64_t len = 0, nr_bad = 0;
	int rc;

	(void)call;
	if (nr_fds < 1)
		return -EINVAL;
	rc = queries_read(request, &queries);
	if (rc)
		return rc;
	a = answer_writer_new(queries.nr);
	if (!pool || !a)
		return -ENOMEM;
	/* Its owner can cut it short: that is the worker's death, a counted miss. */
	rc = io_map_file(fds[0], MAX_FILE_BYTES, &bytes, &len);
	if (!rc && !len)
		answer_all(a, queries.nr, MISS_JIT_UNKNOWN); /* nothing written yet */
	else if (!rc && jitdump_open(bytes, len, &jd))
		rc = jitdump_resolve(&jd, &queries, pool, a, &nr_bad);
	else
		rc = -EBADMSG;
	if (bytes)
		munmap(bytes, (size_t)len);
	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		object_miss = MISS_JIT_FILE_REFUSED;
		answer_all(a, queries.nr, object_miss);
	}
	wire_put_u32(reply, object_miss);
	wire_put_u64(reply, nr_bad);
	answer_write(a, reply);
	return reply->failed ? -ENOMEM : 0;
}
