// SPDX-License-Identifier: GPL-2.0-or-later
/* Names interpreters' frames: passes their copied code objects to the runtime. */
#include <errno.h>
#include <stdlib.h>

#include "lineburn.h"
#include "process/interp_code.h"
#include "runtime/runtime.h"
#include "symbolize/symbolizer_internal.h"

/* Texts and tables per request, unless a single code object has more. */
#define BATCH_BYTES (8u << 20)

struct frame_item {
	struct runtime_frame frame;
	struct resolved *resolved;
};

/* By code object, then by index. */
static int by_frame(const void *a, const void *b)
{
	const struct frame_item *x = a, *y = b;

	return x->frame.frame < y->frame.frame ? -1 : x->frame.frame > y->frame.frame;
}

static uint64_t text_bytes(const struct interp_code *code)
{
	return (uint64_t)code->file.len + code->name.len + code->table.len;
}

/* Returns how many items fit one request; never splits a code object's items. */
static size_t batch_of(const struct frame_item *items, size_t nr)
{
	const struct interp_code *code = NULL;
	uint64_t bytes = 0;
	size_t i;

	if (nr > SYMBOLIZER_MAX_BATCH)
		nr = SYMBOLIZER_MAX_BATCH;
	for (i = 0; i < nr; i++) {
		if (items[i].frame.code == code)
			continue;
		bytes += text_bytes(items[i].frame.code);
		if (code && bytes > BATCH_BYTES)
			break;
		code = items[i].frame.code;
	}
	return i;
}

/* Names one batch. Return: 0, -ENODATA without an answer, or -ENOMEM. */
static int ask(struct symbolizer *s, const struct source *source,
	       const struct frame_item *items, size_t nr)
{
	const struct runtime_naming with = {.decoder = s->worker,
					    .deadline_ms = s->config.deadline_ms,
					    .pool = s->pool,
					    .process = source->process};
	_cleanup_(answers_deinit) struct answers answers = {0};
	_cleanup_free_ struct runtime_frame *frames = calloc(nr, sizeof(*frames));
	int err;

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		frames[i] = items[i].frame;
	err = source->runtime->name_frames(&with, frames, nr, &answers);
	if (!err)
		err = symbolizer_keep_frames(s, &answers.frames);
	if (err)
		return err;
	for (size_t i = 0; i < nr; i++)
		symbolizer_apply(items[i].resolved, &answers.items[i]);
	return 0;
}

/* Returns its address in the target, unique because code objects are not machine code. */
static uint64_t address_of(const struct runtime *runtime, const struct interp_code *code,
			   uint64_t frame)
{
	uint32_t index = LB_FRAME_INDEX(frame);

	return code->code_addr + (index == LB_FRAME_INDEX_UNKNOWN
					  ? 0
					  : (uint64_t)index * runtime->unit_bytes);
}

/* Collects pending entries with a known code object; sets the others' miss. */
static size_t find_codes(struct symbolizer *s, const struct source *source,
			 struct frame_item *items)
{
	const struct interp_codes *codes = &source->process->interp_codes;
	size_t nr = 0;

	for (size_t i = 0; i < source->nr_pending; i++) {
		struct entry *entry = table_entry(&s->table, source->pending[i]);
		const struct interp_code *code =
			interp_codes_find(codes, LB_FRAME_ID(entry->lookup));

		entry->resolved.miss = MISS_PYTHON_LOST;
		entry->resolved.address = entry->lookup & ~LB_FRAME_TAG;
		if (!code)
			continue;
		entry->resolved.miss = MISS_DECODER_GAVE_UP;
		entry->resolved.address =
			address_of(source->runtime, code, entry->lookup);
		items[nr++] = (struct frame_item){
			.frame = {.frame = entry->lookup, .code = code},
			.resolved = &entry->resolved};
	}
	return nr;
}

int symbolizer_interp_resolve(struct symbolizer *s, struct source *source)
{
	_cleanup_free_ struct frame_item *items =
		calloc(source->nr_pending + 1, sizeof(*items));
	size_t nr, batch;
	int err = 0;

	if (!items)
		return -ENOMEM;
	nr = find_codes(s, source, items);
	qsort(items, nr, sizeof(*items), by_frame);
	for (size_t from = 0; from < nr && err != -ENOMEM; from += batch) {
		batch = batch_of(items + from, nr - from);
		err = ask(s, source, items + from, batch);
	}
	return err == -ENOMEM ? err : 0;
}
