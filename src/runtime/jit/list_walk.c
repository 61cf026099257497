// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/jit/list_walk.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "decode/requests.h"

struct list_call {
	struct worker *reader;
	pid_t pid;
	uint64_t descriptor_addr;
	uint64_t end_ns;
	list_is_its_fn is_its;
	list_found_fn found;
	void *ctx;
	struct list_object *known; /* the caller's, then those found by this walk */
	size_t nr_known, cap_known;
	struct jit_list_stats stats;
};

/* Return: 0, -ENOSPC (LIST_MAX_KNOWN) or -ENOMEM. */
static int add_known(struct list_call *w, const struct list_object *objects, size_t nr)
{
	int rc = vec_grow(&w->known, &w->cap_known, w->nr_known + nr, sizeof(*w->known),
			  LIST_MAX_KNOWN);

	if (rc || !nr)
		return rc;
	memcpy(w->known + w->nr_known, objects, nr * sizeof(*objects));
	w->nr_known += nr;
	return 0;
}

static enum worker_answer call_reader(struct list_call *w, struct wire_reader *ret)
{
	struct wire_writer request = {.max = WORKER_MAX_REQUEST_BYTES};
	enum worker_answer answer = WORKER_FAILED;

	wire_put_u32(&request, (uint32_t)w->pid);
	wire_put_u64(&request, w->descriptor_addr);
	wire_put_u32(&request, (uint32_t)w->nr_known);
	for (size_t i = 0; i < w->nr_known; i++) {
		wire_put_u64(&request, w->known[i].entry_addr);
		wire_put_u64(&request, w->known[i].symfile_addr);
		wire_put_u64(&request, w->known[i].size_bytes);
		wire_put_u64(&request, w->known[i].ends);
	}
	w->stats.nr_calls++;
	if (!request.failed)
		answer = worker_call(w->reader, READER_JIT_LIST, request.data,
				     request.len, NULL, 0, NULL, NULL, JIT_LIST_CALL_MS,
				     ret, NULL);
	wire_writer_deinit(&request);
	return answer;
}

static void count(struct jit_list_stats *s, enum list_state state, size_t len)
{
	switch (state) {
	case LIST_NEW:
		s->nr_new++;
		s->nr_bytes += len;
		break;
	case LIST_FOREIGN:
		s->nr_foreign++;
		break;
	case LIST_UNREADABLE:
		s->nr_unreadable++;
		break;
	default:
		break;
	}
}

/* Checks a reply: a compromised reader may send anything. */
static bool is_sane(const struct list_object *o, uint32_t state, size_t len)
{
	if (state >= NR_LIST_STATES)
		return false;
	return state == LIST_NEW ? len == o->size_bytes && len >= LIST_MIN_OBJECT_BYTES &&
					   len <= LIST_MAX_OBJECT_BYTES
				 : !len;
}

/* Parses one registration. Return: 0, -EBADMSG, or as add_known(). */
static int take_object(struct list_call *w, struct wire_reader *r)
{
	struct list_object o = {0};
	const void *bytes;
	uint32_t state;
	size_t len;

	o.entry_addr = wire_get_u64(r);
	o.symfile_addr = wire_get_u64(r);
	o.size_bytes = wire_get_u64(r);
	state = wire_get_u32(r);
	bytes = wire_get_bytes(r, &len);
	if (r->failed || !is_sane(&o, state, len))
		return -EBADMSG;
	if (state == LIST_LATER)
		return 0;
	count(&w->stats, (enum list_state)state, len);
	w->found(w->ctx, &o, (enum list_state)state, len ? bytes : NULL);
	if (state != LIST_KNOWN)
		return add_known(w, &o, 1);
	w->stats.nr_known++;
	return 0;
}

/*
 * Parses one reply. A list has fewer objects than may be known; one that a compromised reader
 * makes up must not take long. Return: as take_object().
 */
static int take_reply(struct list_call *w, struct wire_reader *r)
{
	size_t nr = 0;
	uint32_t result;

	w->stats.nr_known = 0;
	while (wire_get_u32(r) == 1) {
		int rc = nr++ < LIST_MAX_KNOWN ? take_object(w, r) : -EBADMSG;

		if (rc)
			return rc;
	}
	result = wire_get_u32(r);
	if (r->failed || r->pos != r->len || result >= NR_LIST_WALKS)
		return -EBADMSG;
	w->stats.result = (enum list_walk)result;
	return 0;
}

/* Calls the reader until the list is complete or a call makes no progress. */
static enum worker_answer walk_in_calls(struct list_call *w)
{
	size_t nr_before;

	do {
		struct wire_reader reply;
		enum worker_answer answer = call_reader(w, &reply);
		int rc;

		if (answer != WORKER_OK)
			return answer;
		if (w->is_its && !w->is_its(w->ctx)) {
			w->stats.result = LIST_NONE;
			return WORKER_OK;
		}
		/* Already compared in this walk; a changed one has a second entry. */
		for (size_t i = 0; i < w->nr_known; i++)
			w->known[i].ends = 0;
		nr_before = w->nr_known;
		rc = take_reply(w, &reply);
		if (rc == -ENOSPC) {
			w->stats.result = LIST_MORE;
			return WORKER_OK;
		}
		if (rc)
			return rc == -EBADMSG ? WORKER_BAD_REPLY : WORKER_FAILED;
	} while (w->stats.result == LIST_MORE && w->nr_known > nr_before &&
		 w->stats.nr_bytes < JIT_LIST_MAX_BYTES && clock_now_ns() < w->end_ns);
	return WORKER_OK;
}

enum worker_answer jit_list_walk(struct worker *reader, pid_t pid,
				 uint64_t descriptor_addr, uint64_t end_ns,
				 const struct list_object *known, size_t nr_known,
				 list_is_its_fn is_its, list_found_fn found, void *ctx,
				 struct jit_list_stats *ret)
{
	struct list_call w = {.reader = reader,
			      .pid = pid,
			      .descriptor_addr = descriptor_addr,
			      .end_ns = end_ns,
			      .is_its = is_its,
			      .found = found,
			      .ctx = ctx,
			      .stats = {.result = LIST_NONE}};
	enum worker_answer answer = WORKER_FAILED;

	if (nr_known > LIST_MAX_ENTRIES)
		nr_known = LIST_MAX_ENTRIES;
	if (!add_known(&w, known, nr_known))
		answer = walk_in_calls(&w);
	if (answer != WORKER_OK)
		w.stats.result = LIST_NONE;
	free(w.known);
	if (ret)
		*ret = w.stats;
	return answer;
}
