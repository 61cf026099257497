// SPDX-License-Identifier: GPL-2.0-or-later
/* A jitdump, queried at addresses spread over those in its records. */
#include <stdlib.h>
#include <string.h>

#include "decode/jit/jitdump.h"
#include "lib/cost.h"

#define MAX_QUERIES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 20000, .per_byte = 50};

static int by_ip(const void *a, const void *b)
{
	const struct query *qa = a, *qb = b;

	return qa->ip < qb->ip ? -1 : qa->ip > qb->ip;
}

static size_t choose_queries(const struct jitdump *jd, struct query *items)
{
	uint64_t off = jd->first_off;
	struct record rec;
	size_t nr = 0;

	while (nr + 4 <= MAX_QUERIES && jitdump_next(jd, &off, &rec) == RECORD_OK) {
		struct record_load load;
		struct record_move move;

		if (rec.id == RECORD_LOAD && record_load(jd, &rec, &load)) {
			for (uint64_t k = 0; k < 4; k++)
				items[nr++] = (struct query){
					.ip = load.start_ip + load.size_bytes / 4 * k,
					.first_ns = rec.time_ns + k,
					.last_ns = rec.time_ns + 2 * k};
		} else if (rec.id == RECORD_MOVE && record_move(jd, &rec, &move)) {
			items[nr++] = (struct query){.ip = move.new_ip,
						     .first_ns = rec.time_ns,
						     .last_ns = rec.time_ns + 1};
		}
	}
	qsort(items, nr, sizeof(*items), by_ip);
	for (size_t i = 0; i < nr; i++)
		items[i].index = i;
	return nr;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	_cleanup_(answer_writer_freep) struct answer_writer *a = NULL;
	_cleanup_(answers_deinit) struct answers answers = {0};
	struct query items[MAX_QUERIES];
	struct queries q = {.items = items};
	struct wire_writer out = {0};
	struct wire_reader r;
	struct jitdump jd;
	uint64_t nr_bad;

	if (!pool || !jitdump_open(data, size, &jd))
		return 0;
	q.nr = choose_queries(&jd, items);
	a = answer_writer_new(q.nr);
	if (!a || jitdump_resolve(&jd, &q, pool, a, &nr_bad))
		return 0;
	answer_write(a, &out);
	r = (struct wire_reader){.data = out.data, .len = out.len};
	/* The collector must accept the answer. */
	if (out.failed || answers_read(&r, q.nr, pool, &answers))
		abort();
	wire_writer_deinit(&out);
	return 0;
}
