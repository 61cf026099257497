// SPDX-License-Identifier: GPL-2.0-or-later
/* Names anonymous executable memory by several providers, in a fixed order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/requests.h"
#include "process/table.h"
#include "runtime/python/source.h"
#include "symbolize/symbolizer_internal.h"

/* A provider of names, and what its request has in addition to addresses. */
struct jit_provider {
	enum operation op;
	/* Returns a descriptor to read; -1: none, *@ret_errno says why. */
	int (*fd)(const struct symbolizer *s, const struct process *proc, int *ret_errno);
	/* Writes the start of the request; may be NULL. */
	void (*put)(struct wire_writer *w, const struct symbolizer *s,
		    const struct process *proc);
};

static int file_fd(const struct jit_file *file, int *ret_errno)
{
	*ret_errno = file->open_errno;
	return file->fd;
}

static int jitdump_fd(const struct symbolizer *s, const struct process *proc,
		      int *ret_errno)
{
	(void)s;
	return file_fd(&proc->jitdump, ret_errno);
}

static int perf_map_fd(const struct symbolizer *s, const struct process *proc,
		       int *ret_errno)
{
	(void)s;
	return file_fd(&proc->perf_map, ret_errno);
}

/* Writes how the file grew, which tells the age of each line. */
static void put_sizes(struct wire_writer *w, const struct symbolizer *s,
		      const struct process *proc)
{
	const struct jit_file *file = &proc->perf_map;

	(void)s;
	wire_put_u32(w, (uint32_t)file->nr_sizes);
	for (size_t i = 0; i < file->nr_sizes; i++) {
		wire_put_u64(w, file->sizes[i].time_ns);
		wire_put_u64(w, file->sizes[i].size_bytes);
	}
}

static int objects_fd(const struct symbolizer *s, const struct process *proc,
		      int *ret_errno)
{
	*ret_errno = ENOENT;
	if (!s->processes || !proc->jit_code.nr)
		return -1;
	return process_table_jit_store(s->processes)->read_fd;
}

/*
 * An object seen by a walk appeared after the walk before; one not seen was gone before.
 * Addresses may be reused before and after, so an object is only sure to exist between
 * two walks that saw it.
 */
static void put_times(struct wire_writer *w, const struct jit_code *code,
		      const struct jit_object *o)
{
	bool is_walked = code->is_unprobed && o->seen_ns;
	bool is_narrow = is_walked && code->is_unloading;

	wire_put_u64(w, is_narrow ? o->seen_ns : o->from_ns);
	wire_put_u64(w, is_narrow && o->until_ns > code->walked_ns ? code->walked_ns
								   : o->until_ns);
	wire_put_u64(w, is_walked ? o->seen_ns : 0);
}

static void put_objects(struct wire_writer *w, const struct symbolizer *s,
			const struct process *proc)
{
	const struct jit_store *store = process_table_jit_store(s->processes);
	const struct jit_code *code = &proc->jit_code;
	uint32_t nr = 0;

	for (size_t i = 0; i < code->nr; i++)
		nr += code->items[i].size_bytes != 0;
	wire_put_u32(w, nr);
	for (size_t i = 0; i < code->nr; i++) {
		const struct jit_object *o = &code->items[i];

		if (!o->size_bytes)
			continue;
		wire_put_u64(w, store->bodies[o->body].offset);
		wire_put_u64(w, o->size_bytes);
		put_times(w, code, o);
	}
}

/*
 * The first provider that knows an address wins: registered objects have lines, inlined
 * calls and times, a jitdump has lines and times, a perf map only names.
 */
static const struct jit_provider order[] = {
	{DECODER_GDBJIT, objects_fd, put_objects},
	{DECODER_JITDUMP, jitdump_fd, NULL},
	{DECODER_PERF_MAP, perf_map_fd, put_sizes},
};

/* Addresses of one process that no provider has described yet. */
struct todo {
	uint32_t *ids; /* of entries */
	size_t nr;
	bool refused, gave_up, too_many, unknown; /* why a provider could not tell */
};

static void put_request(struct wire_writer *w, const struct symbolizer *s,
			const struct jit_provider *provider, const struct process *proc,
			const uint32_t *ids, size_t nr)
{
	if (provider->put)
		provider->put(w, s, proc);
	wire_put_u32(w, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++) {
		const struct entry *entry = table_entry(&s->table, ids[i]);

		wire_put_u64(w, entry->lookup);
		wire_put_u64(w, entry->first_ns);
		wire_put_u64(w, entry->last_ns);
	}
}

/*
 * Queries a provider. Return: 0 with @ret set, -ENODATA without answers (noted), -ENOMEM.
 */
static int ask(struct symbolizer *s, const struct jit_provider *provider,
	       const struct process *proc, int fd, struct todo *todo, size_t from,
	       size_t nr, struct answers *ret)
{
	struct wire_writer w = {.max = WORKER_MAX_REQUEST_BYTES};
	struct wire_reader r;
	enum worker_answer answer;
	uint32_t miss;
	int err;

	put_request(&w, s, provider, proc, todo->ids + from, nr);
	if (w.failed) {
		wire_writer_deinit(&w);
		return -ENOMEM;
	}
	answer = worker_call(s->worker, provider->op, w.data, w.len, &fd, 1, NULL, NULL,
			     s->config.deadline_ms, &r, NULL);
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

/*
 * Takes the name from the first provider that knows it, the line from the first that has
 * one.
 * Return: true when no other provider is needed.
 */
static bool take_answer(struct resolved *known, const struct answer *answer)
{
	if (answer->miss == MISS_JIT_UNKNOWN || answer->miss == MISS_NO_SYMBOLS)
		return false;
	if (!known->nr_frames || answer->miss == MISS_NONE)
		symbolizer_apply(known, answer);
	return answer->miss != MISS_JIT_NO_LINES;
}

/* Queries one provider for all of @todo and removes what it described. */
static int ask_provider(struct symbolizer *s, const struct jit_provider *provider,
			const struct process *proc, int fd, struct todo *todo)
{
	size_t kept = 0;

	for (size_t from = 0, nr; from < todo->nr; from += nr) {
		_cleanup_(answers_deinit) struct answers answers = {0};
		int err;

		nr = todo->nr - from < SYMBOLIZER_MAX_BATCH ? todo->nr - from
							    : SYMBOLIZER_MAX_BATCH;
		err = ask(s, provider, proc, fd, todo, from, nr, &answers);
		if (!err)
			err = symbolizer_keep_codes(
				s,
				table_entry(&s->table, todo->ids[from])->resolved.object,
				&answers);
		if (err == -ENOMEM)
			return err;
		for (size_t i = 0; i < nr; i++) {
			uint32_t id = todo->ids[from + i];
			struct resolved *known = &table_entry(&s->table, id)->resolved;

			if (err || !take_answer(known, &answers.items[i]))
				todo->ids[kept++] = id;
		}
	}
	todo->nr = kept;
	return 0;
}

static int ask_all(struct symbolizer *s, const struct process *proc, struct todo *todo)
{
	for (size_t i = 0; i < ARRAY_SIZE(order) && todo->nr; i++) {
		int open_errno = 0, fd = order[i].fd(s, proc, &open_errno), err;

		if (fd < 0) {
			if (open_errno == EMFILE)
				todo->too_many = true;
			else if (open_errno == ESRCH)
				todo->unknown = true;
			else if (open_errno && open_errno != ENOENT)
				todo->refused = true;
			continue;
		}
		err = ask_provider(s, &order[i], proc, fd, todo);
		if (err)
			return err;
	}
	return 0;
}

/* ---- functions without lines: where they begin ---- */

static bool has_name_only(const struct resolved *r)
{
	return r->nr_frames == 1 && !*r->frames[0].file && *r->frames[0].function;
}

static int by_name(const void *a, const void *b)
{
	const struct python_function *x = a, *y = b;

	/* Interned: any order of pointers suffices. */
	return ((uintptr_t)x->name > (uintptr_t)y->name) -
	       ((uintptr_t)x->name < (uintptr_t)y->name);
}

static size_t unique_names(struct python_function *functions, size_t nr)
{
	size_t kept = 0;

	qsort(functions, nr, sizeof(*functions), by_name);
	for (size_t i = 0; i < nr; i++)
		if (!kept || functions[kept - 1].name != functions[i].name)
			functions[kept++] = functions[i];
	return kept;
}

/* Finds the def of Python functions that an object names without a line. */
static int find_defs(struct symbolizer *s, const struct process *proc,
		     const struct todo *todo)
{
	_cleanup_free_ struct python_function *functions =
		calloc(todo->nr + 1, sizeof(*functions));
	_cleanup_free_ struct frame *frames = calloc(todo->nr + 1, sizeof(*frames));
	struct frame *next = frames;
	size_t nr = 0;

	if (!functions || !frames)
		return -ENOMEM;
	for (size_t i = 0; i < todo->nr; i++) {
		const struct resolved *r =
			&table_entry(&s->table, todo->ids[i])->resolved;

		if (has_name_only(r) && strchr(r->frames[0].function, '.'))
			functions[nr++].name = r->frames[0].function;
	}
	nr = unique_names(functions, nr);
	if (!nr)
		return 0;
	python_source_find(proc, s->worker, s->pool, functions, nr, &s->defs_budget_ns);
	for (size_t i = 0; i < todo->nr; i++) {
		struct resolved *r = &table_entry(&s->table, todo->ids[i])->resolved;
		const struct python_function key = {
			.name = has_name_only(r) ? r->frames[0].function : NULL};
		const struct python_function *f =
			bsearch(&key, functions, nr, sizeof(*functions), by_name);

		if (!f || !f->line)
			continue;
		*next = r->frames[0];
		next->file = f->file;
		next->start_line = f->line;
		r->frames = next++;
	}
	return symbolizer_keep_frames(s, &frames);
}

/* May there be registered code that we missed? */
static bool has_lost(const struct jit_code *c)
{
	return c->nr_lost || c->is_lossy || (c->nr_descriptors && c->walk_wanted);
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
	/* May overwrite the pending list: the caller empties it. */
	err = ask_all(s, source->process, &todo);
	if (!err && source->process->command)
		err = find_defs(s, source->process, &todo);
	if (todo.gave_up || err)
		miss = MISS_DECODER_GAVE_UP;
	else if (todo.refused)
		miss = MISS_JIT_FILE_REFUSED;
	else if (todo.too_many)
		miss = MISS_TOO_MANY_FILES;
	else if (has_lost(&source->process->jit_code))
		miss = MISS_JIT_LOST;
	else if (todo.unknown)
		miss = MISS_NO_PROCESS;
	for (size_t i = 0; i < todo.nr; i++) {
		struct resolved *r = &table_entry(&s->table, todo.ids[i])->resolved;

		if (!r->nr_frames)
			r->miss = miss;
	}
	return err;
}
