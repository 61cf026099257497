// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/jit_assembly.h"

#include <string.h>

#include "base/vec.h"

#define MAX_OBJECT_BYTES ((uint64_t)LB_JIT_MAX_CHUNKS * LB_JIT_CHUNK_BYTES)

struct unfinished {
	struct jit_event ev;
	uint64_t cookie;
	uint8_t *bytes; /* ev.size_bytes; NULL until the first part arrived */
	uint64_t nr_bytes; /* received */
};

struct jit_assembly {
	/* Least recently active first. */
	struct unfinished *items;
	size_t nr, cap;
	uint64_t nr_bytes; /* of all items */
	uint64_t nr_broken;
};

struct jit_assembly *jit_assembly_new(void)
{
	return calloc(1, sizeof(struct jit_assembly));
}

void jit_assembly_free(struct jit_assembly *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->nr; i++)
		free(a->items[i].bytes);
	free(a->items);
	free(a);
}

uint64_t jit_assembly_broken(const struct jit_assembly *a)
{
	return a->nr_broken;
}

/* Removes an item and delivers it; @object may be in its buffer. */
static void finish(struct jit_assembly *a, size_t i, const void *object,
		   enum lb_jit_failure failure, jit_event_fn fn, void *ctx)
{
	struct unfinished done = a->items[i];

	a->nr--;
	memmove(&a->items[i], &a->items[i + 1], (a->nr - i) * sizeof(*a->items));
	if (done.bytes)
		a->nr_bytes -= done.ev.size_bytes;
	if (!object)
		a->nr_broken++;
	done.ev.object = object;
	done.ev.failure = failure;
	fn(ctx, &done.ev);
	free(done.bytes);
}

static size_t find(const struct jit_assembly *a, uint64_t cookie)
{
	size_t i = a->nr;

	while (i-- > 0)
		if (a->items[i].cookie == cookie)
			return i;
	return SIZE_MAX;
}

static struct jit_event event_of(const struct lb_jit_record *rec)
{
	return (struct jit_event){
		.kind = rec->kind,
		.time_ns = rec->time_ns,
		.start_boottime_ns = rec->start_boottime_ns,
		.tgid = rec->tgid,
		.exec_id = rec->exec_id,
		.code_gen = rec->code_gen,
		.entry_addr = rec->entry_addr,
		.symfile_addr = rec->symfile_addr,
		.size_bytes = rec->symfile_bytes,
		.failure = rec->failed,
	};
}

static void begin(struct jit_assembly *a, const struct lb_jit_record *rec,
		  jit_event_fn fn, void *ctx)
{
	struct jit_event ev = event_of(rec);

	if (ev.kind == LB_JIT_UNREGISTER || ev.failure || !ev.size_bytes ||
	    ev.size_bytes > MAX_OBJECT_BYTES) {
		fn(ctx, &ev);
		return;
	}
	if (a->nr >= JIT_ASSEMBLY_MAX_OBJECTS)
		finish(a, 0, NULL, LB_JIT_OK, fn, ctx);
	if (vec_grow(&a->items, &a->cap, a->nr + 1, sizeof(*a->items), 0)) {
		a->nr_broken++;
		fn(ctx, &ev);
		return;
	}
	a->items[a->nr++] = (struct unfinished){.ev = ev, .cookie = rec->cookie};
}

/*
 * Makes room for the bytes of item @i by delivering the oldest others. Return: its new
 * index.
 */
static size_t make_room(struct jit_assembly *a, size_t i, jit_event_fn fn, void *ctx)
{
	uint64_t cookie = a->items[i].cookie, need = a->items[i].ev.size_bytes;

	for (size_t k = 0; k < a->nr && a->nr_bytes + need > JIT_ASSEMBLY_MAX_BYTES;) {
		if (a->items[k].bytes && a->items[k].cookie != cookie)
			finish(a, k, NULL, LB_JIT_OK, fn, ctx);
		else
			k++;
	}
	return find(a, cookie);
}

static void add(struct jit_assembly *a, size_t i, const struct lb_jit_record *rec,
		jit_event_fn fn, void *ctx)
{
	struct unfinished *item;

	if (!a->items[i].bytes) {
		i = make_room(a, i, fn, ctx);
		a->items[i].bytes = malloc(a->items[i].ev.size_bytes);
		if (!a->items[i].bytes) {
			finish(a, i, NULL, LB_JIT_OK, fn, ctx);
			return;
		}
		a->nr_bytes += a->items[i].ev.size_bytes;
	}
	item = &a->items[i];
	memcpy(item->bytes + item->nr_bytes, rec->data, rec->len);
	item->nr_bytes += rec->len;
	if (item->nr_bytes == item->ev.size_bytes)
		finish(a, i, item->bytes, LB_JIT_OK, fn, ctx);
}

static void chunk(struct jit_assembly *a, const struct lb_jit_record *rec, size_t size,
		  jit_event_fn fn, void *ctx)
{
	size_t i = find(a, rec->cookie);
	const struct unfinished *item;

	if (i == SIZE_MAX)
		return;
	item = &a->items[i];
	if (rec->failed || !rec->len || rec->len > size - sizeof(*rec) ||
	    rec->offset != item->nr_bytes ||
	    rec->len > item->ev.size_bytes - item->nr_bytes)
		finish(a, i, NULL, rec->failed, fn, ctx);
	else if (rec->len == item->ev.size_bytes)
		/* complete in one record, as usual: no copy */
		finish(a, i, rec->data, LB_JIT_OK, fn, ctx);
	else
		add(a, i, rec, fn, ctx);
}

void jit_assembly_take(struct jit_assembly *a, const struct lb_jit_record *rec,
		       size_t size, jit_event_fn fn, void *ctx)
{
	if (size < sizeof(*rec))
		return;
	switch (rec->kind) {
	case LB_JIT_REGISTER:
	case LB_JIT_UNREGISTER:
		begin(a, rec, fn, ctx);
		break;
	case LB_JIT_CHUNK:
		chunk(a, rec, size, fn, ctx);
		break;
	}
}

void jit_assembly_expire(struct jit_assembly *a, uint64_t now_ns, jit_event_fn fn,
			 void *ctx)
{
	for (size_t i = 0; i < a->nr;) {
		if (a->items[i].ev.time_ns + JIT_ASSEMBLY_PATIENCE_NS < now_ns)
			finish(a, i, NULL, LB_JIT_OK, fn, ctx);
		else
			i++;
	}
}
