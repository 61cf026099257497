// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/feeder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "process/file.h"
#include "process/table.h"
#include "runtime/runtime.h"
#include "unwind/files.h"
#include "unwind/texts.h"
#include "worker/shared.h"

/*
 * Limit of one look: new requests wait meanwhile, most importantly those of new
 * programs.
 */
#define LOOK_NS      10000000ULL
#define REQUESTS_NS  5000000ULL /* part of it for requests: /proc may have to be read */
#define EARLY_NS     2000000ULL /* same for files that were not requested yet */
#define MAX_REQUESTS 4096
/*
 * Pause of an image after its segments were built. Otherwise an image that keeps
 * mapping or registering code would use all our time, or all free segments between two
 * grace periods. It is a multiple of the time taken, plus a time per segment. The time
 * taken is capped, because other programs may have had the CPU.
 */
#define REST_TIMES      16
#define REST_MAX_NS     100000000ULL /* cap for the time taken */
#define REST_SEGMENT_NS 50000ULL
#define NO_ROOM_REST_NS 1000000000ULL
/* After a program starts, the loader maps its first libraries in about this time. */
#define LOADING_NS 1000000ULL
/*
 * Delay before a process is queried again for its interpreter; each delay is a quarter
 * longer than the last. So at most a quarter of its start-up time is missed.
 */
#define FIRST_WAIT_NS   5000000ULL
#define LONGEST_WAIT_NS 1000000000ULL
#define MAX_DEATHS      2 /* of readers, for which a process is not to blame */
/*
 * Limit for queries of all processes: the reader needs some 0.2 ms for each. One tenant may
 * have all of them, but while others wait, whoever had less is first: a query counts as
 * ASK_NS of the reader's time (base/time_share.h counts that four times), or as what it took.
 */
#define ASKS_PER_SECOND   200
#define ASKS_AT_ONCE      50
#define ASK_NS            (1000000000ULL / ASKS_PER_SECOND / 4)
#define SEGMENTS_OF_IMAGE 32768 /* most of one image */
/*
 * Limits of one drain for asking whether the threads of dead leaders live. One that is
 * found gone is asked about once; one whose threads live, at each of its turns.
 */
#define CHECKS_NS 50000000ULL
#define MAX_ALIVE 32
/* A smaller gap between two texts is padding, not code. */
#define MIN_GAP_BYTES 64

/* Interpreter of one image (runtime/runtime.h). Zeroed: not searched yet. */
struct image_interp {
	enum {
		IMAGE_INTERP_NONE, /* none of its files so far is an interpreter */
		IMAGE_INTERP_WAITS, /* query the process at ask_ns */
		IMAGE_INTERP_FOUND,
		IMAGE_INTERP_REFUSED, /* do not query again */
	} state;
	enum runtime_number runtime; /* like the next members: set unless NONE */
	struct runtime_facts facts; /* of the interpreter's file */
	uint64_t text_bias; /* start of its text's mapping - file offset */
	uint64_t ask_ns; /* CLOCK_MONOTONIC: earliest next query */
	uint64_t wait_ns; /* delay after the next "not yet" */
	unsigned int nr_deaths; /* of readers that queried it */
	uint32_t number; /* as in struct lb_unwind_process; 0 unless found */
	int32_t tls_off;
	bool is_banned; /* reading its memory timed out, or killed readers */
};

/*
 * The state of an image in the kernel's tables; indexed by id like the process table.
 */
struct watched_image {
	struct lb_image key; /* start_boottime_ns 0: forked, not sampled yet */
	bool in_use;
	bool is_dirty; /* its segments must be rebuilt */
	bool is_gone; /* none of its threads runs */
	struct unwind_entry entry; /* in the kernel's tables */
	uint64_t maps_changes, jit_changes; /* of the process, when they were built */
	uint64_t interp_changes; /* of its maps, at the last search for an interpreter */
	/* CLOCK_MONOTONIC: when to search again, as the decoder was late; UINT64_MAX: never */
	uint64_t search_ns;
	uint64_t told_ns; /* CLOCK_MONOTONIC: when they were built */
	uint64_t rest_until_ns;
	struct text_set texts; /* texts that the segments refer to */
	struct image_interp interp;
};

/* In order of start, disjoint. */
struct segment_list {
	struct lb_unwind_segment *items; /* heap */
	size_t nr, cap;
};

struct waiting_request {
	struct lb_unwind_request request;
	struct tenant tenant; /* has paid for the place */
	uint64_t time_ns; /* CLOCK_MONOTONIC: when it came */
};

struct unwind_feeder {
	struct process_table *processes; /* borrowed */
	struct shared_worker *decoder; /* borrowed */
	struct shared_worker *reader; /* borrowed */
	struct unwind_tables *tables;
	struct unwind_files *files;
	struct unwind_texts *texts;
	struct segment_list segments; /* work space */
	uint64_t asks_since_ns; /* when the remaining queries were last computed */
	uint64_t asks_left;

	struct watched_image *images; /* by id; heap */
	size_t nr_images, cap_images;
	uint32_t *used; /* ids in use; heap */
	size_t nr_used, cap_used;
	size_t nr_dirty; /* upper limit of dirty images */
	bool has_new_mappings; /* not yet searched for an interpreter */
	uint64_t search_ns; /* the earliest of all images */
	size_t nr_waiting; /* images whose interpreter must be queried; upper limit */
	bool has_cut_codes; /* some image may have code objects to read again */
	/* Indices in used where the next look begins, round robin. */
	size_t next_from, interps_from, codes_from;
	size_t checks_from; /* same for the next drain */

	struct waiting_request *requests; /* heap */
	size_t nr_requests, cap_requests;
	struct quota request_quota;
	uint64_t jit_changes; /* of all images, at the last comparison */
	bool is_expecting; /* some images may have changed */
	bool is_behind; /* the last look ran out of time */
	uint64_t look_again_ns; /* when to look for new programs' libraries; 0: never */
	struct unwind_totals totals;
};

int unwind_feeder_new(uint64_t max_row_bytes, const struct unwind_kmaps *maps,
		      struct process_table *processes, struct shared_worker *decoder,
		      struct shared_worker *reader, struct unwind_feeder **ret,
		      struct error *err)
{
	_cleanup_(unwind_feeder_freep) struct unwind_feeder *w = calloc(1, sizeof(*w));
	bool is_shared = process_table_is_shared(processes);
	int rc;

	if (!w)
		return error_set(err, -ENOMEM, "out of memory");
	w->processes = processes;
	w->decoder = decoder;
	w->reader = reader;
	w->asks_left = ASKS_AT_ONCE;
	w->asks_since_ns = clock_now_ns();
	w->search_ns = UINT64_MAX;
	if (is_shared)
		w->request_quota = (struct quota){.what = "requests for unwind tables",
						  .loss = "its stacks may be cut",
						  .max = MAX_REQUESTS};
	rc = unwind_tables_new(max_row_bytes, maps, &w->tables, err);
	if (!rc && is_shared)
		unwind_tables_share(w->tables);
	if (!rc)
		rc = unwind_files_new(w->tables, processes, decoder, &w->totals,
				      &w->files, err);
	if (!rc)
		rc = unwind_texts_new(w->tables, process_table_jit_store(processes),
				      decoder, &w->totals, &w->texts, err);
	if (!rc && is_shared)
		unwind_texts_share(w->texts);
	if (rc)
		return rc;
	*ret = take_ptr(w);
	return 0;
}

void unwind_feeder_read_all(struct unwind_feeder *w)
{
	unwind_files_read_all(w->files);
}

void unwind_feeder_free(struct unwind_feeder *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->nr_images; i++)
		unwind_texts_put(w->texts, &w->images[i].texts);
	free(w->images);
	free(w->used);
	free(w->requests);
	quota_deinit(&w->request_quota);
	free(w->segments.items);
	unwind_texts_free(w->texts);
	unwind_files_free(w->files);
	unwind_tables_free(w->tables);
	free(w);
}

/* ---- images ---- */

static void forget_image(struct unwind_feeder *w, struct watched_image *img)
{
	unwind_process_remove(w->tables, &img->key, &img->entry);
	unwind_texts_put(w->texts, &img->texts);
	unwind_interp_put(w->tables, img->interp.number);
	*img = (struct watched_image){0};
}

static bool is_of(const struct watched_image *img, const struct process *p)
{
	if (!img->in_use || img->key.tgid != p->tgid)
		return false;
	return !img->key.start_boottime_ns ||
	       (img->key.start_boottime_ns == p->start_boottime_ns &&
		img->key.exec_id == p->exec_id);
}

/* Finds or adds the entry of @p. NULL: out of memory. */
static struct watched_image *image_of(struct unwind_feeder *w, const struct process *p)
{
	struct watched_image *img;

	if (vec_grow(&w->images, &w->cap_images, p->id + 1, sizeof(*w->images), 0) ||
	    vec_grow(&w->used, &w->cap_used, w->nr_used + 1, sizeof(*w->used), 0))
		return NULL;
	if (w->nr_images <= p->id)
		w->nr_images = p->id + 1;
	img = &w->images[p->id];
	if (!img->in_use)
		w->used[w->nr_used++] = p->id;
	else if (!is_of(img, p))
		forget_image(w, img);
	img->in_use = true;
	img->key.tgid = p->tgid;
	if (p->identified) {
		img->key.start_boottime_ns = p->start_boottime_ns;
		img->key.exec_id = p->exec_id;
	}
	return img;
}

static void mark(struct unwind_feeder *w, struct watched_image *img)
{
	w->nr_dirty += !img->is_dirty;
	img->is_dirty = true;
}

/* Finds or adds the entry of a sampled process. NULL: kernel thread or unknown. */
static struct watched_image *sampled_image(struct unwind_feeder *w,
					   const struct process *p)
{
	return p && p->identified && !p->is_kernel_thread ? image_of(w, p) : NULL;
}

void unwind_feeder_sampled(struct unwind_feeder *w, const struct process *p)
{
	struct watched_image *img = sampled_image(w, p);

	if (img)
		mark(w, img);
}

void unwind_feeder_forked(struct unwind_feeder *w, const struct process *parent,
			  const struct process *child)
{
	struct image_interp interp = {0};
	struct watched_image *img;

	if (!parent || !child || parent->id >= w->nr_images ||
	    !is_of(&w->images[parent->id], parent))
		return;
	interp = w->images[parent->id].interp;
	if (interp.state == IMAGE_INTERP_NONE)
		return;
	/* A fork has its interpreter at the same address as its parent. */
	img = image_of(w, child);
	if (!img)
		return;
	unwind_interp_ref(w->tables, interp.number);
	unwind_interp_put(w->tables, img->interp.number);
	img->interp = interp;
}

void unwind_feeder_expect(struct unwind_feeder *w)
{
	w->is_expecting = w->has_cut_codes = true;
}

/* Returns the image of an entry, if it is still the same. */
static struct process *process_of(struct unwind_feeder *w, uint32_t id)
{
	struct process *p = process_table_at(w->processes, id);

	return p && is_of(&w->images[id], p) ? p : NULL;
}

static void find_changed(struct unwind_feeder *w)
{
	uint64_t jit_changes = process_table_jit_store(w->processes)->stats.nr_changes;

	if (!w->is_expecting && jit_changes == w->jit_changes)
		return;
	w->is_expecting = false;
	w->jit_changes = jit_changes;
	for (size_t i = 0; i < w->nr_used; i++) {
		uint32_t id = w->used[i];
		struct watched_image *img = &w->images[id];
		const struct process *p = img->entry.run ? process_of(w, id) : NULL;

		if (p && (p->maps.nr_changes != img->maps_changes ||
			  p->jit_code.nr_changes != img->jit_changes))
			mark(w, img);
	}
}

/* ---- recognising an interpreter ---- */

/* Does @m map an interpreter's file? @ret_again_ns  as in runtime_facts_of() */
static bool maps_interpreter(struct unwind_feeder *w, const struct process *p,
			     const struct mapping *m, struct image_interp *ret,
			     uint64_t *ret_again_ns)
{
	for (enum runtime_number i = 0; i < NR_RUNTIMES; i++) {
		struct runtime_facts facts;

		if (!runtime_facts_of(i, m, w->decoder, p->tenant, &facts, ret_again_ns))
			continue;
		*ret = (struct image_interp){.state = IMAGE_INTERP_WAITS,
					     .runtime = i,
					     .facts = facts,
					     .text_bias = m->start - m->file_off,
					     .wait_ns = FIRST_WAIT_NS};
		return true;
	}
	return false;
}

/*
 * Searches the mappings of @p if no interpreter was found yet. Each file is decoded
 * once. Return: when to search again (CLOCK_MONOTONIC): 0: the decoder has not answered
 * yet; UINT64_MAX: never.
 */
static uint64_t look_for_interp(struct unwind_feeder *w, const struct process *p,
				struct image_interp *interp)
{
	uint64_t again_ns = UINT64_MAX;

	if (interp->state != IMAGE_INTERP_NONE)
		return again_ns;
	for (size_t i = 0; i < p->maps.nr_live; i++) {
		const struct mapping *m = &p->maps.items[p->maps.live[i]];

		if (m->kind == MAPPING_FILE && m->file && m->file->id &&
		    m->file->fd >= 0 && !m->file->verify_build_id &&
		    maps_interpreter(w, p, m, interp, &again_ns))
			return UINT64_MAX;
	}
	return again_ns;
}

/* Is there something to search: a new mapping, or a file about which the decoder was late? */
static bool must_search(const struct process *p, const struct watched_image *img)
{
	return img->interp_changes != p->maps.nr_changes ||
	       (img->search_ns != UINT64_MAX && clock_now_ns() >= img->search_ns);
}

static void note_search(struct unwind_feeder *w, const struct watched_image *img)
{
	if (img->search_ns < w->search_ns)
		w->search_ns = img->search_ns;
}

/*
 * Same, if there is something to search. While the decoder is late about a file, which may
 * take long, that is no interpreter: the stacks would all be cut without the segments.
 */
static bool search_for_interp(struct unwind_feeder *w, const struct process *p,
			      struct watched_image *img)
{
	uint64_t again_ns;

	if (!must_search(p, img))
		return true;
	again_ns = look_for_interp(w, p, &img->interp);
	if (!again_ns)
		return false;
	img->search_ns = again_ns;
	note_search(w, img);
	img->interp_changes = p->maps.nr_changes;
	return true;
}

/* ---- segments ---- */

static int add_segment(struct segment_list *l, const struct lb_unwind_segment *segment)
{
	struct lb_unwind_segment *last = l->nr ? &l->items[l->nr - 1] : NULL;

	if (last && last->flags == segment->flags &&
	    segment->flags & LB_SEGMENT_NO_ROWS && last->end == segment->start) {
		last->end = segment->end;
		return 0;
	}
	if (vec_grow(&l->items, &l->cap, l->nr + 1, sizeof(*l->items), SEGMENTS_OF_IMAGE))
		return -ENOSPC;
	l->items[l->nr++] = *segment;
	return 0;
}

/*
 * Adds [start, end) of @m, which contains no text.
 *
 * @is_listed  code there is known only from walks of the JIT's list
 */
static int add_part(struct segment_list *l, const struct mapping *m, bool is_listed,
		    struct unwind_files *files, uint64_t start, uint64_t end)
{
	struct lb_unwind_segment segment = {.end = m->end, .flags = LB_SEGMENT_NO_ROWS};
	struct lb_unwind_segment rest = {.end = end, .flags = LB_SEGMENT_NO_ROWS};
	int rc = 0;

	if (m->kind == MAPPING_FILE || m->kind == MAPPING_MEMFD ||
	    m->kind == MAPPING_VDSO)
		unwind_files_segment(files, m, &segment);
	if (is_listed && mapping_may_be_jit(m) && segment.flags & LB_SEGMENT_NO_ROWS)
		segment.flags |= LB_SEGMENT_LISTED;
	segment.start = start;
	rest.start = segment.end > start ? segment.end : start;
	if (segment.end > end)
		segment.end = end;
	if (segment.start < segment.end)
		rc = add_segment(l, &segment);
	/* What is beyond the end of the file. */
	return !rc && rest.start < rest.end ? add_segment(l, &rest) : rc;
}

/* @next index of the first text in or after @m; advanced */
static int add_mapping(struct segment_list *l, const struct mapping *m, bool is_listed,
		       struct unwind_files *files, const struct text_set *texts,
		       size_t *next)
{
	uint64_t at = m->start;
	int rc = 0;

	while (*next < texts->nr && texts->items[*next].start < m->start)
		++*next;
	for (; !rc && *next < texts->nr && texts->items[*next].end <= m->end; ++*next) {
		const struct unwind_text *text = &texts->items[*next];
		struct lb_unwind_segment segment = {.start = text->start,
						    .end = text->end,
						    .bias = text->start,
						    .first_page = text->object};

		if (text->start - at >= MIN_GAP_BYTES)
			rc = add_part(l, m, is_listed, files, at, text->start);
		if (!rc)
			rc = add_segment(l, &segment);
		at = text->end;
	}
	if (!rc && (at == m->start || m->end - at >= MIN_GAP_BYTES))
		rc = add_part(l, m, is_listed, files, at, m->end);
	return rc;
}

static int try_segments(struct segment_list *l, const struct process *p,
			struct unwind_files *files, const struct text_set *texts,
			bool only_files)
{
	static const struct text_set none;
	size_t next = 0;
	int rc = 0;

	l->nr = 0;
	for (size_t i = 0; !rc && i < p->maps.nr_live; i++) {
		const struct mapping *m = &p->maps.items[p->maps.live[i]];
		bool may_be_jit = mapping_may_be_jit(m);

		if (m->kind != MAPPING_VSYSCALL && !(only_files && may_be_jit))
			rc = add_mapping(l, m, p->jit_code.is_unprobed, files,
					 may_be_jit && texts ? texts : &none, &next);
	}
	return rc;
}

/*
 * Replaces @l by the current mappings of @p: files and the vdso with their tables, JIT
 * memory without, except for the texts in it. If there are too many, omits texts, then
 * JIT memory, then the highest mappings. Return: 0, or -ENOSPC if some were omitted or
 * memory is short.
 */
static int make_segments(struct segment_list *l, const struct process *p,
			 struct unwind_files *files, const struct text_set *texts)
{
	if (!try_segments(l, p, files, texts, false))
		return 0;
	if (!texts->nr || try_segments(l, p, files, NULL, false))
		try_segments(l, p, files, NULL, true);
	return -ENOSPC;
}

/*
 * Marks the text of an interpreter whose frames are not found yet, because a stack that
 * goes through it is not whole without them. Segments and mappings are in order.
 */
static void mark_awaited(struct segment_list *l, const struct process *p,
			 const struct image_interp *interp)
{
	size_t at = 0;

	for (size_t i = 0; i < p->maps.nr_live; i++) {
		const struct mapping *m = &p->maps.items[p->maps.live[i]];

		if (m->kind != MAPPING_FILE ||
		    m->start - m->file_off != interp->text_bias)
			continue;
		while (at < l->nr && l->items[at].start < m->start)
			at++;
		for (; at < l->nr && l->items[at].end <= m->end; at++)
			l->items[at].flags |= LB_SEGMENT_AWAITED;
	}
}

/*
 * Notes code that the JIT freed and whose table the kernel side still has.
 *
 * @present  its texts now; NULL: not known yet
 */
static void note_gone(struct unwind_feeder *w, struct process *p,
		      const struct watched_image *img, const struct text_set *present)
{
	if (p->jit_code.nr_changes != img->jit_changes)
		unwind_texts_note_gone(w->texts, p, &img->texts, present, img->told_ns);
}

static void pause_image(struct watched_image *img, uint64_t begin_ns, size_t nr_segments)
{
	uint64_t end_ns = clock_now_ns(), rest_ns = REST_TIMES * (end_ns - begin_ns);

	if (rest_ns > REST_MAX_NS)
		rest_ns = REST_MAX_NS;
	img->rest_until_ns = end_ns + rest_ns + REST_SEGMENT_NS * nr_segments;
}

/* Return: false when work is left. */
static bool update_kernel_entry(struct unwind_feeder *w, struct process *p,
				struct watched_image *img, uint64_t deadline_ns)
{
	uint64_t begin_ns = clock_now_ns();
	struct text_set texts = {0};
	bool is_whole;
	int rc;

	/* Without its interpreter's frames a stack would be taken for a whole one. */
	if (!search_for_interp(w, p, img))
		return false;
	rc = unwind_texts_get(w->texts, p, deadline_ns, &texts);
	is_whole = !rc;
	if (make_segments(&w->segments, p, w->files, &texts))
		w->totals.nr_segments_refused++;
	if (img->interp.state == IMAGE_INTERP_WAITS) {
		mark_awaited(&w->segments, p, &img->interp);
		w->nr_waiting++;
	}
	unwind_tables_serve(w->tables, p->tenant);
	rc = unwind_process_set(w->tables, &img->key, &img->entry, w->segments.items,
				w->segments.nr, img->interp.number, img->interp.tls_off,
				img->interp.text_bias);
	if (rc) {
		/* The kernel's previous entry still refers to the previous texts. */
		unwind_texts_put(w->texts, &texts);
		img->rest_until_ns = begin_ns + NO_ROOM_REST_NS;
		return false;
	}
	note_gone(w, p, img, &texts);
	unwind_texts_put(w->texts, &img->texts);
	img->texts = texts;
	img->told_ns = clock_now_ns();
	maps_told(&p->maps, img->told_ns);
	replaced_code_told(&p->replaced_code, img->told_ns);
	img->maps_changes = p->maps.nr_changes;
	img->jit_changes = p->jit_code.nr_changes;
	pause_image(img, begin_ns, w->segments.nr);
	return is_whole;
}

/* Is an image that is dirty to be updated now? */
static bool is_due(struct unwind_feeder *w, uint32_t id)
{
	struct watched_image *img = &w->images[id];
	const struct process *p = process_of(w, id);

	if (!p || p->until_ns != UINT64_MAX) {
		img->is_dirty = false;
		return false;
	}
	if (clock_now_ns() >= img->rest_until_ns)
		return true;
	w->nr_dirty++;
	return false;
}

static void update(struct unwind_feeder *w, uint32_t id, uint64_t deadline_ns)
{
	struct watched_image *img = &w->images[id];

	img->is_dirty = !update_kernel_entry(w, process_of(w, id), img, deadline_ns);
	w->nr_dirty += img->is_dirty;
	w->has_new_mappings |= img->interp.state == IMAGE_INTERP_NONE;
}

/* At least one: on a busy machine the time may be up before its first turn. */
static void update_dirty(struct unwind_feeder *w, uint64_t deadline_ns)
{
	size_t nr = w->nr_used, nr_updated = 0;

	if (!w->nr_dirty)
		return;
	w->nr_dirty = 0;
	for (size_t i = 0, from = w->next_from; i < nr; i++) {
		size_t at = (from + i) % nr;
		uint32_t id = w->used[at];

		if (!w->images[id].is_dirty || !is_due(w, id))
			continue;
		if (nr_updated++ && clock_now_ns() >= deadline_ns) {
			w->next_from = at;
			w->nr_dirty++;
			w->is_behind = true;
			return;
		}
		update(w, id, deadline_ns);
	}
}

/* ---- interpreters ---- */

static bool may_ask(struct unwind_feeder *w, struct tenant who)
{
	uint64_t now = clock_now_ns();
	uint64_t more = (now - w->asks_since_ns) * ASKS_PER_SECOND / 1000000000ULL;

	if (more) {
		w->asks_since_ns = now;
		w->asks_left += more;
		if (w->asks_left > ASKS_AT_ONCE)
			w->asks_left = ASKS_AT_ONCE;
	}
	if (!w->asks_left) {
		time_share_waits(&w->reader->share, who, now);
		return false;
	}
	if (!shared_worker_may_send(w->reader, who))
		return false;
	w->asks_left--;
	return true;
}

static void found(struct unwind_feeder *w, struct image_interp *interp,
		  struct runtime_place *place)
{
	place->layout.kind = (uint16_t)interp->runtime;
	interp->number = unwind_interp_get(w->tables, &place->layout);
	interp->tls_off = place->tls_off;
	interp->state = interp->number ? IMAGE_INTERP_FOUND : IMAGE_INTERP_REFUSED;
	w->totals.nr_interps_found += interp->number != 0;
	w->totals.nr_interps_refused += !interp->number;
}

static bool ask_is_due(const struct image_interp *interp)
{
	return interp->state == IMAGE_INTERP_WAITS && clock_now_ns() >= interp->ask_ns;
}

/*
 * Somebody may have killed the reader (the kernel does, when memory runs out), or the
 * process's memory did.
 */
static bool may_ask_again(struct image_interp *interp, enum locate_result state)
{
	if (state == LOCATE_READER_DIED)
		return ++interp->nr_deaths <= MAX_DEATHS;
	/* FOUND: in a process that has ended since. */
	return state == LOCATE_NOT_YET || state == LOCATE_FOUND;
}

/* Queries the process. Return: whether it need not be queried again. */
static bool ask_for_interp(struct unwind_feeder *w, const struct process *p,
			   struct image_interp *interp)
{
	const struct runtime *runtime = runtimes[interp->runtime];
	struct runtime_place place;
	enum locate_result state;

	state = runtime->locate(shared_worker_begin(w->reader, p->tenant), (pid_t)p->tgid,
				interp->facts.words, interp->text_bias, &place);
	shared_worker_end(w->reader, p->tenant, ASK_NS);
	/* Discard the answer if the pid was reused during the query. */
	if (state == LOCATE_FOUND && process_is_alive(w->processes, p)) {
		unwind_tables_serve(w->tables, p->tenant);
		found(w, interp, &place);
		return true;
	}
	if (may_ask_again(interp, state)) {
		interp->ask_ns = clock_now_ns() + interp->wait_ns;
		interp->wait_ns += interp->wait_ns / 4;
		if (interp->wait_ns > LONGEST_WAIT_NS)
			interp->wait_ns = LONGEST_WAIT_NS;
		return false;
	}
	log_debug("the interpreter of process %u (%s) is not understood (%d)", p->tgid,
		  runtime->name, (int)state);
	interp->state = IMAGE_INTERP_REFUSED;
	interp->is_banned = state == LOCATE_NO_ANSWER || state == LOCATE_READER_DIED;
	w->totals.nr_interps_refused++;
	return true;
}

/*
 * Reads parts of code objects that the kernel could not copy from the memory of @p,
 * some in each call.
 */
static void read_codes(struct unwind_feeder *w, struct process *p,
		       struct image_interp *interp)
{
	const struct runtime *runtime = runtimes[interp->runtime];

	if (!runtime->read_cut) {
		interp_codes_give_up_all(&p->interp_codes);
		return;
	}
	interp->is_banned =
		runtime->read_cut(shared_worker_begin(w->reader, p->tenant), w->processes,
				  p, unwind_interp_at(w->tables, interp->number)) ==
		WORKER_DEADLINE;
	shared_worker_end(w->reader, p->tenant, 0);
}

void unwind_feeder_prepare(struct unwind_feeder *w, const struct process *p,
			   bool (*is_wanted)(const struct mapping *m),
			   uint64_t deadline_ns)
{
	struct image_interp interp = {0};

	w->decoder->patience_ns = deadline_ns;
	for (size_t i = 0; i < p->maps.nr_live; i++) {
		const struct mapping *m = &p->maps.items[p->maps.live[i]];
		struct lb_unwind_segment not_told;

		if (!is_wanted || is_wanted(m))
			unwind_files_segment(w->files, m, &not_told);
	}
	unwind_files_serve_early(w->files, deadline_ns);
	if (clock_now_ns() < deadline_ns)
		look_for_interp(w, p, &interp);
	for (size_t i = 0; is_wanted && i < p->maps.nr_live; i++) {
		const struct mapping *m = &p->maps.items[p->maps.live[i]];

		if (is_wanted(m))
			unwind_files_read(w->files, m, deadline_ns);
	}
}

/* Is there something to ask now: the decoder about new files, or the process? */
static bool must_ask(const struct process *p, const struct watched_image *img)
{
	return img->interp.state == IMAGE_INTERP_WAITS ? ask_is_due(&img->interp)
						       : must_search(p, img);
}

/* Returns the process of an image whose interpreter is not known yet; else NULL. */
static const struct process *unknown_process(struct unwind_feeder *w, uint32_t id)
{
	const struct watched_image *img = &w->images[id];
	const struct process *p;

	if (!img->entry.run || img->interp.state == IMAGE_INTERP_FOUND ||
	    img->interp.state == IMAGE_INTERP_REFUSED)
		return NULL;
	p = process_of(w, id);
	return p && p->until_ns == UINT64_MAX ? p : NULL;
}

/* Otherwise those whose turn is first do not know that others wait, who had less. */
static void announce_asks(struct unwind_feeder *w)
{
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; w->reader->share.is_shared && i < w->nr_used; i++) {
		uint32_t id = w->used[i];
		const struct process *p =
			ask_is_due(&w->images[id].interp) ? unknown_process(w, id) : NULL;

		if (p)
			time_share_waits(&w->reader->share, p->tenant, now_ns);
	}
}

/*
 * At least one, as above. The next look begins after the last that had its turn: who only
 * had to wait for others had none.
 * Return: whether to call it again: it may be the turn of those who had to wait.
 */
static bool ask_in_turn(struct unwind_feeder *w, uint64_t deadline_ns)
{
	size_t nr = w->nr_used, nr_turns = 0, nr_asked = 0, nr_put_off = 0;

	w->nr_waiting = 0;
	w->has_new_mappings = false;
	w->search_ns = UINT64_MAX;
	announce_asks(w);
	for (size_t i = 0, from = w->interps_from; i < nr; i++) {
		size_t at = (from + i) % nr;
		uint32_t id = w->used[at];
		struct watched_image *img = &w->images[id];
		const struct process *p = unknown_process(w, id);
		bool is_due_now;

		if (!p)
			continue;
		if (!must_ask(p, img)) {
			w->nr_waiting += img->interp.state == IMAGE_INTERP_WAITS;
			note_search(w, img);
			continue;
		}
		if (nr_turns && clock_now_ns() >= deadline_ns) {
			w->has_new_mappings = w->is_behind = true;
			return false;
		}
		nr_turns += img->interp.state == IMAGE_INTERP_NONE;
		w->has_new_mappings |= !search_for_interp(w, p, img);
		is_due_now = ask_is_due(&img->interp);
		if (is_due_now && !may_ask(w, p->tenant)) {
			w->nr_waiting++;
			nr_put_off++;
			continue;
		}
		nr_turns++;
		nr_asked += is_due_now;
		w->interps_from = at + 1;
		if (is_due_now && ask_for_interp(w, p, &img->interp)) {
			img->rest_until_ns = 0;
			mark(w, img);
		}
		w->nr_waiting += img->interp.state == IMAGE_INTERP_WAITS;
	}
	return nr_asked && nr_put_off && w->asks_left;
}

/*
 * Call it after the segments are written: the kernel finds an interpreter through them.
 */
static void find_interps(struct unwind_feeder *w, uint64_t deadline_ns)
{
	if (!w->nr_waiting && !w->has_new_mappings)
		return;
	while (ask_in_turn(w, deadline_ns) && clock_now_ns() < deadline_ns)
		;
}

/* Returns the process of an image that has code objects to read again; else NULL. */
static struct process *cut_process(struct unwind_feeder *w, uint32_t id)
{
	const struct image_interp *interp = &w->images[id].interp;
	struct process *p = interp->number && !interp->is_banned ? process_of(w, id)
								 : NULL;

	return p && p->interp_codes.nr_cut ? p : NULL;
}

/* As announce_asks(). */
static void announce_cut_codes(struct unwind_feeder *w)
{
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; w->reader->share.is_shared && i < w->nr_used; i++) {
		const struct process *p = cut_process(w, w->used[i]);

		if (p)
			time_share_waits(&w->reader->share, p->tenant, now_ns);
	}
}

/*
 * Call it soon: the rest of long line tables is lost when the process exits. At least
 * one, as above.
 */
static void read_cut_codes(struct unwind_feeder *w, uint64_t deadline_ns)
{
	size_t nr = w->nr_used, nr_read = 0;

	if (!w->has_cut_codes)
		return;
	w->has_cut_codes = false;
	announce_cut_codes(w);
	for (size_t i = 0, from = w->codes_from; i < nr; i++) {
		size_t at = (from + i) % nr;
		struct image_interp *interp = &w->images[w->used[at]].interp;
		struct process *p = cut_process(w, w->used[at]);

		if (!p)
			continue;
		if (nr_read && clock_now_ns() >= deadline_ns) {
			w->codes_from = at;
			w->has_cut_codes = w->is_behind = true;
			return;
		}
		if (!shared_worker_may_send(w->reader, p->tenant)) {
			w->has_cut_codes = true;
			continue;
		}
		nr_read++;
		read_codes(w, p, interp);
		w->has_cut_codes |= p->interp_codes.nr_cut && !interp->is_banned;
	}
}

/* ---- requests ---- */

void unwind_feeder_request(struct unwind_feeder *w,
			   const struct lb_unwind_request *request)
{
	const struct process *p;
	struct tenant who = TENANT_UNKNOWN;

	if (request->kind == LB_REQUEST_LIST)
		return; /* runtime/jit/watch.h answers it */
	w->totals.nr_requests++;
	p = process_table_identified(w->processes, &request->image);
	if (p)
		who = p->tenant;
	if (vec_grow(&w->requests, &w->cap_requests, w->nr_requests + 1,
		     sizeof(*w->requests), MAX_REQUESTS) ||
	    !quota_take(&w->request_quota, who, 1)) {
		w->totals.nr_requests_dropped++;
		return;
	}
	w->requests[w->nr_requests++] =
		(struct waiting_request){*request, who, clock_now_ns()};
}

static void want_page(struct unwind_feeder *w, const struct process *p, uint64_t ip)
{
	const struct mapping *m;

	if (maps_find(&p->maps, ip, UINT64_MAX - 1, UINT64_MAX - 1, &m) != MAPS_FOUND)
		return;
	if (unwind_texts_want(w->texts, &w->images[p->id].texts, ip))
		mark(w, &w->images[p->id]);
	else if (m->kind == MAPPING_FILE || m->kind == MAPPING_MEMFD ||
		 m->kind == MAPPING_VDSO)
		unwind_files_want(w->files, m, ip, p->tenant);
}

static void take_request(struct unwind_feeder *w, const struct waiting_request *waiting)
{
	const struct lb_unwind_request *r = &waiting->request;
	const struct process *p =
		r->ip ? process_table_first_sample(w->processes, &r->image,
						   waiting->time_ns)
		      : process_table_expect(w->processes, &r->image, waiting->time_ns);
	struct watched_image *img = sampled_image(w, p);

	if (!img)
		return;
	if (r->kind == LB_REQUEST_PROCESS || !img->entry.run ||
	    p->maps.nr_changes != img->maps_changes)
		mark(w, img);
	if (r->ip)
		want_page(w, p, r->ip);
	else
		w->look_again_ns = clock_now_ns() + LOADING_NS;
}

/* At least one, as above; what is left waits for the next look. */
static void take_some(struct unwind_feeder *w, bool only_known, uint64_t deadline_ns)
{
	size_t nr_taken = 0, nr_kept = 0;

	for (size_t i = 0; i < w->nr_requests; i++) {
		const struct waiting_request *r = &w->requests[i];

		if ((nr_taken && clock_now_ns() >= deadline_ns) ||
		    (only_known &&
		     !process_table_identified(w->processes, &r->request.image))) {
			w->requests[nr_kept++] = *r;
			continue;
		}
		take_request(w, r);
		quota_give(&w->request_quota, r->tenant, 1);
		nr_taken++;
	}
	w->nr_requests = nr_kept;
}

/*
 * For a process that is not known /proc is read, which takes long, so those of known ones
 * come first: many short processes would keep the stacks of all others from being whole.
 */
static void take_requests(struct unwind_feeder *w, uint64_t deadline_ns)
{
	take_some(w, true, deadline_ns);
	take_some(w, false, deadline_ns);
	w->is_behind |= w->nr_requests != 0;
}

/* ---- look ---- */

void unwind_feeder_look(struct unwind_feeder *w)
{
	uint64_t begin_ns, deadline_ns;

	if (w->look_again_ns && clock_now_ns() >= w->look_again_ns)
		w->look_again_ns = 0;
	shared_worker_go_on(w->decoder);
	find_changed(w);
	w->has_new_mappings |= w->search_ns != UINT64_MAX &&
			       clock_now_ns() >= w->search_ns;
	if (!w->nr_requests && !w->nr_dirty && !w->nr_waiting && !w->is_behind &&
	    !w->has_new_mappings && !w->has_cut_codes && !unwind_files_work(w->files))
		return;
	shared_worker_be_patient(w->decoder);
	begin_ns = clock_now_ns();
	deadline_ns = begin_ns + LOOK_NS;
	w->is_behind = false;
	take_requests(w, begin_ns + REQUESTS_NS);
	update_dirty(w, deadline_ns);
	/*
	 * Before the rows, which take longer: interpreted lines need no rows, and a
	 * script may exit soon.
	 */
	find_interps(w, deadline_ns);
	update_dirty(w, deadline_ns);
	read_cut_codes(w, deadline_ns);
	w->is_behind |= unwind_files_serve(w->files, deadline_ns);
	/* In small parts, because new requests have priority. */
	w->is_behind |= unwind_files_serve_early(w->files, clock_now_ns() + EARLY_NS);
	if (!w->is_behind)
		w->is_behind = unwind_files_serve_ahead(w->files);
}

int unwind_feeder_wait_ms(const struct unwind_feeder *w, int max_ms)
{
	/* for images that are paused or must be queried again */
	static const int retry_ms = 5;
	static const int loading_ms = LOADING_NS / 1000000;

	if (w->is_behind)
		return 0;
	if (w->look_again_ns && loading_ms < max_ms)
		return loading_ms;
	return (w->nr_dirty || w->nr_waiting ||
		unwind_files_work(w->files) == UNWIND_FILES_WANTED) &&
			       retry_ms < max_ms
		       ? retry_ms
		       : max_ms;
}

/*
 * Looks which images have ended. Threads may outlive the leader, and so the image; whether
 * they do, /proc has to tell. At least one is asked about; the rest waits for its turn.
 */
static void find_gone(struct unwind_feeder *w)
{
	uint64_t until_ns = clock_now_ns() + CHECKS_NS;
	size_t nr = w->nr_used, from = w->checks_from, nr_checks = 0, nr_alive = 0;

	for (size_t i = 0; i < nr; i++) {
		size_t at = (from + i) % nr;
		uint32_t id = w->used[at];
		const struct process *p = process_of(w, id);

		if (!p || p->is_over || p->until_ns == UINT64_MAX)
			continue;
		if (nr_alive == MAX_ALIVE ||
		    (nr_checks++ && clock_now_ns() >= until_ns)) {
			w->checks_from = at;
			return;
		}
		w->images[id].is_gone = process_is_gone(w->processes, p);
		nr_alive += !w->images[id].is_gone;
	}
}

void unwind_feeder_grace(struct unwind_feeder *w)
{
	unwind_tables_grace(w->tables);
}

static void forget_over(struct unwind_feeder *w)
{
	size_t nr = 0;

	for (size_t i = 0; i < w->nr_used; i++) {
		uint32_t id = w->used[i];
		const struct process *p = process_of(w, id);

		if (!p || p->is_over || w->images[id].is_gone)
			forget_image(w, &w->images[id]);
		else
			w->used[nr++] = id;
	}
	w->nr_used = nr;
}

void unwind_feeder_forget_files(struct unwind_feeder *w)
{
	forget_over(w); /* first: segments refer to objects of files */
	unwind_files_forget(w->files);
}

void unwind_feeder_drain(struct unwind_feeder *w)
{
	for (size_t i = 0; i < w->nr_used; i++) {
		uint32_t id = w->used[i];
		struct process *p = process_of(w, id);

		if (p)
			note_gone(w, p, &w->images[id], NULL);
	}
	find_gone(w);
	forget_over(w);
	unwind_files_retry(w->files);
	w->is_expecting = true; /* files were opened, or can be opened now */
}

void unwind_feeder_each_refused(struct unwind_feeder *w, quota_refused_fn fn, void *ctx)
{
	unwind_tables_each_refused(w->tables, fn, ctx);
	unwind_texts_each_refused(w->texts, fn, ctx);
	unwind_files_each_refused(w->files, fn, ctx);
	quota_each_refused(&w->request_quota, fn, ctx);
}

void unwind_feeder_totals(const struct unwind_feeder *w, struct unwind_totals *ret)
{
	*ret = w->totals;
	unwind_tables_totals(w->tables, ret);
	ret->nr_pages_refused += w->totals.nr_pages_refused; /* of texts */
}
