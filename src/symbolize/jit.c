// SPDX-License-Identifier: GPL-2.0-or-later
/* Names anonymous executable memory by several providers, in a fixed order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/target_fd.h"
#include "decode/requests.h"
#include "process/table.h"
#include "runtime/python/source.h"
#include "symbolize/symbolizer_internal.h"

#define DEFS_DEADLINE_MS 1000 /* of one file */

/* A provider of names, and the data its request needs in addition to addresses. */
struct jit_provider {
	enum operation op;
	/* Returns a descriptor to read; -1: none, with the reason in *@ret_errno. */
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

/* Writes when the file had which size, which gives the age of each line. */
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
 * An object that a walk saw first was registered after the previous walk; one that a
 * walk missed was gone before it. Other code may have had its address before and after,
 * so an object is only certain to exist between two walks that saw it.
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
 * calls and times; a jitdump has lines and times; a perf map has only names.
 */
static const struct jit_provider order[] = {
	{DECODER_GDBJIT, objects_fd, put_objects},
	{DECODER_JITDUMP, jitdump_fd, NULL},
	{DECODER_PERF_MAP, perf_map_fd, put_sizes},
};
_Static_assert(ARRAY_SIZE(order) == SOURCE_NR_PROVIDERS, "each has its pause");

/*
 * Takes the name from the first provider that knows it, and the line from the first
 * that has one.
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

static void put_request(struct symbolizer *s, const struct process *proc,
			const uint32_t *ids)
{
	const struct jit_provider *provider = &order[s->work.provider];
	struct wire_writer *w = &s->work.request;

	if (provider->put)
		provider->put(w, s, proc);
	wire_put_u32(w, (uint32_t)s->work.nr);
	for (size_t i = 0; i < s->work.nr; i++) {
		const struct entry *entry = table_entry(&s->table, ids[i]);

		wire_put_u64(w, entry->lookup);
		wire_put_u64(w, entry->first_ns);
		wire_put_u64(w, entry->last_ns);
	}
}

static void note_why(struct resolve_work *w, int open_errno)
{
	if (open_errno == EMFILE)
		w->too_many = true;
	else if (open_errno == ESRCH)
		w->unknown = true;
	else if (file_is_late(open_errno))
		w->late = true;
	else if (open_errno && open_errno != ENOENT)
		w->refused = true;
}

/* Removes the addresses that @answers describe from the list for the next provider. */
static void finish_batch(struct symbolizer *s, uint32_t *ids,
			 const struct answers *answers)
{
	struct resolve_work *w = &s->work;

	for (size_t i = 0; i < w->nr; i++) {
		uint32_t id = ids[w->from + i];
		struct resolved *known = &table_entry(&s->table, id)->resolved;

		if (!answers || !take_answer(known, &answers->items[i]))
			ids[w->kept++] = id;
	}
	w->from += w->nr;
}

/* Each request may take long, and others wait for it. */
static bool may_ask(struct symbolizer *s, const struct source *source)
{
	struct resolve_work *w = &s->work;
	bool is_paused = clock_now_ns() < source->providers[w->provider].until_ns;
	bool is_used_up = symbolizer_is_used_up(s, source->tenant);

	w->gave_up |= is_paused;
	w->is_put_off |= is_used_up && !is_paused;
	return !is_paused && !is_used_up;
}

/*
 * Sends the next request, to one provider after another. Return: 1: sent; 0: all done.
 */
static int ask_next(struct symbolizer *s, struct source *source)
{
	struct resolve_work *w = &s->work;

	while (w->provider < ARRAY_SIZE(order) && w->nr_todo) {
		int open_errno = 0, fd;

		w->nr = symbolizer_batch(w->nr_todo - w->from);
		if (!w->nr) {
			w->nr_todo = w->kept;
			w->from = w->kept = 0;
			w->provider++;
			continue;
		}
		fd = order[w->provider].fd(s, source->process, &open_errno);
		if (fd >= 0 && may_ask(s, source)) {
			put_request(s, source->process, source->pending + w->from);
			return symbolizer_send(s, source->tenant, order[w->provider].op,
					       &fd, 1, NULL, s->config.deadline_ms);
		}
		note_why(w, open_errno);
		finish_batch(s, source->pending, NULL);
	}
	return 0;
}

/* Return: 0 with @ret set, -ENODATA if there are no answers (noted), -ENOMEM. */
static int read_reply(struct symbolizer *s, const struct source *source,
		      enum worker_answer answer, struct wire_reader *r,
		      struct answers *ret)
{
	struct resolve_work *w = &s->work;
	uint32_t miss;
	int err;

	if (answer != WORKER_OK) {
		w->gave_up = true;
		return -ENODATA;
	}
	miss = wire_get_u32(r);
	s->nr_bad_jit_records += wire_get_u64(r);
	if (miss != MISS_NONE) {
		w->refused = true;
		return -ENODATA;
	}
	err = answers_read(r, w->nr, s->pool, ret);
	if (err == -EBADMSG) {
		w->gave_up = true;
		return -ENODATA;
	}
	return err ? err : symbolizer_keep_all(s, source, ret);
}

/* A provider that was late is asked again after a pause, as a file is. */
static void note_late(const struct resolve_work *w, struct source *source,
		      enum worker_answer answer)
{
	struct retry_pause *pause = &source->providers[w->provider];
	uint64_t now_ns = clock_now_ns();

	if (answer == WORKER_DEADLINE)
		retry_pause_begin(pause, SYMBOLIZER_LATE_TIMES * (now_ns - w->sent_ns),
				  UINT64_MAX, now_ns);
	else if (answer == WORKER_OK)
		retry_pause_forget(pause, now_ns);
}

static int take_names(struct symbolizer *s, struct source *source,
		      enum worker_answer answer, struct wire_reader *r)
{
	_cleanup_(answers_deinit) struct answers answers = {0};
	int err;

	note_late(&s->work, source, answer);
	err = read_reply(s, source, answer, r, &answers);

	if (!err)
		err = symbolizer_keep_codes(s, source, &answers);
	if (err == -ENOMEM)
		return err;
	finish_batch(s, source->pending, err ? NULL : &answers);
	return 0;
}

/* ---- definitions of Python functions that have no lines ---- */

static bool has_name_only(const struct resolved *r)
{
	return r->nr_frames == 1 && !*r->frames[0].file && *r->frames[0].function;
}

static int by_name(const void *a, const void *b)
{
	const struct python_function *x = a, *y = b;

	/* The strings are interned, so any order of pointers will do. */
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

/* Begins to search the Python functions for which JIT code has a name but no line. */
static int begin_defs(struct symbolizer *s, const struct source *source)
{
	struct resolve_work *w = &s->work;
	_cleanup_free_ struct python_function *functions =
		calloc(w->nr_todo + 1, sizeof(*functions));
	size_t nr = 0;

	if (!functions)
		return -ENOMEM;
	for (size_t i = 0; i < w->nr_todo; i++) {
		const struct resolved *r =
			&table_entry(&s->table, source->pending[i])->resolved;

		if (has_name_only(r) && strchr(r->frames[0].function, '.'))
			functions[nr++].name = r->frames[0].function;
	}
	nr = unique_names(functions, nr);
	symbolizer_begin_search(s, source);
	w->defs = def_search_new(source->process, s->pool, functions, nr);
	if (!w->defs)
		return -ENOMEM;
	take_ptr(functions);
	return 0;
}

/* Writes the found definitions into the frames. */
static int set_defs(struct symbolizer *s, const struct source *source)
{
	struct resolve_work *w = &s->work;
	size_t nr;
	const struct python_function *functions = def_search_functions(w->defs, &nr);
	_cleanup_free_ struct frame *frames = NULL;
	struct frame *next;

	if (!nr)
		return 0;
	next = frames = calloc(w->nr_todo, sizeof(*frames));
	/* Store the array first: entries that point into it must not outlive it. */
	if (!frames || symbolizer_keep_frames(s, &frames))
		return -ENOMEM;
	for (size_t i = 0; i < w->nr_todo; i++) {
		struct resolved *r =
			&table_entry(&s->table, source->pending[i])->resolved;
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
	return 0;
}

/* Asks the decoder for a definition in the open file. Return: 1 or -ENOMEM. */
static int ask_def(struct symbolizer *s, const struct source *source, int fd,
		   const char *name)
{
	wire_put_u32(&s->work.request, 1);
	wire_put_str(&s->work.request, name);
	return symbolizer_send(s, source->tenant, DECODER_PYTHON_DEFS, &fd, 1, NULL,
			       DEFS_DEADLINE_MS);
}

/* Opens the next file that may have a definition, and asks for it. Return: 1 or -ENOMEM. */
static int search_some(struct symbolizer *s, struct source *source)
{
	uint64_t begin_ns = clock_now_ns();
	const char *name;
	_cleanup_target_fd_ int fd = def_search_open(s->work.defs, &name);

	symbolizer_took(s, source->tenant, begin_ns);
	symbolizer_searched(s, source, clock_now_ns() - begin_ns);
	return fd < 0 ? 1 : ask_def(s, source, fd, name);
}

static void take_def(struct symbolizer *s, struct source *source,
		     enum worker_answer answer, struct wire_reader *r)
{
	uint64_t took_ns = clock_now_ns() - s->work.sent_ns;

	symbolizer_searched(s, source, took_ns);
	if (answer == WORKER_OK)
		def_search_answer(s->work.defs, wire_get_u32(r), took_ns);
	else
		def_search_give_up(s->work.defs);
}

/* Searches some definitions. Return: 1: call again; 0: all are done; -ENOMEM. */
static int find_defs(struct symbolizer *s, struct source *source)
{
	struct resolve_work *w = &s->work;
	bool is_over;
	int err;

	if (!w->defs) {
		err = begin_defs(s, source);
		if (err)
			return err;
	}
	is_over = def_search_is_over(w->defs);
	if (!is_over && symbolizer_may_search(s, source))
		return search_some(s, source);
	if (!is_over || def_search_nr_cut(w->defs))
		symbolizer_count_put_off(s);
	return set_defs(s, source);
}

static int take(struct symbolizer *s, struct source *source, enum worker_answer answer,
		struct wire_reader *r)
{
	if (!s->work.defs)
		return take_names(s, source, answer, r);
	take_def(s, source, answer, r);
	return 0;
}

/* May the process have registered code that lineburn missed? */
static bool has_lost(const struct jit_code *c)
{
	return c->nr_lost || c->is_lossy || (c->nr_descriptors && c->walk_wanted);
}

static int begin(struct symbolizer *s, struct source *source)
{
	for (size_t i = 0; i < source->nr_pending; i++) {
		struct entry *entry = table_entry(&s->table, source->pending[i]);

		entry->resolved.miss = MISS_JIT_UNKNOWN;
		entry->resolved.address = entry->lookup + entry->is_return;
	}
	s->work.nr_todo = source->nr_pending;
	return 0;
}

/* May its code be compiled Python? Numba registers objects with the GDB interface. */
static bool may_be_python(const struct process *process)
{
	return process->command &&
	       (process->interp_codes.nr || process->jit_code.nr_descriptors);
}

static int step(struct symbolizer *s, struct source *source)
{
	int rc = ask_next(s, source);

	return rc || !may_be_python(source->process) ? rc : find_defs(s, source);
}

/* Sets the miss reason of all addresses that no provider named. */
static void end(struct symbolizer *s, struct source *source, bool is_whole)
{
	const struct resolve_work *w = &s->work;
	enum miss miss = MISS_JIT_UNKNOWN;

	if (w->gave_up || w->is_put_off || !is_whole)
		miss = MISS_DECODER_GAVE_UP;
	else if (w->refused)
		miss = MISS_JIT_FILE_REFUSED;
	else if (w->late)
		miss = MISS_FILE_LATE;
	else if (w->too_many)
		miss = MISS_TOO_MANY_FILES;
	else if (has_lost(&source->process->jit_code))
		miss = MISS_JIT_LOST;
	else if (w->unknown)
		miss = MISS_NO_PROCESS;
	for (size_t i = 0; i < w->nr_todo; i++) {
		struct entry *entry = table_entry(&s->table, source->pending[i]);

		if (entry->resolved.nr_frames)
			continue;
		entry->resolved.miss = miss;
		entry->is_put_off = w->is_put_off;
	}
	if (w->is_put_off)
		symbolizer_count_put_off(s);
}

const struct resolver symbolizer_jit = {
	.begin = begin, .step = step, .take = take, .end = end};
