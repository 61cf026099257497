// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/texts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/search.h"
#include "base/vec.h"
#include "decode/operation.h"
#include "process/process.h"
#include "unwind/ask.h"
#include "unwind/tables.h"
#include "worker/shared.h"

#define PAGE_SHIFT   16
#define BATCH        256 /* objects in one request */
#define MAX_TEXTS    (1u << 20) /* of all images */
#define TEXTS_AT_ONE 64 /* of one object */

/* A JIT object that some process has registered. */
struct registered_object {
	uint64_t serial; /* of its bytes in the store */
	/* heap; object is UNWIND_NO_OBJECT if there was no room */
	struct unwind_text *texts;
	size_t nr_texts, cap_texts;
	uint32_t nr_refs; /* 0: free */
	struct tenant tenant; /* of the image that had it first */
	bool is_decoded; /* if the decoder could */
	bool is_wanted; /* evicted rows were requested again */
	bool is_alone; /* the decoder could not decode it together with others */
	uint64_t gone_ns; /* work space of unwind_texts_note_gone() */
};

/*
 * Objects that the decoder is asked about. While the answer is awaited, nobody else may ask,
 * so there is one.
 */
struct batch {
	struct {
		uint64_t serial;
		uint32_t kept; /* in jit_store.bodies */
	} sent[BATCH];
	struct jit_piece pieces[BATCH];
	size_t nr;
	struct tenant tenant; /* for whom it is decoded */
	uint64_t begin_ns;
	size_t piece, nth; /* of the next text in the answer */
};

struct unwind_texts {
	struct unwind_tables *tables; /* borrowed */
	const struct jit_store *store; /* borrowed */
	struct shared_worker *decoder; /* borrowed */
	struct batch batch;
	struct registered_object *bodies; /* heap */
	size_t nr_bodies, cap_bodies;
	uint32_t *free_bodies; /* heap */
	size_t nr_free, cap_free;
	struct hashmap by_serial;
	size_t nr_texts; /* held */
	struct quota quota; /* of these */
	struct unwind_totals *totals; /* borrowed */
};

int unwind_texts_new(struct unwind_tables *tables, const struct jit_store *store,
		     struct shared_worker *decoder, struct unwind_totals *totals,
		     struct unwind_texts **ret, struct error *err)
{
	struct unwind_texts *t = calloc(1, sizeof(*t));

	if (!t)
		return error_set(err, -ENOMEM, "out of memory");
	t->tables = tables;
	t->store = store;
	t->decoder = decoder;
	t->totals = totals;
	*ret = t;
	return 0;
}

void unwind_texts_free(struct unwind_texts *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr_bodies; i++)
		free(t->bodies[i].texts);
	free(t->bodies);
	free(t->free_bodies);
	hashmap_deinit(&t->by_serial);
	quota_deinit(&t->quota);
	free(t);
}

void unwind_texts_share(struct unwind_texts *t)
{
	t->quota = (struct quota){.what = "unwind tables of code of JITs",
				  .loss = "its stacks may be cut",
				  .max = MAX_TEXTS};
}

void unwind_texts_each_refused(struct unwind_texts *t, quota_refused_fn fn, void *ctx)
{
	quota_each_refused(&t->quota, fn, ctx);
}

/* ---- bodies ---- */

static bool serial_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct unwind_texts *t = ctx;

	return t->bodies[item].serial == *(const uint64_t *)key;
}

static int add_body(struct unwind_texts *t, uint64_t serial, struct tenant who,
		    uint32_t *ret)
{
	uint32_t number = (uint32_t)t->nr_bodies;

	if (t->nr_free)
		number = t->free_bodies[t->nr_free - 1];
	else if (vec_grow(&t->free_bodies, &t->cap_free, t->nr_bodies + 1,
			  sizeof(*t->free_bodies), 0) ||
		 vec_grow(&t->bodies, &t->cap_bodies, t->nr_bodies + 1,
			  sizeof(*t->bodies), 0))
		return -ENOMEM;
	if (hashmap_add(&t->by_serial, hash_u64(0, serial), number))
		return -ENOMEM;
	if (t->nr_free)
		t->nr_free--;
	else
		t->nr_bodies++;
	t->bodies[number] = (struct registered_object){.serial = serial, .tenant = who};
	*ret = number;
	return 0;
}

static void put_body(struct unwind_texts *t, uint32_t number)
{
	struct registered_object *b = &t->bodies[number];

	if (--b->nr_refs)
		return;
	for (size_t i = 0; i < b->nr_texts; i++)
		if (b->texts[i].object != UNWIND_NO_OBJECT)
			unwind_object_remove(t->tables, b->texts[i].object);
	t->nr_texts -= b->nr_texts;
	quota_give(&t->quota, b->tenant, b->nr_texts);
	hashmap_remove(&t->by_serial, hash_u64(0, b->serial), number);
	free(b->texts);
	*b = (struct registered_object){0};
	t->free_bodies[t->nr_free++] = number;
}

/* Returns the number of the body of @o, which has bytes, or HASHMAP_NONE. */
static uint32_t find_body(const struct unwind_texts *t, const struct jit_object *o)
{
	uint64_t serial = t->store->bodies[o->body].serial;

	return hashmap_get(&t->by_serial, hash_u64(0, serial), serial_eq, &serial, t);
}

/* Takes a reference to the body of @o for @set. */
static int take_body(struct unwind_texts *t, const struct jit_object *o,
		     struct tenant who, struct text_set *set)
{
	uint64_t serial = t->store->bodies[o->body].serial;
	uint32_t number = find_body(t, o);

	if (vec_grow(&set->bodies, &set->cap_bodies, set->nr_bodies + 1,
		     sizeof(*set->bodies), 0) ||
	    (number == HASHMAP_NONE && add_body(t, serial, who, &number)))
		return -ENOMEM;
	t->bodies[number].nr_refs++;
	set->bodies[set->nr_bodies++] = number;
	return 0;
}

/* ---- decoding ---- */

static uint64_t text_pages(const struct jit_text *text)
{
	return ((text->end - text->start - 1) >> PAGE_SHIFT) + 1;
}

/* If there is no room, the text has no rows. */
static void add_text(struct unwind_texts *t, struct registered_object *b,
		     const struct jit_text *text)
{
	struct unwind_text new = {text->start, text->end, UNWIND_NO_OBJECT,
				  (uint32_t)(b - t->bodies)};

	if (t->nr_texts == MAX_TEXTS ||
	    vec_grow(&b->texts, &b->cap_texts, b->nr_texts + 1, sizeof(*b->texts),
		     TEXTS_AT_ONE) ||
	    !quota_take(&t->quota, b->tenant, 1))
		return;
	new.object = unwind_object_add(t->tables, text_pages(text));
	b->texts[b->nr_texts++] = new;
	t->nr_texts++;
}

/*
 * Returns the body that was sent as piece @i; NULL: nobody has it any more, or the store
 * moved it and may have other bytes where it was.
 */
static struct registered_object *body_of(const struct unwind_texts *t, size_t i)
{
	const struct batch *batch = &t->batch;
	uint64_t serial = batch->sent[i].serial;
	const struct kept_object *kept = &t->store->bodies[batch->sent[i].kept];
	uint32_t number =
		hashmap_get(&t->by_serial, hash_u64(0, serial), serial_eq, &serial, t);

	if (number == HASHMAP_NONE || kept->serial != serial ||
	    kept->offset != batch->pieces[i].offset)
		return NULL;
	return &t->bodies[number];
}

static void on_text(void *ctx, size_t piece, struct jit_text *text)
{
	struct unwind_texts *t = ctx;
	struct batch *batch = &t->batch;
	struct registered_object *b = body_of(t, piece);
	const struct unwind_text *known;
	size_t nth;

	if (batch->piece != piece)
		batch->nth = 0;
	batch->piece = piece;
	nth = batch->nth++;
	if (!b)
		return;
	if (!b->is_decoded && nth == b->nr_texts)
		add_text(t, b, text);
	if (nth >= b->nr_texts) {
		if (!b->is_decoded)
			t->totals->nr_pages_refused += text_pages(text);
		return;
	}
	known = &b->texts[nth];
	if (known->object != UNWIND_NO_OBJECT)
		unwind_object_fill(t->tables, known->object, &text->pages, NULL, 0);
}

/* If several could not be decoded together, each is sent alone. */
static void take_texts(void *ctx, uint64_t tag, enum worker_answer answer,
		       struct wire_reader *reply)
{
	struct unwind_texts *t = ctx;
	struct batch *batch = &t->batch;
	bool is_over;

	(void)tag;
	batch->piece = batch->nth = 0;
	unwind_tables_serve(t->tables, batch->tenant);
	answer = rows_of_jit_take(answer, reply, batch->nr, on_text, t);
	is_over = answer == WORKER_OK || answer == WORKER_DEADLINE || batch->nr == 1;
	if (is_over && answer != WORKER_OK)
		t->totals->nr_failed += batch->nr;
	for (size_t i = 0; i < batch->nr; i++) {
		struct registered_object *b = body_of(t, i);

		if (!b)
			continue;
		b->is_alone = !is_over;
		b->is_decoded |= is_over;
		b->is_wanted &= !is_over;
	}
	t->totals->ask_ns += clock_now_ns() - batch->begin_ns;
	batch->nr = 0;
}

/* Adds @o, whose body is @b, to the batch. */
static void add_to_batch(struct unwind_texts *t, const struct jit_object *o,
			 const struct registered_object *b)
{
	struct batch *batch = &t->batch;

	batch->sent[batch->nr].serial = b->serial;
	batch->sent[batch->nr].kept = o->body;
	batch->pieces[batch->nr++] =
		(struct jit_piece){t->store->bodies[o->body].offset, o->size_bytes};
}

/* Sends the batch, which is not empty, in the time of the user of @p. */
static void send_batch(struct unwind_texts *t, const struct process *p)
{
	_cleanup_(wire_writer_deinit) struct wire_writer content = {0};
	struct batch *batch = &t->batch;

	rows_of_jit_put(&content, batch->pieces, batch->nr);
	if (content.failed) {
		batch->nr = 0;
		return;
	}
	batch->tenant = p->tenant;
	batch->begin_ns = clock_now_ns();
	shared_worker_send(t->decoder,
			   &(struct shared_request){.op = DECODER_CFI_JIT,
						    .fd = t->store->read_fd,
						    .deadline_ms = ROWS_DEADLINE_MS,
						    .who = p->tenant,
						    .take = take_texts,
						    .ctx = t},
			   &content);
}

/* ---- texts of one image ---- */

static int by_start(const void *a, const void *b)
{
	const struct unwind_text *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/*
 * If two texts overlap, the older one was freed without an event: keeps the newer one,
 * by its body's serial.
 */
static void drop_overlapped(const struct unwind_texts *t, struct text_set *set)
{
	size_t nr = 0;

	qsort(set->items, set->nr, sizeof(*set->items), by_start);
	for (size_t i = 0; i < set->nr; i++) {
		const struct unwind_text *text = &set->items[i];
		struct unwind_text *last = nr ? &set->items[nr - 1] : NULL;

		if (!last || last->end <= text->start)
			set->items[nr++] = *text;
		else if (t->bodies[text->body].serial > t->bodies[last->body].serial)
			*last = *text;
	}
	set->nr = nr;
}

static int collect(const struct unwind_texts *t, struct text_set *set)
{
	for (size_t i = 0; i < set->nr_bodies; i++) {
		const struct registered_object *b = &t->bodies[set->bodies[i]];

		if (vec_grow(&set->items, &set->cap, set->nr + b->nr_texts,
			     sizeof(*set->items), 0))
			return -ENOMEM;
		for (size_t j = 0; j < b->nr_texts; j++)
			if (b->texts[j].object != UNWIND_NO_OBJECT)
				set->items[set->nr++] = b->texts[j];
	}
	if (set->nr)
		drop_overlapped(t, set);
	return 0;
}

static bool is_missing(const struct registered_object *b)
{
	return !b->is_decoded || b->is_wanted;
}

/* Returns whether another batch may be begun. */
static bool may_ask(struct unwind_texts *t, const struct process *p, uint64_t deadline_ns)
{
	return clock_now_ns() < deadline_ns &&
	       shared_worker_may_send(t->decoder, p->tenant);
}

/* Takes references to the bodies of @p for @ret, and asks for those that are missing. */
static int take_bodies(struct unwind_texts *t, const struct process *p,
		       uint64_t deadline_ns, struct text_set *ret)
{
	const struct jit_code *c = &p->jit_code;
	bool is_allowed = true;

	for (size_t i = 0; i < c->nr; i++) {
		const struct jit_object *o = &c->items[i];
		const struct registered_object *b;

		if (o->until_ns != UINT64_MAX || !o->size_bytes)
			continue;
		if (take_body(t, o, p->tenant, ret))
			return -ENOMEM;
		b = &t->bodies[ret->bodies[ret->nr_bodies - 1]];
		if (!is_allowed || !is_missing(b))
			continue;
		if (b->is_alone && t->batch.nr && !shared_worker_is_busy(t->decoder))
			send_batch(t, p);
		if (!t->batch.nr || shared_worker_is_busy(t->decoder))
			is_allowed = may_ask(t, p, deadline_ns);
		if (!is_allowed)
			continue;
		add_to_batch(t, o, b);
		if (b->is_alone || t->batch.nr == BATCH)
			send_batch(t, p);
	}
	if (t->batch.nr && !shared_worker_is_busy(t->decoder))
		send_batch(t, p);
	return 0;
}

int unwind_texts_get(struct unwind_texts *t, const struct process *p,
		     uint64_t deadline_ns, struct text_set *ret)
{
	int rc, err;

	if (!p->jit_code.nr)
		return 0;
	rc = take_bodies(t, p, deadline_ns, ret);
	for (size_t i = 0; !rc && i < ret->nr_bodies; i++)
		if (is_missing(&t->bodies[ret->bodies[i]]))
			rc = -EAGAIN;
	err = collect(t, ret);
	return err ? err : rc;
}

void unwind_texts_put(struct unwind_texts *t, struct text_set *set)
{
	for (size_t i = 0; i < set->nr_bodies; i++)
		put_body(t, set->bodies[i]);
	free(set->items);
	free(set->bodies);
	*set = (struct text_set){0};
}

/*
 * Sets gone_ns of the bodies of @set: when the first registration of each ended; 0 if
 * that is not known, UINT64_MAX if it is still registered.
 */
static void find_gone(struct unwind_texts *t, const struct jit_code *c,
		      const struct text_set *set)
{
	for (size_t i = 0; i < set->nr_bodies; i++)
		t->bodies[set->bodies[i]].gone_ns = 0;
	for (size_t i = 0; i < c->nr; i++) {
		const struct jit_object *o = &c->items[i];
		uint32_t number = o->size_bytes ? find_body(t, o) : HASHMAP_NONE;
		struct registered_object *b;

		if (number == HASHMAP_NONE)
			continue;
		b = &t->bodies[number];
		if (o->until_ns == UINT64_MAX)
			b->gone_ns = UINT64_MAX;
		else if (!b->gone_ns || o->until_ns < b->gone_ns)
			b->gone_ns = o->until_ns;
	}
}

static bool has_text(const struct text_set *set, const struct unwind_text *text)
{
	size_t at = SEARCH_FIRST(i, set->nr, set->items[i].start >= text->start);

	return at < set->nr && set->items[at].start == text->start &&
	       set->items[at].body == text->body;
}

void unwind_texts_note_gone(struct unwind_texts *t, struct process *p,
			    const struct text_set *old, const struct text_set *present,
			    uint64_t told_ns)
{
	if (!old->nr)
		return;
	find_gone(t, &p->jit_code, old);
	for (size_t i = 0; i < old->nr; i++) {
		const struct unwind_text *text = &old->items[i];
		uint64_t gone_ns = t->bodies[text->body].gone_ns;

		if (gone_ns == UINT64_MAX && (!present || has_text(present, text)))
			continue;
		if (!gone_ns || gone_ns == UINT64_MAX)
			gone_ns = told_ns;
		replaced_code_add(&p->replaced_code, text->start, text->end, gone_ns);
	}
}

bool unwind_texts_want(struct unwind_texts *t, const struct text_set *set, uint64_t ip)
{
	size_t lo = SEARCH_FIRST(i, set->nr, set->items[i].end > ip);

	if (lo == set->nr || set->items[lo].start > ip)
		return false;
	t->bodies[set->items[lo].body].is_wanted = true;
	return true;
}
