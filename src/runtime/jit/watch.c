// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/jit/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/target_fd.h"
#include "base/vec.h"
#include "collect/jit_probe.h"
#include "decode/jit/interface.h"
#include "lineburn_unwind.h"
#include "process/file.h"
#include "process/table.h"
#include "runtime/jit/inodes.h"
#include "runtime/jit/list_walk.h"
#include "runtime/runtime.h"
#include "worker/shared.h"

#define MAX_QUEUED_BYTES (64u << 20) /* of events that wait for their task events */
/* With more, no ring is read: what one holds then has room in the queue. */
#define FULL_QUEUE_BYTES (MAX_QUEUED_BYTES / 4 * 3)
/*
 * No new walk in a look after that: samples and signals wait meanwhile. Where strangers
 * decide how long a call takes, the last walk makes no new call after that either.
 */
#define WALKS_MAX_NS 500000000ULL
#define WALK_MAX_NS  1000000000ULL /* no new call of one walk */
/*
 * Known objects compared per walk, round robin: 8 us each (two reads of 4 KB on each
 * side).
 */
#define COMPARED_PER_WALK 64
/* in a row, one per look; after that only at drains, or none */
#define PARTIAL_WALKS 16
#define WALK_PAUSE    4 /* pause after a fruitless walk, in walk times */
/*
 * Pause after a fruitless walk for a sample of unknown code. Each further one doubles
 * it, up to PROMPT_DOUBLINGS times.
 */
#define PROMPT_PAUSE_NS  5000000ULL
#define PROMPT_DOUBLINGS 8
/* pause when there was no room for its objects */
#define FULL_PAUSE_NS 10000000000ULL
/* Mappings of a process, in a look, whose files cannot be probed yet. */
#define MAX_WAITING 8

/* A queued jit_event, followed by the object's bytes. */
struct queued {
	struct jit_event ev;
	uint8_t object[];
};

struct jit_watch {
	struct jit_watch_config config;
	struct process_table *processes; /* borrowed */
	struct shared_worker *decoder; /* borrowed */
	struct shared_worker *reader; /* borrowed */
	struct jit_probe *probe;
	struct jit_inodes *inodes;
	struct queued **queue; /* in order of time_ns, [first, nr) */
	size_t first, nr_queue, cap_queue;
	uint64_t queued_bytes, nr_queue_dropped;
	uint64_t read_ns; /* when the probe was read last */
	uint64_t nr_no_room; /* the probe's count at the last walk of all lists */
	bool look_wanted;
	uint64_t walks_until_ns; /* in this look; later walks wait for the next drain */
	size_t next_from; /* active image at which a look begins, round robin */
	struct jit_watch_totals totals;
};

int jit_watch_new(const struct jit_watch_config *config, struct sampler *sampler,
		  struct process_table *processes, struct shared_worker *decoder,
		  struct shared_worker *reader, struct jit_watch **ret, struct error *err)
{
	_cleanup_(jit_watch_freep) struct jit_watch *w = calloc(1, sizeof(*w));
	struct jit_probe_config probe = {.may_attach = config->probing !=
						       JIT_PROBING_NONE,
					 .whole_machine = config->whole_machine};
	int rc;

	if (!w)
		return error_set(err, -ENOMEM, "out of memory");
	w->config = *config;
	w->processes = processes;
	w->decoder = decoder;
	w->reader = reader;
	rc = jit_probe_new(&probe, sampler, &w->probe, err);
	if (rc)
		return rc;
	w->inodes = jit_inodes_new(
		w->probe, decoder,
		config->probing == JIT_PROBING_TRUSTED ? &w->config.user : NULL);
	if (!w->inodes)
		return error_set(err, -ENOMEM, "out of memory");
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
	jit_inodes_free(w->inodes);
	jit_probe_free(w->probe);
	free(w);
}

int jit_watch_poll_fd(const struct jit_watch *w)
{
	return jit_probe_poll_fd(w->probe);
}

int jit_watch_settled_fd(const struct jit_watch *w)
{
	return jit_probe_settled_fd(w->probe);
}

/* ---- the queue of events ---- */

/* Most events have no object. */
static size_t cost_of(const struct jit_event *ev)
{
	return sizeof(struct queued *) + sizeof(struct queued) +
	       (ev->object ? ev->size_bytes : 0);
}

static void keep(void *ctx, const struct jit_event *ev)
{
	struct jit_watch *w = ctx;
	size_t bytes = ev->object ? ev->size_bytes : 0, i;
	struct queued *q = NULL;

	if (cost_of(ev) <= MAX_QUEUED_BYTES - w->queued_bytes &&
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
	w->queued_bytes += cost_of(ev);
	/*
	 * Insert by time: large objects arrive later than small ones of the same time.
	 */
	for (i = w->nr_queue++; i > w->first && w->queue[i - 1]->ev.time_ns > ev->time_ns;
	     i--)
		w->queue[i] = w->queue[i - 1];
	w->queue[i] = q;
}

void jit_watch_read(struct jit_watch *w)
{
	if (w->queued_bytes >= FULL_QUEUE_BYTES)
		return;
	w->read_ns = clock_now_ns();
	jit_probe_read(w->probe, keep, w);
}

static void apply(struct jit_watch *w, const struct jit_event *ev)
{
	struct jit_store *store = process_table_jit_store(w->processes);
	struct lb_image id = {ev->start_boottime_ns, ev->tgid, ev->exec_id};
	struct process *p = process_table_identify(w->processes, &id, ev->time_ns);
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
		return; /* the probe counts these */
	store->tenant = p->tenant;
	if (jit_code_register(&p->jit_code, store, &r) || !ev->object) {
		p->jit_code.walk_wanted = true;
		w->look_wanted = true;
	}
}

static void apply_until(struct jit_watch *w, uint64_t time_ns)
{
	while (w->first < w->nr_queue && w->queue[w->first]->ev.time_ns <= time_ns) {
		struct queued *q = w->queue[w->first++];

		apply(w, &q->ev);
		w->queued_bytes -= cost_of(&q->ev);
		free(q);
	}
	if (w->first == w->nr_queue)
		w->first = w->nr_queue = 0;
}

void jit_watch_apply(struct jit_watch *w, uint64_t time_ns)
{
	if (time_ns != UINT64_MAX && time_ns > w->read_ns) {
		/* A full queue has no room for what is in the ring. */
		if (w->queued_bytes >= FULL_QUEUE_BYTES)
			apply_until(w, time_ns);
		jit_watch_read(w);
	}
	apply_until(w, time_ns);
}

/* ---- files with the JIT interface ---- */

/* Finds unused probes: a probe pins its inode and file system. */
void jit_watch_forget_files(struct jit_watch *w)
{
	jit_inodes_begin_sweep(w->inodes);
	for (uint32_t id = 0; id < process_table_nr_ids(w->processes); id++) {
		const struct process *p = process_table_at(w->processes, id);

		for (size_t i = 0; p && !p->is_over && i < p->jit_code.nr_descriptors;
		     i++)
			jit_inodes_keep(w->inodes, p->jit_code.probes[i]);
	}
	jit_inodes_end_sweep(w->inodes);
}

/*
 * Returns the file's interface; NULL: none, or not known yet.
 *
 * @ret_again_ns  lowered to when it may be known (CLOCK_MONOTONIC); 0: soon
 */
static const struct jit_interface *interface_of(const struct jit_watch *w,
						const struct process *p,
						struct target_file *file,
						uint64_t *ret_again_ns)
{
	uint64_t again_ns;

	/* Asks once: the decoder is as busy for the other files of @p. */
	if (!file || !file->id || (!*ret_again_ns && !file->facts))
		return NULL;
	if (!file_facts_are_there(file, w->decoder, p->tenant)) {
		again_ns = file_facts_late_until(file);
		if (again_ns < *ret_again_ns)
			*ret_again_ns = again_ns;
		return NULL;
	}
	return file_facts_of(file->facts, RUNTIME_JIT);
}

static bool has_descriptor(const struct jit_code *c, uint64_t descriptor_ip)
{
	for (size_t i = 0; i < c->nr_descriptors; i++)
		if (c->descriptor_ips[i] == descriptor_ip)
			return true;
	return false;
}

static struct jit_inode probe_known(struct jit_watch *w, struct tenant who,
				    const struct target_file *file,
				    const struct jit_interface *point)
{
	return file->fd < 0 ? (struct jit_inode){0}
			    : jit_inodes_probe(w->inodes, who, file->fd, file, point);
}

/* Probes the mapped file. @ret_is_probed: events will report all registrations */
static struct jit_inode probe_mapped(struct jit_watch *w, const struct process *p,
				     const struct mapping *m,
				     const struct jit_interface *point,
				     bool *ret_is_probed)
{
	bool by_path = false;
	_cleanup_target_fd_ int fd = process_find_mapped(w->processes, p, m, &by_path);
	struct jit_inode inode = {0};

	if (fd >= 0)
		inode = jit_inodes_probe(w->inodes, p->tenant, fd, m->file, point);
	/* the process is gone; its file may be mapped elsewhere */
	else if (fd == -ESRCH)
		inode = probe_known(w, p->tenant, m->file, point);
	/* A file found by path is the mapped one only if it is the known file. */
	if (fd >= 0 && by_path)
		by_path = inode.number !=
			  probe_known(w, p->tenant, m->file, point).number;
	*ret_is_probed = inode.probed_ns && !by_path;
	return inode;
}

/* Return: false: the file is being probed, or another one is. */
static bool add_descriptor(struct jit_watch *w, struct process *p,
			   const struct mapping *m, const struct jit_interface *point)
{
	uint64_t descriptor_ip = m->start + (point->register_off - m->file_off) +
				 point->descriptor_vaddr - point->register_vaddr;
	struct jit_code *c = &p->jit_code;
	struct jit_inode inode = {0};
	bool is_probed = false;

	/* Before the file is looked at: a target may have any number of mappings. */
	if (has_descriptor(c, descriptor_ip) ||
	    c->nr_descriptors == JIT_CODE_MAX_DESCRIPTORS)
		return true;
	if (w->config.probing == JIT_PROBING_NONE)
		log_debug("%s has the GDB JIT interface, not probed", m->file->path);
	else
		inode = probe_mapped(w, p, m, point, &is_probed);
	if (inode.is_pending)
		return false;
	c->probes[c->nr_descriptors] = inode.number;
	c->descriptor_ips[c->nr_descriptors++] = descriptor_ip;
	c->is_unprobed |= !is_probed;
	c->walk_wanted |= !is_probed || m->from_ns < inode.probed_ns;
	return true;
}

/* Was all searched that it maps, and is no file to be searched again? */
static bool is_searched(const struct process *p)
{
	const struct jit_walks *walks = &p->jit_code.walks;

	return walks->nr_maps_checked == maps_nr_ever(&p->maps) &&
	       (!walks->search_ns || clock_now_ns() < walks->search_ns);
}

/* Finds the interface in this process. */
static void search_mappings(struct jit_watch *w, struct process *p)
{
	struct jit_code *c = &p->jit_code;
	uint64_t again_ns = UINT64_MAX;
	unsigned int nr_waiting = 0;
	bool is_complete = true;

	if (is_searched(p))
		return;
	for (size_t i = 0; i < p->maps.nr; i++) {
		const struct mapping *m = &p->maps.items[i];
		const struct jit_interface *point;

		if (m->kind != MAPPING_FILE && m->kind != MAPPING_MEMFD)
			continue;
		is_complete &= m->file != NULL;
		point = interface_of(w, p, m->file, &again_ns);
		if (!point || point->register_off - m->file_off >= m->end - m->start)
			continue;
		if (nr_waiting < MAX_WAITING && !add_descriptor(w, p, m, point))
			nr_waiting++;
	}
	is_complete &= !nr_waiting;
	if (c->nr_descriptors)
		process_read_command(w->processes, p);
	w->look_wanted |= !again_ns;
	if (!is_complete || !again_ns)
		return;
	c->walks.nr_maps_checked = maps_nr_ever(&p->maps);
	c->walks.search_ns = again_ns == UINT64_MAX ? 0 : again_ns;
}

/* ---- lists ---- */

struct list_look {
	struct jit_watch *w;
	struct process *p;
	uint64_t from_ns; /* new entries were registered after this time */
	uint64_t seen_ns; /* and before this time; 0: nothing seen so far */
	uint64_t *seen; /* entries on the list */
	size_t nr_seen, cap_seen;
	bool no_memory, no_room;
	bool has_news;
};

static bool is_its(void *ctx)
{
	struct list_look *walk = ctx;

	return process_is_alive(walk->w->processes, walk->p);
}

static void found(void *ctx, const struct list_object *object, enum list_state state,
		  const void *bytes)
{
	struct list_look *walk = ctx;
	struct jit_store *store = process_table_jit_store(walk->w->processes);
	struct jit_registration r = {
		.entry_addr = object->entry_addr,
		.symfile_addr = object->symfile_addr,
		.object = bytes,
		.size_bytes = object->size_bytes,
		.time_ns = walk->from_ns,
		.seen_ns = clock_now_ns(),
	};

	/* Not ELF: the entry's previous object is not registered any more. */
	if (state == LIST_FOREIGN)
		return;
	/*
	 * One walk gives all objects the same time: only the list's order tells which
	 * came later.
	 */
	if (!walk->seen_ns)
		walk->seen_ns = r.seen_ns;
	if (walk->p->jit_code.is_unprobed)
		r.seen_ns = walk->seen_ns;
	if (vec_grow(&walk->seen, &walk->cap_seen, walk->nr_seen + 1, sizeof(*walk->seen),
		     0))
		walk->no_memory = true;
	else
		walk->seen[walk->nr_seen++] = object->entry_addr;
	walk->has_news |= state == LIST_NEW;
	store->tenant = walk->p->tenant;
	if (jit_code_register(&walk->p->jit_code, store, &r))
		walk->no_room = true;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Ends objects that were registered before the walk and are on no list any more. */
static void end_unseen(struct list_look *walk, uint64_t begin_ns)
{
	struct jit_code *c = &walk->p->jit_code;
	struct jit_store *store = process_table_jit_store(walk->w->processes);
	uint64_t now_ns = clock_now_ns();

	if (walk->nr_seen)
		qsort(walk->seen, walk->nr_seen, sizeof(*walk->seen), compare_u64);
	for (size_t i = 0; i < c->nr; i++) {
		const struct jit_object *o = &c->items[i];

		if (o->until_ns == UINT64_MAX && o->from_ns < begin_ns &&
		    !(walk->nr_seen && bsearch(&o->entry_addr, walk->seen, walk->nr_seen,
					       sizeof(*walk->seen), compare_u64)))
			/* It ended between the last walk that saw it and now. */
			jit_code_unregister(c, store, o->entry_addr,
					    c->is_unprobed && o->seen_ns ? walk->from_ns
									 : now_ns);
	}
}

/* Walks that have begun make no new call after that. */
static uint64_t calls_until_ns(const struct jit_watch *w)
{
	return w->reader->share.is_shared ? w->walks_until_ns
					  : clock_now_ns() + WALK_MAX_NS;
}

static enum worker_answer walk_list(struct list_look *walk, uint64_t descriptor_ip,
				    struct jit_list_stats *ret)
{
	const struct jit_store *store = process_table_jit_store(walk->w->processes);
	const struct jit_code *c = &walk->p->jit_code;
	_cleanup_free_ struct list_object *known = calloc(c->nr + 1, sizeof(*known));
	size_t nr = 0;

	*ret = (struct jit_list_stats){.result = LIST_NONE};
	if (!known)
		return WORKER_FAILED;
	for (size_t i = 0; i < c->nr; i++) {
		const struct jit_object *o = &c->items[i];

		if (o->until_ns != UINT64_MAX || !o->size_bytes)
			continue;
		known[nr] = (struct list_object){
			.entry_addr = o->entry_addr,
			.symfile_addr = o->symfile_addr,
			.size_bytes = o->size_bytes,
		};
		/*
		 * With a probe, events report changes more exactly than a comparison.
		 */
		if (c->is_unprobed && nr - c->walks.nr_compared < COMPARED_PER_WALK)
			known[nr].ends = jit_store_ends(store, o);
		nr++;
	}
	return jit_list_walk(walk->w->reader->worker, (pid_t)walk->p->tgid, descriptor_ip,
			     calls_until_ns(walk->w), known, nr, is_its, found, walk,
			     ret);
}

/*
 * Delays prompted walks, because code that no list describes is sampled again and
 * again.
 */
static void pause_prompts(struct jit_code *c, bool has_news, uint64_t now_ns)
{
	if (!c->walks.is_prompted)
		return;
	c->walks.is_prompted = false;
	if (has_news)
		c->walks.nr_vain_prompts = 0;
	else if (c->walks.nr_vain_prompts < PROMPT_DOUBLINGS)
		c->walks.nr_vain_prompts++;
	c->walks.prompt_after_ns = now_ns + (PROMPT_PAUSE_NS << c->walks.nr_vain_prompts);
}

/* Delays walks: a list that changes all the time must not use all of our time. */
static void pause_walks(const struct list_look *walk, uint64_t begin_ns)
{
	uint64_t end_ns = clock_now_ns(), took_ns = end_ns - begin_ns;
	uint64_t pause_ns = walk->has_news ? took_ns : WALK_PAUSE * took_ns;

	walk->p->jit_code.walks.walk_after_ns =
		end_ns + (walk->no_room ? FULL_PAUSE_NS : pause_ns);
	pause_prompts(&walk->p->jit_code, walk->has_news, end_ns);
}

/* Part of a list is unknown: count one lost object, if none is counted yet. */
static void note_unknown_part(struct jit_code *c)
{
	if (c->nr_lost)
		return;
	c->nr_lost = 1;
	c->walks.is_part_unknown = true;
}

/*
 * Schedules another walk: a changing list may be stable the next time. A list also
 * looks damaged while a thread is linking an entry, so that is retried, too, but not
 * forever.
 */
static void walk_again_soon(struct jit_watch *w, struct jit_code *c)
{
	if (c->walks.nr_partial == PARTIAL_WALKS)
		return;
	c->walks.nr_partial++;
	c->walk_wanted = true;
	w->look_wanted = true;
}

static void walk_was_whole(struct jit_code *c, uint64_t begin_ns)
{
	if (c->walks.is_part_unknown && c->nr_lost)
		c->nr_lost--;
	c->walks.is_part_unknown = false;
	c->walks.nr_partial = 0;
	c->walked_ns = begin_ns;
	c->was_walked = true;
}

static void walk_lists(struct jit_watch *w, struct process *p)
{
	struct jit_code *c = &p->jit_code;
	struct list_look walk = {.w = w, .p = p, .from_ns = c->walked_ns};
	uint64_t begin_ns = clock_now_ns(), nr_foreign = 0;
	bool whole = true;

	c->walk_wanted = false;
	if (c->walks.is_banned || !process_is_alive(w->processes, p))
		return;
	shared_worker_begin(w->reader, p->tenant);
	for (size_t i = 0; i < c->nr_descriptors; i++) {
		struct jit_list_stats stats;
		enum worker_answer answer;

		if (i && clock_now_ns() >= calls_until_ns(w)) {
			c->walk_wanted = true;
			whole = false;
			break;
		}
		answer = walk_list(&walk, c->descriptor_ips[i], &stats);
		w->totals.nr_walks++;
		nr_foreign += stats.nr_foreign;
		whole &= answer == WORKER_OK && stats.result == LIST_OK;
		/* Retried at the next drain at the latest. */
		c->walk_wanted |= stats.result == LIST_MORE ||
				  stats.result == LIST_CHANGED;
		if (stats.result == LIST_LIMIT || stats.result == LIST_DAMAGED)
			note_unknown_part(c);
		if (stats.result == LIST_CHANGED || stats.result == LIST_DAMAGED)
			walk_again_soon(w, c);
		if (answer == WORKER_DEADLINE) {
			c->walks.is_banned = true;
			c->nr_lost++; /* the real number is unknown */
			w->totals.nr_banned++;
			log_debug("the JIT list of process %u (%s) cannot be read in "
				  "time, skipping",
				  p->tgid, p->comm);
			break;
		}
	}
	shared_worker_end(w->reader, p->tenant, 0);
	c->walks.nr_compared += COMPARED_PER_WALK;
	if (c->walks.nr_compared >= c->live.nr_items)
		c->walks.nr_compared = 0;
	w->totals.nr_walks_failed += !whole;
	c->nr_foreign = nr_foreign;
	/* Its pid may have been reused while it was read. */
	if (whole && !walk.no_memory && process_is_alive(w->processes, p)) {
		end_unseen(&walk, begin_ns);
		walk_was_whole(c, begin_ns);
	}
	pause_walks(&walk, begin_ns);
	free(walk.seen);
}

/*
 * Is this process a target? Processes selected by pid are. When following the whole
 * machine, a process becomes one with its first sample.
 */
static bool is_wanted(const struct jit_watch *w, const struct process *p)
{
	return w->config.probing != JIT_PROBING_TRUSTED || !w->config.whole_machine ||
	       process_is_sampled(w->processes, p);
}

/* Are its lists to be walked in the look of @now_ns? */
static bool is_due(const struct process *p, uint64_t now_ns)
{
	return p->opened && p->jit_code.walk_wanted &&
	       now_ns >= p->jit_code.walks.walk_after_ns;
}

/*
 * Walks the lists of each process that is due, in turn, unless its tenant waits for one who
 * had less of the reader's time. In all of a look it is @now_ns, when all began to wait: so
 * nobody has waited too long to count, and nobody is walked twice.
 * Return: whether it is to be called again: now it may be the turn of those who had more.
 */
static bool walk_in_turn(struct jit_watch *w, uint64_t now_ns)
{
	size_t nr = process_table_nr_active(w->processes), from = w->next_from;
	bool was_one = false;

	for (size_t i = 0; i < nr; i++) {
		size_t at = (from + i) % nr;
		struct process *p = process_table_active(w->processes, at);

		if (!is_due(p, now_ns) ||
		    !time_share_may_take(&w->reader->share, p->tenant, now_ns))
			continue;
		if (clock_now_ns() >= w->walks_until_ns)
			return false;
		walk_lists(w, p);
		w->next_from = at + 1;
		was_one = true;
	}
	return was_one;
}

/* Who was not walked in this look, though it was wanted. */
static void note_left(struct jit_watch *w, const struct process *p, uint64_t now_ns)
{
	const struct jit_walks *walks = &p->jit_code.walks;

	if (!p->opened || !p->jit_code.walk_wanted)
		return;
	/* Retry as soon as allowed: by the next drain the process may have exited. */
	w->look_wanted |= walks->nr_partial && walks->nr_partial < PARTIAL_WALKS;
	/* Nor does a tenant wait so long because others came first. */
	w->look_wanted |= w->reader->share.is_shared && is_due(p, now_ns) &&
			  !time_share_is_used_up(&w->reader->share, p->tenant, now_ns);
}

static void look_at_all(struct jit_watch *w)
{
	size_t nr = process_table_nr_active(w->processes);
	uint64_t now_ns;

	for (size_t i = 0; i < nr; i++) {
		struct process *p = process_table_active(w->processes, i);

		if (p->opened && is_wanted(w, p))
			search_mappings(w, p);
	}
	now_ns = clock_now_ns();
	w->walks_until_ns = now_ns + WALKS_MAX_NS;
	for (size_t i = 0; i < nr; i++) {
		const struct process *p = process_table_active(w->processes, i);

		if (is_due(p, now_ns))
			time_share_waits(&w->reader->share, p->tenant, now_ns);
	}
	while (walk_in_turn(w, now_ns))
		;
	for (size_t i = 0; i < nr; i++)
		note_left(w, process_table_active(w->processes, i), now_ns);
}

static void want_walks(struct jit_watch *w, bool of_all)
{
	for (size_t i = 0; i < process_table_nr_active(w->processes); i++) {
		struct jit_code *c = &process_table_active(w->processes, i)->jit_code;

		c->walk_wanted |= c->nr_descriptors && (of_all || c->is_unprobed);
	}
}

void jit_watch_expect(struct jit_watch *w)
{
	w->look_wanted = true;
}

void jit_watch_request(struct jit_watch *w, const struct lb_unwind_request *r)
{
	struct process *p;
	struct jit_code *c;

	if (r->kind != LB_REQUEST_LIST && r->kind != LB_REQUEST_MAPPING)
		return;
	p = process_table_identify(w->processes, &r->image, clock_now_ns());
	if (!p || !p->jit_code.is_unprobed)
		return;
	c = &p->jit_code;
	/* New memory may hold new code, even if the last prompts found none. */
	if (c->walks.nr_maps_prompted != maps_nr_ever(&p->maps)) {
		c->walks.nr_maps_prompted = maps_nr_ever(&p->maps);
		c->walks.prompt_after_ns = c->walks.nr_vain_prompts = 0;
	}
	if (clock_now_ns() < c->walks.prompt_after_ns)
		return;
	c->walks.is_prompted = c->walk_wanted = true;
	w->look_wanted = true;
}

void jit_watch_look(struct jit_watch *w)
{
	if (jit_inodes_settle(w->inodes, 0))
		w->look_wanted = true;
	if (process_table_open_new(w->processes, clock_now_ns()))
		w->look_wanted = true;
	if (!w->look_wanted)
		return;
	w->look_wanted = false;
	shared_worker_be_patient(w->decoder);
	look_at_all(w);
	/* Afterwards, because files that were found wait to be probed. */
	jit_inodes_remove_unused(w->inodes);
}

/*
 * Were records lost? It is not known of which process, so all are walked. Reads every
 * CPU.
 */
static bool has_lost_records(struct jit_watch *w)
{
	struct jit_probe_totals probe;
	uint64_t nr;

	jit_probe_totals(w->probe, &probe);
	nr = probe.n[LB_JIT_CTR_NO_ROOM] + w->nr_queue_dropped;
	if (nr == w->nr_no_room)
		return false;
	w->nr_no_room = nr;
	return true;
}

void jit_watch_end(struct jit_watch *w)
{
	jit_inodes_end(w->inodes);
	w->look_wanted = true;
}

void jit_watch_drain(struct jit_watch *w)
{
	want_walks(w, has_lost_records(w));
	w->look_wanted = true; /* for delayed walks, or those due to a late fork event */
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

/* JIT code has addresses, so no frame in a stack is the runtime's own. */
const struct runtime jit_runtime = {.name = "jit"};
