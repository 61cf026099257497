// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/retry_pause.h"
#include "base/vec.h"
#include "decode/operation.h"
#include "process/table.h"
#include "process/file.h"
#include "runtime/runtime.h"
#include "unwind/ask.h"
#include "unwind/tables.h"
#include "worker/shared.h"

#define PAGE_SHIFT 16
#define MAX_WANTS  4096
/*
 * All programs share a file's objects, so one that maps small pieces of a library must not
 * use them up. Up to this size (64 MiB) one object covers the whole file. Of a larger one,
 * which usually has one executable mapping, there is an object for each range that is mapped;
 * the last of them covers all of it.
 */
#define WHOLE_FILE_PAGES 1024
#define MAX_OBJECTS      8
/* All who share the file pay for these, and for the last; for the others, who wants them. */
#define SHARED_OBJECTS 2
/* Pause if there was no room for rows, or no decoder. */
#define PAUSE_NS 1000000000ULL
/* A decoder may die for want of memory, so it is asked once more, after that pause. */
#define MAX_DEATHS 2
/* Retention of an unmapped file's tables: the program may run again. */
#define UNUSED_NS 60000000000ULL
/* Largest text of a file that is read before it is requested: takes 10 ms. */
#define EARLY_MAX_PAGES 128
/* Pages of a request before sampling, when no other request waits. */
#define COMMAND_PAGES_AT_ONCE 256
/*
 * Files are read early only while the tables have fewer rows than this, because the
 * rows may never be needed.
 */
#define EARLY_MAX_ROWS (4u << 20)

/*
 * In a large file, pages around a missing one are read with it, because each miss cuts
 * a stack. But other requests wait meanwhile.
 */
#define AROUND_PAGES  16 /* some 15,000 rows */
#define PAGES_AT_ONCE 16 /* per request, about: 1 ms */
/*
 * After so many requests all code of a large file is likely to run: its other pages are
 * read in idle time (0.3 s for 100 MB of code).
 */
#define REQUESTS_TO_READ_ALL 3

#define VDSO                 0 /* id of its entry; no file has it (process/file_cache.h) */

/* Pages [first, first + nr) of the file. */
struct file_object {
	uint64_t first, nr;
	uint32_t object;
	bool is_filled; /* all of it was filled once: absent pages were evicted since */
	uint64_t nr_ahead; /* its first pages, which were read in idle time */
};

struct unwind_file {
	struct file_object objects[MAX_OBJECTS];
	unsigned int nr_objects;
	bool is_dead; /* not an ELF file, or the decoder failed: no rows */
	unsigned int nr_deaths; /* of decoders that were asked about it */
	bool was_read; /* at least once */
	unsigned int nr_requests; /* served, up to REQUESTS_TO_READ_ALL */
	uint32_t use; /* of the id (process/file.h) */
	uint64_t unused_ns; /* when it was first seen closed; 0: open */
	uint64_t pause_until_ns;
	/* The decoder was late: all pages without rows are empty until late.until_ns. */
	bool is_late;
	struct retry_pause late;
	struct lb_unwind_file_key shared; /* inode 0: it is not, or it is the vdso */
	struct tenant payer; /* of that */
	/* Some rows lack their rules, as these had used up theirs. */
	struct payers poor;
	bool is_poor;
	bool is_shared;
	bool is_private; /* never to be shared: it is an interpreter for some process */
	uint64_t share_after_ns; /* there was no room for it before */
};

struct page_want {
	uint32_t file;
	struct tenant tenant; /* of the process whose stack is cut */
	uint64_t page; /* of the file */
};

/* What the decoder was asked for. */
struct asked_rows {
	uint32_t id, use;
	struct asked_page *pages; /* heap */
	size_t nr;
	uint64_t begin_ns;
};

struct unwind_files {
	struct unwind_tables *tables; /* borrowed */
	struct process_table *processes; /* borrowed */
	struct shared_worker *decoder; /* borrowed */
	struct asked_rows asked; /* while the answer is awaited */
	int vdso_fd; /* -1: none */
	uint64_t vdso_bytes;
	struct unwind_file *files; /* by id; heap */
	size_t nr_files, cap_files;
	struct page_want *wants; /* heap */
	size_t nr_wants, cap_wants;
	struct quota want_quota;
	uint32_t first; /* files take turns: this id, or the next one, is first now */
	uint32_t *early; /* files to read in idle time; heap */
	size_t nr_early, cap_early;
	/* large files, of which the other pages are read in idle time; heap */
	uint32_t *ahead;
	size_t nr_ahead, cap_ahead;
	bool reads_all; /* large files, too, are read before a request */
	uint64_t retry_ns; /* the earliest end of a pause after a late answer */
	struct unwind_totals *totals; /* borrowed */
};

void unwind_files_read_all(struct unwind_files *f)
{
	f->reads_all = true;
}

void unwind_files_free(struct unwind_files *f)
{
	if (!f)
		return;
	cleanup_closep(&f->vdso_fd);
	free(f->files);
	free(f->asked.pages);
	free(f->wants);
	quota_deinit(&f->want_quota);
	free(f->early);
	free(f->ahead);
	free(f);
}

/* ---- objects ---- */

/* It may be shared again. */
static void unshare(struct unwind_files *f, struct unwind_file *file)
{
	if (file->shared.inode)
		unwind_file_unshare(f->tables, &file->shared, file->payer);
	file->shared = (struct lb_unwind_file_key){0};
	file->is_shared = false;
}

/*
 * The kernel's table has a key once, but several files may have it: a file of an image's layer,
 * which containers have in mounts of their own, or one that was written to in its place. The
 * last one is shared, the others may be again after a pause.
 */
static void unshare_namesakes(struct unwind_files *f,
			      const struct lb_unwind_file_key *key)
{
	for (size_t i = 0; i < f->nr_files; i++) {
		struct unwind_file *one = &f->files[i];

		if (memcmp(&one->shared, key, sizeof(*key)) != 0)
			continue;
		unshare(f, one);
		one->share_after_ns = clock_now_ns() + PAUSE_NS;
	}
}

static void forget_file(struct unwind_files *f, uint32_t id, uint32_t use)
{
	struct unwind_file *file = &f->files[id];

	unshare(f, file);
	for (unsigned int i = 0; i < file->nr_objects; i++)
		unwind_object_remove(f->tables, file->objects[i].object);
	*file = (struct unwind_file){.use = use};
}

/* NULL: @id is the vdso. */
static const struct target_file *target_of(const struct unwind_files *f, uint32_t id)
{
	return id == VDSO ? NULL : process_table_file(f->processes, id);
}

/* Whoever maps the file pays for its places, from now on. */
static void serve_payers(struct unwind_files *f, uint32_t id)
{
	static const struct payers nobody;
	const struct target_file *target = target_of(f, id);
	const struct payers *payers = target ? &target->payers : &nobody;
	struct unwind_file *file = &f->files[id];
	/* Others map it now: they have rules for these rows. */
	bool must_clear = file->is_poor &&
			  (payers->nr != file->poor.nr ||
			   !tenant_is_same(payers->items[0], file->poor.items[0]));

	for (unsigned int i = 0; i < file->nr_objects; i++) {
		struct file_object *o = &file->objects[i];

		unwind_object_share(f->tables, o->object, payers);
		if (must_clear)
			unwind_object_clear(f->tables, o->object);
		o->is_filled &= !must_clear;
	}
	file->is_poor &= !must_clear;
	unwind_tables_serve_any(f->tables, payers);
}

static uint64_t nr_rules_refused(const struct unwind_files *f)
{
	struct unwind_totals totals = {0};

	unwind_tables_totals(f->tables, &totals);
	return totals.nr_rules_refused;
}

/* Resets the entry of an id that was reused for another file. */
static void follow_use(struct unwind_files *f, uint32_t id)
{
	const struct target_file *target = target_of(f, id);

	if (target && target->use != f->files[id].use)
		forget_file(f, id, target->use);
}

/*
 * Drops the tables of a file that is closed long enough. Unmapped files get closed
 * (process/file_cache.h).
 */
static void forget_closed(struct unwind_files *f, uint32_t id, uint64_t now_ns)
{
	const struct target_file *target = process_table_file(f->processes, id);
	struct unwind_file *file = &f->files[id];

	if (!target || target->fd >= 0) {
		file->unused_ns = 0;
		return;
	}
	/* Nothing pins the inode any more: another file may have its number by now. */
	unshare(f, file);
	if (!file->unused_ns)
		file->unused_ns = now_ns;
	else if (now_ns - file->unused_ns > UNUSED_NS)
		forget_file(f, id, target->use);
}

void unwind_files_forget(struct unwind_files *f)
{
	uint64_t now_ns = clock_now_ns();

	for (uint32_t id = VDSO + 1; id < f->nr_files; id++) {
		follow_use(f, id);
		forget_closed(f, id, now_ns);
	}
}

/* Begins anew after further requests. */
static void stop_ahead(struct unwind_file *file)
{
	file->nr_requests = 0;
	for (unsigned int i = 0; i < file->nr_objects; i++)
		file->objects[i].nr_ahead = 0;
}

/* While it pauses, its code is walked by frame pointers rather than not at all. */
static void empty(struct unwind_files *f, const struct unwind_file *file)
{
	static const struct row_pages none = {.whole = true};

	for (unsigned int i = 0; i < file->nr_objects; i++)
		unwind_object_fill(f->tables, file->objects[i].object, &none, NULL, 0);
}

/*
 * It may have been a single read that took long, of a file that all map: its rows are asked
 * for again after a pause.
 */
static void begin_late(struct unwind_files *f, struct unwind_file *file, uint64_t now_ns)
{
	retry_pause_begin(&file->late, RETRY_FIRST_NS, RETRY_MAX_NS, now_ns);
	file->is_late = true;
	if (file->late.until_ns < f->retry_ns)
		f->retry_ns = file->late.until_ns;
	empty(f, file);
}

/* The next samples ask again, but not for the rows that are there. */
static void end_late(struct unwind_files *f, struct unwind_file *file)
{
	file->is_late = false;
	stop_ahead(file);
	for (unsigned int i = 0; i < file->nr_objects; i++) {
		file->objects[i].is_filled = false;
		unwind_object_clear_empty(f->tables, file->objects[i].object);
	}
}

void unwind_files_retry(struct unwind_files *f)
{
	uint64_t now_ns;

	if (f->retry_ns == UINT64_MAX)
		return;
	now_ns = clock_now_ns();
	if (now_ns < f->retry_ns)
		return;
	f->retry_ns = UINT64_MAX;
	for (size_t i = 0; i < f->nr_files; i++) {
		struct unwind_file *file = &f->files[i];

		if (file->is_late && now_ns >= file->late.until_ns)
			end_late(f, file);
		else if (file->is_late && file->late.until_ns < f->retry_ns)
			f->retry_ns = file->late.until_ns;
	}
}

/* Finds the file of @m that may have rows. Return: false: none. */
static bool file_of(struct unwind_files *f, const struct mapping *m, uint32_t *ret)
{
	uint32_t id = VDSO;

	if (m->kind == MAPPING_VDSO) {
		if (f->vdso_fd < 0 || m->end - m->start != f->vdso_bytes)
			return false;
	} else {
		/* A file opened by its path may have been replaced. */
		if (!m->file || m->file->fd < 0 || m->file->verify_build_id ||
		    m->file->id == VDSO)
			return false;
		id = m->file->id;
	}
	if (vec_grow(&f->files, &f->cap_files, id + 1, sizeof(*f->files), 0))
		return false;
	if (f->nr_files <= id)
		f->nr_files = id + 1;
	follow_use(f, id);
	*ret = id;
	return !f->files[id].is_dead;
}

static uint64_t offset_of(const struct mapping *m, uint64_t ip)
{
	return m->kind == MAPPING_VDSO ? ip - m->start : mapping_ip_to_file_off(m, ip);
}

static uint64_t pages_of_file(const struct unwind_files *f, const struct mapping *m)
{
	uint64_t bytes = m->kind == MAPPING_VDSO ? f->vdso_bytes : m->file->size_bytes;

	return bytes ? ((bytes - 1) >> PAGE_SHIFT) + 1 : 0;
}

/* In idle time, reads the pages of a large file that were not requested. */
static void expect_all(struct unwind_files *f, uint32_t id)
{
	if (!vec_grow(&f->ahead, &f->cap_ahead, f->nr_ahead + 1, sizeof(*f->ahead), 0))
		f->ahead[f->nr_ahead++] = id;
}

/* Reads a new file in idle time. */
static void expect(struct unwind_files *f, uint32_t id, uint64_t nr_of_file,
		   uint64_t nr_pages)
{
	struct unwind_file *file = &f->files[id];

	/*
	 * For larger files the decoder returns only requested pages, and here are none.
	 */
	if (nr_pages > EARLY_MAX_PAGES || nr_of_file > WHOLE_FILE_PAGES) {
		if (f->reads_all) {
			file->nr_requests = REQUESTS_TO_READ_ALL;
			expect_all(f, id);
		}
		return;
	}
	if (file->was_read ||
	    vec_grow(&f->early, &f->cap_early, f->nr_early + 1, sizeof(*f->early), 0))
		return;
	f->early[f->nr_early++] = id;
}

/*
 * Finds or adds the object with these pages of the file; those beyond its end have no rows.
 */
static const struct file_object *object_for(struct unwind_files *f, uint32_t id,
					    uint64_t nr_of_file, uint64_t first,
					    uint64_t last)
{
	struct unwind_file *file = &f->files[id];
	bool is_last = file->nr_objects == MAX_OBJECTS - 1;
	struct file_object *o = file->objects;
	uint32_t object;

	if (first >= nr_of_file)
		return NULL;
	if (last >= nr_of_file)
		last = nr_of_file - 1;
	for (; o < file->objects + file->nr_objects; o++)
		if (o->first <= first && last < o->first + o->nr)
			return o;
	if (file->nr_objects == MAX_OBJECTS)
		return NULL;
	expect(f, id, nr_of_file, last - first + 1);
	if (nr_of_file <= WHOLE_FILE_PAGES || is_last) {
		first = 0;
		last = nr_of_file - 1;
	}
	if (file->nr_objects >= SHARED_OBJECTS && !is_last)
		unwind_tables_serve_own(f->tables);
	object = unwind_object_add(f->tables, last - first + 1);
	if (object == UNWIND_NO_OBJECT)
		return NULL;
	*o = (struct file_object){
		.first = first, .nr = last - first + 1, .object = object};
	file->nr_objects++;
	if (file->is_late)
		empty(f, file);
	return o;
}

static uint32_t kernel_dev(uint32_t major, uint32_t minor)
{
	return major << 20 | minor;
}

/* Returns which key the kernel knows the mapped file by; the vdso's is all 0. */
static struct lb_unwind_file_key key_of(const struct mapping *m)
{
	if (m->kind == MAPPING_VDSO)
		return (struct lb_unwind_file_key){0};
	if (m->inode)
		return (struct lb_unwind_file_key){.inode = m->inode,
						   .dev = kernel_dev(m->major, m->minor)};
	/* Not all events of the kernel have it. */
	return (struct lb_unwind_file_key){
		.inode = m->file->inode,
		.dev = kernel_dev(major(m->file->dev), minor(m->file->dev))};
}

/* @ret_later  set to true, if that is not known yet */
static bool is_interpreter(const struct unwind_files *f, const struct mapping *m,
			   bool *ret_later)
{
	uint64_t again_ns = UINT64_MAX;
	struct runtime_facts facts;

	for (enum runtime_number i = 0; i < NR_RUNTIMES; i++)
		if (runtime_facts_of(i, m, f->decoder, m->file->tenant, &facts,
				     &again_ns))
			return true;
	*ret_later = again_ns != UINT64_MAX;
	return false;
}

/*
 * Lets processes use @o before their segments are known. An interpreter's file is not
 * shared: without its frames such a stack would be taken for a whole one. Some may map it
 * under a name that does not tell: it is shared until one comes whose name does.
 */
static void share(struct unwind_files *f, uint32_t id, const struct mapping *m,
		  const struct file_object *o)
{
	struct unwind_file *file = &f->files[id];
	bool is_vdso = m->kind == MAPPING_VDSO, is_later = false;
	struct lb_unwind_file_key key;
	struct lb_unwind_file value = {.first_page = o->object,
				       .page = (uint32_t)o->first,
				       .nr_pages = (uint32_t)o->nr};

	if (file->is_private || (m->kind != MAPPING_FILE && !is_vdso))
		return;
	file->is_private = o->first > UINT32_MAX ||
			   (!is_vdso && is_interpreter(f, m, &is_later));
	if (file->is_private || is_later)
		unshare(f, file);
	if (file->is_private || is_later || file->is_shared ||
	    clock_now_ns() < file->share_after_ns)
		return;
	key = key_of(m);
	value.size_bytes = is_vdso ? f->vdso_bytes : m->file->size_bytes;
	value.mtime_ns = is_vdso ? 0 : m->file->mtime_ns;
	if (!is_vdso)
		unshare_namesakes(f, &key);
	if (unwind_file_share(f->tables, &key, &value, &file->payer)) {
		file->share_after_ns = clock_now_ns() + PAUSE_NS;
		return;
	}
	file->is_shared = true;
	file->shared = key;
}

void unwind_files_segment(struct unwind_files *f, const struct mapping *m,
			  struct lb_unwind_segment *ret)
{
	uint64_t first = offset_of(m, m->start) >> PAGE_SHIFT;
	uint64_t last = offset_of(m, m->end - 1) >> PAGE_SHIFT;
	uint64_t nr_of_file = 0, file_end;
	const struct file_object *o = NULL;
	uint32_t id;

	*ret = (struct lb_unwind_segment){
		.start = m->start, .end = m->end, .flags = LB_SEGMENT_NO_ROWS};
	if (first <= last && file_of(f, m, &id)) {
		serve_payers(f, id);
		nr_of_file = pages_of_file(f, m);
		o = object_for(f, id, nr_of_file, first, last);
	}
	if (!o)
		return;
	share(f, id, m, o);
	file_end = m->start - offset_of(m, m->start) + (nr_of_file << PAGE_SHIFT);
	if (ret->end > file_end)
		ret->end = file_end;
	ret->flags = 0;
	ret->first_page = o->object;
	/* An address in the object is the file offset - its first page's offset. */
	ret->bias = m->start - offset_of(m, m->start) + (o->first << PAGE_SHIFT);
}

/* ---- rows ---- */

/* Is the page still absent? An earlier request may have filled it. */
static bool is_missing(const struct unwind_files *f, uint32_t id, uint64_t page)
{
	const struct unwind_file *file = &f->files[id];

	for (unsigned int i = 0; i < file->nr_objects; i++)
		if (page - file->objects[i].first < file->objects[i].nr &&
		    unwind_page_is_absent(f->tables, file->objects[i].object,
					  page - file->objects[i].first))
			return true;
	return false;
}

void unwind_files_want(struct unwind_files *f, const struct mapping *m, uint64_t ip,
		       struct tenant who)
{
	uint64_t page = offset_of(m, ip) >> PAGE_SHIFT;
	uint32_t id;

	if (!file_of(f, m, &id))
		return;
	if (f->files[id].is_late) {
		if (is_missing(f, id, page)) /* its rows were evicted */
			empty(f, &f->files[id]);
		return;
	}
	if (vec_grow(&f->wants, &f->cap_wants, f->nr_wants + 1, sizeof(*f->wants),
		     MAX_WANTS) ||
	    !quota_take(&f->want_quota, who, 1)) {
		f->totals->nr_requests_dropped++;
		return;
	}
	f->wants[f->nr_wants++] = (struct page_want){id, who, page};
}

/* @first  id of the file that comes first */
static int compare_wants(const void *a, const void *b, void *first)
{
	const struct page_want *x = a, *y = b;
	/* Those of smaller ids come last. */
	uint32_t x_at = x->file - *(uint32_t *)first, y_at = y->file - *(uint32_t *)first;

	if (x_at != y_at)
		return x_at < y_at ? -1 : 1;
	if (x->tenant.container != y->tenant.container)
		return x->tenant.container < y->tenant.container ? -1 : 1;
	if (x->tenant.uid != y->tenant.uid)
		return x->tenant.uid < y->tenant.uid ? -1 : 1;
	return (x->page > y->page) - (x->page < y->page);
}

/*
 * Fills pages of one object from those of the file. If it was filled before, adds only
 * requested pages: the others were evicted as unused.
 */
static int fill_object(struct unwind_files *f, struct file_object *o,
		       const struct row_pages *rows, const struct asked_page *asked,
		       size_t nr_asked)
{
	_cleanup_free_ struct row_page *pages =
		calloc(rows->nr_pages + 1, sizeof(*pages));
	_cleanup_free_ uint64_t *empty = calloc(nr_asked + 1, sizeof(*empty));
	struct row_pages part = *rows;
	size_t nr_empty = 0;
	int rc;

	if (!pages || !empty)
		return -ENOMEM;
	part.pages = pages;
	part.nr_pages = 0;
	part.whole = rows->whole && !o->is_filled;
	for (size_t i = 0; i < rows->nr_pages; i++) {
		const struct row_page *p = &rows->pages[i];

		if (p->page - o->first >= o->nr ||
		    (o->is_filled && !page_is_asked(asked, nr_asked, p->page)))
			continue;
		pages[part.nr_pages] = *p;
		pages[part.nr_pages++].page -= o->first;
	}
	for (size_t i = 0; i < nr_asked; i++)
		if (asked[i].page - o->first < o->nr &&
		    !page_is_left_out(rows, asked[i].page))
			empty[nr_empty++] = asked[i].page - o->first;
	rc = unwind_object_fill(f->tables, o->object, &part, empty, nr_empty);
	o->is_filled |= part.whole;
	return rc;
}

static void fill(struct unwind_files *f, struct unwind_file *file,
		 const struct row_pages *rows, const struct asked_page *pages, size_t nr)
{
	for (unsigned int i = 0; i < file->nr_objects; i++)
		if (fill_object(f, &file->objects[i], rows, pages, nr))
			file->pause_until_ns = clock_now_ns() + PAUSE_NS;
}

/*
 * Is it still the file that was asked about? When it was closed since, no process maps it
 * any more, and when it was replaced, the objects are of another file.
 */
static bool is_same_file(const struct unwind_file *file, uint32_t use,
			 const struct target_file *target)
{
	return file->use == use && (!target || (target->fd >= 0 && target->use == use));
}

static void take_rows(void *ctx, uint64_t tag, enum worker_answer answer,
		      struct wire_reader *reply)
{
	struct unwind_files *f = ctx;
	struct asked_rows *asked = &f->asked;
	const struct target_file *target = target_of(f, asked->id);
	struct unwind_file *file = &f->files[asked->id];
	struct row_pages rows = {.whole = true};
	uint64_t end_ns = clock_now_ns(), nr_refused;

	(void)tag;
	f->totals->nr_asked++;
	f->totals->ask_ns += end_ns - asked->begin_ns;
	if (!is_same_file(file, asked->use, target))
		return;
	/* The file does not pause: others may be served. */
	if (answer == WORKER_REFUSED)
		return;
	if (answer == WORKER_CANNOT_START) {
		file->pause_until_ns = end_ns + PAUSE_NS;
		stop_ahead(file);
		return;
	}
	answer = rows_of_file_take(answer, reply, asked->pages, asked->nr, &rows);
	if (answer == WORKER_DIED && ++file->nr_deaths < MAX_DEATHS) {
		file->pause_until_ns = end_ns + PAUSE_NS;
		stop_ahead(file);
		return;
	}
	f->totals->nr_failed += answer != WORKER_OK;
	if (answer == WORKER_DEADLINE) {
		begin_late(f, file, end_ns);
		log_debug("unwind rows of %s: late, asked for again after %.0f s",
			  target ? target->path : "[vdso]", (double)file->late.ns / 1e9);
		return;
	}
	retry_pause_forget(&file->late, end_ns);
	file->is_dead = answer != WORKER_OK; /* all its pages become empty */
	serve_payers(f, asked->id);
	nr_refused = nr_rules_refused(f);
	fill(f, file, &rows, asked->pages, asked->nr);
	if (nr_rules_refused(f) != nr_refused && target) {
		file->is_poor = true;
		file->poor = target->payers;
	}
	log_debug("unwind rows of %s: %zu pages asked, %zu pages and %zu rows answered, "
		  "%.1f ms%s",
		  target ? target->path : "[vdso]", asked->nr, rows.nr_pages,
		  rows.nr_rows, (double)(end_ns - asked->begin_ns) / 1e6,
		  answer == WORKER_OK ? "" : ", failed");
	row_pages_deinit(&rows);
}

static bool may_be_asked(const struct unwind_files *f, uint32_t id)
{
	const struct unwind_file *file = &f->files[id];

	return !file->is_dead && !file->is_late &&
	       clock_now_ns() >= file->pause_until_ns &&
	       is_same_file(file, file->use, target_of(f, id));
}

/*
 * Asks the decoder, which is free, for rows of a file.
 *
 * @who  whose time it is
 * Return: whether it could be asked.
 */
static bool ask(struct unwind_files *f, uint32_t id, struct tenant who,
		const struct asked_page *pages, size_t nr)
{
	const struct target_file *target = target_of(f, id);
	struct unwind_file *file = &f->files[id];
	_cleanup_(wire_writer_deinit) struct wire_writer content = {0};
	struct asked_page *copy;

	if (!may_be_asked(f, id))
		return false;
	copy = calloc(nr + 1, sizeof(*copy));
	rows_of_file_put(&content, pages, nr);
	if (!copy || content.failed) {
		free(copy);
		return false;
	}
	if (nr)
		memcpy(copy, pages, nr * sizeof(*copy));
	free(f->asked.pages);
	f->asked = (struct asked_rows){.id = id,
				       .use = file->use,
				       .pages = copy,
				       .nr = nr,
				       .begin_ns = clock_now_ns()};
	file->was_read = true;
	shared_worker_send(
		f->decoder,
		&(struct shared_request){.op = DECODER_CFI,
					 .fd = target ? target->fd : f->vdso_fd,
					 .deadline_ms = ROWS_DEADLINE_MS,
					 .who = who,
					 .take = take_rows,
					 .ctx = f},
		&content);
	return true;
}

/*
 * May a file that nobody waits for be read? Its tenant does not count as waiting, so it
 * keeps nobody else waiting.
 */
static bool may_read_early(const struct unwind_files *f, uint32_t id)
{
	const struct target_file *target = target_of(f, id);

	return !shared_worker_is_busy(f->decoder) &&
	       !(target && time_share_is_used_up(&f->decoder->share, target->tenant,
						 clock_now_ns()));
}

/* Asks for pages of such a file. Return: whether the decoder could be asked. */
static bool ask_early(struct unwind_files *f, uint32_t id, const struct asked_page *pages,
		      size_t nr)
{
	const struct target_file *target = target_of(f, id);

	return ask(f, id, target ? target->tenant : (struct tenant){0}, pages, nr);
}

static bool has_much_room(const struct unwind_files *f)
{
	struct unwind_totals totals = {0};

	unwind_tables_totals(f->tables, &totals);
	return totals.nr_rows < EARLY_MAX_ROWS && !totals.nr_pages_evicted;
}

/* Pages to request, ascending and deduplicated. */
struct page_list {
	struct asked_page *items; /* heap */
	size_t nr, cap;
};

static void add_missing(const struct unwind_files *f, uint32_t id, uint64_t page,
			bool is_needed, struct page_list *pages)
{
	if ((pages->nr && pages->items[pages->nr - 1].page >= page) ||
	    !is_missing(f, id, page) ||
	    vec_grow(&pages->items, &pages->cap, pages->nr + 1, sizeof(*pages->items), 0))
		return;
	pages->items[pages->nr++] = (struct asked_page){page, is_needed};
}

/* Adds @page, which is needed, and those around it. */
static void add_around(const struct unwind_files *f, uint32_t id, uint64_t page,
		       uint64_t nr, struct page_list *pages)
{
	uint64_t first = page / nr * nr;

	for (uint64_t i = first; i < first + nr; i++)
		add_missing(f, id, i, false, pages);
	for (size_t i = pages->nr; i-- && pages->items[i].page >= page;)
		pages->items[i].is_needed |= pages->items[i].page == page;
}

/* Counts a request, and reads the other pages of the file later if there were enough. */
static void count_request(struct unwind_files *f, uint32_t id)
{
	struct unwind_file *file = &f->files[id];

	if (file->nr_requests < REQUESTS_TO_READ_ALL &&
	    ++file->nr_requests == REQUESTS_TO_READ_ALL)
		expect_all(f, id);
}

/*
 * Serves the requests [first, end) of one tenant for one file. Return: the first that is left.
 */
static size_t serve_group(struct unwind_files *f, size_t first, size_t end)
{
	uint64_t around = has_much_room(f) ? AROUND_PAGES : 1;
	uint32_t id = f->wants[first].file;
	struct page_list pages = {0};
	size_t next = first;

	for (; next < end; next++) {
		uint64_t page = f->wants[next].page;

		if (pages.nr >= PAGES_AT_ONCE && page > pages.items[pages.nr - 1].page)
			break;
		if (is_missing(f, id, page))
			add_around(f, id, page, around, &pages);
	}
	if (pages.nr && ask(f, id, f->wants[first].tenant, pages.items, pages.nr))
		count_request(f, id);
	free(pages.items);
	return next;
}

/* Returns the index after the last request of the same tenant for the same file. */
static size_t end_of_group(const struct unwind_files *f, size_t first)
{
	const struct page_want *w = &f->wants[first];
	size_t end = first + 1;

	while (end < f->nr_wants && f->wants[end].file == w->file &&
	       tenant_is_same(f->wants[end].tenant, w->tenant))
		end++;
	return end;
}

/*
 * Keeps [first, end) for later, in the first @nr_kept places: each once, and so many that
 * new requests have room. What is dropped will be requested again. Return: how many are
 * kept.
 */
static size_t keep(struct unwind_files *f, size_t first, size_t end, size_t nr_kept)
{
	for (size_t i = first; i < end; i++) {
		bool is_again = nr_kept && !compare_wants(&f->wants[nr_kept - 1],
							  &f->wants[i], &f->first);
		bool is_dropped = !is_again && nr_kept == MAX_WANTS / 2;

		f->totals->nr_requests_dropped += is_dropped;
		if (is_again || is_dropped)
			quota_give(&f->want_quota, f->wants[i].tenant, 1);
		else
			f->wants[nr_kept++] = f->wants[i];
	}
	return nr_kept;
}

/*
 * Sorts the requests, and drops those that were answered meanwhile, or cannot be. All
 * others wait, so whoever had more than one of them is not served before.
 */
static void sort_wants(struct unwind_files *f)
{
	uint64_t now_ns = clock_now_ns();
	size_t nr = 0;

	if (f->nr_wants)
		qsort_r(f->wants, f->nr_wants, sizeof(*f->wants), compare_wants,
			&f->first);
	for (size_t i = 0; i < f->nr_wants; i++) {
		const struct page_want *w = &f->wants[i];

		if (!is_missing(f, w->file, w->page) || !may_be_asked(f, w->file)) {
			quota_give(&f->want_quota, w->tenant, 1);
			continue;
		}
		if (!nr || !tenant_is_same(f->wants[nr - 1].tenant, w->tenant))
			time_share_waits(&f->decoder->share, w->tenant, now_ns);
		f->wants[nr++] = *w;
	}
	f->nr_wants = nr;
}

bool unwind_files_serve(struct unwind_files *f, uint64_t deadline_ns)
{
	size_t next = 0, nr_kept = 0, nr_sent = 0, end;
	uint32_t asked = f->first;
	bool is_late = false;

	sort_wants(f);
	for (; next < f->nr_wants; next = end) {
		end = end_of_group(f, next);
		if (nr_sent && clock_now_ns() >= deadline_ns) {
			is_late = true;
			nr_kept = keep(f, next, end, nr_kept);
		} else if (shared_worker_may_send(f->decoder, f->wants[next].tenant)) {
			nr_sent++;
			asked = f->wants[next].file + 1;
			end = serve_group(f, next, end);
			quota_give(&f->want_quota, f->wants[next].tenant, end - next);
		} else {
			nr_kept = keep(f, next, end, nr_kept);
		}
	}
	f->nr_wants = nr_kept;
	f->first = asked;
	return is_late;
}

bool unwind_files_serve_early(struct unwind_files *f, uint64_t deadline_ns)
{
	size_t nr_kept = 0;
	bool is_late = false;

	for (size_t next = 0; next < f->nr_early; next++) {
		uint32_t id = f->early[next];

		is_late = clock_now_ns() >= deadline_ns;
		if (is_late || !may_read_early(f, id))
			f->early[nr_kept++] = id;
		else if (!f->files[id].was_read && has_much_room(f))
			ask_early(f, id, NULL, 0);
	}
	f->nr_early = nr_kept;
	return is_late;
}

/* Reads some of the file's pages. Return: false: all were read, or none can be now. */
static bool read_ahead(struct unwind_files *f, uint32_t id)
{
	struct unwind_file *file = &f->files[id];
	struct page_list pages = {0};
	bool is_read;

	for (unsigned int i = 0; i < file->nr_objects; i++) {
		struct file_object *o = &file->objects[i];

		for (; o->nr_ahead < o->nr && pages.nr < PAGES_AT_ONCE; o->nr_ahead++)
			add_missing(f, id, o->first + o->nr_ahead, false, &pages);
	}
	is_read = pages.nr && ask_early(f, id, pages.items, pages.nr);
	free(pages.items);
	if (pages.nr && !is_read)
		stop_ahead(file);
	return is_read;
}

bool unwind_files_serve_ahead(struct unwind_files *f)
{
	size_t i = shared_worker_is_busy(f->decoder) ? 0 : f->nr_ahead;

	/* A tenant whose time is used up keeps no other's files waiting. */
	while (i && !may_read_early(f, f->ahead[i - 1]))
		i--;
	if (!i)
		return false;
	if (!has_much_room(f) || !read_ahead(f, f->ahead[i - 1])) {
		f->nr_ahead--;
		memmove(&f->ahead[i - 1], &f->ahead[i],
			(f->nr_ahead - (i - 1)) * sizeof(*f->ahead));
	}
	return f->nr_ahead && !shared_worker_is_busy(f->decoder);
}

enum unwind_files_work unwind_files_work(const struct unwind_files *f)
{
	if (f->nr_wants)
		return UNWIND_FILES_WANTED;
	return f->nr_early || f->nr_ahead ? UNWIND_FILES_EARLY : UNWIND_FILES_NONE;
}

void unwind_files_read(struct unwind_files *f, const struct mapping *m,
		       uint64_t deadline_ns)
{
	uint64_t page = offset_of(m, m->start) >> PAGE_SHIFT;
	uint64_t last = offset_of(m, m->end - 1) >> PAGE_SHIFT;
	uint32_t id;

	if (!file_of(f, m, &id))
		return;
	while (page <= last && has_much_room(f) && clock_now_ns() < deadline_ns &&
	       !shared_worker_is_busy(f->decoder)) {
		struct page_list pages = {0};

		for (; page <= last && pages.nr < COMMAND_PAGES_AT_ONCE; page++)
			add_missing(f, id, page, true, &pages);
		if (pages.nr)
			ask_early(f, id, pages.items, pages.nr);
		free(pages.items);
	}
}

/* ---- all ---- */

/* This starts the decoder, too, so that no request waits for it. */
static void add_vdso(struct unwind_files *f)
{
	const struct mapping m = {.kind = MAPPING_VDSO, .end = f->vdso_bytes};
	struct lb_unwind_segment not_told;

	unwind_files_segment(f, &m, &not_told);
	ask_early(f, VDSO, NULL, 0);
	shared_worker_finish(f->decoder);
}

int unwind_files_new(struct unwind_tables *tables, struct process_table *processes,
		     struct shared_worker *decoder, struct unwind_totals *totals,
		     struct unwind_files **ret, struct error *err)
{
	_cleanup_(unwind_files_freep) struct unwind_files *f = calloc(1, sizeof(*f));

	if (!f)
		return error_set(err, -ENOMEM, "out of memory");
	f->tables = tables;
	f->processes = processes;
	f->decoder = decoder;
	f->totals = totals;
	f->retry_ns = UINT64_MAX;
	if (decoder->share.is_shared)
		f->want_quota = (struct quota){.what = "waiting unwind pages",
					       .loss = "its stacks may be cut",
					       .max = MAX_WANTS / 2};
	f->vdso_fd = vdso_open(&f->vdso_bytes);
	if (f->vdso_fd >= 0)
		add_vdso(f);
	*ret = take_ptr(f);
	return 0;
}

void unwind_files_each_refused(struct unwind_files *f, quota_refused_fn fn, void *ctx)
{
	quota_each_refused(&f->want_quota, fn, ctx);
}
