// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jitdump: which function was at an address when it was sampled, and its line.
 * The file is mapped; should its owner cut it meanwhile, the worker dies of it,
 * which is a counted miss. Functions and moves are read once, front to back; only
 * the debug records of functions that a query met are looked into.
 */
#include "symbolize/jit/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "symbolize/answer.h"
#include "symbolize/decoder.h"
#include "symbolize/jit/code_name.h"
#include "symbolize/jit/owner.h"

#define MAX_FILE_BYTES (4ULL << 30)
#define MAX_LOADS      (4u << 20) /* that a MOVE may name */

struct load_place {
	uint64_t index;
	size_t at, debug_at;
};

/* A function at an address: its LOAD, and where it was when it was sampled. */
struct owner {
	size_t at, debug_at;
	uint64_t addr;
};

struct dump {
	struct jitdump file;
	void *mapped;
	struct jit_queries queries;
	struct owner *owners; /* of each query */
	struct load_place *loads;
	size_t nr_loads, cap_loads;
	struct hashmap load_index; /* code index -> loads */
};

static void dump_deinit(struct dump *d)
{
	if (d->mapped)
		munmap(d->mapped, d->file.len);
	free(d->owners);
	free(d->loads);
	hashmap_deinit(&d->load_index);
	jit_queries_deinit(&d->queries);
}

static bool load_eq(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct dump *)ctx)->loads[item].index == *(const uint64_t *)key;
}

/* Remembers where a LOAD stands; a code index that is used again means the newer one. */
static int note_load(struct dump *d, const struct jitdump_record *load)
{
	uint64_t hash = hash_u64(0, load->index);
	uint32_t item = hashmap_find(&d->load_index, hash, load_eq, &load->index, d);
	struct load_place place = {
		.index = load->index, .at = load->at, .debug_at = load->debug_at};

	if (item != HASHMAP_NONE) {
		d->loads[item] = place;
		return 0;
	}
	if (vec_grow(&d->loads, &d->cap_loads, d->nr_loads + 1, sizeof(*d->loads),
		     MAX_LOADS) ||
	    hashmap_add(&d->load_index, hash, (uint32_t)d->nr_loads))
		return -ENOMEM;
	d->loads[d->nr_loads++] = place;
	return 0;
}

static const char *name_at(const struct dump *d, const struct owner *owner)
{
	struct jitdump_record load;

	return jitdump_load_at(&d->file, owner->at, owner->debug_at, &load) ? load.name
									    : "";
}

/* Offers code at [addr, addr + size) to the queries that it covers. */
static void offer(struct dump *d, const struct jitdump_record *r,
		  const struct owner *owner)
{
	struct appearance when = {.not_before_ns = r->time_ns, .by_ns = r->time_ns};
	size_t i = jit_queries_from(&d->queries, r->addr);

	if (d->file.timeless)
		when = (struct appearance){.not_before_ns = 0, .by_ns = UINT64_MAX};
	for (; i < d->queries.nr && d->queries.items[i].ip - r->addr < r->size; i++) {
		struct jit_query *q = &d->queries.items[i];

		switch (owner_offer(q, &when, false)) {
		case OWNER_TAKEN:
			q->found = true;
			q->ambiguous = false;
			d->owners[i] = *owner;
			break;
		case OWNER_IN_DOUBT:
			/* The same function again, as after a move back, is no doubt. */
			q->ambiguous |= d->owners[i].at != owner->at;
			break;
		case OWNER_REFUSED:
			break;
		}
	}
}

static int read_records(struct dump *d)
{
	struct jitdump_record r;

	while (jitdump_next(&d->file, &r)) {
		struct owner owner = {.at = r.at, .debug_at = r.debug_at, .addr = r.addr};

		if (r.kind == JITDUMP_MOVE) {
			uint32_t item = hashmap_find(&d->load_index, hash_u64(0, r.index),
						     load_eq, &r.index, d);

			if (item == HASHMAP_NONE) {
				d->file.nr_bad++;
				continue;
			}
			owner.at = d->loads[item].at;
			owner.debug_at = d->loads[item].debug_at;
		} else if (note_load(d, &r)) {
			return -ENOMEM;
		}
		offer(d, &r, &owner);
	}
	return 0;
}

static int map_file(struct dump *d, int fd)
{
	struct stat st;
	void *mapped;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size <= 0 || (uint64_t)st.st_size > MAX_FILE_BYTES)
		return -EBADMSG;
	mapped = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped == MAP_FAILED)
		return -errno;
	d->mapped = mapped;
	d->file.len = (size_t)st.st_size;
	return jitdump_open(mapped, (size_t)st.st_size, &d->file);
}

static void answer_query(const struct dump *d, struct answer_writer *a, size_t i)
{
	const struct jit_query *q = &d->queries.items[i];
	const struct owner *owner = &d->owners[i];
	struct jitdump_record load;
	struct jitdump_line line;
	struct code_name name;
	struct frame frame;
	enum miss miss = MISS_JIT_NO_LINES;
	const char *raw = q->found ? name_at(d, owner) : "";

	if (!q->found || q->ambiguous) {
		answer_set(a, q->index, q->ip,
			   q->found ? MISS_AMBIGUOUS_TIME : MISS_JIT_UNKNOWN, NULL, 0);
		return;
	}
	code_name_parse(raw, strnlen(raw, CODE_NAME_MAX - 1), &name);
	frame = code_name_frame(&name, raw);
	if (jitdump_load_at(&d->file, owner->at, owner->debug_at, &load) &&
	    jitdump_find_line(&d->file, &load, q->ip - owner->addr, name.file, name.is_v8,
			      &line)) {
		/* V8 tells lines of inlined functions too, under the outer one's name. */
		frame.file = line.file;
		frame.line = line.line;
		miss = MISS_NONE;
	}
	answer_set(a, q->index, q->ip, miss, &frame, 1);
}

int jitdump_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		  size_t nr_fds, struct wire_writer *reply)
{
	_cleanup_(dump_deinit) struct dump d = {0};
	_cleanup_(answer_writer_freep) struct answer_writer *a = NULL;
	enum miss miss = MISS_NONE;
	int rc;

	(void)call;
	if (nr_fds != 1)
		return -EINVAL;
	rc = jit_queries_read(request, &d.queries);
	if (rc)
		return rc;
	d.owners = calloc(d.queries.nr ? d.queries.nr : 1, sizeof(*d.owners));
	a = answer_writer_new(d.queries.nr);
	if (!d.owners || !a)
		return -ENOMEM;
	rc = map_file(&d, fds[0]);
	if (!rc)
		rc = read_records(&d);
	if (rc == -EBADMSG)
		miss = MISS_JIT_FILE_REFUSED;
	else if (rc)
		return rc;
	for (size_t i = 0; i < d.queries.nr; i++)
		answer_query(&d, a, i);
	wire_put_u32(reply, miss);
	wire_put_u64(reply, d.file.nr_bad);
	answer_write(a, reply);
	return 0;
}
