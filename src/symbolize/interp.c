// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names interpreters' frames: sends their copied code objects to the runtime's decoder.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "lineburn.h"
#include "process/interp_code.h"
#include "runtime/runtime.h"
#include "symbolize/symbolizer_internal.h"

/* Most texts and tables in a request; a single code object may exceed it. */
#define BATCH_BYTES (8u << 20)

/* By code object, then by index. */
static int by_frame(const void *a, const void *b)
{
	const struct frame_item *x = a, *y = b;

	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

static uint64_t text_bytes(const struct interp_code *code)
{
	return (uint64_t)code->file.len + code->name.len + code->table.len;
}

static const struct interp_code *code_of(const struct source *source, uint64_t frame)
{
	return interp_codes_find(&source->process->interp_codes, LB_FRAME_ID(frame));
}

/* Returns how many items fit one request; the items of a code object stay together. */
static size_t batch_of(const struct source *source, const struct frame_item *items,
		       size_t nr)
{
	uint64_t last_id = 0, bytes = 0;
	size_t i;

	nr = symbolizer_batch(nr);
	for (i = 0; i < nr; i++) {
		uint64_t id = LB_FRAME_ID(items[i].frame);

		if (i && id == last_id)
			continue;
		bytes += text_bytes(code_of(source, items[i].frame));
		if (i && bytes > BATCH_BYTES)
			break;
		last_id = id;
	}
	return i;
}

/*
 * Names the batch, from the reply if the runtime sent a request. find_files() is next, unless
 * there is no answer.
 */
static int name_batch(struct symbolizer *s, const struct source *source,
		      const struct runtime_frame *frames, struct wire_reader *reply)
{
	struct resolve_work *w = &s->work;
	const struct runtime_naming with = {
		.reply = reply, .pool = s->pool, .process = source->process};
	int err = source->runtime->name_frames(&with, frames, w->nr, &w->answers);

	if (err)
		w->from += w->nr;
	return err == -ENOMEM ? err : 0;
}

/* Return: as runtime.find_files(). */
static int find_some_files(struct symbolizer *s, struct source *source)
{
	struct resolve_work *w = &s->work;
	const struct runtime_naming with = {.pool = s->pool,
					    .process = source->process,
					    .may_open = symbolizer_may_search(s, source)};
	uint64_t begin_ns = clock_now_ns();
	int rc;

	if (!source->runtime->find_files)
		return 0;
	rc = source->runtime->find_files(&with, &w->answers, &w->files);
	symbolizer_took(s, source->tenant, begin_ns);
	symbolizer_searched(s, source, clock_now_ns() - begin_ns);
	return rc;
}

/* Finds the files of the named batch, and ends it. Return: 0; 1: call again; -ENOMEM. */
static int find_files(struct symbolizer *s, struct source *source)
{
	struct resolve_work *w = &s->work;
	int rc = find_some_files(s, source);

	if (rc == -EAGAIN)
		return 1;
	if (rc < 0 || symbolizer_keep_all(s, source, &w->answers))
		return -ENOMEM;
	if (rc)
		symbolizer_count_put_off(s);
	for (size_t i = 0; i < w->nr; i++)
		symbolizer_apply(w->items[w->from + i].resolved, &w->answers.items[i]);
	answers_deinit(&w->answers);
	free(take_ptr(w->files));
	w->from += w->nr;
	return 0;
}

/*
 * Return: 1: sent, or done without a request, or files are left to find; 0: no batch is left;
 * -ENOMEM.
 */
static int step(struct symbolizer *s, struct source *source)
{
	struct resolve_work *w = &s->work;
	_cleanup_free_ struct runtime_frame *frames = NULL;
	int err = w->answers.nr ? find_files(s, source) : 0;

	if (err)
		return err;
	w->nr = batch_of(source, w->items + w->from, w->nr_items - w->from);
	if (!w->nr)
		return 0;
	frames = calloc(w->nr, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < w->nr; i++) {
		uint64_t frame = w->items[w->from + i].frame;

		frames[i] = (struct runtime_frame){frame, code_of(source, frame)};
	}
	if (source->runtime->put_frames) {
		source->runtime->put_frames(&w->request, frames, w->nr);
		return symbolizer_send(s, source->tenant, source->runtime->naming_op,
				       NULL, 0, NULL, s->config.deadline_ms);
	}
	err = name_batch(s, source, frames, NULL);
	return err ? err : 1;
}

static int take(struct symbolizer *s, struct source *source, enum worker_answer answer,
		struct wire_reader *r)
{
	struct resolve_work *w = &s->work;

	if (answer == WORKER_OK)
		return name_batch(s, source, NULL, r);
	w->from += w->nr;
	return 0;
}

/*
 * Returns an address in the target. It cannot clash with that of machine code, because
 * it lies inside the code object.
 */
static uint64_t address_of(const struct runtime *runtime, const struct interp_code *code,
			   uint64_t frame)
{
	uint32_t index = LB_FRAME_INDEX(frame);

	return code->code_addr + (index == LB_FRAME_INDEX_UNKNOWN
					  ? 0
					  : (uint64_t)index * runtime->unit_bytes);
}

/* Collects pending entries with a known code object; sets the others' miss. */
static int begin(struct symbolizer *s, struct source *source)
{
	struct resolve_work *w = &s->work;

	w->items = calloc(source->nr_pending, sizeof(*w->items));
	if (!w->items)
		return -ENOMEM;
	for (size_t i = 0; i < source->nr_pending; i++) {
		struct entry *entry = table_entry(&s->table, source->pending[i]);
		const struct interp_code *code = code_of(source, entry->lookup);

		entry->resolved.miss = MISS_PYTHON_LOST;
		entry->resolved.address = entry->lookup & ~LB_FRAME_TAG;
		if (!code)
			continue;
		entry->resolved.miss = MISS_DECODER_GAVE_UP;
		entry->resolved.address =
			address_of(source->runtime, code, entry->lookup);
		w->items[w->nr_items++] =
			(struct frame_item){entry->lookup, &entry->resolved};
	}
	qsort(w->items, w->nr_items, sizeof(*w->items), by_frame);
	symbolizer_begin_search(s, source);
	return 0;
}

const struct resolver symbolizer_interp = {.begin = begin, .step = step, .take = take};
