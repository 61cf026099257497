// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps an address of a process to a source that can name it. elf.c, jit.c, interp.c and
 * kernel.c write the sources' answers into the entries.
 *
 * Entries hold the address to look up (frame_lookup()). resolved.address is again the
 * address of the instruction after the call, as pprof and disassemblers expect.
 */
#include "symbolize/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/vec.h"
#include "lineburn.h"
#include "process/file.h"
#include "process/interp_code.h"
#include "runtime/python/source.h"
#include "runtime/runtime.h"
#include "symbolize/symbolizer_internal.h"
#include "worker/child.h"

#define DEFAULT_DEADLINE_MS   20000
#define DEFAULT_MAX_ADDRESSES (4u << 20)

/* Nobody but root gets more than a quarter (base/quota.h). */
static void share(struct symbolizer *s)
{
	s->table.quota = (struct quota){.what = "addresses",
					.loss = "some of its code has no names",
					.max = s->config.max_addresses};
	s->middle_quota = (struct quota){.what = "frames of inlined functions",
					 .loss = "some of its inlined calls are missing",
					 .max = s->config.max_addresses};
	s->codes.quota = (struct quota){
		.what = "bytes of code of hot functions",
		.loss = "some of its lines are not known to have code, or instructions",
		.max = SYMBOLIZER_MAX_CODE_BYTES};
}

int symbolizer_new(const struct symbolizer_config *config, struct strpool *pool,
		   struct worker *worker, struct process_table *processes,
		   struct symbolizer **ret, struct error *err)
{
	_cleanup_(symbolizer_freep) struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return error_set(err, -ENOMEM, "out of memory");
	s->pool = pool;
	s->worker = worker;
	s->processes = processes;
	s->vdso_fd = -1;
	s->config = *config;
	s->config.debug_dir = strpool_add(pool, config->debug_dir ? config->debug_dir
								  : "/usr/lib/debug");
	if (!s->config.deadline_ms)
		s->config.deadline_ms = DEFAULT_DEADLINE_MS;
	if (!s->config.max_addresses)
		s->config.max_addresses = DEFAULT_MAX_ADDRESSES;
	s->own_root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->own_debug_fd = open(s->config.debug_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (table_init(&s->table, pool, s->config.max_addresses))
		return error_set(err, -ENOMEM, "out of memory");
	if (config->is_shared)
		share(s);
	*ret = take_ptr(s);
	return 0;
}

static void work_deinit(struct symbolizer *s)
{
	struct resolve_work *w = &s->work;

	if (w->is_sent)
		worker_cancel(s->worker);
	wire_writer_deinit(&w->request);
	def_search_free(w->defs);
	answers_deinit(&w->answers);
	free(w->files);
	free(w->items);
	*w = (struct resolve_work){0};
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	work_deinit(s);
	for (size_t i = 0; i < s->nr_frames; i++)
		free(s->frames[i]);
	free(s->frames);
	quota_deinit(&s->middle_quota);
	symbolizer_codes_deinit(s);
	free(s->modules);
	kallsyms_free(s->kallsyms);
	cleanup_closep(&s->vdso_fd);
	cleanup_closep(&s->own_debug_fd);
	cleanup_closep(&s->own_root_fd);
	table_deinit(&s->table);
	free(s);
}

/* ---- finding the source of an address ---- */

/*
 * Returns the number of the source; sets the object of a new one. @proc  has code of it;
 * NULL: it is not known
 */
static uint32_t source_of(struct symbolizer *s, const struct process *proc,
			  enum source_kind kind, const void *key,
			  enum object_kind object_kind, const char *name)
{
	uint32_t i = table_source(&s->table, kind, key, 0,
				  proc ? proc->tenant : TENANT_UNKNOWN);
	struct source *source;

	if (i == TABLE_NO_SOURCE)
		return i;
	source = &s->table.sources[i];
	if (!source->object)
		source->object = table_add_object(&s->table, object_kind, name);
	return source->object ? i : TABLE_NO_SOURCE;
}

/* Returns the number of the source of code that only @proc has. */
static uint32_t source_of_process(struct symbolizer *s, enum source_kind kind,
				  const struct process *proc,
				  enum object_kind object_kind, const char *name)
{
	uint32_t i = source_of(s, proc, kind, proc, object_kind, name);

	if (i == TABLE_NO_SOURCE)
		return i;
	s->table.sources[i].process = s->table.sources[i].object->user = proc;
	s->table.sources[i].tenant = proc->tenant;
	return i;
}

static uint32_t want(struct symbolizer *s, uint32_t source, struct entry *entry)
{
	if (source == TABLE_NO_SOURCE) {
		s->table.nr_over_limit++;
		return TABLE_OVER_LIMIT;
	}
	entry->source = source;
	if (!entry->resolved.object)
		entry->resolved.object = s->table.sources[source].object;
	entry->resolved.address = entry->lookup + entry->is_return;
	return table_want(&s->table, entry);
}

/* Adds an entry that no source can name. @entry->lookup is a run-time address. */
static uint32_t want_unknown(struct symbolizer *s, struct entry *entry, enum miss miss)
{
	entry->resolved.miss = miss;
	return want(s, table_find_source(&s->table, SOURCE_NONE, NULL, 0), entry);
}

/*
 * Adds an entry of a file that could not be opened: only its path and the offset are
 * known.
 */
static uint32_t want_lost_file(struct symbolizer *s, const struct mapping *m,
			       struct entry *entry, enum miss miss)
{
	uint32_t source = source_of(s, entry->resolved.process, SOURCE_NONE, m->path,
				    OBJECT_FILE, m->path);

	if (source != TABLE_NO_SOURCE) {
		struct object *object = s->table.sources[source].object;

		if (!object->limit) {
			object->start = m->file_off;
			object->limit = m->file_off + (m->end - m->start);
			object->file_off = m->file_off;
			memcpy(object->build_id, m->build_id, m->build_id_len);
			object->build_id_len = m->build_id_len;
		}
	}
	entry->lookup = mapping_ip_to_file_off(m, entry->lookup);
	entry->resolved.miss = miss;
	return want(s, source, entry);
}

static uint32_t want_jit(struct symbolizer *s, const struct process *proc,
			 struct entry *entry, uint64_t first_ns, uint64_t last_ns)
{
	entry->first_ns = first_ns;
	entry->last_ns = last_ns;
	return want(s, source_of_process(s, SOURCE_JIT, proc, OBJECT_JIT, "[jit]"),
		    entry);
}

#define NO_ROOT UINT64_MAX

/* Are its debug files looked for in the machine's root, where users mount nothing? */
static bool has_public_names(const struct symbolizer *s, const struct target_file *file)
{
	uint32_t i = table_find_source(&s->table, SOURCE_FILE, file, 0);

	return i != TABLE_NO_SOURCE && s->table.sources[i].object &&
	       s->table.sources[i].object->user;
}

/* Has it a user who can open files, and for whom a helper may wait? */
static bool may_search(const struct object *object)
{
	const struct process *user = object_user(object);

	return user && child_has_room(user->tenant);
}

/* Nobody decides for the others who map a file: all who want it are remembered. */
static void note_wanting(struct source *source, struct tenant who)
{
	for (size_t i = 0; i < source->nr_wanting; i++)
		if (tenant_is_same(source->wanting[i], who))
			return;
	if (source->nr_wanting == SOURCE_MAX_WANTING)
		memmove(source->wanting, source->wanting + 1,
			--source->nr_wanting * sizeof(who));
	source->wanting[source->nr_wanting++] = who;
}

/* @proc can open its debug files: more of them than those who came before may read. */
static void note_user(struct source *source, const struct process *proc,
		      const struct mapping *m)
{
	const struct source_user user = {.process = proc,
					 .tenant = proc->tenant,
					 .root_id = proc->root_id,
					 .path = m->path};

	for (size_t i = 0; i < source->nr_users; i++) {
		struct source_user *known = &source->users[i];

		if (!tenant_is_same(known->tenant, user.tenant))
			continue;
		if (!process_may_open_in(known->process, known->root_id))
			*known = user;
		return;
	}
	if (source->nr_users == SOURCE_MAX_WANTING)
		memmove(source->users, source->users + 1,
			--source->nr_users * sizeof(user));
	source->users[source->nr_users++] = user;
	/* Before that, there is nothing that he could open. */
	if (!source->nr_came || (source->was_denied && source->nr_came < SOURCE_MAX_CAME))
		source->nr_came++;
}

/*
 * A user can put a forged debug file for any program into a root where he may mount: what is
 * found in any root but the machine's names the code only of processes with that root. All
 * others share one source, so that their libraries are decoded once, and the process whose
 * root and rights count, its user, has the machine's root. Once it has a user, also those
 * with other roots share it, and who can open nothing: before that, names would be missing
 * for good.
 *
 * Returns the number of the file's source; initialises a new one. @ret  the object that the
 * file is for @proc
 */
static uint32_t file_source(struct symbolizer *s, const struct process *proc,
			    const struct mapping *m, const struct object **ret)
{
	bool may_open = process_may_open(proc);
	bool is_public = !s->config.is_shared || (may_open && proc->has_machines_root);
	uint64_t root_id = may_open ? proc->root_id : NO_ROOT;
	struct source *source;
	uint32_t i;

	if (is_public || has_public_names(s, m->file))
		root_id = 0;
	i = table_source(&s->table, SOURCE_FILE, m->file, root_id, proc->tenant);
	*ret = i == TABLE_NO_SOURCE
		       ? NULL
		       : table_object_at(&s->table, i, m->path, proc->tenant);
	if (!*ret)
		return TABLE_NO_SOURCE;
	source = &s->table.sources[i];
	if (!source->file) {
		source->file = m->file;
		source->path = m->path;
		source->in_memory = m->kind == MAPPING_MEMFD;
		memcpy(source->object->build_id, m->file->build_id,
		       m->file->build_id_len);
		source->object->build_id_len = m->file->build_id_len;
	}
	if ((is_public || root_id) && may_open) {
		note_user(source, proc, m);
		if (!may_search(source->object)) {
			source->object->user = proc;
			source->object->root_id = proc->root_id;
			source->path = m->path;
		}
	}
	note_wanting(source, proc->tenant);
	return i;
}

/* Returns why a mapped file has no descriptor (file.h). @file  NULL: it is tried again */
static enum miss why_not_open(const struct target_file *file)
{
	if (!file || file_is_late(file->open_errno))
		return MISS_FILE_LATE;
	switch (file->open_errno) {
	case ESTALE:
		return MISS_FILE_REPLACED;
	case EMFILE:
		return MISS_TOO_MANY_FILES;
	default:
		return MISS_FILE_GONE;
	}
}

static uint32_t want_file(struct symbolizer *s, const struct process *proc,
			  const struct mapping *m, struct entry *entry)
{
	const struct target_file *file = m->file;
	uint32_t source;

	if (!file || file->fd < 0)
		return want_lost_file(s, m, entry, why_not_open(file));
	if (file->verify_build_id && !file->build_id_len)
		return want_lost_file(s, m, entry, MISS_FILE_GONE);
	entry->lookup = mapping_ip_to_file_off(m, entry->lookup);
	source = file_source(s, proc, m, &entry->resolved.object);
	return want(s, source, entry);
}

static uint32_t want_vdso(struct symbolizer *s, const struct mapping *m,
			  struct entry *entry)
{
	if (!s->vdso_tried) {
		s->vdso_tried = true;
		s->vdso_fd = vdso_open(&s->vdso_size);
	}
	entry->lookup = mapping_ip_to_file_off(m, entry->lookup);
	if (s->vdso_fd >= 0 && m->end - m->start == s->vdso_size)
		return want(s,
			    source_of(s, entry->resolved.process, SOURCE_VDSO, NULL,
				      OBJECT_VDSO, "[vdso]"),
			    entry);
	entry->resolved.miss = MISS_NO_SYMBOLS;
	return want(s,
		    source_of(s, entry->resolved.process, SOURCE_NONE, "[vdso]",
			      OBJECT_VDSO, "[vdso]"),
		    entry);
}

/* Waits for them, which is seldom: the recorder asks for those of each file that it sees. */
static const struct file_facts *facts_of(struct symbolizer *s, const struct process *proc,
					 struct target_file *file)
{
	uint64_t begin_ns = clock_now_ns();

	if (file->facts || s->is_hurried || symbolizer_is_used_up(s, proc->tenant))
		return file->facts;
	file_facts_get(file, s->worker, proc->tenant);
	symbolizer_took(s, proc->tenant, begin_ns);
	return file->facts;
}

static uint32_t want_memfd(struct symbolizer *s, const struct process *proc,
			   const struct mapping *m, struct entry *entry,
			   uint64_t first_ns, uint64_t last_ns)
{
	const struct file_facts *facts = m->file ? facts_of(s, proc, m->file) : NULL;

	if (m->file && m->file->fd >= 0 && facts && facts->is_elf)
		return want_file(s, proc, m, entry);
	return want_jit(s, proc, entry, first_ns, last_ns);
}

/*
 * Adds an interpreter's frame. It is not an address: 1 is never subtracted, and it is
 * in no mapping.
 */
static uint32_t want_interp(struct symbolizer *s, const struct process *proc,
			    uint64_t frame)
{
	struct entry entry = {.lookup = frame, .resolved.process = proc};
	const struct runtime *runtime = runtime_of_frame(frame);
	uint32_t source;

	if (!runtime)
		return want_unknown(s, &entry, MISS_NO_MAPPING);
	if (!proc) {
		entry.resolved.miss = MISS_NO_PROCESS;
		return want(s,
			    source_of(s, NULL, SOURCE_NONE, runtime->object,
				      OBJECT_INTERP, runtime->object),
			    &entry);
	}
	source =
		source_of_process(s, SOURCE_INTERP, proc, OBJECT_INTERP, runtime->object);
	if (source != TABLE_NO_SOURCE)
		s->table.sources[source].runtime = runtime; /* an image has one runtime */
	return want(s, source, &entry);
}

void symbolizer_begin_stack(struct symbolizer *s)
{
	s->mappings_left = MAPS_PASSED_MAX;
}

uint32_t symbolizer_want(struct symbolizer *s, const struct process *proc, uint64_t ip,
			 enum frame_kind kind, uint64_t first_ns, uint64_t last_ns)
{
	struct entry entry = {
		.lookup = frame_lookup(ip, kind),
		.is_return = kind == FRAME_RETURN,
		.resolved.process = proc,
	};
	const struct mapping *m = NULL;

	if (ip & LB_FRAME_TAG)
		return want_interp(s, proc, ip);
	if (!proc)
		return want_unknown(s, &entry, MISS_NO_PROCESS);
	switch (maps_find_within(&proc->maps, entry.lookup, first_ns, last_ns,
				 &s->mappings_left, &m)) {
	case MAPS_NONE:
		return want_unknown(s, &entry, MISS_NO_MAPPING);
	case MAPS_AMBIGUOUS:
		return want_unknown(s, &entry, MISS_AMBIGUOUS_TIME);
	case MAPS_FOUND:
		break;
	}
	switch (m->kind) {
	case MAPPING_FILE:
		return want_file(s, proc, m, &entry);
	case MAPPING_VDSO:
		return want_vdso(s, m, &entry);
	case MAPPING_VSYSCALL:
		entry.resolved.miss = MISS_NO_SYMBOLS;
		return want(s,
			    source_of(s, proc, SOURCE_NONE, "[vsyscall]", OBJECT_VDSO,
				      "[vsyscall]"),
			    &entry);
	case MAPPING_MEMFD:
		return want_memfd(s, proc, m, &entry, first_ns, last_ns);
	default: /* anonymous, heap, stack: code there is JIT code */
		return want_jit(s, proc, &entry, first_ns, last_ns);
	}
}

static void read_modules(struct symbolizer *s)
{
	uint64_t hash = 0, before_ns = s->modules_read_ns;
	size_t nr = s->nr_kernel_modules;

	if (s->knows_modules)
		return;
	s->knows_modules = true;
	if (s->config.kernel_files)
		hash = kallsyms_hash_modules(s->config.kernel_files);
	s->modules_read_ns = clock_now_ns();
	if (nr && s->kernel_modules[nr - 1].hash == hash)
		return;
	if (nr == MAX_KERNEL_MODULES)
		memmove(s->kernel_modules, s->kernel_modules + 1,
			--nr * sizeof(*s->kernel_modules));
	s->kernel_modules[nr] = (struct kernel_modules){hash, before_ns};
	s->nr_kernel_modules = nr + 1;
}

/*
 * Returns the number of the kernel's source for a sample at @last_ns. Other modules may have
 * the addresses of those before, whose names must not be taken for theirs, nor the other way
 * round. In the time between two reads, samples count for the later ones, whose names are
 * known now.
 */
static uint32_t kernel_source(struct symbolizer *s, uint64_t last_ns)
{
	struct source *source;
	size_t at;
	uint32_t i;

	read_modules(s);
	for (at = s->nr_kernel_modules - 1; at; at--)
		if (s->kernel_modules[at].since_ns <= last_ns)
			break;
	if (!s->kernel)
		s->kernel =
			table_add_object(&s->table, OBJECT_KERNEL, "[kernel.kallsyms]");
	i = s->kernel ? table_source(&s->table, SOURCE_KERNEL, NULL,
				     s->kernel_modules[at].hash, (struct tenant){0})
		      : TABLE_NO_SOURCE;
	if (i == TABLE_NO_SOURCE)
		return i;
	source = &s->table.sources[i];
	source->object = s->kernel;
	return i;
}

/* A time at which generated code of the kernel has no function. */
#define AMBIGUOUS_NS UINT64_MAX

uint32_t symbolizer_want_kernel(struct symbolizer *s, uint64_t ip, enum frame_kind kind,
				uint64_t first_ns, uint64_t last_ns)
{
	const struct kernel_code *code = s->config.kernel_code;
	const struct kernel_function *function;
	struct entry entry = {
		.lookup = frame_lookup(ip, kind),
		.is_return = kind == FRAME_RETURN,
	};

	/*
	 * Generated code has an entry for each function, with a time at which it was
	 * there, as its address is used again.
	 */
	switch (code ? kernel_code_find(code, entry.lookup, first_ns, last_ns, &function)
		     : KERNEL_CODE_NONE) {
	case KERNEL_CODE_FOUND:
		entry.first_ns = entry.last_ns = function->from_ns + 1;
		break;
	case KERNEL_CODE_AMBIGUOUS:
		entry.first_ns = entry.last_ns = AMBIGUOUS_NS;
		break;
	case KERNEL_CODE_NONE:
		break;
	}
	return want(s, kernel_source(s, last_ns), &entry);
}

static bool is_known_frame(const struct process *proc, uint64_t frame)
{
	return runtime_of_frame(frame) &&
	       interp_codes_find(&proc->interp_codes, LB_FRAME_ID(frame));
}

uint32_t symbolizer_want_ahead(struct symbolizer *s, const struct process *proc,
			       uint64_t ip, enum frame_kind kind, uint64_t first_ns,
			       uint64_t last_ns)
{
	const struct mapping *m = NULL;
	bool is_final;

	if (!proc)
		return TABLE_OVER_LIMIT;
	if (ip & LB_FRAME_TAG)
		is_final = is_known_frame(proc, ip);
	else
		is_final = maps_find_within(&proc->maps, frame_lookup(ip, kind), first_ns,
					    last_ns, &s->mappings_left,
					    &m) == MAPS_FOUND &&
			   m->kind == MAPPING_FILE && m->file && m->file->fd >= 0;
	return is_final ? symbolizer_want(s, proc, ip, kind, first_ns, last_ns)
			: TABLE_OVER_LIMIT;
}

uint32_t symbolizer_want_kernel_ahead(struct symbolizer *s, uint64_t ip,
				      enum frame_kind kind, uint64_t first_ns,
				      uint64_t last_ns)
{
	const struct kernel_code *code = s->config.kernel_code;
	const struct kernel_function *function;

	if (code && kernel_code_find(code, frame_lookup(ip, kind), first_ns, last_ns,
				     &function) != KERNEL_CODE_NONE)
		return TABLE_OVER_LIMIT;
	return symbolizer_want_kernel(s, ip, kind, first_ns, last_ns);
}

void symbolizer_want_code(struct symbolizer *s, uint32_t id)
{
	table_entry(&s->table, id)->wants_code = true;
}

/* ---- resolving sources ---- */

static const struct resolver *const resolvers[] = {
	[SOURCE_FILE] = &symbolizer_elf,      [SOURCE_VDSO] = &symbolizer_elf,
	[SOURCE_JIT] = &symbolizer_jit,       [SOURCE_INTERP] = &symbolizer_interp,
	[SOURCE_KERNEL] = &symbolizer_kernel,
};

/* Continues with a source. Return: 1: not finished, 0, -EAGAIN: no decoder begins, or -ENOMEM. */
static int resolve_some(struct symbolizer *s, const struct resolver *resolver,
			struct source *source)
{
	struct resolve_work *w = &s->work;
	enum worker_answer answer;
	struct wire_reader r;
	int rc = 0;

	if (w->is_sent) {
		answer = worker_receive(s->worker, &r, NULL);
		if (answer == WORKER_PENDING)
			return 1;
		w->is_sent = false;
		if (answer == WORKER_CANNOT_START)
			return -EAGAIN;
		rc = resolver->take(s, source, answer, &r);
		symbolizer_took(s, source->tenant, w->sent_ns);
	} else if (!w->is_begun && resolver->begin) {
		rc = resolver->begin(s, source);
	}
	w->is_begun = true;
	if (rc)
		return rc;
	wire_writer_deinit(&w->request);
	w->request = (struct wire_writer){.max = WORKER_MAX_REQUEST_BYTES};
	return resolver->step(s, source);
}

static void forget_pending(struct source *source)
{
	free(source->pending);
	source->pending = NULL;
	source->nr_pending = source->cap_pending = 0;
	source->nr_wanting = 0;
}

/*
 * Chooses who waits for the names of a file: who had its share of the decoder's time, or too
 * many stuck helpers, must not keep others from them. Return: false: there is nobody else.
 */
static bool choose_tenant(struct symbolizer *s, struct source *source)
{
	if (source->kind != SOURCE_FILE)
		return !symbolizer_is_used_up(s, source->tenant);
	for (size_t i = 0; i < source->nr_wanting; i++) {
		source->tenant = source->wanting[i];
		if (!symbolizer_is_used_up(s, source->tenant) &&
		    child_has_room(source->tenant))
			return true;
	}
	return false;
}

static void end_source(struct symbolizer *s, const struct resolver *resolver,
		       struct source *source, bool is_whole)
{
	if (resolver->end)
		resolver->end(s, source, is_whole);
	work_deinit(s);
	/* Free the reply: its data was copied, and the next call may be much later. */
	worker_trim(s->worker);
	forget_pending(source);
}

/*
 * The rows of others must not wait for files of a tenant that had its share of the decoder's
 * time. The addresses are named when they are wanted again.
 */
static void put_off(struct symbolizer *s, struct source *source)
{
	for (size_t i = 0; i < source->nr_pending; i++) {
		struct entry *entry = table_entry(&s->table, source->pending[i]);

		entry->is_put_off = true;
		entry->resolved.miss = MISS_DECODER_GAVE_UP;
	}
	forget_pending(source);
}

/* The kernel's names need no decoder. */
static bool is_skipped(const struct symbolizer *s, const struct source *source)
{
	return s->is_hurried && source->kind != SOURCE_KERNEL;
}

int symbolizer_resolve_step(struct symbolizer *s, struct error *err)
{
	bool no_memory;

	for (; s->next_source < s->table.nr_sources; s->next_source++) {
		struct source *source = &s->table.sources[s->next_source];
		const struct resolver *resolver = resolvers[source->kind];
		struct payers payers;
		int rc;

		if (!source->nr_pending)
			continue;
		if (is_skipped(s, source)) {
			if (s->work.is_begun)
				end_source(s, resolver, source, false);
			else
				put_off(s, source);
			continue;
		}
		if (!s->work.is_begun && !choose_tenant(s, source)) {
			symbolizer_count_put_off(s);
			put_off(s, source);
			continue;
		}
		payers = symbolizer_payers(source);
		strpool_serve_any(s->pool, &payers);
		rc = resolve_some(s, resolver, source);
		strpool_serve(s->pool, (struct tenant){0});
		if (rc > 0)
			return 1;
		if (rc == -EAGAIN) {
			symbolizer_count_put_off(s);
			put_off(s, source);
			work_deinit(s);
			s->next_source++;
			return 1;
		}
		/* Continue with other files if one needs too much memory. */
		if (rc)
			s->no_memory = true;
		end_source(s, resolver, source, !rc);
		s->next_source++;
		return 1;
	}
	no_memory = s->no_memory;
	s->next_source = 0;
	s->no_memory = false;
	s->knows_modules = false;
	return no_memory ? error_set(err, -ENOMEM, "out of memory while naming addresses")
			 : 0;
}

int symbolizer_resolve(struct symbolizer *s, struct error *err)
{
	int rc;

	while ((rc = symbolizer_resolve_step(s, err)) > 0)
		worker_wait(s->worker);
	return rc;
}

void symbolizer_hurry(struct symbolizer *s)
{
	s->is_hurried = true;
}

const struct resolved *symbolizer_get(const struct symbolizer *s, uint32_t id)
{
	return &table_entry(&s->table, id)->resolved;
}

void symbolizer_each_refused(struct symbolizer *s, quota_refused_fn fn, void *ctx)
{
	quota_each_refused(&s->table.quota, fn, ctx);
	quota_each_refused(&s->middle_quota, fn, ctx);
	quota_each_refused(&s->codes.quota, fn, ctx);
}

void symbolizer_stats(const struct symbolizer *s, struct symbolizer_stats *ret)
{
	*ret = (struct symbolizer_stats){
		/* without the "over the limit" entry */
		.nr_addresses = s->table.nr_entries - 1,
		.nr_files = s->nr_files,
		.nr_over_limit = s->table.nr_over_limit,
		.nr_bad_jit_records = s->nr_bad_jit_records,
		.kernel_is_hidden = s->kallsyms_tried && !s->kallsyms,
	};
}
