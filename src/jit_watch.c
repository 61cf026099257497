// SPDX-License-Identifier: GPL-2.0-or-later
#include "jit_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/vec.h"
#include "collect/jit_probe.h"
#include "process/process.h"
#include "symbolize/hook_point.h"
#include "symbolize/jit_list_walk.h"
#include "worker/worker.h"

#define MAX_QUEUED_BYTES (64u << 20) /* of events that wait for the task events */
/* For the lists of all processes in one look: samples and signals wait meanwhile. */
#define WALKS_MAX_NS  500000000ULL
#define WALK_PAUSE    4 /* a list that brought nothing new rests so many times its walk */
#define FULL_PAUSE_NS 10000000000ULL /* and so long when there was no room for it */

/* What is known of one file of the cache; beside it by id. */
struct watched_file {
	enum {
		FILE_NOT_SEARCHED,
		FILE_HAS_NONE,
		FILE_HAS_INTERFACE,
	} state;
	struct hook_point point;
	uint64_t probed_ns; /* 0: not probed */
};

/* A jit_event that waits; the object's bytes are behind it. */
struct queued {
	struct jit_event ev;
	uint8_t object[];
};

struct jit_watch {
	struct jit_watch_config config;
	struct process_table *processes; /* borrowed */
	struct worker *decoder; /* borrowed */
	struct worker *reader;
	struct jit_probe *probe;
	struct watched_file *files;
	size_t nr_files, cap_files;
	struct queued **queue; /* in order of time_ns, [first, nr) */
	size_t first, nr_queue, cap_queue;
	uint64_t queued_bytes, nr_queue_dropped;
	uint64_t read_ns; /* when the probe was read last */
	uint64_t nr_no_room; /* of the probe, when all lists were last walked for it */
	bool look_wanted;
	uint64_t
		walks_ns; /* that this look has taken; the rest waits for the next drain */
	uint32_t look_from, next_from; /* process that a look begins with: all in turn */
	struct jit_watch_totals totals;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

int jit_watch_new(const struct jit_watch_config *config, struct sampler *sampler,
		  struct process_table *processes, struct worker *decoder,
		  struct jit_watch **ret, struct error *err)
{
	_cleanup_(jit_watch_freep) struct jit_watch *w = calloc(1, sizeof(*w));
	struct jit_probe_config probe = {.whole_machine = config->whole_machine};
	struct worker_config reader = {.kind = WORKER_READER};
	int rc;

	if (!w)
		return error_set(err, -ENOMEM, "out of memory");
	w->config = *config;
	w->processes = processes;
	w->decoder = decoder;
	rc = worker_new(&reader, &w->reader, err);
	if (!rc)
		rc = jit_probe_new(&probe, sampler, &w->probe, err);
	if (rc)
		return rc;
	*ret = take_ptr(w);
	return 0;
}

void jit_watch_free(struct jit_watch *w)
{
	if (!w)
		return;
	for (size_t i = w->first; i < w->nr_queue; i++)
		free(w->queue[i]);
	free(w->queue);
	free(w->files);
	jit_probe_free(w->probe);
	worker_free(w->reader);
	free(w);
}

int jit_watch_poll_fd(const struct jit_watch *w)
{
	return jit_probe_poll_fd(w->probe);
}

/* ---- events, in order ---- */

static void keep(void *ctx, const struct jit_event *ev)
{
	struct jit_watch *w = ctx;
	size_t bytes = ev->object ? ev->size_bytes : 0, i;
	struct queued *q = NULL;

	if (bytes <= MAX_QUEUED_BYTES - w->queued_bytes &&
	    !vec_grow(&w->queue, &w->cap_queue, w->nr_queue + 1, sizeof(struct queued *),
		      0))
		q = malloc(sizeof(*q) + bytes);
	if (!q) {
		w->nr_queue_dropped++;
		return;
	}
	q->ev = *ev;
	if (bytes) {
		memcpy(q->object, ev->object, bytes);
		q->ev.object = q->object;
	}
	w->queued_bytes += bytes;
	/* Objects come when they are whole: a small one may overtake a large one. */
	for (i = w->nr_queue++; i > w->first && w->queue[i - 1]->ev.time_ns > ev->time_ns;
	     i--)
		w->queue[i] = w->queue[i - 1];
	w->queue[i] = q;
}

void jit_watch_read(struct jit_watch *w)
{
	w->read_ns = now_ns();
	jit_probe_read(w->probe, keep, w);
}

static void apply(struct jit_watch *w, const struct jit_event *ev)
{
	struct jit_store *store = process_table_jit_store(w->processes);
	struct process *p = process_table_identify(
		w->processes, ev->tgid, ev->start_boottime_ns, ev->exec_id, ev->time_ns);
	struct jit_registration r = {
		.entry_addr = ev->entry_addr,
		.symfile_addr = ev->symfile_addr,
		.object = ev->object,
		.size_bytes = ev->size_bytes,
		.time_ns = ev->time_ns,
	};

	if (!p) {
		w->totals.nr_lost += ev->kind == LB_JIT_REGISTER;
		return;
	}
	if (ev->kind == LB_JIT_UNREGISTER) {
		jit_code_unregister(&p->jit_code, store, ev->entry_addr, ev->time_ns);
		return;
	}
	if (ev->failure == LB_JIT_NOT_ELF)
		return; /* counted by the probe */
	if (jit_code_register(&p->jit_code, store, &r) || !ev->object) {
		p->jit_code.walk_wanted = true;
		w->look_wanted = true;
	}
}

void jit_watch_apply(struct jit_watch *w, uint64_t time_ns)
{
	if (time_ns != UINT64_MAX && time_ns > w->read_ns)
		jit_watch_read(w);
	while (w->first < w->nr_queue && w->queue[w->first]->ev.time_ns <= time_ns) {
		struct queued *q = w->queue[w->first++];

		apply(w, &q->ev);
		w->queued_bytes -= q->ev.object ? q->ev.size_bytes : 0;
		free(q);
	}
	if (w->first == w->nr_queue)
		w->first = w->nr_queue = 0;
}

/* ---- files that have the interface ---- */

static void probe_file(struct jit_watch *w, struct watched_file *file, int fd)
{
	int rc;

	if (w->config.no_uprobe)
		return;
	rc = jit_probe_attach(
		w->probe, fd, file->point.register_off,
		(int64_t)(file->point.descriptor_vaddr - file->point.register_vaddr));
	if (!rc) {
		file->probed_ns = now_ns();
		w->totals.is_probed = true;
	} else if (!w->totals.probe_error) {
		w->totals.probe_error = rc;
	}
}

static void search_file(struct jit_watch *w, uint32_t id)
{
	const struct target_file *target = process_table_file(w->processes, id);
	struct watched_file *file = &w->files[id];

	if (file->state != FILE_NOT_SEARCHED || !target || target->fd < 0)
		return;
	file->state = FILE_HAS_NONE;
	if (hook_point_find(w->decoder, target->fd, &file->point))
		return;
	file->state = FILE_HAS_INTERFACE;
	probe_file(w, file, target->fd);
	log_debug("%s has the GDB JIT interface, %s", target->path,
		  file->probed_ns ? "probed" : "not probed");
}

static void search_files(struct jit_watch *w)
{
	size_t nr = process_table_nr_files(w->processes);

	if (vec_grow(&w->files, &w->cap_files, nr, sizeof(*w->files), 0))
		return;
	w->nr_files = nr;
	for (uint32_t id = 1; id < nr; id++)
		search_file(w, id);
}

static void add_descriptor(struct jit_code *c, uint64_t descriptor_ip, bool walk)
{
	for (size_t i = 0; i < c->nr_descriptors; i++)
		if (c->descriptor_ips[i] == descriptor_ip)
			return;
	if (c->nr_descriptors == JIT_CODE_MAX_DESCRIPTORS)
		return;
	c->descriptor_ips[c->nr_descriptors++] = descriptor_ip;
	c->walk_wanted |= walk;
}

/* Where in this process the interface is. */
static void search_mappings(struct jit_watch *w, struct process *p)
{
	struct jit_code *c = &p->jit_code;
	bool all_open = true;

	if (c->nr_maps_checked == p->maps.nr)
		return;
	for (size_t i = 0; i < p->maps.nr; i++) {
		const struct mapping *m = &p->maps.items[i];
		const struct watched_file *file;
		uint64_t offset;

		if (m->kind != MAPPING_FILE && m->kind != MAPPING_MEMFD)
			continue;
		all_open &= m->file != NULL;
		if (!m->file || !m->file->id || m->file->id >= w->nr_files)
			continue;
		file = &w->files[m->file->id];
		offset = file->point.register_off - m->file_off;
		if (file->state != FILE_HAS_INTERFACE || offset >= m->end - m->start)
			continue;
		add_descriptor(c,
			       m->start + offset + file->point.descriptor_vaddr -
				       file->point.register_vaddr,
			       !file->probed_ns || m->from_ns < file->probed_ns);
	}
	if (c->nr_descriptors)
		process_read_command(w->processes, p);
	if (all_open)
		c->nr_maps_checked = p->maps.nr;
}

/* ---- lists ---- */

struct walk {
	struct jit_watch *w;
	struct process *p;
	uint64_t from_ns; /* what is new on the list came after this */
	uint64_t *seen; /* entries on the list */
	size_t nr_seen, cap_seen;
	bool no_memory, no_room;
	bool has_news;
};

static void found(void *ctx, const struct list_object *object, enum list_state state,
		  const void *bytes)
{
	struct walk *walk = ctx;
	struct jit_registration r = {
		.entry_addr = object->entry_addr,
		.symfile_addr = object->symfile_addr,
		.object = bytes,
		.size_bytes = object->size_bytes,
		.time_ns = walk->from_ns,
		.seen_ns = now_ns(),
	};

	if (vec_grow(&walk->seen, &walk->cap_seen, walk->nr_seen + 1, sizeof(*walk->seen),
		     0))
		walk->no_memory = true;
	else
		walk->seen[walk->nr_seen++] = object->entry_addr;
	walk->has_news |= state == LIST_NEW;
	if (state != LIST_FOREIGN &&
	    jit_code_register(&walk->p->jit_code,
			      process_table_jit_store(walk->w->processes), &r))
		walk->no_room = true;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* What was registered before the walk and is on no list any more has gone. */
static void end_unseen(struct walk *walk, uint64_t begin_ns)
{
	struct jit_code *c = &walk->p->jit_code;
	struct jit_store *store = process_table_jit_store(walk->w->processes);
	uint64_t end_ns = now_ns(); /* it may have been there until the list was read */

	qsort(walk->seen, walk->nr_seen, sizeof(*walk->seen), compare_u64);
	for (size_t i = 0; i < c->nr; i++) {
		const struct jit_object *o = &c->items[i];

		if (o->until_ns == UINT64_MAX && o->from_ns < begin_ns &&
		    !(walk->nr_seen && bsearch(&o->entry_addr, walk->seen, walk->nr_seen,
					       sizeof(*walk->seen), compare_u64)))
			jit_code_unregister(c, store, o->entry_addr, end_ns);
	}
}

static enum worker_answer walk_list(struct walk *walk, uint64_t descriptor_ip,
				    struct jit_list_stats *ret)
{
	const struct jit_code *c = &walk->p->jit_code;
	_cleanup_free_ struct list_object *known = calloc(c->nr + 1, sizeof(*known));
	size_t nr = 0;

	*ret = (struct jit_list_stats){.result = LIST_NONE};
	if (!known)
		return WORKER_FAILED;
	for (size_t i = 0; i < c->nr; i++)
		if (c->items[i].until_ns == UINT64_MAX && c->items[i].size_bytes)
			known[nr++] = (struct list_object){
				.entry_addr = c->items[i].entry_addr,
				.symfile_addr = c->items[i].symfile_addr,
				.size_bytes = c->items[i].size_bytes,
			};
	return jit_list_walk(walk->w->reader, (pid_t)walk->p->tgid, descriptor_ip, known,
			     nr, found, walk, ret);
}

/* A target whose list never rests must not have all of our time. */
static void rest(const struct walk *walk, uint64_t begin_ns)
{
	uint64_t end_ns = now_ns(), took_ns = end_ns - begin_ns;
	uint64_t pause_ns = walk->has_news ? took_ns : WALK_PAUSE * took_ns;

	walk->w->walks_ns += took_ns;
	walk->p->jit_code.walk_after_ns = end_ns +
					  (walk->no_room ? FULL_PAUSE_NS : pause_ns);
}

static void walk_lists(struct jit_watch *w, struct process *p)
{
	struct jit_code *c = &p->jit_code;
	struct walk walk = {.w = w, .p = p, .from_ns = c->walked_ns};
	uint64_t begin_ns = now_ns(), nr_foreign = 0;
	bool whole = true;

	c->walk_wanted = false;
	if (c->is_banned || !process_is_alive(w->processes, p))
		return;
	w->next_from = p->id + 1;
	for (size_t i = 0; i < c->nr_descriptors; i++) {
		struct jit_list_stats stats;
		enum worker_answer answer =
			walk_list(&walk, c->descriptor_ips[i], &stats);

		w->totals.nr_walks++;
		nr_foreign += stats.nr_foreign;
		whole &= answer == WORKER_OK && stats.result == LIST_OK;
		/* Later: at the next drain, when it may have come to rest. */
		c->walk_wanted |= stats.result == LIST_MORE ||
				  stats.result == LIST_CHANGED;
		/* What is behind is not known: at least one. */
		if (!c->nr_lost &&
		    (stats.result == LIST_LIMIT || stats.result == LIST_DAMAGED))
			c->nr_lost = 1;
		if (answer == WORKER_DEADLINE) {
			c->is_banned = true;
			c->nr_lost++; /* who knows how many */
			w->totals.nr_banned++;
			break;
		}
	}
	w->totals.nr_walks_failed += !whole;
	c->nr_foreign = nr_foreign;
	/* Its number may have become another's while it was read. */
	if (whole && !walk.no_memory && process_is_alive(w->processes, p)) {
		end_unseen(&walk, begin_ns);
		c->walked_ns = begin_ns;
	}
	rest(&walk, begin_ns);
	free(walk.seen);
}

static void for_each_image(struct jit_watch *w,
			   void (*fn)(struct jit_watch *w, struct process *p))
{
	struct process_table_stats stats;

	process_table_stats(w->processes, &stats);
	for (uint32_t id = 0, seen = 0; seen < stats.nr_processes; id++) {
		struct process *p = process_table_at(w->processes, id);

		if (!p)
			continue;
		seen++;
		if (p->opened)
			fn(w, p);
	}
}

static void look_at(struct jit_watch *w, struct process *p)
{
	search_mappings(w, p);
	if (p->jit_code.walk_wanted && w->walks_ns <= WALKS_MAX_NS &&
	    now_ns() >= p->jit_code.walk_after_ns)
		walk_lists(w, p);
}

static void look_at_early(struct jit_watch *w, struct process *p)
{
	if (p->id < w->look_from)
		look_at(w, p);
}

static void look_at_late(struct jit_watch *w, struct process *p)
{
	if (p->id >= w->look_from)
		look_at(w, p);
}

static void want_walk(struct jit_watch *w, struct process *p)
{
	(void)w;
	p->jit_code.walk_wanted |= p->jit_code.nr_descriptors > 0;
}

void jit_watch_expect(struct jit_watch *w)
{
	w->look_wanted = true;
}

void jit_watch_look(struct jit_watch *w)
{
	struct jit_probe_totals probe;

	if (process_table_open_new(w->processes, now_ns()))
		w->look_wanted = true;
	jit_probe_totals(w->probe, &probe);
	/* Of a record that was lost nobody knows whose it was. */
	if (probe.n[LB_JIT_CTR_NO_ROOM] + w->nr_queue_dropped != w->nr_no_room) {
		w->nr_no_room = probe.n[LB_JIT_CTR_NO_ROOM] + w->nr_queue_dropped;
		for_each_image(w, want_walk);
		w->look_wanted = true;
	}
	if (!w->look_wanted)
		return;
	w->look_wanted = false;
	search_files(w);
	w->walks_ns = 0;
	w->look_from = w->next_from;
	for_each_image(w, look_at_late);
	for_each_image(w, look_at_early);
}

bool jit_watch_is_walking(const struct jit_watch *w)
{
	return w->config.no_uprobe || w->totals.probe_error;
}

void jit_watch_drain(struct jit_watch *w)
{
	if (jit_watch_is_walking(w))
		for_each_image(w, want_walk);
	w->look_wanted =
		true; /* for walks that waited, or are wanted since a late fork event */
	jit_watch_look(w);
}

void jit_watch_totals(const struct jit_watch *w, struct jit_watch_totals *ret)
{
	struct jit_probe_totals probe;

	jit_probe_totals(w->probe, &probe);
	*ret = w->totals;
	ret->nr_foreign += probe.n[LB_JIT_CTR_NOT_ELF];
	ret->map_bytes = jit_probe_map_bytes(w->probe);
}
