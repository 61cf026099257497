// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames of Python: the decoder is given what was copied of their code objects. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "decode/requests.h"
#include "lineburn.h"
#include "process/python_code.h"
#include "runtime/python/frozen.h"
#include "symbolize/symbolizer_internal.h"

/* Of texts and tables in one request, unless a single code object has more. */
#define BATCH_BYTES    (8u << 20)
#define MAX_PATH_BYTES 4096
#define UNIT_BYTES     2 /* of code, which an index counts */
#define NR_PATHS_KEPT  16 /* of one answer: its frames are of few files */

struct frame_item {
	uint64_t frame; /* as sampled: in order of code object, then of index */
	struct resolved *resolved;
	const struct python_code *code;
};

static int by_frame(const void *a, const void *b)
{
	const struct frame_item *x = a, *y = b;

	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

static void put_text(struct wire_writer *w, const struct python_text *t)
{
	wire_put_u8(w, t->width);
	wire_put_u8(w, t->is_cut);
	wire_put_bytes(w, t->bytes, t->len);
}

static uint64_t text_bytes(const struct python_code *code)
{
	return (uint64_t)code->file.len + code->name.len + code->table.len;
}

static bool begins_code(const struct frame_item *items, size_t i)
{
	return !i || items[i].code != items[i - 1].code;
}

/* How many of the items go into one request: all those of so many code objects. */
static size_t batch_of(const struct frame_item *items, size_t nr, uint32_t *ret_nr_codes)
{
	uint64_t bytes = 0;
	uint32_t nr_codes = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!begins_code(items, i))
			continue;
		bytes += text_bytes(items[i].code);
		if (nr_codes && bytes > BATCH_BYTES)
			break;
		nr_codes++;
	}
	*ret_nr_codes = nr_codes;
	return i;
}

static void put_request(struct wire_writer *w, const struct frame_item *items, size_t nr,
			uint32_t nr_codes)
{
	uint32_t code = 0;

	wire_put_u32(w, nr_codes);
	for (size_t i = 0; i < nr; i++) {
		if (!begins_code(items, i))
			continue;
		wire_put_u32(w, items[i].code->version);
		wire_put_u32(w, items[i].code->first_line);
		put_text(w, &items[i].code->file);
		put_text(w, &items[i].code->name);
		put_text(w, &items[i].code->table);
	}
	wire_put_u32(w, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++) {
		code += i && begins_code(items, i);
		wire_put_u32(w, code);
		wire_put_u32(w, LB_PY_INDEX(items[i].frame));
	}
}

/*
 * Modules and scripts have absolute names since 3.9; what was compiled from text has the
 * name that it was given. Frozen modules have a file where Python is installed; "<string>"
 * and the like have none.
 */
static size_t find_path(const struct process *proc, const char *file, char *buf,
			size_t size)
{
	int n;

	if (*file == '<')
		return python_frozen_find(proc, file, buf, size);
	if (!*file || *file == '/' || !proc->cwd)
		return 0;
	n = snprintf(buf, size, "%s/%s", proc->cwd[1] ? proc->cwd : "", file);
	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

static void make_absolute(struct symbolizer *s, const struct process *proc,
			  struct answers *answers)
{
	const char *from[NR_PATHS_KEPT] = {0}, *to[NR_PATHS_KEPT];
	char path[MAX_PATH_BYTES];

	for (size_t i = 0, next = 0; i < answers->nr_frames; i++) {
		const char *file = answers->frames[i].file;
		size_t known = 0;

		while (known < NR_PATHS_KEPT && from[known] != file)
			known++;
		if (known == NR_PATHS_KEPT) {
			known = next++ % NR_PATHS_KEPT;
			from[known] = file;
			to[known] = find_path(proc, file, path, sizeof(path))
					    ? strpool_add(s->pool, path)
					    : file;
		}
		answers->frames[i].file = to[known];
	}
}

/* Return: 0, -ENODATA when there is no answer, or -ENOMEM. */
static int ask(struct symbolizer *s, const struct process *proc,
	       const struct frame_item *items, size_t nr, uint32_t nr_codes)
{
	_cleanup_(answers_deinit) struct answers answers = {0};
	struct wire_writer w = {.max = WORKER_MAX_REQUEST_BYTES};
	struct wire_reader r;
	enum worker_answer answer = WORKER_FAILED;
	int err;

	put_request(&w, items, nr, nr_codes);
	if (!w.failed)
		answer = worker_call(s->worker, DECODER_PYTHON_CODE, w.data, w.len, NULL,
				     0, NULL, NULL, s->config.deadline_ms, &r, NULL);
	wire_writer_deinit(&w);
	if (answer != WORKER_OK || wire_get_u32(&r) != MISS_NONE)
		return -ENODATA;
	err = answers_read(&r, nr, s->pool, &answers);
	if (!err) {
		make_absolute(s, proc, &answers);
		err = symbolizer_keep_frames(s, &answers.frames);
	}
	if (err)
		return err == -EBADMSG ? -ENODATA : err;
	for (size_t i = 0; i < nr; i++)
		symbolizer_apply(items[i].resolved, &answers.items[i]);
	return 0;
}

/* Where it is in the target: code objects lie where no code is, so nothing else is there. */
static uint64_t address_of(const struct python_code *code, uint64_t frame)
{
	uint32_t index = LB_PY_INDEX(frame);

	return code->code_addr +
	       (index == LB_PY_INDEX_UNKNOWN ? 0 : (uint64_t)index * UNIT_BYTES);
}

/* The pending ones whose code object is known; the others have their miss then. */
static size_t find_codes(struct symbolizer *s, const struct source *source,
			 struct frame_item *items)
{
	const struct python_codes *codes = &source->process->python_codes;
	size_t nr = 0;

	for (size_t i = 0; i < source->nr_pending; i++) {
		struct entry *entry = table_entry(&s->table, source->pending[i]);
		const struct python_code *code =
			python_codes_find(codes, LB_PY_CODE_ID(entry->lookup));

		entry->resolved.miss = MISS_PYTHON_LOST;
		entry->resolved.address = entry->lookup & ~LB_PY_FRAME;
		if (!code)
			continue;
		entry->resolved.miss = MISS_DECODER_GAVE_UP;
		entry->resolved.address = address_of(code, entry->lookup);
		items[nr++] = (struct frame_item){.frame = entry->lookup,
						  .resolved = &entry->resolved,
						  .code = code};
	}
	return nr;
}

int symbolizer_python_resolve(struct symbolizer *s, struct source *source)
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
		uint32_t nr_codes;

		batch = nr - from < SYMBOLIZER_MAX_BATCH ? nr - from
							 : SYMBOLIZER_MAX_BATCH;
		batch = batch_of(items + from, batch, &nr_codes);
		err = ask(s, source->process, items + from, batch, nr_codes);
	}
	return err == -ENOMEM ? err : 0;
}
