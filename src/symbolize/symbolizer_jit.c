// SPDX-License-Identifier: GPL-2.0-or-later
/* Anonymous executable memory: who is asked, in which order. */
#include <errno.h>

#include "symbolize/decoder.h"
#include "symbolize/symbolizer_sources.h"

struct jit_provider {
	enum decoder_op op;
	bool sends_sizes; /* the request begins with the file's growth */
	const struct jit_file *(*file)(const struct process *proc);
};

static const struct jit_file *jitdump_of(const struct process *proc)
{
	return &proc->jitdump;
}

static const struct jit_file *perf_map_of(const struct process *proc)
{
	return &proc->perf_map;
}

/* The first that knows an address wins: a jitdump has lines and times, a perf map names. */
static const struct jit_provider order[] = {
	{DECODER_JITDUMP, false, jitdump_of},
	{DECODER_PERF_MAP, true, perf_map_of},
};

/* Addresses of one process that nobody has described so far. */
struct todo {
	uint32_t *ids; /* of entries */
	size_t nr;
	bool refused, gave_up, too_many; /* why a provider could not tell */
};

static void put_request(struct wire_writer *w, const struct symbolizer *s,
			const struct jit_provider *provider, const struct jit_file *file,
			const uint32_t *ids, size_t nr)
{
	if (provider->sends_sizes) {
		wire_put_u32(w, (uint32_t)file->nr_sizes);
		for (size_t i = 0; i < file->nr_sizes; i++) {
			wire_put_u64(w, file->sizes[i].time_ns);
			wire_put_u64(w, file->sizes[i].size_bytes);
		}
	}
	wire_put_u32(w, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++) {
		const struct entry *entry = table_entry(&s->table, ids[i]);

		wire_put_u64(w, entry->lookup);
		wire_put_u64(w, entry->first_ns);
		wire_put_u64(w, entry->last_ns);
	}
}

/* Return: 0 with @ret set, -ENODATA when it has no answers (noted), -ENOMEM. */
static int ask(struct symbolizer *s, const struct jit_provider *provider,
	       const struct jit_file *file, struct todo *todo, size_t from, size_t nr,
	       struct answers *ret)
{
	struct wire_writer w = {.max = WORKER_MAX_REQUEST_BYTES};
	struct wire_reader r;
	enum worker_answer answer;
	uint32_t miss;
	int err;

	put_request(&w, s, provider, file, todo->ids + from, nr);
	if (w.failed) {
		wire_writer_deinit(&w);
		return -ENOMEM;
	}
	answer = worker_call(s->worker, provider->op, w.data, w.len, &file->fd, 1, NULL,
			     NULL, s->config.deadline_ms, &r, NULL);
	wire_writer_deinit(&w);
	if (answer != WORKER_OK) {
		todo->gave_up = true;
		return -ENODATA;
	}
	miss = wire_get_u32(&r);
	s->nr_bad_jit_records += wire_get_u64(&r);
	if (miss != MISS_NONE) {
		todo->refused = true;
		return -ENODATA;
	}
	err = answers_read(&r, nr, s->pool, ret);
	if (err == -EBADMSG) {
		todo->gave_up = true;
		return -ENODATA;
	}
	return err ? err : symbolizer_keep_frames(s, &ret->frames);
}

/* Asks one provider for everything in @todo and takes out what it described. */
static int ask_provider(struct symbolizer *s, const struct jit_provider *provider,
			const struct jit_file *file, struct todo *todo)
{
	size_t kept = 0;

	for (size_t from = 0, nr; from < todo->nr; from += nr) {
		_cleanup_(answers_deinit) struct answers answers = {0};
		int err;

		nr = todo->nr - from < SYMBOLIZER_MAX_BATCH ? todo->nr - from
							    : SYMBOLIZER_MAX_BATCH;
		err = ask(s, provider, file, todo, from, nr, &answers);
		if (!err)
			err = symbolizer_keep_codes(
				s,
				table_entry(&s->table, todo->ids[from])->resolved.object,
				&answers);
		if (err == -ENOMEM)
			return err;
		for (size_t i = 0; i < nr; i++) {
			uint32_t id = todo->ids[from + i];

			if (err || answers.items[i].miss == MISS_JIT_UNKNOWN ||
			    answers.items[i].miss == MISS_NO_SYMBOLS)
				todo->ids[kept++] = id;
			else
				symbolizer_apply(&table_entry(&s->table, id)->resolved,
						 &answers.items[i]);
		}
	}
	todo->nr = kept;
	return 0;
}

static int ask_all(struct symbolizer *s, const struct process *proc, struct todo *todo)
{
	for (size_t i = 0; i < ARRAY_SIZE(order) && todo->nr; i++) {
		const struct jit_file *file = order[i].file(proc);
		int err;

		if (file->fd < 0) {
			if (file->open_errno == EMFILE)
				todo->too_many = true;
			else if (file->open_errno && file->open_errno != ENOENT)
				todo->refused = true;
			continue;
		}
		err = ask_provider(s, &order[i], file, todo);
		if (err)
			return err;
	}
	return 0;
}

int symbolizer_jit_resolve(struct symbolizer *s, struct source *source)
{
	struct todo todo = {.ids = source->pending, .nr = source->nr_pending};
	enum miss miss = MISS_JIT_UNKNOWN;
	int err;

	for (size_t i = 0; i < todo.nr; i++) {
		struct entry *entry = table_entry(&s->table, todo.ids[i]);

		entry->resolved.miss = MISS_JIT_UNKNOWN;
		entry->resolved.address = entry->lookup + entry->is_return;
	}
	/* What stays pending is overwritten: the caller empties the list. */
	err = ask_all(s, source->process, &todo);
	if (todo.gave_up || err)
		miss = MISS_DECODER_GAVE_UP;
	else if (todo.refused)
		miss = MISS_JIT_FILE_REFUSED;
	else if (todo.too_many)
		miss = MISS_TOO_MANY_FILES;
	for (size_t i = 0; i < todo.nr; i++)
		table_entry(&s->table, todo.ids[i])->resolved.miss = miss;
	return err;
}
